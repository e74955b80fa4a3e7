"""Reading: rows one at a time from any number of logs, and which of them a rerun may skip."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from sys import intern
from typing import Any

SETTLED_ERRORS = frozenset({"unusable_input"})
"""Error kinds that judging again cannot change."""


LONG_FIELDS = ("evidence", "criteria", "rubric_hits", "steps", "calls")
"""What brief rows lack: most of a line's bytes, and nothing that a figure over many rows is made of."""

_READ_BYTES = 1 << 18
"""Lines are long: the default buffer would cost a second per million of them."""

_decode = json.JSONDecoder().raw_decode


def read_log(
    *paths: str | Path, on_bad: Callable[[str], None] | None = None, brief: bool = False
) -> Iterator[dict[str, Any]]:
    """The rows of one or more logs, in file order, one at a time.

    A line that is no JSON object is reported to `on_bad` as "path:line: why" (or as one warning per file)
    and passed over. `brief` rows may lack LONG_FIELDS, and take half the time. Raises FileNotFoundError for
    a path that does not exist.
    """
    for path in paths:
        bad: list[str] = []
        yield from _rows(Path(path), on_bad or bad.append, brief)
        if bad:
            warnings.warn(f"{len(bad)} unreadable lines passed over, the first: {bad[0]}", stacklevel=2)


def settled_keys(
    paths: Iterable[str | Path], on_bad: Callable[[str], None] | None = None
) -> set[tuple[str, str, int, str]]:
    """(trajectory_id, rubric_version, repeat, fingerprint) of every row that a rerun need not judge."""
    keys = set()
    for row in read_log(*paths, on_bad=on_bad, brief=True):
        if is_settled(row) and (key := _key(row)):
            keys.add(key)
    return keys


def is_settled(row: dict[str, Any]) -> bool:
    """Whether a row holds a verdict, or says that none can be had."""
    error = row.get("error")
    return not error or (isinstance(error, dict) and error.get("kind") in SETTLED_ERRORS)


def _key(row: dict[str, Any]) -> tuple[str, str, int, str] | None:
    run, version = row.get("trajectory_id"), row.get("rubric_version")
    repeat, fingerprint = row.get("repeat"), row.get("fingerprint")
    if not (isinstance(run, str) and isinstance(version, str)):
        return None
    if not (isinstance(repeat, int) and isinstance(fingerprint, str)):
        return None
    # A log repeats the same few versions and fingerprints; one copy of each is enough.
    return run, intern(version), repeat, intern(fingerprint)


def _rows(path: Path, on_bad: Callable[[str], None], brief: bool) -> Iterator[dict[str, Any]]:
    parse = _parse_brief if brief else json.loads
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


def _parse_brief(line: bytes) -> Any:
    """A line without LONG_FIELDS where our own writer laid it out and every call succeeded, else all of it.

    The marks cannot occur inside a JSON string, where quotes are escaped, and found at another depth they
    leave brackets unbalanced, so that the rest does not parse. The end says that no key follows the calls.
    """
    if line.startswith(b'{"schema": 1, ') and line.endswith(b', "error": null}]}\n'):
        start = line.find(b', "evidence": [')
        resume = line.find(b', "flags": [', start)
        end = line.find(b', "calls": [', resume)
        if 0 < start < resume < end:
            try:
                return _decode((line[:start] + line[resume:end] + b"}").decode())[0]
            except ValueError:
                pass
    return json.loads(line)
