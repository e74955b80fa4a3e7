"""The envelope of a reply: settled before any text is read.

Covers the HTTP status, error objects inside a 200, missing choices, refusals, filters, web pages and event
streams in place of JSON. Not covered: the text itself, which may be empty, cut or no verdict at all; and an
answer found only in a reasoning field, which is reported (flag `reasoning_only`) and never read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from judge.client.faults import RAW_CHARS, ErrorObject, Fault, embedded_status, error_object, settle
from judge.client.stream import assemble
from judge.client.wire import Received
from judge.schema import Usage, clean_text

_REASONING_FIELDS = ("reasoning_content", "reasoning", "thinking")
_FINISH_REASONS = {"max_tokens": "length", "max_output_tokens": "length", "model_length": "length"}
_PAGE_HINT = "a web page came back: check judge.base_url, which most often ends in /v1"


class Answer(NamedTuple):
    """What a sound envelope held; `text` is "" where the model said nothing."""

    text: str
    finish_reason: str | None
    usage: Usage | None
    model: str | None
    flags: tuple[str, ...]


def read(received: Received, where: str) -> Answer:
    """The answer in an HTTP response, or a Fault raised; `where` names the endpoint in its message."""
    payload = _decode(received)
    details: dict[str, Any] = {
        "where": where,
        "raw": excerpt(received.body),
        "retry_after_s": received.retry_after_s,
    }
    if received.status >= 400:
        error = error_object(payload) if payload is not None else _spoken(received)
        raise settle(received.status, error, **details)
    if payload is None and _is_page(received):
        raise Fault(
            "bad_response", f"{where}: {_PAGE_HINT}; it begins {details['raw'][:80]!r}", raw=details["raw"]
        )
    if not isinstance(payload, dict):
        raise _unreadable(f"{where} answered {received.status} with {_kind_of(received)}", details)
    details["usage"] = _usage(payload.get("usage"))
    if payload.get("error") or payload.get("object") == "error":
        error = error_object(payload)
        raise settle(embedded_status(error), error, **details)
    return _answer(payload, details)


def excerpt(body: bytes) -> str:
    """The first characters of a body as text, for the record of an error."""
    return body[: RAW_CHARS * 4].decode("utf-8", "replace")[:RAW_CHARS]


def _answer(payload: dict[str, Any], details: dict[str, Any]) -> Answer:
    choices = payload.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, dict):
        raise _unreadable(f"{details['where']} answered without choices", details)
    finish_reason = _finish_reason(choice.get("finish_reason"))
    details["finish_reason"] = finish_reason
    if choice.get("error") or finish_reason == "error":
        error = error_object({"error": choice.get("error") or "generation broke off"})
        raise settle(embedded_status(error), error, **details)
    if finish_reason == "content_filter":
        raise settle(400, ErrorObject("content_filter", message="the reply was filtered"), **details)
    message = choice.get("message")
    if not isinstance(message, dict):
        raise _unreadable(f"{details['where']} answered with a choice that has no message", details)
    text = _text(message, details)
    if not text.strip() and finish_reason in ("tool_calls", "function_call"):
        raise _named(
            "bad_response", f"{details['where']}: the judge called a tool instead of answering", details
        )
    model = payload.get("model")
    return Answer(
        text,
        finish_reason,
        details["usage"],
        model if isinstance(model, str) else None,
        _flags(text, message),
    )


def _text(message: dict[str, Any], details: dict[str, Any]) -> str:
    content = message.get("content")
    refusal = message.get("refusal")
    if isinstance(content, list):
        parts = [part for part in content if isinstance(part, dict)]
        refusal = refusal or next((part["refusal"] for part in parts if part.get("refusal")), None)
        content = "".join(part["text"] for part in parts if isinstance(part.get("text"), str))
    if isinstance(refusal, str) and refusal.strip():
        raise _named("refusal", f"the judge refused: {' '.join(refusal.split())[:300]}", details)
    if content is not None and not isinstance(content, str):
        raise _unreadable(f"{details['where']} answered with content that is no text", details)
    return clean_text(content or "")


def _flags(text: str, message: dict[str, Any]) -> tuple[str, ...]:
    thoughts = [message.get(field) for field in _REASONING_FIELDS]
    only = not text.strip() and any(isinstance(thought, str) and thought.strip() for thought in thoughts)
    return ("reasoning_only",) if only else ()


def _finish_reason(value: Any) -> str | None:
    if not isinstance(value, str):
        return None
    name = value.strip().lower()
    if name.startswith("content_filter"):
        return "content_filter"
    return _FINISH_REASONS.get(name, name)


def _usage(value: Any) -> Usage | None:
    if not isinstance(value, dict):
        return None
    details = value.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    return Usage(
        prompt_tokens=_count(value.get("prompt_tokens")),
        completion_tokens=_count(value.get("completion_tokens")),
        total_tokens=_count(value.get("total_tokens")),
        cached_tokens=_count(cached),
    )


def _count(value: Any) -> int | None:
    return (
        int(value)
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e15
        else None
    )


def _decode(received: Received) -> Any:
    """The body as decoded JSON, or as a stream put together; None where it is neither."""
    body = received.body.strip()
    if "event-stream" in received.content_type or body.startswith((b"data:", b"event:", b": ")):
        return assemble(body.decode("utf-8", "replace"))
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _spoken(received: Received) -> ErrorObject:
    """What an error status without JSON says; of a web page only that it is one."""
    if _is_page(received):
        return ErrorObject(message=_PAGE_HINT if received.status < 500 else "a web page")
    return ErrorObject(message=excerpt(received.body) or "an empty body")


def _is_page(received: Received) -> bool:
    start = received.body[:200].lstrip().lower()
    return "html" in received.content_type or start.startswith((b"<!doctype html", b"<html"))


def _kind_of(received: Received) -> str:
    if not received.body.strip():
        return "an empty body"
    return f"a body that is no JSON object (content-type {received.content_type or 'absent'})"


def _unreadable(message: str, details: Mapping[str, Any]) -> Fault:
    return _named("bad_response", message, details, retryable=True)


def _named(kind: str, message: str, details: Mapping[str, Any], retryable: bool = False) -> Fault:
    known = {key: value for key, value in details.items() if key != "where"}
    return Fault(kind, message, retryable, **known)
