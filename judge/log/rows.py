"""Reading: rows one at a time from any number of logs, and which of them a rerun may skip."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from pathlib import Path
from sys import intern
from typing import Any

SETTLED_ERRORS = frozenset({"unusable_input"})
"""Error kinds that judging again cannot change."""


_READ_BYTES = 1 << 18
"""Lines are long: the default buffer would cost a second per million of them."""

# Quotes are escaped inside a string, so that these stand where a line of our own writer begins and ends.
_BEGINS = b'{"schema": 1, "timestamp": "'
_ENDS = b', "error": null}]}\n'
_LAYOUT = (
    *("schema", "timestamp", "trajectory_id", "task_id", "group", "step", "source", "dataset_version"),
    *("agent", "instruction_hash", "category", "routing", "rubric_version", "rubric_hash", "fine_rubrics"),
    *("fine_dropped", "prompt_set", "frame_count", "omitted", "images", "judge_model", "repeat"),
    *("fingerprint", "scheme", "reward", "parts", "outcome", "outcome_status", "success", "score", "reason"),
    *("evidence", "criteria", "rubric_hits", "steps", "flags", "error", "attempts", "cached", "latency_ms"),
    *("usage", "cost", "calls"),
)
"""The fields of a line in the order of our own writer."""

_KEY_FIELDS = ("trajectory_id", "rubric_version", "repeat", "fingerprint")

_decode = json.JSONDecoder().raw_decode


def read_log(
    *paths: str | Path,
    on_bad: Callable[[str], None] | None = None,
    fields: Iterable[str] | None = None,
) -> Iterator[dict[str, Any]]:
    """The rows of one or more logs, in file order, one at a time.

    A line that is no JSON object is reported to `on_bad` as "path:line: why" (or as one warning per file)
    and passed over. Rows may lack all but the `fields` asked for, and take half the time or less. Raises
    FileNotFoundError for a path that does not exist.
    """
    parse = json.loads if fields is None else _parser(fields)
    for path in paths:
        bad: list[str] = []
        yield from _rows(Path(path), on_bad or bad.append, parse)
        if bad:
            warnings.warn(f"{len(bad)} unreadable lines passed over, the first: {bad[0]}", stacklevel=2)


def settled_keys(
    paths: Iterable[str | Path], on_bad: Callable[[str], None] | None = None
) -> set[tuple[str, str, int, str]]:
    """(trajectory_id, rubric_version, repeat, fingerprint) of every row that a rerun need not judge."""
    keys = set()
    for row in read_log(*paths, on_bad=on_bad, fields=(*_KEY_FIELDS, "error")):
        if is_settled(row) and (key := _key(row)):
            keys.add(key)
    return keys


def is_settled(row: dict[str, Any]) -> bool:
    """Whether a row holds a verdict, or says that none can be had."""
    error = row.get("error")
    return not error or (isinstance(error, dict) and error.get("kind") in SETTLED_ERRORS)


def _key(row: dict[str, Any]) -> tuple[str, str, int, str] | None:
    run, version, repeat, fingerprint = map(row.get, _KEY_FIELDS)
    if not (isinstance(run, str) and isinstance(version, str)):
        return None
    if not (isinstance(repeat, int) and isinstance(fingerprint, str)):
        return None
    # A log repeats the same few versions and fingerprints; one copy of each is enough.
    return run, intern(version), repeat, intern(fingerprint)


def _rows(
    path: Path, on_bad: Callable[[str], None], parse: Callable[[bytes], Any]
) -> Iterator[dict[str, Any]]:
    with path.open("rb", buffering=_READ_BYTES) as lines:
        for number, line in enumerate(lines, 1):
            if line.isspace():
                continue
            try:
                row = parse(line)
            except (ValueError, RecursionError) as error:
                on_bad(f"{path}:{number}: not JSON: {error}")
                continue
            if isinstance(row, dict):
                yield row
            else:
                on_bad(f"{path}:{number}: a {type(row).__name__}, not an object")


def _parser(fields: Iterable[str]) -> Callable[[bytes], Any]:
    """A line → its row, of which other fields than these are cut away before the rest is decoded.

    Only from lines that our own writer laid out and where every call succeeded; all of any other. A mark
    that is found inside a field leaves brackets unbalanced or fields too many, and shows by that.
    """
    wanted = {"schema", *fields}
    if not wanted <= set(_LAYOUT[:-1]):
        return json.loads
    runs = groupby(_LAYOUT, wanted.__contains__)
    # What is wanted and what is not take turns, from the schema, which is, to the calls, which are not.
    marks = [f', "{next(run)}": '.encode() for _, run in runs]
    cuts, last = list(zip(marks[1::2], marks[2::2], strict=False)), marks[-1]

    def parse(line: bytes) -> Any:
        # From the right, since a line that was glued to a torn one begins twice.
        if line.rfind(_BEGINS) == 0 and line.endswith(_ENDS):
            try:
                at, kept = 0, b""
                for cut, resume in cuts:
                    end = line.index(cut, at)
                    kept += line[at:end]
                    at = line.index(resume, end)
                row = _decode((kept + line[at : line.index(last, at)] + b"}").decode())[0]
            except ValueError:
                return json.loads(line)
            if len(row) == len(wanted):
                return row
        return json.loads(line)

    return parse
