"""Stored files → trajectories, one at a time.

`read_trajectories` opens a file, tells the format of each record apart and yields frozen Trajectory objects.
What a format's roles, nulls, errors and step numbers mean is said in the module of that format. A reader says
what it cannot read (file, line, field) and never guesses what a missing value meant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from judge.config import explain
from judge.errors import InputError
from judge.readers import actions, frames, messages, native, openhands, sweagent, tau
from judge.readers.documents import name_of_run
from judge.readers.records import read_records
from judge.schema import Trajectory

__all__ = ["FORMATS", "read_trajectories", "trajectory_from"]

_FORMATS = {
    **{"native": native, "frames": frames, "actions": actions, "messages": messages},
    **{"tau": tau, "sweagent": sweagent, "openhands": openhands},
}
FORMATS = ("auto", *_FORMATS)
_MOST_TELLING = ("native", "frames", "tau", "sweagent", "openhands", "messages", "actions")
"""The order in which a record is tried: what has few fields of its own comes last."""

_OWN_LISTS = ("steps", "frames")
_SHOWN_FIELDS, _SHOWN_CHARS = 12, 40


def read_trajectories(
    path: str | Path,
    format: str = "auto",
    *,
    on_bad: Callable[[str], None] | None = None,
    on_format: Callable[[str, str], None] | None = None,
) -> Iterator[Trajectory]:
    """The trajectories of a file (JSONL, a JSON document, Parquet) or of `-`, standard input, in file order.

    `format` is one of FORMATS; "auto" tells the format of each record by its fields, and `on_format` is told
    of (path, format) for each one found. Screenshots given as a relative path are looked for beside the file.

    Without `on_bad` the first record that cannot be used raises InputError, whose message names file, line
    and field; with it, that message is handed over and reading goes on. A file that cannot be opened, or that
    is damaged, always raises.
    """
    _check(format)
    stem, folder = ("", Path()) if str(path) == "-" else (Path(path).stem, Path(path).parent)
    told = set() if format == "auto" and on_format else {*FORMATS}
    for where, record in read_records(path, on_bad):
        try:
            chosen = _detect(record, where) if format == "auto" else format
            run = _trajectory(record, chosen, where, stem)
        except InputError as error:
            if on_bad is None:
                raise
            on_bad(error.message)
            continue
        if chosen not in told and on_format is not None:
            told.add(chosen)
            on_format(str(path), chosen)
        yield run.beside(folder)


def trajectory_from(record: Mapping[str, Any], format: str = "auto", *, where: str = "sample") -> Trajectory:
    """One stored record as a Trajectory. Raises InputError that begins with `where` and names the field."""
    _check(format)
    if not isinstance(record, Mapping):
        raise InputError(f"{where}: must be an object (it is a {type(record).__name__})")
    return _trajectory(record, _detect(record, where) if format == "auto" else format, where, "")


def _check(format: str) -> None:
    if format not in FORMATS:
        raise InputError(f"unknown format {format!r}; there are {', '.join(FORMATS)}")


def _trajectory(record: Mapping[str, Any], format: str, where: str, stem: str) -> Trajectory:
    try:
        return Trajectory.model_validate(_FORMATS[format].fields(record, stem))
    except ValidationError as error:
        raise InputError(f"{where}: {explain(error)}") from None
    except InputError as error:
        raise InputError(f"{where}: {error.message}") from None
    except RecursionError:
        raise InputError(f"{where}: nested too deeply") from None


def _detect(record: Mapping[str, Any], where: str) -> str:
    # A table gives every row all columns: what is null is not there, unless nothing else tells the format.
    present = {name: value for name, value in record.items() if value is not None}
    # Nor does an empty list say that the agent did nothing, where its messages or frames say what it did.
    filled = {
        name: value for name, value in present.items() if name not in _OWN_LISTS or not _is_empty(value)
    }
    for seen in (filled, present, record):
        for name in _MOST_TELLING:
            if _FORMATS[name].matches(seen):
                return name
    raise InputError(f"{where}: unknown format: it has {_keys(record)}{_hint(record)}")


def _is_empty(value: Any) -> bool:
    return isinstance(value, list | tuple) and not value


def _keys(record: Mapping[str, Any]) -> str:
    names = sorted(str(name)[:_SHOWN_CHARS] for name in record)
    more = f" and {len(names) - _SHOWN_FIELDS} more" if len(names) > _SHOWN_FIELDS else ""
    return ", ".join(names[:_SHOWN_FIELDS]) + more or "no fields at all"


def _hint(record: Mapping[str, Any]) -> str:
    """The way out: neither what wraps trajectories is one, nor a single message or event."""
    if name := name_of_run(record):
        return f"; it is one of many that make a run: store the list of them as {name}"
    for name, value in record.items():
        first = value[0] if isinstance(value, list) and value else None
        if isinstance(first, Mapping) and any(each.matches(first) for each in _FORMATS.values()):
            return f"; {str(name)[:_SHOWN_CHARS]} holds trajectories: store that list by itself"
    return "; a native trajectory has instruction and steps"
