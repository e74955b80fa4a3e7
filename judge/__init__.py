"""adaptive-judge: the trajectories of AI agents, judged by what success means for each task, as rewards."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from judge.config import Config
    from judge.errors import JudgeError
    from judge.judging import Judge
    from judge.log import read_log
    from judge.readers import read_trajectories
    from judge.rewarding import areward_fn, reward_fn
    from judge.schema import Outcome, Reward, Rubric, Step, StepVerdict, Trajectory, TrajectoryVerdict
    from judge.verdict import parse_steps, parse_verdict

__all__ = [
    "Config",
    "Judge",
    "JudgeError",
    "Outcome",
    "Reward",
    "Rubric",
    "Step",
    "StepVerdict",
    "Trajectory",
    "TrajectoryVerdict",
    "areward_fn",
    "parse_steps",
    "parse_verdict",
    "read_log",
    "read_trajectories",
    "reward_fn",
]

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


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'judge' has no attribute {name!r}")
    return getattr(import_module(f"judge.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
