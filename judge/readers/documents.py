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
from judge.readers import openhands_sdk
from judge.readers.lines import OnBad, Records, decode, fault_of, utf_8, without_bom

_BETWEEN = re.compile(r"[ \t\r\n]*(,|\])[ \t\r\n]*")
_OPENING = re.compile(r"[ \t\r\n]*\[[ \t\r\n]*(\])?")
_EVENT = ("source", "args", "cause", "timestamp", "content", "command", "extras")


def is_document(first: bytes, second: bytes) -> bool:
    """Whether a file whose first two lines with text are these is one document, and not JSONL.

    The first line of a document breaks off between two tokens, and the second goes on from there. A line of
    JSONL is whole; one that was torn has its fault elsewhere, or has a whole object below it.
    """
    first = without_bom(first).strip()
    if first.startswith(b"["):
        return not second or _breaks_off(first)
    is_begun = first.startswith(b"{") and _breaks_off(first)
    return is_begun and bool(second) and not isinstance(decode(second.strip())[1], dict)


def read_document(path: object, data: bytes, on_bad: OnBad = None) -> Records:
    """The objects of a document; an element of a list has the place "path[index]", from 0.

    Raises InputError for what is no JSON, and for an element that is no object unless `on_bad` takes it.
    """
    try:
        text = utf_8(data)
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: {fault_of(error)}") from None
    del data
    if not _OPENING.match(text):
        yield str(path), _whole(path, text)
        return
    for position, record in enumerate(_elements(path, text)):
        if position == 0 and (name := name_of_run(record)):
            yield str(path), {name: list(_elements(path, text))}
            return
        if isinstance(record, dict):
            yield f"{path}[{position}]", record
            continue
        fault = f"{path}[{position}]: a trajectory is an object, this is a {type(record).__name__}"
        if on_bad is None:
            raise InputError(fault)
        on_bad(fault)


def _whole(path: object, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        fault = fault_of(error)
    if "Extra data" in fault:
        raise InputError(f"{path}: {fault}; several objects stand one a line, as `jq -c .` writes them")
    raise InputError(f"{path}: {fault}{_cut(text, '}')}")


def _elements(path: object, text: str) -> Iterator[Any]:
    opening = _OPENING.match(text)
    assert opening is not None
    at, position, done = opening.end(), 0, bool(opening[1])
    decoder = json.JSONDecoder()
    while not done:
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path}[{position}]: {fault_of(error)}{_cut(text, ']')}") from None
        yield value
        between = _BETWEEN.match(text, at)
        if between is None:
            raise InputError(f"{path}: not JSON: no comma after element {position}{_cut(text, ']')}")
        at, position, done = between.end(), position + 1, between[1] == "]"
    if text[at:].strip():
        raise InputError(f"{path}: not JSON: more text after the end of the list")


def _cut(text: str, end: str) -> str:
    return "" if text.rstrip().endswith(end) else f"; the file ends without its {end}: it was cut short"


def name_of_run(first: Any) -> str | None:
    """What a list with this first element is all together; None where each element is a run."""
    if not isinstance(first, Mapping):
        return None
    if isinstance(first.get("role"), str) and ("content" in first or "tool_calls" in first):
        return "messages"
    if openhands_sdk.is_event(first):
        return "history"
    is_event = "action" in first or "observation" in first
    return "history" if is_event and any(name in first for name in _EVENT) else None


def _breaks_off(line: bytes) -> bool:
    """Whether it is JSON so far, and goes on below."""
    try:
        text = line.decode()
        json.loads(text)
    except json.JSONDecodeError as error:
        return error.pos == len(text)
    except (ValueError, RecursionError):
        pass
    return False
