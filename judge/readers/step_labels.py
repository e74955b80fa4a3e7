"""Labels that name steps in somebody else's numbering → our step indices, with the original kept beside.

    labels.step_numbering       "messages_from_0" | "messages_from_1" | "steps_from_0" | "steps_from_1":
                                what `step` means in every list of `labels`
    failures[].step_number      unless stated otherwise: messages, counted from 1 (AgentRx)
    mistake_step                unless stated otherwise: messages, counted from 0 (Who&When)

An entry gets `step` (ours) and `source_step`, `mistake_step` gets `source_mistake_step` beside it, and a
stated numbering becomes "steps_from_0" with `source_step_numbering`. A message that came back belongs to the
step before it. What names no step (before the first, outside, no number) is null. Labels whose numbering is
neither stated nor known are left alone.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from judge.errors import InputError

_FIRST = {"messages_from_0": 0, "messages_from_1": 1, "steps_from_0": 0, "steps_from_1": 1}


@dataclass(frozen=True)
class StepNumbers:
    """Step i begins at message `starts[i]` of `length` messages."""

    starts: Sequence[int]
    length: int

    def index(self, number: Any, numbering: str) -> int | None:
        """The step that a stored number means; None where it means none."""
        position = _whole(number)
        if position is None:
            return None
        position -= _FIRST[numbering]
        if numbering.startswith("steps"):
            return position if 0 <= position < len(self.starts) else None
        step = bisect_right(self.starts, position) - 1
        return step if step >= 0 and position < self.length else None


def renumbered(labels: Mapping[str, Any], steps: StepNumbers) -> dict[str, Any]:
    """`labels` with our step indices. Raises InputError where the stated numbering is unknown."""
    stated = _stated(labels.get("step_numbering"))
    found = dict(labels)
    for name, entries in labels.items():
        if isinstance(entries, list | tuple):
            found[name] = [_entry(entry, name, stated, steps) for entry in entries]
    if (mistake := labels.get("mistake_step")) is not None:
        found["mistake_step"] = steps.index(mistake, stated or "messages_from_0")
        found["source_mistake_step"] = mistake
    if stated:
        found |= {"step_numbering": "steps_from_0", "source_step_numbering": stated}
    return found


def _entry(entry: Any, name: str, stated: str | None, steps: StepNumbers) -> Any:
    if not isinstance(entry, Mapping):
        return entry
    if stated and "step" in entry:
        return {**entry, "step": steps.index(entry["step"], stated), "source_step": entry["step"]}
    if name != "failures" or "step" in entry or "step_number" not in entry:
        return entry
    number = entry["step_number"]
    return {**entry, "step": steps.index(number, stated or "messages_from_1"), "source_step": number}


def _stated(numbering: Any) -> str | None:
    if numbering is None or (isinstance(numbering, str) and numbering in _FIRST):
        return numbering
    raise InputError(f"labels.step_numbering: unknown; it is one of {', '.join(_FIRST)}, or left out")


def _whole(number: Any) -> int | None:
    """A number of a step, which tables store as 3, 3.0 or "3"."""
    if isinstance(number, str) and number.isascii() and number.isdecimal() and len(number) < 10:
        return int(number)
    if isinstance(number, float) and number.is_integer():
        return int(number)
    return number if isinstance(number, int) and not isinstance(number, bool) else None
