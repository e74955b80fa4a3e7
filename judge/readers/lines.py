"""JSONL as (place, object) pairs; the place is "path:line" and begins every error message.

JSON is UTF-8 text. Any line may begin with a byte order mark, as it does where files were put one behind the
other. NaN and Infinity are numbers, as Python writes them; of a key that stands twice the last counts.
"""

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
        if not without_bom(line).strip():
            continue
        where = f"{path}:{number}"
        fault, record = decode(line.rstrip())
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


def utf_8(data: bytes) -> str:
    """Bytes as text. Lone surrogates pass, as they do in JSON's own escapes. Raises UnicodeDecodeError."""
    return without_bom(data).decode("utf-8", "surrogatepass")


def decode(data: bytes) -> tuple[str | None, Any]:
    """What is wrong with JSON bytes (None where nothing is), and the value they spell."""
    try:
        # Not left to json, which takes bytes with zeros among them for UTF-16.
        return None, json.loads(utf_8(data))
    except (ValueError, RecursionError) as error:
        return fault_of(error), None


def fault_of(error: ValueError | RecursionError) -> str:
    """What the decoder of JSON says, in one line and with its place in the text."""
    if isinstance(error, UnicodeDecodeError):
        return f"not UTF-8 text: byte {error.start}: {error.reason}"
    if isinstance(error, json.JSONDecodeError):
        line = f"line {error.lineno}, " if error.lineno > 1 else ""
        return f"not JSON: {error.msg.removesuffix(' at')} at {line}column {error.colno}"
    return "not JSON: nested too deeply" if isinstance(error, RecursionError) else f"not JSON: {error}"
