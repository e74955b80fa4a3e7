"""The `frames` sample: what a trainer has at hand at the end of a GUI rollout.

    {"instruction", "frames": [{"action", "text", "state", "screenshot"?, ...}], "task_id", "step"}

Each frame is one step; `step` is the training step. Frames may carry any other field of a Step, and the
sample any other field of a Trajectory.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from judge.readers import native
from judge.readers.checked import objects


def matches(record: Mapping[str, Any]) -> bool:
    return native.has_list("frames", record)


def fields(record: Mapping[str, Any], stem: str = "") -> dict[str, Any]:
    """The sample as keyword arguments of Trajectory. Raises InputError where a frame is no object."""
    renamed = {key: value for key, value in record.items() if key != "frames"}
    return native.fields({**renamed, "steps": objects(record.get("frames"), "frames")})
