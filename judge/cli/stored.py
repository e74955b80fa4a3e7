"""Verdicts as the rows of a reward log hold them, and what rows lack for a scheme.

Covers reading them back for `judge recollapse`; the rewards they make are judge.pipeline.rewarded's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pydantic import ValidationError

from judge.config import explain
from judge.errors import InputError
from judge.schema import Outcome, StepVerdict, TrajectoryVerdict

__all__ = ["Gaps", "Stored", "flags_of"]

_LACK = {
    "verdict": "a verdict (success and score)",
    "tarl": "a label on every step (judge again with --steps whole)",
    "gvpo_process": "checks of single steps, with correct and confidence (judge again with --steps prefix)",
}
_SHOWN = 5


class Stored(NamedTuple):
    """What a reward is made of; the verdict is None in rows of runs that took no judge (verifier_only)."""

    outcome: Outcome
    verdict: TrajectoryVerdict | None
    steps: tuple[StepVerdict, ...]

    @classmethod
    def read(cls, row: dict[str, Any], name: str) -> Stored:
        """Raises InputError that begins with `name` and says which field cannot be read."""
        is_judged = row.get("success") is not None and row.get("score") is not None
        steps = row.get("steps")
        try:
            return cls(
                Outcome(reward=row.get("outcome"), status=row.get("outcome_status") or "ok"),
                TrajectoryVerdict(success=row["success"], score=row["score"]) if is_judged else None,
                tuple(map(StepVerdict.model_validate, steps if isinstance(steps, list) else ())),
            )
        except ValidationError as error:
            raise InputError(f"{name}: {explain(error)}") from None

    @property
    def is_labelled(self) -> bool:
        """Whether all steps have what tarl needs; False without any step."""
        return bool(self.steps) and all(step.label is not None for step in self.steps)

    @property
    def is_checked(self) -> bool:
        """Whether all steps have what gvpo_process needs; False without any step."""
        checks = [(step.correct, step.confidence) for step in self.steps]
        return bool(checks) and all(None not in check for check in checks)


@dataclass
class _Rows:
    """Some rows: how many, and the first few by name."""

    count: int = 0
    first: list[str] = field(default_factory=list)

    def add(self, count: int, names: Sequence[str]) -> None:
        self.count += count
        self.first = [*self.first, *names][:_SHOWN]

    def __str__(self) -> str:
        more = self.count - len(self.first)
        return ", ".join(self.first) + (f" and {more} more" if more else "")


class Gaps:
    """Gathers, row by row, who lacks what for the schemes `needed` of STEPS_MODE; all need verdicts.

    A run too short for a check has none in mode prefix either. That it was judged in this mode shows in its
    scheme, or in a row of the same fingerprint, which may still come: so this is settled at the end.
    """

    def __init__(self, needed: Collection[str]) -> None:
        self._needed = needed
        self._rows = 0
        self._lacking: dict[str, _Rows] = {}
        self._unchecked: dict[Hashable, _Rows] = {}
        self._checking: Counter[Hashable] = Counter()

    def see(self, row: dict[str, Any], stored: Stored, name: str) -> None:
        """Take note of a row that did not fail."""
        self._rows += 1
        flags, fingerprint = flags_of(row), row.get("fingerprint")
        if stored.verdict is None:
            self._note([] if "verifier_only" in flags else ["verdict"], name)
        elif "empty_trajectory" not in flags:
            self._note([what for what in self._needed if _is_missing(what, stored)], name)
            self._checking[fingerprint] += stored.is_checked or row.get("scheme") == "gvpo_process"
            if "gvpo_process" in self._needed and not stored.steps:
                self._unchecked.setdefault(fingerprint, _Rows()).add(1, [name])

    def explain(self, scheme: str) -> str | None:
        """Which rows lack what, and how many, for every kind of gap; None where there is none."""
        lacking = dict(self._lacking)
        for fingerprint, rows in self._unchecked.items():
            if not self._checking[fingerprint]:
                both = _Rows()
                for each in (lacking.get("gvpo_process", _Rows()), rows):
                    both.add(each.count, each.first)
                lacking["gvpo_process"] = both
        if not lacking:
            return None
        kinds = [
            f"{rows.count} of {self._rows} rows lack {_LACK[what]}: {rows}" for what, rows in lacking.items()
        ]
        return f"scheme {scheme} cannot be computed, nothing was written: {'; '.join(kinds)}"

    def _note(self, missing: Sequence[str], name: str) -> None:
        for what in missing:
            self._lacking.setdefault(what, _Rows()).add(1, [name])


def flags_of(row: dict[str, Any]) -> list[str]:
    """The flags of a row; none where it holds no list of them."""
    flags = row.get("flags")
    return [str(flag) for flag in flags] if isinstance(flags, list) else []


def _is_missing(scheme: str, stored: Stored) -> bool:
    """Whether a judged run lacks what `scheme` needs, as far as its row alone can tell."""
    if scheme == "tarl":
        return not stored.is_labelled
    return bool(stored.steps) and not stored.is_checked
