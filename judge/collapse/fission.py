"""The reward of a recovery rollout, which starts from a failed run; its group is normalised on its own."""

from __future__ import annotations

from judge.collapse.collapsed import Collapsed, check_share


def fission_reward(t: float, *, fmt: float, is_count_right: bool, f1: float, length: float) -> Collapsed:
    """(w_fmt fmt + w_corr corr + length) / 3, in [0, 2]; the weights move from format to correctness.

    `t` is the share of training done; w_fmt = 3 - t and w_corr = 2 + t. corr = 0.5 [the number of calls is
    right] + 0.5 `f1`. `t`, `fmt`, `f1` and `length` are in [0, 1], `length` being the reward for it.

    Raises ValueError for one outside [0, 1].

    Source: fission of failed trajectories into recovery rollouts; advantages are `grpo` of that group alone.
    """
    for name, value in (("t", t), ("fmt", fmt), ("f1", f1), ("length", length)):
        check_share(name, value)
    correct = 0.5 * is_count_right + 0.5 * f1
    parts = {"format": (3 - t) * fmt / 3, "correctness": (2 + t) * correct / 3, "length": length / 3}
    return Collapsed(sum(parts.values()), parts)
