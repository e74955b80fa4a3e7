"""Content blocks as Anthropic's messages have them → the shape of chat completions.

- `tool_use` becomes one of the message's tool_calls, `thinking` its reasoning, unless it has these itself;
  `redacted_thinking` cannot be read, and is left out.
- `tool_result` becomes a tool's message, with `tool_use_id` as its tool_call_id and `is_error`, before what
  else the message holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from judge.schema import as_text

_BLOCKS = frozenset({"tool_use", "tool_result", "thinking", "redacted_thinking"})
_GONE = {"type": "text"}
"""What stands where a block was, so that the others keep their positions; it holds no text."""


def unblocked(place: str, stored: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """A stored message as the messages that it holds, each with its place; most hold one, themselves."""
    content = stored.get("content")
    content = content if isinstance(content, list | tuple) else ()
    blocks = [_block(part) for part in content]
    if not any(blocks):
        yield place, stored
        return
    for position, part in enumerate(content):
        if blocks[position] == "tool_result":
            answer = {"role": "tool", "tool_call_id": part.get("tool_use_id"), "content": part.get("content")}
            yield f"{place}.content.{position}", {**answer, "is_error": part.get("is_error")}
    if set(blocks) != {"tool_result"}:
        yield place, _message(stored, content, blocks)


def _block(part: Any) -> str:
    kind = part.get("type") if isinstance(part, Mapping) else None
    return kind if isinstance(kind, str) and kind in _BLOCKS else ""


def _message(stored: Mapping[str, Any], content: Sequence[Any], blocks: Sequence[str]) -> dict[str, Any]:
    """The message with its calls and thoughts beside its content."""
    pairs = list(zip(blocks, content, strict=True))
    calls = [
        {"id": part.get("id"), "name": part.get("name"), "input": part.get("input")}
        for kind, part in pairs
        if kind == "tool_use"
    ]
    thoughts = [part["thinking"] for kind, part in pairs if kind == "thinking" and part.get("thinking")]
    found = {**stored, "content": [_GONE if kind else part for kind, part in pairs]}
    if calls and not stored.get("tool_calls"):
        found["tool_calls"] = calls
    if thoughts and found.get("thinking") is None:
        found["thinking"] = "\n\n".join(map(as_text, thoughts))
    return found
