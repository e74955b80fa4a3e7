"""The native format: one Trajectory a line, with the fields of judge.schema.Trajectory.

Unknown fields go to `metadata`. `context` and `group` are taken from `metadata.policy`,
`metadata.initial_observation` and `metadata.group` where the record has none of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from judge.errors import InputError
from judge.readers.checked import object_or_none

_OTHERS = {"frames", "actions", "messages", "prompt", "traj", "trajectory", "history"}
_CONTEXT = {"policy": "policy", "initial_observation": "first_observation"}


def matches(record: Mapping[str, Any]) -> bool:
    """Whether it has steps; null ones, as every row of a table may have, only where nothing else is there."""
    return record.get("steps") is not None or ("steps" in record and not _OTHERS & record.keys())


def fields(record: Mapping[str, Any], stem: str = "") -> dict[str, Any]:
    """The record as keyword arguments of Trajectory."""
    if record.get("steps") is None:
        state = "is null" if "steps" in record else "missing"
        raise InputError(f"steps: {state}; a run in which the agent did nothing has an empty list")
    metadata = object_or_none(record.get("metadata"), "metadata")
    found = dict(record)
    if metadata:
        if record.get("context") is None:
            found["context"] = {name: metadata[key] for key, name in _CONTEXT.items() if metadata.get(key)}
        if record.get("group") is None:
            found["group"] = metadata.get("group")
    return found
