"""GTPO: discounted step rewards normalised over the group, joined to the outcome's advantage.

Not covered: where the rewards of steps come from (labels, or tiers calibrated in `analysis`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import chain, islice, zip_longest
from typing import Literal

from judge.advantage.group import Rewards, numbers, present, standardised

Returns = Sequence[Sequence[float | None]]


def gtpo(
    step_rewards: Iterable[Rewards],
    outcomes: Rewards,
    *,
    gamma: float = 0.9,
    lam: float = 0.3,
    normalise: Literal["position", "pooled"] = "position",
    ddof: int = 1,
) -> list[list[float]]:
    """One list per rollout with one advantage per step k = 0 ... K-1; rollouts may differ in K.

    A[i,k] = GN(sum over l >= k of gamma^(l-k) r[i,l], plus gamma^(K-k) o[i]) + lam A_O[i], where A_O is
    `grpo` of the outcomes and GN normalises as `grpo` does: by `position` over the rollouts that reach step
    k (a step that one rollout alone reaches gets 0), or `pooled` over all steps of the group.

    A rollout whose outcome or any step reward is missing is left out of every mean and std and gets zeros: a
    step that was not judged fails the judgement of its run.

    Raises ValueError where the numbers of rollouts and outcomes differ, for `gamma` outside [0, 1], a `lam`
    that is not finite, an unknown `normalise`, a `ddof` other than 0 or 1, or an infinite reward.

    Source: MT-GRPO and GTPO, in their hybrid form.
    """
    rewards, known = [numbers(each) for each in step_rewards], numbers(outcomes)
    if len(rewards) != len(known):
        raise ValueError(f"there are {len(rewards)} rollouts of step rewards and {len(known)} outcomes")
    if not 0.0 <= gamma <= 1.0:
        raise ValueError(f"gamma is {gamma}; it must lie in [0, 1]")
    if not math.isfinite(lam):
        raise ValueError(f"lam is {lam}; it must be finite")
    if normalise not in ("position", "pooled"):
        raise ValueError(f"unknown normalise {normalise!r}; there are position, pooled")
    judged = [None if None in steps else outcome for steps, outcome in zip(rewards, known, strict=True)]
    returns = [_discounted(steps, outcome, gamma) for steps, outcome in zip(rewards, judged, strict=True)]
    normalised = _by_position(returns, ddof) if normalise == "position" else _pooled(returns, ddof)
    return [
        [0.0 if outcome is None else step + lam * whole for step in steps]
        for steps, outcome, whole in zip(normalised, judged, standardised(judged, ddof), strict=True)
    ]


def _discounted(steps: Sequence[float | None], outcome: float | None, gamma: float) -> list[float | None]:
    """The return at each step; None throughout for a rollout without an outcome."""
    if outcome is None:
        return [None] * len(steps)
    found: list[float | None] = []
    ahead = outcome
    for step in reversed(present(steps)):
        ahead = step + gamma * ahead
        found.append(ahead)
    return found[::-1]


def _by_position(returns: Returns, ddof: int) -> list[list[float]]:
    columns = [standardised(column, ddof) for column in zip_longest(*returns)]
    return [[columns[k][i] for k in range(len(steps))] for i, steps in enumerate(returns)]


def _pooled(returns: Returns, ddof: int) -> list[list[float]]:
    values = iter(standardised(list(chain.from_iterable(returns)), ddof))
    return [list(islice(values, len(steps))) for steps in returns]
