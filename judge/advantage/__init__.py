"""The rewards of a group become advantages. Pure arithmetic, no model behind it.

A group is the rollouts of one task. Rewards come as a list, a NumPy array or any other iterable of numbers;
what goes back are plain lists. A reward that is missing (None or NaN: the judgement failed) is left out of
mean and std and is never taken for 0; its own advantage is 0.0, and `valid` is the mask that tells it from a
real 0. Differences of 1e-9 and less are rounding noise and count as zero.

Fission groups: the recovery rollouts of a failed run are a group of their own. Call `grpo` on them alone,
never together with the failures that they start from (their reward: judge.collapse.fission_reward).

Not covered: which rollouts form a group, and losses.
"""

from __future__ import annotations

from judge.advantage.group import dr_grpo, grpo, valid
from judge.advantage.gtpo import gtpo
from judge.advantage.gvpo import gvpo, over_tokens

__all__ = ["dr_grpo", "grpo", "gtpo", "gvpo", "over_tokens", "valid"]
