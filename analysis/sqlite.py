"""Reward logs as the SQLite table `reward_log`, one flat row per judgement that counts.

Covers the columns, the folding of reruns and a write that is whole or not at all. Rows stream through it, so
that memory does not grow with the log. Not covered: `calls`, whose raw replies stay in the log.
"""

from __future__ import annotations

import json
import math
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from analysis.columns import NONE, error_kind, finite, number, truth
from judge.errors import InputError
from judge.log import read_log
from judge.schema import as_text

__all__ = ["COLUMNS", "TABLE", "write_sqlite"]

TABLE = "reward_log"

_BATCH = 1000
_MAGIC = b"SQLite format 3\0"

_JUDGEMENT = ("trajectory_id", "rubric_version", "judge_model", "repeat")
_DEFAULTS = {"rubric_version": NONE, "judge_model": NONE, "repeat": "0", "outcome_status": "ok"}
_USAGE = ("prompt_tokens", "completion_tokens", "total_tokens", "cached_tokens")


def _number(value: Any) -> float | None:
    found = finite(number(value))
    return None if math.isnan(found) else found


def _truth(value: Any) -> int | None:
    found = truth(value)
    return None if math.isnan(found) else int(found)


def _integer(value: Any) -> str:
    # As text, which SQLite makes an integer again: one of any size passes, and so does what else it may be.
    return str(value) if type(value) is int else as_text(value)


_TEXT = ("TEXT", as_text)
_INTEGER = ("INTEGER", _integer)
_REAL = ("REAL", _number)
_BOOLEAN = ("INTEGER", _truth)
# All of it in ASCII, because a lone surrogate has no UTF-8.
_JSON = ("TEXT", json.JSONEncoder().encode)

COLUMNS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "schema": _INTEGER,
    **dict.fromkeys(("timestamp", "trajectory_id", "task_id", "group"), _TEXT),
    "step": _INTEGER,
    **dict.fromkeys(("source", "dataset_version", "agent", "instruction_hash", "category"), _TEXT),
    "routing": _JSON,
    **dict.fromkeys(("rubric_version", "rubric_hash"), _TEXT),
    **dict.fromkeys(("fine_rubrics", "fine_dropped"), _JSON),
    "prompt_set": _TEXT,
    **dict.fromkeys(("frame_count", "omitted_steps", "omitted_chars"), _INTEGER),
    "images": _JSON,
    "judge_model": _TEXT,
    "repeat": _INTEGER,
    **dict.fromkeys(("fingerprint", "scheme"), _TEXT),
    "reward": _REAL,
    "parts": _JSON,
    "outcome": _REAL,
    "outcome_status": _TEXT,
    "success": _BOOLEAN,
    "score": _REAL,
    "reason": _TEXT,
    **dict.fromkeys(("evidence", "criteria", "rubric_hits", "steps", "flags"), _JSON),
    **dict.fromkeys(("error_kind", "error_message"), _TEXT),
    "attempts": _INTEGER,
    "cached": _BOOLEAN,
    "latency_ms": _REAL,
    **dict.fromkeys(_USAGE, _INTEGER),
    "cost": _REAL,
}
"""Column → its type in SQLite and how a value is read. Lists and objects are JSON text, booleans 1 and 0."""


def write_sqlite(
    paths: Iterable[str | Path], file: Path, *, on_bad: Callable[[str], None] | None = None
) -> int:
    """Write the logs' judgements that count into the table reward_log of `file`, and give their number.

    A database that is there keeps its other tables, and its old reward_log until the new one is whole; a new
    file appears only then. Which rows count, and how numbers, booleans and absent versions, repeats and
    statuses are read, is as in `frame.load_frame`; the columns are those of COLUMNS. For `on_bad` see
    judge.log.read_log.

    Raises InputError where `file` is no SQLite database or cannot be written, FileNotFoundError for a log.
    """
    rows = map(_flat, read_log(*paths, on_bad=on_bad))
    if _is_other(file):
        raise InputError(f"{file}: is no SQLite database; name another file")
    try:
        with _opened(file.resolve()) as database:
            return _replace(database, rows)
    except sqlite3.Error as error:
        raise InputError(f"{file}: cannot be written: {error}") from None


def _is_other(file: Path) -> bool:
    # SQLite itself takes a file of a few bytes for an empty database, and writes over it.
    if not file.exists():
        return False
    with file.open("rb") as start:
        return start.read(len(_MAGIC)) not in (b"", _MAGIC)


@contextmanager
def _opened(file: Path) -> Iterator[sqlite3.Connection]:
    """The database in its place, or a new one beside it that takes the place once all went well."""
    if file.exists():
        with closing(sqlite3.connect(file)) as database, database:
            yield database
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(f".{file.name}.{os.getpid()}.part")
    try:
        with closing(sqlite3.connect(part)) as database, database:
            yield database
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)


def _replace(database: sqlite3.Connection, rows: Iterator[list[Any]]) -> int:
    """In one transaction, which Python would open only before the first INSERT."""
    names = ", ".join(f'"{name}" {kind}' for name, (kind, _) in COLUMNS.items())
    places = ", ".join("?" * len(COLUMNS))
    database.execute("BEGIN IMMEDIATE")
    database.execute(f"DROP TABLE IF EXISTS {TABLE}")
    database.execute(f"CREATE TABLE {TABLE} ({names})")
    while batch := list(islice(rows, _BATCH)):
        database.executemany(f"INSERT INTO {TABLE} VALUES ({places})", batch)
    database.execute(_DROP_SUPERSEDED)
    return int(database.execute(f"SELECT count(*) FROM {TABLE}").fetchone()[0])


_DROP_SUPERSEDED = f"""
DELETE FROM {TABLE} WHERE rowid IN (
    SELECT row FROM (
        SELECT rowid AS row, row_number() OVER (
            PARTITION BY {", ".join(_JUDGEMENT)}
            ORDER BY error_kind IS NULL OR error_kind = 'unusable_input' DESC, rowid DESC
        ) AS place
        FROM {TABLE} WHERE trajectory_id IS NOT NULL
    ) WHERE place > 1
)
"""
"""Of the rows of one judgement the last settled one stays, else the last."""


def _flat(row: dict[str, Any]) -> list[Any]:
    error, usage, omitted = row.get("error"), _object(row.get("usage")), _object(row.get("omitted"))
    nested = {
        "error_kind": error_kind(error),
        "error_message": _object(error).get("message"),
        **{name: usage.get(name) for name in _USAGE},
        **{f"omitted_{name}": omitted.get(name) for name in ("steps", "chars")},
    }
    values = {**row, **nested}
    cells = ((values.get(name), _DEFAULTS.get(name), read) for name, (_, read) in COLUMNS.items())
    return [default if value is None else read(value) for value, default, read in cells]


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
