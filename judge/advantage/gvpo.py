"""GVPO advantage shaping: a step that failed never gains from its rollout's success. No judge is needed.

Not covered: what makes a step fail, which the environment knows.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from judge.advantage.group import Rewards, dr_grpo, grpo, numbers

FailedFrom = Literal["execution", "judge"]
Shaping = Literal["scale", "additive"]


def gvpo(
    rewards: Rewards,
    failed: Iterable[Iterable[int | None]],
    *,
    b: float = 0.2,
    std: bool = False,
    shaping: Shaping = "scale",
    failed_from: FailedFrom = "execution",
) -> list[list[float]]:
    """One list per rollout with one advantage per step, from a group's rewards and its steps' failures.

    `failed` holds one sequence per rollout, of any length, with one value per step, read by `failed_from`:

    - execution: true where the execution reported an error or the action could not be parsed; an execution
      that was lost or late is no failure. This is the paper's reading.
    - judge: the step judge's label, -1 is a failure. This is an extension of this project, not the paper's.

    The rollout's own advantage A is `dr_grpo`'s. A step that succeeded gets A; one that failed gets 0 where
    A > 0, -b where A = 0 and (1 + b) A where A < 0. The paper's ablations: `std` takes A from `grpo` instead
    (a group of one then has A = 0), `shaping="additive"` gives A - b where A < 0. All steps of a rollout
    whose reward is missing get 0.0, whatever `failed` says of them. For tokens see `over_tokens`.

    Raises ValueError where the numbers of rewards and of rollouts differ, for a step value (of a rollout
    with a reward) that `failed_from` does not know, a `b` that is negative or not finite, an unknown option,
    or an infinite reward.

    Source: GVPO, advantage shaping by execution feedback.
    """
    values, steps = numbers(rewards), [list(each) for each in failed]
    if len(values) != len(steps):
        raise ValueError(f"there are {len(values)} rewards and {len(steps)} rollouts in failed")
    penalised, has_failed = _penalty(b, shaping), _failure(failed_from)
    advantages = grpo(values) if std else dr_grpo(values)
    return [
        [0.0 if value is None else penalised(advantage) if has_failed(step) else advantage for step in each]
        for value, advantage, each in zip(values, advantages, steps, strict=True)
    ]


def over_tokens(
    advantages: Iterable[float], spans: Iterable[Sequence[int]], length: int
) -> tuple[list[float], list[bool]]:
    """A rollout's step advantages on its `length` tokens, and the mask of the tokens that the policy wrote.

    `spans` holds for each step the half-open range (start, end) of its action's tokens, in time order and
    without overlap. Tokens between them are observations, or the prompt: 0.0, and False in the mask.

    Raises ValueError where steps and spans differ in number, or a span overlaps or leaves 0 ... length, and
    TypeError for a bound that is no whole number.
    """
    each, ranges = list(advantages), [(operator.index(start), operator.index(end)) for start, end in spans]
    if len(each) != len(ranges):
        raise ValueError(f"there are {len(each)} step advantages and {len(ranges)} spans")
    values, mask, reached = [0.0] * length, [False] * length, 0
    for advantage, (start, end) in zip(each, ranges, strict=True):
        if not reached <= start <= end <= length:
            raise ValueError(f"span ({start}, {end}) does not lie in order within {reached} ... {length}")
        values[start:end] = [float(advantage)] * (end - start)
        mask[start:end] = [True] * (end - start)
        reached = end
    return values, mask


def _penalty(b: float, shaping: Shaping) -> Callable[[float], float]:
    """A → the advantage of a failed step."""
    if not 0 <= b < math.inf:
        raise ValueError(f"b is {b}; it must be finite, and a failed step must not gain by it")
    if shaping not in ("scale", "additive"):
        raise ValueError(f"unknown shaping {shaping!r}; there are scale, additive")

    def penalised(advantage: float) -> float:
        if advantage > 0:
            return 0.0
        if advantage == 0 or shaping == "additive":
            return advantage - b
        return (1 + b) * advantage

    return penalised


def _failure(failed_from: FailedFrom) -> Callable[[int | None], bool]:
    """A step's value → whether the step failed."""
    # A label of +1 is truthy, so labels taken for executions would punish the good steps.
    known: dict[str, tuple[int, ...]] = {"execution": (0, 1), "judge": (-1, 0, 1)}
    if failed_from not in known:
        raise ValueError(f"unknown failed_from {failed_from!r}; there are {', '.join(known)}")

    def has_failed(step: int | None) -> bool:
        if step not in known[failed_from]:
            raise ValueError(f"a step is {step!r}; failed_from={failed_from!r} knows {known[failed_from]}")
        return step == (1 if failed_from == "execution" else -1)

    return has_failed
