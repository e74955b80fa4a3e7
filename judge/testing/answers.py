"""Answers of a judge that finds everything good, made up from what a request demands."""

from __future__ import annotations

import json
import re
from typing import Any

Response = dict[str, Any]

# What an answer made up from a schema says where the schema leaves a choice.
_CHOSEN = {"met": "yes", "success": True, "score": 1.0, "label": 1, "correct": True, "error_type": "none"}
# Of the packaged prompt set: "Label each of the steps 0 to 2, 5, by its number."
_LABELLED = re.compile(r"each of the steps ([\d, to]+), by its number")


def completion(text: str, finish_reason: str | None = "stop", **fields: Any) -> dict[str, Any]:
    """The body of a chat completion that says `text`; `fields` replace those of the body."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish_reason}
    usage = {"prompt_tokens": 900, "completion_tokens": 30, "total_tokens": 930}
    whole = {"id": "c1", "object": "chat.completion", "created": 1, "model": "judge-x", "choices": [choice]}
    return {**whole, "usage": usage, **fields}


def verdict_response(asked: dict[str, Any] | None = None) -> Response:
    """A response item with a valid answer to the chat request `asked`: what its schema demands, all good."""
    asked = asked or {}
    verdict_id = _verdict_id(asked.get("messages") or [])
    schema = ((asked.get("response_format") or {}).get("json_schema") or {}).get("schema")
    answer = (
        example(schema) if schema else {"reason": "As asked.", "evidence": [], "success": True, "score": 1.0}
    )
    if "steps" in answer:
        asked_about = _steps(asked["messages"])
        answer["steps"] = [{"step": step, "reason": "As asked.", "label": 1} for step in asked_about]
    if verdict_id is not None:
        answer["verdict_id"] = verdict_id
    return {"body_json": completion(json.dumps(answer))}


def example(schema: dict[str, Any], name: str = "") -> Any:
    """A value that a JSON schema allows; a list has one object for each value of its first closed field."""
    if "anyOf" in schema:
        return example(schema["anyOf"][0], name)
    choices = schema.get("enum") or ([schema["const"]] if "const" in schema else None)
    if choices:
        return _CHOSEN[name] if _CHOSEN.get(name) in choices else choices[0]
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        return {key: example(inner, key) for key, inner in schema.get("properties", {}).items()}
    if kind == "array":
        return _example_items(schema.get("items", {}))
    if name in _CHOSEN:
        return _CHOSEN[name]
    plain: dict[Any, Any] = {"boolean": True, "string": "As asked.", "null": None}
    return plain.get(kind, schema.get("maximum", schema.get("minimum", 0)))


def _example_items(items: dict[str, Any]) -> list[Any]:
    for key, inner in items.get("properties", {}).items():
        if values := inner.get("enum"):
            return [{**example(items), key: value} for value in values]
    return []


def _steps(messages: list[dict[str, Any]]) -> list[int]:
    """The steps that a request wants labelled; none where it does not say so in the packaged words."""
    content = messages[-1]["content"]
    texts = [content] if isinstance(content, str) else [part.get("text", "") for part in content]
    named = _LABELLED.findall("".join(texts))
    spans = [span.split(" to ") for span in named[-1].split(", ")] if named else []
    return [step for span in spans for step in range(int(span[0]), int(span[-1]) + 1)]


def _verdict_id(messages: list[dict[str, Any]]) -> str | None:
    """The token that stands at the end of the last message."""
    content = messages[-1]["content"] if messages else ""
    text = content if isinstance(content, str) else content[-1].get("text", "")
    _, found, token = text.rpartition("verdict_id: ")
    return token.strip() if found else None
