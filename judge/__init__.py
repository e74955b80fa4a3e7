"""adaptive-judge: the trajectories of AI agents, judged by what success means for each task, as rewards."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from judge.config import Config as Config
    from judge.errors import JudgeError as JudgeError
    from judge.judging import Judge as Judge
    from judge.log import read_log as read_log
    from judge.readers import read_trajectories as read_trajectories
    from judge.rewarding import areward_fn as areward_fn
    from judge.rewarding import reward_fn as reward_fn
    from judge.schema import (
        Outcome as Outcome,
    )
    from judge.schema import (
        Reward as Reward,
    )
    from judge.schema import (
        Rubric as Rubric,
    )
    from judge.schema import (
        Step as Step,
    )
    from judge.schema import (
        StepVerdict as StepVerdict,
    )
    from judge.schema import (
        Trajectory as Trajectory,
    )
    from judge.schema import (
        TrajectoryVerdict as TrajectoryVerdict,
    )
    from judge.verdict import parse_steps as parse_steps
    from judge.verdict import parse_verdict as parse_verdict

# Resolved on first use, so that `import judge` costs a trainer next to nothing.
_HOMES = {
    "Config": "config",
    "Judge": "judging",
    "JudgeError": "errors",
    "Outcome": "schema",
    "Reward": "schema",
    "Rubric": "schema",
    "Step": "schema",
    "StepVerdict": "schema",
    "Trajectory": "schema",
    "TrajectoryVerdict": "schema",
    "areward_fn": "rewarding",
    "parse_steps": "verdict",
    "parse_verdict": "verdict",
    "read_log": "log",
    "read_trajectories": "readers",
    "reward_fn": "rewarding",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'judge' has no attribute {name!r}")
    return getattr(import_module(f"judge.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
