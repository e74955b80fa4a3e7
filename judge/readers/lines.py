"""JSONL as (place, object) pairs; the place is "path:line" and begins every error message."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from judge.errors import InputError

_BOM = b"\xef\xbb\xbf"

Records = Iterator[tuple[str, dict[str, Any]]]
OnBad = Callable[[str], None] | None


def read_lines(path: object, lines: Iterable[bytes], on_bad: OnBad = None) -> Records:
    """Every JSON object of the lines, which end at line feeds only; blank lines are passed over.

    Raises InputError for a line that holds none, or hands the message to `on_bad` and goes on.
    """
    for number, line in enumerate(lines, 1):
        text = (without_bom(line) if number == 1 else line).rstrip()
        if not text:
            continue
        where = f"{path}:{number}"
        fault, record = decode(text)
        if fault is None and not isinstance(record, dict):
            fault = f"a trajectory is a JSON object, this line is a {type(record).__name__}"
        if fault is None:
            yield where, record
        elif on_bad is None:
            raise InputError(f"{where}: {fault}")
        else:
            on_bad(f"{where}: {fault}")


def without_bom(data: bytes) -> bytes:
    return data.removeprefix(_BOM)


def decode(data: bytes) -> tuple[str | None, Any]:
    """What is wrong with JSON bytes (None where nothing is), and the value they spell."""
    try:
        return None, json.loads(data)
    except UnicodeDecodeError as error:
        return f"not UTF-8 text: byte {error.start}: {error.reason}", None
    except json.JSONDecodeError as error:
        line = f"line {error.lineno}, " if error.lineno > 1 else ""
        return f"not JSON: {error.msg.removesuffix(' at')} at {line}column {error.colno}", None
    except RecursionError:
        return "not JSON: nested too deeply", None
    except ValueError as error:
        return f"not JSON: {error}", None
