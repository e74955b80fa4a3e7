"""The `frames` sample: what a trainer has at hand at the end of a GUI rollout.

    {"instruction", "frames": [{"action", "text", "state", "screenshot"?, ...}], "task_id", "step"}

Each frame is one step; `step` is the training step. Frames may carry any other field of a Step, and the
sample any other field of a Trajectory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from judge.errors import InputError
from judge.readers import native


def matches(record: Mapping[str, Any]) -> bool:
    return "frames" in record and "steps" not in record


def fields(record: Mapping[str, Any]) -> dict[str, Any]:
    """The sample as keyword arguments of Trajectory. Raises InputError where a frame is no object."""
    frames = record.get("frames")
    if not isinstance(frames, Sequence) or isinstance(frames, str | bytes):
        raise InputError(f"frames: must be a list (it is a {type(frames).__name__})")
    for position, frame in enumerate(frames):
        if not isinstance(frame, Mapping):
            raise InputError(f"frames.{position}: must be an object (it is a {type(frame).__name__})")
    renamed = {key: value for key, value in record.items() if key != "frames"}
    return native.fields({**renamed, "steps": frames})
