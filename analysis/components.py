"""The parts of a reward: how much of its variance each makes, and process against outcome.

Covers rewards that are, nearly or wholly, a weighted sum of their parts. A log holds the parts and not their
weights, so the weights are estimated; a reward of another form shows by a low `explained`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis.statistics import bootstrap, ratio

__all__ = ["OUTCOME_PARTS", "PROCESS_PARTS", "Components", "components"]

Floats = NDArray[np.float64]

OUTCOME_PARTS = {"outcome", "success", "verifier", "tests"}
"""Parts that say how a run ended; the judge's score is of both kinds and counts as neither."""

PROCESS_PARTS = {"process", "deviation", "adjustment", "wrong_share", "step_bonus"}
"""Parts that say how it went, as judge.collapse names them."""


@dataclass(frozen=True, slots=True)
class Components:
    """Shares of the variance of the reward by part (their sum is `explained`, R squared), the greatest named.

    `top_low` is the lower end of its 95 % interval. `process_ratio` is the variance of what process parts add
    to the reward over that of what outcome parts add, `process_low` its lower end; NaN unless both vary.
    """

    shares: dict[str, float]
    top: str
    top_low: float
    explained: float
    process_ratio: float
    process_low: float


def components(
    names: list[str], parts: Floats, rewards: Floats, tasks: NDArray[np.int64]
) -> Components | None:
    """The parts [rows, K] of rewards [rows], taken apart; None unless one of them and the reward vary.

    Source: least squares of the reward on its parts; the share of a part is weight x covariance with the
    reward / variance of the reward (Pratt 1987), which is exact where the reward is their weighted sum.
    Intervals: a bootstrap over tasks.
    """
    varies = np.ptp(parts, axis=0) > 0
    names = [name for name, each in zip(names, varies, strict=True) if each]
    if not names or not np.ptp(rewards) > 0:
        return None
    # Centred, so that sums of squares lose no digits.
    values = np.column_stack([parts[:, varies], rewards])
    values -= values.mean(axis=0)
    kinds = [np.array([name in kind for name in names]) for kind in (PROCESS_PARTS, OUTCOME_PARTS)]

    def figures(sums: Floats) -> Floats:
        return _shares_and_ratio(sums, len(names), *kinds)

    moments = _moments(values)
    found = figures(moments.sum(axis=0))
    low = bootstrap(moments, tasks, figures)[0]
    # Tasks that all say the same leave nothing to draw.
    low = np.where(np.isnan(low), found, low)
    top = int(np.argmax(found[:-1]))
    return Components(
        shares=dict(zip(names, map(float, found), strict=False)),
        top=names[top],
        top_low=float(low[top]),
        explained=float(found[:-1].sum()),
        process_ratio=float(found[-1]),
        process_low=float(low[-1]),
    )


def _moments(values: Floats) -> Floats:
    """1, each value and each product of two, of every row."""
    rows, size = values.shape
    upper = np.triu_indices(size)
    return np.column_stack([np.ones(rows), values, values[:, upper[0]] * values[:, upper[1]]])


def _shares_and_ratio(
    sums: Floats, count: int, process: NDArray[np.bool_], outcome: NDArray[np.bool_]
) -> Floats:
    """The share of each of `count` parts and, last, process over outcome, of summed moments [..., M]."""
    size = count + 1
    n, totals, products = sums[..., :1, None], sums[..., 1 : size + 1], sums[..., size + 1 :]
    square = np.zeros((*sums.shape[:-1], size, size))
    rows, columns = np.triu_indices(size)
    square[..., rows, columns] = square[..., columns, rows] = products
    cov = square / n - totals[..., :, None] * totals[..., None, :] / (n * n)
    among, with_reward, variance = cov[..., :count, :count], cov[..., :count, count], cov[..., count, count]
    weights = (np.linalg.pinv(among, hermitian=True) @ with_reward[..., None])[..., 0]
    shares = ratio(weights * with_reward, variance[..., None])
    made = [_variance(weights * kind, among) for kind in (process, outcome)]
    return np.concatenate([shares, _over(*made)[..., None]], axis=-1)


def _variance(weights: Floats, cov: Floats) -> Floats:
    return np.asarray((weights[..., None, :] @ cov @ weights[..., None])[..., 0, 0], dtype=np.float64)


def _over(process: Floats, outcome: Floats) -> Floats:
    least = 1e-12
    return np.where(outcome > least, process / np.maximum(outcome, least), math.nan)
