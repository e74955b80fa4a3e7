"""The short form of a run's health, printed after every run.

Covers what the judgements of this run tell by their counts. Groups, outcomes and training steps need the
whole log and pandas: `judge report LOG --view health`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from judge.cli.progress import Tally

if TYPE_CHECKING:
    from analysis.finding import Finding

__all__ = ["short_health"]


def short_health(tally: Tally) -> Iterator[str]:
    """A line for each note and warning, one line where there is none; failures have `tally.warning`."""
    found = [each for each in _findings(tally) if each.severity in ("note", "warn")]
    for finding in found:
        yield f"health: {finding.severity}: {finding.meaning}"
    if not found and tally.judged:
        yield f"health: nothing to note in {tally.judged} judgements"


def _findings(tally: Tally) -> Iterator[Finding]:
    from analysis.finding import FLAGGED, constant_rewards

    yield constant_rewards(tally.rewarded, tally.zeros, tally.ones, tally.low, tally.high)
    tried = tally.judged + tally.failures
    for flagged in FLAGGED:
        bearing = [count for flags, count in tally.flags.items() if not set(flagged.flags).isdisjoint(flags)]
        yield flagged.finding(sum(bearing), tried)
