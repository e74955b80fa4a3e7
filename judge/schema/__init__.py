"""The types that pass between the stages: what is judged, what is asked, what is answered.

Stored and public types are frozen pydantic models; what only travels between stages is a frozen dataclass.
One number names a step everywhere, its 0-based `index`; ids are strings and stay strings.
"""

from judge.schema.deadline import Deadline
from judge.schema.exchange import Call, Content, Frame, Purpose, Reply, Request, Usage
from judge.schema.picture import Picture
from judge.schema.trajectory import Outcome, Step, ToolCall, Trajectory, as_text, clean_text
from judge.schema.verdict import (
    Criterion,
    Evidence,
    ItemKind,
    Reward,
    Rubric,
    RubricItem,
    StepVerdict,
    TrajectoryVerdict,
)

__all__ = [
    "Call",
    "Content",
    "Criterion",
    "Deadline",
    "Evidence",
    "Frame",
    "ItemKind",
    "Outcome",
    "Picture",
    "Purpose",
    "Reply",
    "Request",
    "Reward",
    "Rubric",
    "RubricItem",
    "Step",
    "StepVerdict",
    "ToolCall",
    "Trajectory",
    "TrajectoryVerdict",
    "Usage",
    "as_text",
    "clean_text",
]
