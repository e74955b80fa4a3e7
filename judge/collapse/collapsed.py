"""What every collapse gives back: a number and its parts; and the mean of parts by weight."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Collapsed:
    """A reward as one number and the named numbers it was made of."""

    value: float
    parts: dict[str, float] = field(default_factory=dict)


def weighted(parts: Mapping[str, float | None], weights: Mapping[str, float]) -> Collapsed:
    """The weighted mean of the parts that are present, weights renormalised over them.

    Raises ValueError where no weighted part is present or their weights sum to 0 or less.
    """
    present = {name: value for name in weights if (value := parts.get(name)) is not None}
    total = sum(weights[name] for name in present)
    if total <= 0:
        raise ValueError(f"none of the weighted parts ({', '.join(weights) or 'none given'}) is present")
    return Collapsed(sum(weights[name] * value for name, value in present.items()) / total, dict(present))


def check_share(name: str, value: float) -> None:
    """Raises ValueError for a value outside [0, 1]."""
    if not 0.0 <= value <= 1.0:
        raise ValueError(f"{name} is {value}; it must lie in [0, 1]")
