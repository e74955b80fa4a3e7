"""What stands in for the rewards of failed judgements where a trainer must have a number for each rollout.

The number is no verdict: it is chosen so that the failed rollout neither gains nor loses by it.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Sequence

__all__ = ["group_mean"]


def group_mean(
    rewards: Sequence[float | None], groups: Sequence[Hashable], otherwise: float | None = None
) -> list[float]:
    """`rewards` in their order, a missing one replaced by the mean of those of its group that are there.

    `groups` says for each reward which rollouts it is compared with. Against the mean of its group a filled
    reward is 0, alone or added to other rewards. In a group without any reward all get one value, so that
    none is preferred: `otherwise`, else the mean of all the rewards, which widens their spread the least, or
    0.0 if there are none. Filled rewards narrow the spread of a group of G with g present ones: divided by
    the sample std, the others' advantages are sqrt((G - 1) / (g - 1)) times what they would be without the
    failed ones.
    """
    known: defaultdict[Hashable, list[float]] = defaultdict(list)
    for reward, group in zip(rewards, groups, strict=True):
        if reward is not None:
            known[group].append(reward)
    means = {group: _mean(found) for group, found in known.items()}
    if otherwise is None:
        otherwise = _mean([reward for reward in rewards if reward is not None] or [0.0])
    return [
        means.get(group, otherwise) if reward is None else reward
        for reward, group in zip(rewards, groups, strict=True)
    ]


def _mean(values: Sequence[float]) -> float:
    # A mean may round past the extremes; equal rewards would then differ from their own mean.
    return min(max(math.fsum(values) / len(values), min(values)), max(values))
