"""The native format: one Trajectory a line, with the fields of judge.schema.Trajectory.

Unknown fields go to `metadata`. `context` is taken from `metadata.policy` and `metadata.initial_observation`
where it is null or absent, `group` from `metadata.group` where it is absent: a null group says that there is
none. A run without steps is an infra_error where the record, its metadata or info holds a traceback, error or
exception and its outcome states no status.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from judge.errors import InputError
from judge.readers.checked import object_or_none

_LISTS = {"steps", "frames", "actions", "messages", "prompt", "traj", "trajectory", "history"}
_TRACES = ("traceback", "error", "exception")
_CONTEXT = {"policy": "policy", "initial_observation": "first_observation"}


def matches(record: Mapping[str, Any]) -> bool:
    return has_list("steps", record)


def has_list(field: str, record: Mapping[str, Any]) -> bool:
    """Whether a record's run is what `field` holds.

    Anything but a list, such as null or a count of steps, is a fault where no other format's field is there.
    """
    value = record.get(field)
    is_list = isinstance(value, Sequence) and not isinstance(value, str | bytes)
    return is_list or (field in record and (_LISTS - {field}).isdisjoint(record))


def is_traced(record: Mapping[str, Any]) -> bool:
    """Whether it tells of an error that belongs to no step."""
    holders = (record, record.get("metadata"), record.get("info"))
    return any(each.get(name) for each in holders if isinstance(each, Mapping) for name in _TRACES)


def fields(record: Mapping[str, Any], stem: str = "") -> dict[str, Any]:
    """The record as keyword arguments of Trajectory."""
    if record.get("steps") is None:
        state = "is null" if "steps" in record else "missing"
        raise InputError(f"steps: {state}; a run in which the agent did nothing has an empty list")
    metadata = object_or_none(record.get("metadata"), "metadata")
    found = dict(record)
    outcome = record.get("outcome") or {}
    if not record["steps"] and is_traced(record) and isinstance(outcome, Mapping):
        found["outcome"] = {"status": "infra_error", **{k: v for k, v in outcome.items() if v is not None}}
    if metadata:
        if record.get("context") is None:
            found["context"] = {name: metadata[key] for key, name in _CONTEXT.items() if metadata.get(key)}
        found.setdefault("group", metadata.get("group"))
    return found
