"""A group's judged rollouts → one advantage for each step, and for each token that the policy wrote.

For training loops of your own: the trainers of the other modules here take one number per rollout. A group
is the rollouts of one task; `rewards` and `runs` are parallel. The formulas are judge.advantage's.

A rollout whose judgement failed is left out of every mean, has advantage 0 throughout, and no token in its
mask: it neither gains, nor loses, nor counts in a mean over tokens.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from judge.advantage import gtpo, gvpo, over_tokens
from judge.schema import Reward, Trajectory

__all__ = ["TokenAdvantages", "gtpo_steps", "gvpo_steps", "on_tokens"]

Spans = Sequence[Sequence[int]]

_LABEL_VALUES = {-1: -1.0, 0: 0.0, 1: 1.0}


class TokenAdvantages(NamedTuple):
    """One rollout's tokens: an advantage each, and whether it counts. Both have the rollout's length."""

    values: list[float]
    mask: list[bool]


def gvpo_steps(
    rewards: Sequence[Reward],
    runs: Sequence[Trajectory],
    *,
    failed_from: Literal["execution", "judge"] = "execution",
    **options: Any,
) -> list[list[float]]:
    """GVPO: one list per rollout with an advantage for each of its steps.

    A step failed where the run says that its execution did (`Step.error`: the paper's reading), or, with
    failed_from="judge", where the judge labelled it -1 (this project's; needs steps.mode whole). `options`
    are those of judge.advantage.gvpo: b, std, shaping.

    Raises ValueError where rewards and runs differ in number, or a judged run has an unlabelled step.
    """
    _check(rewards, runs)
    if failed_from == "judge":
        failed = [_labels(reward, run) for reward, run in zip(rewards, runs, strict=True)]
    else:
        failed = [[int(bool(step.error)) for step in run.steps] for run in runs]
    return gvpo([reward.value for reward in rewards], failed, failed_from=failed_from, **options)


def gtpo_steps(
    rewards: Sequence[Reward],
    runs: Sequence[Trajectory],
    *,
    values: Mapping[int, float] = _LABEL_VALUES,
    **options: Any,
) -> list[list[float]]:
    """GTPO: one list per rollout with an advantage for each of its steps (steps.mode whole).

    A step's reward is `values` of the judge's label -1, 0 or 1; a rollout's outcome is the verifier's where
    the run has a sound one, else the judge's success. `options` are those of judge.advantage.gtpo: gamma,
    lam, normalise, ddof.

    Raises ValueError where rewards and runs differ in number, or a judged run has an unlabelled step.
    """
    _check(rewards, runs)
    judged = list(zip(rewards, runs, strict=True))
    worth = [[values[label] for label in _labels(reward, run)] for reward, run in judged]
    return gtpo(worth, [_outcome(reward, run) for reward, run in judged], **options)


def on_tokens(
    rewards: Sequence[Reward],
    advantages: Sequence[Sequence[float]],
    spans: Sequence[Spans],
    lengths: Sequence[int],
) -> list[TokenAdvantages]:
    """The step advantages of a group on the tokens of its rollouts.

    `spans` holds for each rollout the half-open (start, end) of each step's tokens, those that the policy
    wrote, within its `lengths` tokens; what lies between is observation or prompt, and masked out.

    Raises ValueError where the parts differ in number, or a span overlaps or leaves its rollout.
    """
    if not len(rewards) == len(advantages) == len(spans) == len(lengths):
        numbers = f"{len(rewards)} rewards, {len(advantages)} lists of advantages, {len(spans)} of spans"
        raise ValueError(f"there are {numbers} and {len(lengths)} lengths")
    found = []
    for reward, each, where, length in zip(rewards, advantages, spans, lengths, strict=True):
        laid, mask = over_tokens(each, where, length)
        is_judged = reward.value is not None
        found.append(TokenAdvantages(laid, mask if is_judged else [False] * length))
    return found


def _check(rewards: Sequence[Reward], runs: Sequence[Trajectory]) -> None:
    if len(rewards) != len(runs):
        raise ValueError(f"there are {len(rewards)} rewards and {len(runs)} runs")


def _labels(reward: Reward, run: Trajectory) -> list[int]:
    """The judge's label of every step; zeros for a run whose judgement failed, or that did nothing at all."""
    if reward.value is None or run.is_empty:
        return [0] * len(run.steps)
    labels = {step.step: step.label for step in reward.steps if step.label is not None}
    labels |= {step.index: 0 for step in run.steps if step.is_view}
    missing = [step.index for step in run.steps if step.index not in labels]
    if missing:
        raise ValueError(
            f"run {run.trajectory_id!r} has no label on step {missing[0]}: judge with steps.mode whole"
        )
    return [int(labels[step.index]) for step in run.steps]


def _outcome(reward: Reward, run: Trajectory) -> float | None:
    if reward.value is None:
        return None
    if run.outcome.known is not None or reward.verdict is None:
        return run.outcome.known
    return float(reward.verdict.success)
