"""A pydantic error in plain words: one line, each fault with its key."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError


def explain(error: ValidationError) -> str:
    """A pydantic error as one line: each fault with its key, unknown and missing keys in plain words."""
    return "; ".join(_fault(fault) for fault in error.errors(include_url=False))


_PLAIN_WORDS = {
    "model_type": "must be an object",
    "dict_type": "must be an object",
    "tuple_type": "must be a list",
    "list_type": "must be a list",
    "string_type": "must be text",
}


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
    shown = "" if fault["type"] == "value_error" or isinstance(given, dict | list) else f" (it is {given!r})"
    return f"{where}: {message}{shown}" if where else message
