"""Verdicts and outcome → Reward, by the configured scheme; and the rewards of runs that need no call.

Whether the verdicts were just given or stand in a log makes no difference: `judge recollapse` comes here too.
"""

from __future__ import annotations

from collections.abc import Sequence

from judge import collapse
from judge.collapse import Collapsed
from judge.config import RewardSection
from judge.errors import InputError, JudgeError
from judge.schema import Outcome, Reward, StepVerdict, TrajectoryVerdict

DID_NOTHING = TrajectoryVerdict(
    reason="The agent did nothing: no step holds an action, a text or a tool call.",
    success=False,
    score=0.0,
    flags=("empty_trajectory",),
)


def reward_of(
    outcome: Outcome, judged: TrajectoryVerdict, steps: Sequence[StepVerdict], settings: RewardSection
) -> Reward:
    """The reward of a judged run with the stored `outcome`; its flags say where R came from, if R was needed.

    Raises InputError where the scheme needs an outcome the run lacks.
    """
    flags = judged.flags
    if settings.scheme == "success":
        collapsed = collapse.success(judged)
    elif settings.scheme == "score":
        collapsed = collapse.score(judged)
    else:
        known, source = _known(outcome, judged, settings)
        flags = (*flags, f"outcome_from_{source}")
        if settings.scheme == "weighted":
            collapsed = _blended(known, judged, steps, settings)
        elif settings.scheme == "tarl":
            collapsed = _tarl(known, steps, settings)
        else:
            collapsed = _gvpo_process(known, steps, settings)
    return Reward(
        value=collapsed.value, parts=collapsed.parts, verdict=judged, steps=tuple(steps), flags=flags
    )


def verifier_reward(outcome: Outcome) -> Reward:
    """The environment's own reward, for runs that are marked as needing no judge."""
    if outcome.known is None:
        raise InputError("verifier_only is set, and the trajectory has no sound outcome.reward")
    return Reward(value=outcome.known, parts={"verifier": outcome.known}, flags=("verifier_only",))


def failed(error: JudgeError) -> Reward:
    """No reward, and why."""
    return Reward(value=None, error_kind=error.kind, error=error.message)


def _known(outcome: Outcome, judged: TrajectoryVerdict, settings: RewardSection) -> tuple[float, str]:
    """R in [0, 1] and where it comes from: the verifier where it is sound, else the judge's success."""
    known = outcome.known
    if settings.outcome_from != "judge" and known is not None:
        if not 0.0 <= known <= 1.0:
            raise InputError(f"outcome.reward is {known:g}; scheme {settings.scheme} needs it in [0, 1]")
        return known, "verifier"
    if settings.outcome_from == "verifier":
        raise InputError("reward.outcome_from is verifier, and the trajectory has no sound outcome.reward")
    return float(judged.success), "judge"


def _tarl(outcome: float, steps: Sequence[StepVerdict], settings: RewardSection) -> Collapsed:
    return collapse.tarl(outcome, [step.label for step in steps], **settings.tarl.model_dump())


def _gvpo_process(outcome: float, steps: Sequence[StepVerdict], settings: RewardSection) -> Collapsed:
    return collapse.gvpo_process(outcome, steps, **settings.gvpo.model_dump())


def _blended(
    outcome: float, judged: TrajectoryVerdict, steps: Sequence[StepVerdict], settings: RewardSection
) -> Collapsed:
    """The weighted mean of the parts that have a weight; whoever weighs tarl must have had steps judged."""
    parts = {"outcome": outcome, "success": float(judged.success), "score": judged.score}
    try:
        if "tarl" in settings.weights:
            parts["tarl"] = _tarl(outcome, steps, settings).value
        if "gvpo_process" in settings.weights:
            parts["gvpo_process"] = _gvpo_process(outcome, steps, settings).value
        return collapse.weighted(parts, {str(name): weight for name, weight in settings.weights.items()})
    except ValueError as error:
        raise InputError(f"reward.weights: {error}") from None
