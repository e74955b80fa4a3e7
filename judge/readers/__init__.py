"""Stored files → trajectories, one at a time.

`read_trajectories` opens a file, tells its format apart and yields frozen Trajectory objects. A reader says
what it cannot read (file, line, field) and never guesses what a missing value meant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from judge.config import explain
from judge.errors import InputError
from judge.readers import frames, native
from judge.readers.lines import read_objects
from judge.schema import Trajectory

__all__ = ["FORMATS", "read_trajectories", "trajectory_from"]

_FORMATS = {"native": native, "frames": frames}
FORMATS = ("auto", *_FORMATS)


def read_trajectories(
    path: str | Path, format: str = "auto", *, on_bad: Callable[[str], None] | None = None
) -> Iterator[Trajectory]:
    """The trajectories of a JSONL file (or `-`, standard input), in file order.

    `format` is one of FORMATS; "auto" tells the format of each record by its fields. Without `on_bad` the
    first record that cannot be used raises InputError, whose message names file, line and field; with it,
    that message is handed over and reading goes on. A file that cannot be opened always raises.
    """
    if format not in FORMATS:
        raise InputError(f"unknown format {format!r}; there are {', '.join(FORMATS)}")
    for where, record in read_objects(path, on_bad):
        try:
            yield trajectory_from(record, format, where=where)
        except InputError as error:
            if on_bad is None:
                raise
            on_bad(error.message)


def trajectory_from(record: Mapping[str, Any], format: str = "auto", *, where: str = "sample") -> Trajectory:
    """One stored record as a Trajectory. Raises InputError that begins with `where` and names the field."""
    if not isinstance(record, Mapping):
        raise InputError(f"{where}: must be an object (it is a {type(record).__name__})")
    chosen = _detect(record, where) if format == "auto" else _FORMATS[format]
    try:
        return Trajectory(**chosen.fields(record))
    except ValidationError as error:
        raise InputError(f"{where}: {explain(error)}") from None
    except InputError as error:
        raise InputError(f"{where}: {error.message}") from None


def _detect(record: Mapping[str, Any], where: str) -> Any:
    for module in _FORMATS.values():
        if module.matches(record):
            return module
    keys = ", ".join(sorted(map(str, record))[:12]) or "no fields at all"
    raise InputError(f"{where}: unknown format: it has {keys}; a native trajectory has instruction and steps")
