"""One JSON document as (place, object) pairs: an object, a list of objects, or a list that is one run.

The text of a document is held whole; the objects of a list are made of it one at a time. Whatever can be
read before the place where a file was cut comes out before the error does. A list of chat messages or of
events is one run, and comes out as {"messages": [...]} or {"history": [...]}.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from judge.errors import InputError
from judge.readers.lines import OnBad, Records, decode, without_bom

_BETWEEN = re.compile(r"[ \t\r\n]*(,|\])[ \t\r\n]*")
_OPENING = re.compile(r"\[[ \t\r\n]*(\])?")
_EVENT = ("source", "args", "cause", "timestamp", "content", "command", "extras")


def is_document(first: bytes, second: bytes) -> bool:
    """Whether a file whose first lines with text are these is one document, and not JSONL.

    A first line that is no JSON may also be a broken line of JSONL: the next one then begins an object,
    which within an object no line can.
    """
    first, second = without_bom(first).strip(), second.strip()
    if first.startswith(b"["):
        return not second or not _is_json(first)
    return first.startswith(b"{") and second[:1] not in (b"", b"{") and not _is_json(first)


def read_document(path: object, data: bytes, on_bad: OnBad = None) -> Records:
    """The objects of a document; an element of a list has the place "path[index]", from 0.

    Raises InputError for what is no JSON, and for an element that is no object unless `on_bad` takes it.
    """
    try:
        text = without_bom(data).decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text: byte {error.start}: {error.reason}") from None
    if not text.lstrip().startswith("["):
        fault, record = decode(data)
        if fault is not None:
            raise InputError(f"{path}: {fault}")
        yield str(path), record
        return
    for position, record in enumerate(_elements(path, text)):
        if position == 0 and (whole := _name_of_run(record)):
            yield str(path), {whole: [record, *_rest(path, text)]}
            return
        if isinstance(record, dict):
            yield f"{path}[{position}]", record
            continue
        fault = f"{path}[{position}]: a trajectory is an object, this is a {type(record).__name__}"
        if on_bad is None:
            raise InputError(fault)
        on_bad(fault)


def _elements(path: object, text: str) -> Iterator[Any]:
    opening = _OPENING.match(text, len(text) - len(text.lstrip()))
    assert opening is not None
    at, position, done = opening.end(), 0, bool(opening[1])
    decoder = json.JSONDecoder()
    while not done:
        try:
            value, at = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            where = f"line {error.lineno}, column {error.colno}"
            raise InputError(f"{path}[{position}]: not JSON: {error.msg} at {where}{_cut(text)}") from None
        except (RecursionError, ValueError) as error:
            raise InputError(f"{path}[{position}]: not JSON: {error}") from None
        yield value
        between = _BETWEEN.match(text, at)
        if between is None:
            raise InputError(f"{path}: not JSON: no comma after element {position}{_cut(text)}")
        at, position, done = between.end(), position + 1, between[1] == "]"
    if text[at:].strip():
        raise InputError(f"{path}: not JSON: more text after the end of the list")


def _rest(path: object, text: str) -> list[Any]:
    return list(_elements(path, text))[1:]


def _cut(text: str) -> str:
    return "" if text.rstrip().endswith("]") else "; the file ends before its list does: it was cut short"


def _name_of_run(first: Any) -> str | None:
    """What a list with this first element is all together; None where each element is a run."""
    if not isinstance(first, Mapping):
        return None
    if isinstance(first.get("role"), str) and ("content" in first or "tool_calls" in first):
        return "messages"
    is_event = "action" in first or "observation" in first
    return "history" if is_event and any(name in first for name in _EVENT) else None


def _is_json(line: bytes) -> bool:
    return decode(line)[0] is None
