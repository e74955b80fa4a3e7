"""A pydantic error in plain words: one line, each fault with its key."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError


def explain(error: ValidationError) -> str:
    """A pydantic error as one line: each fault with its key, unknown and missing keys in plain words."""
    return "; ".join(_fault(fault) for fault in error.errors(include_url=False))


_SHOWN_CHARS = 80
_PLAIN_WORDS = {
    "model_type": "must be an object",
    "dict_type": "must be an object",
    "tuple_type": "must be a list",
    "list_type": "must be a list",
    "string_type": "must be text",
}


def _short(shown: str) -> str:
    return shown if len(shown) <= _SHOWN_CHARS else f"{shown[:_SHOWN_CHARS]}..."


def _fault(fault: Any) -> str:
    loc = fault["loc"]
    if fault["type"] == "invalid_key":
        # Pydantic shows a key that is no text as 1 where YAML made True of a bare `on`.
        loc = (*loc[:-1], fault["input"])
    where = ".".join(str(part) for part in loc)
    if fault["type"] in ("extra_forbidden", "invalid_key"):
        return f"{where}: unknown key"
    if fault["type"] == "missing":
        return f"{where}: missing"
    message = _PLAIN_WORDS.get(fault["type"]) or str(fault["msg"]).removeprefix("Value error, ")
    given = fault.get("input")
    is_told = fault["type"] == "value_error" or isinstance(given, dict | list)
    shown = "" if is_told else f" (it is {_short(repr(given))})"
    return f"{where}: {message}{shown}" if where else message
