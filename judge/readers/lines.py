"""JSONL files as (place, object) pairs; the place is "path:line" and begins every error message."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from judge.errors import InputError

_BOM = b"\xef\xbb\xbf"


def read_objects(
    path: str | Path, on_bad: Callable[[str], None] | None = None
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every JSON object of a file, split on line feeds only; blank lines are passed over.

    Raises InputError for a missing or unreadable file, and, without `on_bad`, for a line that holds none.
    """
    with _open(path) as lines:
        for number, line in enumerate(lines, 1):
            text = (line.removeprefix(_BOM) if number == 1 else line).rstrip()
            if not text:
                continue
            where = f"{path}:{number}"
            fault, record = _decode(text)
            if fault is None:
                yield where, record
            elif on_bad is None:
                raise InputError(f"{where}: {fault}")
            else:
                on_bad(f"{where}: {fault}")


def _decode(line: bytes) -> tuple[str | None, dict[str, Any]]:
    try:
        record = json.loads(line)
    except UnicodeDecodeError as error:
        return f"not UTF-8 text: byte {error.start}: {error.reason}", {}
    except json.JSONDecodeError as error:
        return f"not JSON: {error.msg.removesuffix(' at')} at column {error.colno}", {}
    except RecursionError:
        return "not JSON: nested too deeply", {}
    except ValueError as error:
        return f"not JSON: {error}", {}
    if not isinstance(record, dict):
        return f"a trajectory is a JSON object, this line is a {type(record).__name__}", {}
    return None, record


@contextmanager
def _open(path: str | Path) -> Iterator[BinaryIO]:
    if str(path) == "-":
        yield sys.stdin.buffer
        return
    try:
        file = Path(path).open("rb")  # noqa: SIM115 - closed below; only opening it may be an InputError
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None
    with file:
        yield file
