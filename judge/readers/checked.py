"""Fields of a record in the shape they must have, or an InputError that names the field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from judge.errors import InputError

__all__ = ["object_or_none", "objects"]


def objects(value: Any, field: str) -> Sequence[Mapping[str, Any]]:
    """`value` as the list of objects it must be."""
    if not isinstance(value, Sequence) or isinstance(value, str | bytes | bytearray):
        raise InputError(f"{field}: must be a list (it is a {type(value).__name__})")
    for position, each in enumerate(value):
        if not isinstance(each, Mapping):
            raise InputError(f"{field}.{position}: must be an object (it is a {type(each).__name__})")
    return value


def object_or_none(value: Any, field: str) -> Mapping[str, Any] | None:
    """`value` as the object it must be where it is there at all."""
    if value is not None and not isinstance(value, Mapping):
        raise InputError(f"{field}: must be an object (it is a {type(value).__name__})")
    return value
