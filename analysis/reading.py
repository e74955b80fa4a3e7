"""The reading of a judge: noisy, strict, lenient or fine, and what to do about it.

Covers the levels, the rule and the sentences. A cause is named only where its whole 95 % interval lies above
its level, and ruled out only where all of it lies below: with neither, more data is asked for, and how much.
The figures are `noise`'s; how often the reading is right is measured in tests/bench/bench_reading.py.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["LENIENT", "NOISY", "STRICT", "Measured", "read"]

NOISY = 0.10
"""Disagreement of two verdicts on one run: at 0.10 one verdict in 19 is turned round, and of groups of eight
rollouts every third holds a reward that chance made."""

STRICT = 0.20
"""Settled false-negative rate: beyond it more than every fifth success is punished, whatever is repeated."""

LENIENT = 0.10
"""Settled false-positive rate: less is borne than of misses, because a policy finds what is wrongly paid."""

LEAST_TASKS = 10
"""Tasks below which an interval over tasks is not to be trusted, and no cause is named or ruled out."""

_MOST_TIMES = 20
_LEVELS = {"noisy": NOISY, "strict": STRICT, "lenient": LENIENT}
_ADVICE = {
    "noisy": "Noisy: two verdicts on one run differ in {value:.0%} of cases. Lower the temperature, use a "
    "stronger schema (json_schema), or take the majority of several repeats.",
    "strict": "Strict: {value:.0%} of successes are failed with the noise taken out. Look at the rubric: "
    "which item do they break, and does the task ask for it?",
    "lenient": "Lenient: {value:.0%} of failures pass with the noise taken out. Look at the rubric: what "
    "does it leave unchecked, and is it shown to the judge?",
}
_FINE = "Fine: neither noisy nor strict nor lenient."
_TOGETHER = "Wrong both ways is no matter of wording: try a stronger judge, or show it more of the run."
_UNTOLD = {
    "noisy": "noise: no run was judged twice, use --repeat 3",
    "strict": "strictness: no run with an outcome of 1 was judged twice",
    "lenient": "leniency: no run with another outcome was judged twice",
}


@dataclass(frozen=True, slots=True)
class Measured:
    """A figure with its 95 % interval; NaN where undefined."""

    value: float
    low: float
    high: float

    def columns(self, name: str, interval: str) -> dict[str, float]:
        return {name: self.value, f"{interval}_low": self.low, f"{interval}_high": self.high}


def read(
    disagreement: Measured,
    fnr: Measured,
    fpr: Measured,
    tasks: Mapping[str, int],
    fnr_as_judged: float,
    fpr_as_judged: float,
) -> tuple[str, str]:
    """The reading ("fine", "not enough data", or of noisy, strict, lenient those that hold) and its advice.

    `fnr` and `fpr` are the settled ones. `tasks`: of how many runs were repeated, behind each of
    disagreement, fnr and fpr: few would leave what is noise and what conviction to chance.
    Without repeats, misses are either strictness or noise and are not named one of them.
    """
    measured = {
        "noisy": (disagreement, tasks["disagreement"]),
        "strict": (fnr, tasks["fnr"]),
        "lenient": (fpr, tasks["fpr"]),
    }
    stands = {cause: _stands(*each, _LEVELS[cause]) for cause, each in measured.items()}
    named = [cause for cause, stand in stands.items() if stand]
    sentences = [_ADVICE[cause].format(value=measured[cause][0].value) for cause in named]
    if {"strict", "lenient"} <= {*named}:
        sentences.append(_TOGETHER)
    if missing := [_missing(cause, *measured[cause]) for cause, stand in stands.items() if stand is None]:
        sentences.append(f"Not settled: {'; '.join(missing)}.")
    if not tasks["disagreement"]:
        sentences.extend(_unrepeated(fnr_as_judged, fpr_as_judged))
    if named:
        return ", ".join(named), " ".join(sentences)
    return ("not enough data", " ".join(sentences)) if missing else ("fine", _FINE)


def _stands(measured: Measured, tasks: int, level: float) -> bool | None:
    """Whether a cause holds; None where the data do not say."""
    if tasks < LEAST_TASKS or math.isnan(measured.low):
        return None
    if measured.low > level:
        return True
    return False if measured.high <= level else None


def _missing(cause: str, measured: Measured, tasks: int) -> str:
    if not tasks:
        return _UNTOLD[cause]
    level, value = _LEVELS[cause], measured.value
    what = {"noisy": "disagreement", "strict": "settled FNR", "lenient": "settled FPR"}[cause]
    if math.isnan(value):
        return f"{what}: undefined, its verdicts lack repeats or are near chance"
    if tasks < LEAST_TASKS or math.isnan(measured.low):
        return f"{what} {value:.2f} on {tasks} tasks, of {LEAST_TASKS} needed"
    shown = f"{what} {value:.2f} ({measured.low:.2f} to {measured.high:.2f}) around the level {level:.2f}"
    gap = abs(level - value)
    times = (max(measured.high - value, value - measured.low) / gap) ** 2 if gap else math.inf
    if times > _MOST_TIMES:
        return f"{shown}, too close to it for {_MOST_TIMES} times the {tasks} tasks"
    return f"{shown}, about {max(math.ceil(times * tasks), tasks + 1)} tasks instead of {tasks} would tell"


def _unrepeated(fnr: float, fpr: float) -> list[str]:
    """What is wrong in verdicts of which nobody knows how noisy they are."""
    found = []
    if fnr > STRICT:
        found.append(f"{fnr:.0%} of successes are failed: strict or noisy.")
    if fpr > LENIENT:
        found.append(f"{fpr:.0%} of failures pass: lenient or noisy.")
    return found
