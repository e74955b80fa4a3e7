"""What a step of each tier is worth: iterative reward calibration (IRC) of step rewards against outcomes.

Covers the table of `judge report --view calibration`, and its values as configuration. Which tier a step has
is `rollouts`' to say, and advantages are judge.advantage's. Not covered: new rollouts under the suggested
values, which is training.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.rollouts import TIER_VALUES, Rollout
from judge.advantage import gtpo

__all__ = ["as_yaml", "calibrate", "point_biserial"]

_DRAWS = 1000
_SEED = 0
_ZERO = 1e-9


def point_biserial(occurs: Sequence[float], outcomes: Sequence[float]) -> float | None:
    """The correlation, in [-1, 1], of whether something occurs in a rollout (0 or 1) with its outcome.

    None where either is constant. Raises ValueError where their lengths differ.

    Source: point-biserial correlation, as iterative reward calibration takes it.
    """
    if len(occurs) != len(outcomes):
        raise ValueError(f"there are {len(occurs)} occurrences and {len(outcomes)} outcomes")
    rho = float(_correlation(_moments(np.asarray(occurs), np.asarray(outcomes)).sum(axis=0)))
    return None if math.isnan(rho) else rho


def calibrate(
    rollouts: Sequence[Rollout],
    *,
    alpha: float,
    delta: float,
    values: Mapping[str, float] = TIER_VALUES,
    intended: Mapping[str, float] | None = None,
    rounds: int = 3,
) -> pd.DataFrame:
    """One row for each tier of `values`, the rewards in force: what the outcomes say that it is worth.

    A tier is worth alpha * rho where |rho| > delta, else 0, and keeps its value where rho is undefined. Then
    the mean advantage of its steps (`gtpo` with these rewards) must not have the opposite sign of its
    `intended` value, by default of its new one. Where it has, paying for the tier contradicts what training
    makes of it: its worth becomes 0 and all are checked again, in `rounds` rounds at most. One round is the
    formula alone.

    Columns: tier, steps (how many), rollouts_with, rollouts_without, pass_rate_with and pass_rate_without
    (the share with outcome 1), rho, rho_low and rho_high (95 %, from a seeded bootstrap over tasks; null for
    one task), value, suggested, advantage_mean, sign_ok (null where no sign is intended or the mean is 0) and
    dead_steps (advantage 0). Undefined figures are null.

    Raises ValueError for alpha <= 0, delta outside [0, 1], rounds < 1, and a tier that has no value.

    Source: iterative reward calibration, which prints neither alpha nor delta. That a contradicted tier
    becomes 0 is this project's reading: on the same rollouts, the formula repeated changes nothing.
    """
    _check(rollouts, alpha, delta, values, rounds)
    table = pd.DataFrame([_occurrence(tier, rollouts) for tier in values])
    rhos = dict(zip(values, table["rho"], strict=True))
    suggested = {tier: _worth(rhos[tier], alpha, delta, old) for tier, old in values.items()}
    signs = {tier: _sign(value) for tier, value in (suggested if intended is None else intended).items()}
    means, dead = _advantages(rollouts, suggested)
    for _ in range(rounds - 1):
        contradicted = [tier for tier in values if signs.get(tier, 0) * _sign(means[tier]) < 0]
        silenced = [tier for tier in contradicted if suggested[tier] and not math.isnan(rhos[tier])]
        if not silenced:
            break
        suggested |= dict.fromkeys(silenced, 0.0)
        means, dead = _advantages(rollouts, suggested)
    checks = [signs.get(tier, 0) * _sign(means[tier]) for tier in values]
    return table.assign(
        value=list(values.values()),
        suggested=list(suggested.values()),
        advantage_mean=list(means.values()),
        sign_ok=pd.Series([check > 0 if check else None for check in checks], dtype=object),
        dead_steps=list(dead.values()),
    )


def as_yaml(table: pd.DataFrame) -> str:
    """The suggested values of a `calibrate` table as YAML of the configuration, to four decimals."""
    names = [tier if tier.isalpha() else json.dumps(tier) for tier in table["tier"]]
    # Adding 0 turns -0.0 into 0.0.
    worths = [round(value, 4) + 0.0 for value in table["suggested"]]
    lines = [f"    {name}: {worth}" for name, worth in zip(names, worths, strict=True)]
    return "\n".join(["reward:", "  tiers:", *lines]) + "\n"


def _check(
    rollouts: Iterable[Rollout], alpha: float, delta: float, values: Mapping[str, float], rounds: int
) -> None:
    if not (alpha > 0 and 0 <= delta <= 1 and rounds >= 1):
        raise ValueError(f"alpha {alpha}, delta {delta}, rounds {rounds}: must be > 0, in [0, 1], at least 1")
    if strange := {tier for rollout in rollouts for tier in rollout.tiers} - values.keys():
        raise ValueError(f"tier {min(strange)!r} has no value; there are {', '.join(values)}")


def _occurrence(tier: str, rollouts: Sequence[Rollout]) -> dict[str, Any]:
    """How often a tier occurs, and its correlation with the outcome."""
    occurs = np.array([tier in rollout.tiers for rollout in rollouts], dtype=bool)
    outcomes = np.array([rollout.outcome for rollout in rollouts], dtype=float)
    low, high = _interval(_moments(occurs, outcomes), [rollout.task for rollout in rollouts])
    return {
        "tier": tier,
        "steps": sum(rollout.tiers.count(tier) for rollout in rollouts),
        "rollouts_with": int(occurs.sum()),
        "rollouts_without": int((~occurs).sum()),
        "pass_rate_with": _mean(outcomes[occurs] == 1),
        "pass_rate_without": _mean(outcomes[~occurs] == 1),
        "rho": float(_correlation(_moments(occurs, outcomes).sum(axis=0))),
        "rho_low": low,
        "rho_high": high,
    }


def _moments(occurs: NDArray[Any], outcomes: NDArray[Any]) -> NDArray[np.float64]:
    """What each rollout adds to the five sums a correlation is made of: one row a rollout."""
    c, o = occurs.astype(float), outcomes.astype(float)
    return np.column_stack([np.ones_like(c), c, o, c * o, c * c, o * o])


def _correlation(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """The correlation of each row of summed moments; NaN where one of the two is constant."""
    n, c, o, co, cc, oo = np.moveaxis(sums, -1, 0)
    spread = np.stack([n * cc - c * c, n * oo - o * o])
    varies = (spread > _ZERO * n * n).all(axis=0)
    root = np.sqrt(np.where(varies, spread.prod(axis=0), 1.0))
    return np.where(varies, np.clip((n * co - c * o) / root, -1.0, 1.0), math.nan)


def _interval(moments: NDArray[np.float64], tasks: Sequence[str]) -> tuple[float, float]:
    """The 95 % interval of the correlation over tasks drawn with replacement; NaN where there is none."""
    codes, names = pd.factorize(np.array(tasks, dtype=object))
    if (count := len(names)) < 2:
        return math.nan, math.nan
    of_task = np.zeros((count, moments.shape[1]))
    np.add.at(of_task, codes, moments)
    draw = np.random.default_rng(_SEED).integers
    times = (np.bincount(draw(count, size=count), minlength=count) for _ in range(_DRAWS))
    found = _correlation(np.stack([each @ of_task for each in times]))
    defined = found[~np.isnan(found)]
    low, high = np.quantile(defined, [0.025, 0.975]) if defined.size else (math.nan, math.nan)
    return float(low), float(high)


def _worth(rho: float, alpha: float, delta: float, old: float) -> float:
    if math.isnan(rho):
        return old
    return alpha * rho if abs(rho) > delta else 0.0


def _advantages(
    rollouts: Sequence[Rollout], values: Mapping[str, float]
) -> tuple[dict[str, float], dict[str, int]]:
    """For each tier the mean advantage of its steps (NaN for none), and how many have none."""
    groups: dict[str, list[Rollout]] = {}
    for rollout in rollouts:
        groups.setdefault(rollout.group, []).append(rollout)
    found: dict[str, list[float]] = {tier: [] for tier in values}
    for group in groups.values():
        rewards = [[values[tier] for tier in rollout.tiers] for rollout in group]
        steps = gtpo(rewards, [rollout.outcome for rollout in group], gamma=0.9, lam=0.3)
        for rollout, advantages in zip(group, steps, strict=True):
            for tier, advantage in zip(rollout.tiers, advantages, strict=True):
                found[tier].append(advantage)
    dead = {tier: sum(abs(each) <= _ZERO for each in of_tier) for tier, of_tier in found.items()}
    return {tier: _mean(np.array(of_tier)) for tier, of_tier in found.items()}, dead


def _mean(values: NDArray[Any]) -> float:
    return float(values.mean()) if values.size else math.nan


def _sign(value: float) -> int:
    return 0 if math.isnan(value) or abs(value) <= _ZERO else (1 if value > 0 else -1)
