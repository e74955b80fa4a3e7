"""Findings about the health of a run, and the rules for those that need no table.

Covers what can be told from counts alone, so that the short form after a run loads no pandas; what needs
groups, outcomes or training steps is `health`'s. A share is held against a level by the lower end of its
95 % interval (Wilson 1927), so that two rows of ten warn of nothing; failures alone by the plain share, which
is a policy and not an estimate.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

__all__ = [
    "FAILED_SHARE",
    "FLAGGED",
    "LEAST_ROWS",
    "Finding",
    "Flagged",
    "Severity",
    "constant_rewards",
    "failures",
    "share_finding",
]

Severity = Literal["ok", "note", "warn", "unknown"]

FAILED_SHARE = 0.05
"""The share of failed judgements, skipped rows aside, above which a run is warned about."""

LEAST_ROWS = 20
"""Rewards below which nothing is said of their being all alike."""

_SATURATED = 0.95
_Z = 1.959964


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that may be wrong, and how wrong it is.

    `figure` is what was measured (NaN where it cannot be), over `n` rows or groups; `meaning` is what it
    means and what to do. Severity unknown: there is not enough data, and `meaning` says what is missing.
    """

    name: str
    severity: Severity
    figure: float
    n: int
    meaning: str


@dataclass(frozen=True, slots=True)
class Flagged:
    """A finding that is the share of rows with one of some flags; None: never as severe as that."""

    name: str
    flags: tuple[str, ...]
    note_above: float
    warn_above: float | None
    what: str
    advice: str

    def finding(self, rows: int, n: int) -> Finding:
        return share_finding(
            self.name, rows, n, self.what, self.advice, note=self.note_above, warn=self.warn_above
        )


FLAGGED = (
    Flagged(
        name="injection",
        flags=("injection_suspected",),
        note_above=0.0,
        warn_above=0.01,
        what="runs hold text that addresses the judge",
        advice="Read some (judge show): a policy that learns to write it is gaming the reward.",
    ),
    Flagged(
        name="prompt_truncation",
        flags=("prompt_truncation_suspected",),
        note_above=0.0,
        warn_above=0.01,
        what="replies counted far fewer prompt tokens than were sent",
        advice="Serve the judge with a longer context, or lower frames.max_chars: it may not see the rubric.",
    ),
    Flagged(
        name="shortened_runs",
        flags=("trajectory_truncated",),
        note_above=0.5,
        warn_above=None,
        what="runs were shown in part",
        advice="Raise frames.max_frames or frames.max_chars if verdicts miss what was left out.",
    ),
    Flagged(
        name="images_not_sent",
        flags=("images_not_sent",),
        note_above=0.0,
        warn_above=0.05,
        what="verdicts were given without the screenshots",
        advice="judge doctor says why: use a model that sees, install adaptive-judge[vision], or set "
        "judge.vision to off and mean it.",
    ),
    Flagged(
        name="screenshots_unreadable",
        flags=("screenshot_unreadable",),
        note_above=0.0,
        warn_above=0.05,
        what="runs have a screenshot that could not be read",
        advice="Check the paths and files of the stored runs.",
    ),
    Flagged(
        name="repaired_replies",
        flags=("repaired", "coerced", "double_encoded", "unwrapped_list"),
        note_above=0.05,
        warn_above=0.25,
        what="replies had to be repaired or their values coerced",
        advice="Use structured output (json_schema), or a model that keeps to the schema.",
    ),
    Flagged(
        name="strict_suspects",
        flags=("strict_suspect",),
        note_above=0.05,
        warn_above=None,
        what="verdicts are failures although every item is met",
        advice="See judge report LOG --view noise.",
    ),
)
"""In the order in which they are shown."""


def failures(kinds: Mapping[str, int], judged: int) -> Finding:
    """The share of judgements that failed, by kind; skipped rows are in neither count."""
    failed = sum(kinds.values())
    tried = judged + failed
    if not tried:
        return Finding("failures", "unknown", math.nan, 0, "No judgement was tried.")
    share = failed / tried
    by_kind = ", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items(), key=lambda each: -each[1]))
    meaning = f"{failed} of {tried} judgements failed ({share:.1%}){': ' if by_kind else ''}{by_kind}."
    if share > FAILED_SHARE:
        meaning += " Their runs have no reward: see to the commonest kind, then judge again."
    return Finding("failures", "warn" if share > FAILED_SHARE else "ok", share, tried, meaning)


def constant_rewards(n: int, zeros: int, ones: int, low: float, high: float) -> Finding:
    """The share of rewards that are all 0, or all 1; `low` and `high` are the least and the greatest."""
    if n < LEAST_ROWS:
        missing = f"{n} rewards, of {LEAST_ROWS} needed to say whether they vary."
        return Finding("constant_rewards", "unknown", math.nan, n, missing)
    if low == high:
        meaning = f"All {n} rewards are {low:g}: nothing can be learned from them. Look at some verdicts."
        return Finding("constant_rewards", "warn", 1.0, n, meaning)
    count, value = max((zeros, 0), (ones, 1))
    meaning = f"{count / n:.1%} of the rewards are {value}."
    if is_saturated := count > _SATURATED * n:
        meaning += " Few runs differ: the tasks are too hard, too easy, or the judge cannot tell."
    return Finding("constant_rewards", "note" if is_saturated else "ok", count / n, n, meaning)


def share_finding(
    name: str, count: int, n: int, what: str, advice: str, *, note: float, warn: float | None
) -> Finding:
    """`count` of `n` as a finding: a note or a warning where the share is surely above that level."""
    if not n:
        return Finding(name, "unknown", math.nan, 0, f"No rows to tell whether {what}.")
    surely = _wilson_low(count, n)
    severity: Severity = (
        "warn" if warn is not None and surely > warn else "note" if count and surely > note else "ok"
    )
    meaning = f"{count} of {n} {what} ({count / n:.1%})."
    return Finding(name, severity, count / n, n, meaning if severity == "ok" else f"{meaning} {advice}")


def _wilson_low(count: int, n: int) -> float:
    share, z2 = count / n, _Z * _Z
    spread = _Z * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n))
    return max(0.0, (share + z2 / (2 * n) - spread) / (1 + z2 / n))
