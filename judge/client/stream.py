"""A text/event-stream body that answers a call which asked for none: its deltas put together.

Covers chat completion chunks. Tool-call deltas are only noticed, not assembled: a judge has no tools.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any


def assemble(text: str) -> dict[str, Any] | None:
    """The completion that the chunks of `text` spell, or the chunk that carries an error.

    None where the stream holds no chunk or broke off before any chunk named a finish_reason.
    """
    whole: dict[str, Any] = {"model": None, "usage": None}
    message: dict[str, Any] = {}
    finish_reason = None
    for chunk in _chunks(text):
        if chunk.get("error"):
            return chunk
        whole.update({key: chunk[key] for key in whole if chunk.get(key)})
        for choice in _first_choice(chunk):
            _append(message, choice.get("delta") or choice.get("message") or {})
            finish_reason = choice.get("finish_reason") or finish_reason
    if finish_reason is None:
        return None
    return {**whole, "choices": [{"index": 0, "message": message, "finish_reason": finish_reason}]}


def _chunks(text: str) -> Iterator[dict[str, Any]]:
    for line in text.split("\n"):
        field, _, data = line.partition(":")
        if field.strip() != "data" or data.strip() in ("", "[DONE]"):
            continue
        try:
            chunk = json.loads(data)
        except ValueError:
            continue
        if isinstance(chunk, dict):
            yield chunk


def _first_choice(chunk: dict[str, Any]) -> Iterator[dict[str, Any]]:
    choices = chunk.get("choices")
    if isinstance(choices, list):
        yield from (
            choice for choice in choices[:1] if isinstance(choice, dict) and choice.get("index", 0) == 0
        )


def _append(message: dict[str, Any], delta: Any) -> None:
    if not isinstance(delta, dict):
        return
    for key, value in delta.items():
        if isinstance(value, str) and key != "role":
            message[key] = message.get(key, "") + value
        elif key == "tool_calls" and value:
            message[key] = value
