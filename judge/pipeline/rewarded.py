"""Verdicts and outcome → Reward, by the configured scheme; and the rewards of runs that need no call."""

from __future__ import annotations

from judge import collapse
from judge.config import RewardSection
from judge.errors import InputError, JudgeError
from judge.schema import Reward, StepVerdict, Trajectory, TrajectoryVerdict

DID_NOTHING = TrajectoryVerdict(
    reason="The agent did nothing: no step holds an action, a text or a tool call.",
    success=False,
    score=0.0,
    flags=("empty_trajectory",),
)


def reward_of(
    run: Trajectory, judged: TrajectoryVerdict, steps: list[StepVerdict], settings: RewardSection
) -> Reward:
    """The reward of a judged run. Raises InputError where the scheme needs an outcome the run lacks."""
    flags = judged.flags
    if settings.scheme == "success":
        collapsed = collapse.success(judged)
    elif settings.scheme == "score":
        collapsed = collapse.score(judged)
    else:
        outcome, source = _outcome(run, judged, settings)
        flags = (*flags, f"outcome_from_{source}")
        if settings.scheme == "tarl":
            collapsed = collapse.tarl(outcome, [step.label for step in steps], **settings.tarl.model_dump())
        else:
            collapsed = collapse.gvpo_process(outcome, steps, **settings.gvpo.model_dump())
    return Reward(
        value=collapsed.value, parts=collapsed.parts, verdict=judged, steps=tuple(steps), flags=flags
    )


def verifier_reward(run: Trajectory) -> Reward:
    """The environment's own reward, for runs that are marked as needing no judge."""
    if run.outcome.known is None:
        raise InputError("verifier_only is set, and the trajectory has no sound outcome.reward")
    return Reward(value=run.outcome.known, parts={"verifier": run.outcome.known}, flags=("verifier_only",))


def failed(error: JudgeError) -> Reward:
    """No reward, and why."""
    return Reward(value=None, error_kind=error.kind, error=error.message)


def _outcome(run: Trajectory, judged: TrajectoryVerdict, settings: RewardSection) -> tuple[float, str]:
    """R in [0, 1] and where it comes from: the verifier where it is sound, else the judge's success."""
    known = run.outcome.known
    if settings.outcome_from != "judge" and known is not None:
        if not 0.0 <= known <= 1.0:
            raise InputError(f"outcome.reward is {known:g}; scheme {settings.scheme} needs it in [0, 1]")
        return known, "verifier"
    if settings.outcome_from == "verifier":
        raise InputError("reward.outcome_from is verifier, and the trajectory has no sound outcome.reward")
    return float(judged.success), "judge"
