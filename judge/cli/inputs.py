"""Stored trajectories and reward logs as commands are given them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from judge.errors import InputError
from judge.log import read_log
from judge.readers import trajectory_from
from judge.readers.records import read_records

__all__ = ["check_logs", "format_teller"]


def format_teller() -> Callable[[str, str], None]:
    """What `read_trajectories` may be given as on_format: says on standard error what a file was read as.

    Once for each file and format, however often the file is read; nothing of what is native.
    """
    told: set[tuple[str, str]] = set()

    def tell(path: str, format: str) -> None:
        if format != "native" and (path, format) not in told:
            told.add((path, format))
            click.echo(f"{path}: read as {format}", err=True)

    return tell


def check_logs(paths: Sequence[Path]) -> None:
    """Raises InputError for a file that is no reward log: compressed, runs to be judged, no rows in lines.

    The first record decides. A log may be all torn beside others that are not; an empty file is a log without
    rows, and a pipe can be read only once: both pass.
    """
    readable = [path for path in paths if not path.is_file() or not path.stat().st_size or _has_rows(path)]
    if paths and not readable:
        raise InputError(f"{paths[0]}: no line of it is a row of a reward log")


def _has_rows(path: Path) -> bool:
    first = next((record for _, record in read_records(path, on_bad=lambda _: None)), None)
    if first is not None and "rubric_version" not in first and _is_trajectory(first):
        raise InputError(f"{path}: holds runs, no judgements of them: judge rejudge writes a log of those")
    # Parquet and JSON documents hold records too, but a log is lines.
    return first is not None and any(True for _ in read_log(path, on_bad=lambda _: None))


def _is_trajectory(record: Mapping[str, Any]) -> bool:
    try:
        trajectory_from(record)
    except InputError:
        return False
    return True
