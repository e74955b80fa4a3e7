"""Group baselines: each reward against the mean, and the spread, of its group."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

STD_FLOOR = 1e-6
"""Added to every std, as in the published code, so that nearly equal rewards are not blown up."""

TOLERANCE = 1e-9

Rewards = Iterable[float | None]


def grpo(rewards: Rewards, ddof: int = 1) -> list[float]:
    """(R - mean) / (std + 1e-6) for each of the G rewards of a group, in their order.

    `ddof` 1 is the sample std, 0 the population std. A group that is all equal, or has one reward only,
    gives zeros. Missing rewards: see `valid`.

    Raises ValueError for an infinite reward and for a `ddof` other than 0 or 1.

    Source: GRPO (group relative policy optimisation), outcome supervision.
    """
    return standardised(numbers(rewards), ddof)


def dr_grpo(rewards: Rewards) -> list[float]:
    """R - mean for each of the G rewards of a group, in their order, without division by the std.

    A group with one reward keeps it, since there is nothing to compare it with. Missing rewards: see `valid`.

    Raises ValueError for an infinite reward.

    Source: Dr. GRPO; the group of one is as in the code of GVPO.
    """
    values = numbers(rewards)
    return values_or_zero(values) if len(present(values)) == 1 else centred(values)


def valid(rewards: Rewards) -> list[bool]:
    """For each reward whether it is there, that is, neither None nor NaN: the mask of its advantage."""
    return [value is not None for value in numbers(rewards)]


def numbers(rewards: Rewards) -> list[float | None]:
    """The rewards as floats, missing ones as None. Raises ValueError for an infinite one."""
    values = [None if reward is None else float(reward) for reward in rewards]
    for position, value in enumerate(values):
        if value is not None and math.isinf(value):
            raise ValueError(f"reward {position} is {value}; rewards must be finite, None or NaN")
    return [None if value is None or math.isnan(value) else value for value in values]


def present(values: Sequence[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def values_or_zero(values: Sequence[float | None]) -> list[float]:
    """The values themselves, 0.0 where one is missing or within the tolerance of 0."""
    return [0.0 if value is None or abs(value) <= TOLERANCE else value for value in values]


def centred(values: Sequence[float | None]) -> list[float]:
    """Each value minus the mean of those present; 0.0 for a missing one."""
    if not (known := present(values)):
        return [0.0] * len(values)
    # fsum does not mind the order, so permuting a group permutes its advantages to the last bit; the mean
    # may still round past the extremes, and then equal values would differ from their own mean.
    mean = min(max(math.fsum(known) / len(known), min(known)), max(known))
    return values_or_zero([None if value is None else value - mean for value in values])


def standardised(values: Sequence[float | None], ddof: int) -> list[float]:
    """Each value minus the mean, by std + 1e-6; zeros where fewer than two are present."""
    if ddof not in (0, 1):
        raise ValueError(f"ddof is {ddof}; it must be 0 (population) or 1 (sample)")
    if (count := len(present(values))) < 2:
        return [0.0] * len(values)
    away = centred(values)
    std = math.sqrt(math.fsum(distance * distance for distance in away) / (count - ddof))
    return [distance / (std + STD_FLOOR) for distance in away]
