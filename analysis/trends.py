"""Trends with their doubts: slopes by task, and rewards that rise while the verifier's pass rate falls.

Covers the slopes and their tests. Rows of one task are not independent, so standard errors are clustered by
task; a trend is one only where its sign is beyond doubt and its size matters. What is said of them is
`incentives`'.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

__all__ = ["LEAST_STEPS", "LEAST_TASKS", "Divergence", "Slope", "centred", "diverging", "how_many", "slope"]

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

LEAST_TASKS = 20
"""Tasks below which a standard error clustered by task is too small to be trusted."""

LEAST_STEPS = 8
"""Training steps below which there is no trend over them: two for each quarter of training."""

_QUARTERS = 4
_FALL = 0.05
_ERROR_RATE = 0.01


@dataclass(frozen=True, slots=True)
class Slope:
    """A least-squares slope with its standard error, over n rows of so many tasks; NaN where undefined."""

    value: float
    error: float
    n: int
    tasks: int

    def beyond(self, error_rate: float) -> int:
        """1 or -1 where the slope has this sign (one-sided, at this error rate), else 0."""
        margin = NormalDist().inv_cdf(1 - error_rate) * self.error
        return 0 if not abs(self.value) > margin else (1 if self.value > 0 else -1)


@dataclass(frozen=True, slots=True)
class Divergence:
    """What changed from one training step to another, both included, by the slopes between them."""

    first: float
    last: float
    reward: float
    pass_rate: float
    n: int
    is_sure: bool


def slope(x: Floats, y: Floats, tasks: Codes, strata: Codes | None = None) -> Slope:
    """The slope of y on x, within strata where given (only differences inside of one count).

    `tasks` and `strata` are small integers, 0 or more, equal for rows of one.

    Source: least squares with strata as fixed effects; sandwich variance clustered by task, times
    G / (G - 1) for G tasks (Liang and Zeger 1986).
    """
    x, y = (centred(each, strata) for each in (x, y))
    spread = float(x @ x)
    count = how_many(tasks)
    if not spread > 0 or count < 2:
        return Slope(math.nan, math.nan, len(x), count)
    value = float(x @ y) / spread
    pulls = np.bincount(tasks, x * (y - value * x))
    error = math.sqrt(count / (count - 1) * float(pulls @ pulls)) / spread
    return Slope(value, error, len(x), count)


def diverging(steps: Floats, rewards: Floats, passed: Floats, tasks: Codes) -> Divergence | None:
    """Where rewards rise and the pass rate falls over training steps; None where there is too little to tell.

    Looks at all stretches of whole quarters of the steps, ten of them, for a change of the policy for the
    worse may begin late; each is tested at 1 % / 10 (Bonferroni), both slopes have to be beyond doubt, and
    the pass rate has to fall by 0.05 or more. Of the stretches that qualify the one with the deepest fall is
    given, else all of training with `is_sure` False. A stretch needs LEAST_TASKS tasks.
    """
    distinct = np.unique(steps)
    if len(distinct) < LEAST_STEPS or how_many(tasks) < LEAST_TASKS:
        return None
    stretches = list(_stretches(distinct))
    found = [
        _divergence(first, last, steps, rewards, passed, tasks, _ERROR_RATE / len(stretches))
        for first, last in stretches
    ]
    sure = [each for each in found if each.is_sure]
    return min(sure, key=lambda each: each.pass_rate) if sure else found[0]


def centred(values: Floats, strata: Codes | None = None) -> Floats:
    """The values less their mean, or less that of their stratum."""
    if strata is None:
        return values - values.mean() if len(values) else values
    means = np.bincount(strata, values) / np.maximum(np.bincount(strata), 1)
    return np.asarray(values - means[strata], dtype=np.float64)


def how_many(codes: Codes) -> int:
    """The number of different codes."""
    return int(np.count_nonzero(np.bincount(codes)))


def _stretches(distinct: Floats) -> Iterator[tuple[float, float]]:
    """First and last step of each run of neighbouring quarters; all of training comes first."""
    quarters = np.array_split(distinct, _QUARTERS)
    for length in range(_QUARTERS, 0, -1):
        for at in range(_QUARTERS - length + 1):
            yield float(quarters[at][0]), float(quarters[at + length - 1][-1])


def _divergence(
    first: float, last: float, steps: Floats, rewards: Floats, passed: Floats, tasks: Codes, rate: float
) -> Divergence:
    inside = (steps >= first) & (steps <= last)
    x, of = steps[inside], tasks[inside]
    up, down = (slope(x, each[inside], of) for each in (rewards, passed))
    reward, pass_rate = ((last - first) * each.value for each in (up, down))
    is_sure = up.beyond(rate) == 1 and down.beyond(rate) == -1 and pass_rate <= -_FALL
    return Divergence(first, last, reward, pass_rate, up.n, is_sure and up.tasks >= LEAST_TASKS)
