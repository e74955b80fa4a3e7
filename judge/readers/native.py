"""The native format: one Trajectory a line, with the fields of judge.schema.Trajectory.

Unknown fields go to `metadata`. `context` and `group` are taken from `metadata.policy`,
`metadata.initial_observation` and `metadata.group` where the record has none of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from judge.errors import InputError

_CONTEXT = {"policy": "policy", "initial_observation": "first_observation"}


def matches(record: Mapping[str, Any]) -> bool:
    return "steps" in record


def fields(record: Mapping[str, Any]) -> dict[str, Any]:
    """The record as keyword arguments of Trajectory."""
    if record.get("steps") is None:
        state = "is null" if "steps" in record else "missing"
        raise InputError(f"steps: {state}; a run in which the agent did nothing has an empty list")
    metadata = record.get("metadata")
    if metadata is not None and not isinstance(metadata, Mapping):
        raise InputError(f"metadata: must be an object (it is a {type(metadata).__name__})")
    found = dict(record)
    if metadata:
        if record.get("context") is None:
            found["context"] = {name: metadata[key] for key, name in _CONTEXT.items() if metadata.get(key)}
        if record.get("group") is None:
            found["group"] = metadata.get("group")
    return found
