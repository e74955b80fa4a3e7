"""The JSON schemas of replies, for endpoints that enforce one."""

from __future__ import annotations

from functools import lru_cache
from typing import Any


def _closed(**properties: Any) -> dict[str, Any]:
    """An object with exactly these properties, as strict structured output demands."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _list_of(**properties: Any) -> dict[str, Any]:
    return {"type": "array", "items": _closed(**properties)}


_TEXT = {"type": "string"}
_STEP = {"type": "integer"}
_STEP_OR_NONE = {"type": ["integer", "null"]}

_FINE_ITEMS = _list_of(quote=_TEXT, text=_TEXT)

FINE_SCHEMA = _closed(items=_FINE_ITEMS, verdict_id=_TEXT)
"""Of a reply that proposes fine rubrics."""


@lru_cache(maxsize=64)
def route_schema(categories: tuple[str, ...], refine: bool = False) -> dict[str, Any]:
    """Of a reply that chooses one of the categories, with fine rubrics where it refines too."""
    chosen = {"type": "string", "enum": list(categories)}
    return _closed(category=chosen, **({"items": _FINE_ITEMS} if refine else {}), verdict_id=_TEXT)


@lru_cache(maxsize=512)
def step_schema(index: int) -> dict[str, Any]:
    """Of a verdict on step `index`, and on no other; keys in the order they are asked for."""
    return _closed(
        step={"type": "integer", "enum": [index]},
        reason=_TEXT,
        correct={"type": "boolean"},
        error_type={"type": "string", "enum": ["logic", "syntax", "tool", "policy", "none"]},
        confidence={"type": "number"},
        verdict_id=_TEXT,
    )


@lru_cache(maxsize=512)
def verdict_schema(
    coarse: tuple[str, ...], fine: tuple[str, ...] = (), whole: bool = False
) -> dict[str, Any]:
    """Of a verdict on these rubric items, keys in the order they are asked for.

    Number bounds are left out: strict modes refuse them, and what comes back is checked anyway.
    """
    item = {"type": "string", "enum": [*coarse, *fine]}
    met = {"type": "string", "enum": ["yes", "no", "unclear"]}
    labels = _list_of(step=_STEP, reason=_TEXT, label={"type": "integer", "enum": [-1, 0, 1]})
    return _closed(
        reason=_TEXT,
        evidence=_list_of(step=_STEP, quote=_TEXT),
        criteria=_list_of(id=item, met=met, step=_STEP_OR_NONE),
        **({"steps": labels} if whole else {}),
        success={"type": "boolean"},
        score={"type": "number"},
        verdict_id=_TEXT,
    )
