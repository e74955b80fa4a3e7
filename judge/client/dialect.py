"""Which request parameters an endpoint and model take, found out by being refused, and the body they make.

Each parameter starts as asked for and steps down: json_schema → json_object → plain; max_tokens →
max_completion_tokens → no limit; temperature, seed and images → not sent. What came from `extra_body` is
the user's own and never dropped.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from judge.client.faults import ErrorObject, Fault
from judge.config import Endpoint
from judge.schema import Request

Message = dict[str, Any]

FORMATS = ("json_schema", "json_object", "plain")
_LIMITS = ("max_tokens", "max_completion_tokens", None)
_LAST = {"response_format": 2, "token_limit": 2, "temperature": 1, "seed": 1, "images": 1}
# Mostly 400 or 422; for images and grammars servers also answer 404, 415, 500 and 501.
_STATUSES = frozenset((400, 404, 415, 422, 500, 501))
_REFUSED = re.compile(
    r"support|recogni[sz]e|unknown|unexpected|permitted|allowed|available|deprecated|must contain the word"
    r"|only the default|incompatible|not implemented|no endpoints|instead|invalid|failed|cannot|must be"
    r"|mmproj",
    re.IGNORECASE,
)
_NAMES = {
    "images": re.compile(r"\bimages?\b|image_url|\bvision\b|multi-?modal|mmproj", re.IGNORECASE),
    "token_limit": re.compile(r"max_tokens|max_completion_tokens", re.IGNORECASE),
    "response_format": re.compile(
        r"response_format|json_schema|json_object|json schema|json mode|structured[ _]output|grammar|guided",
        re.IGNORECASE,
    ),
    "temperature": re.compile(r"\btemperature\b", re.IGNORECASE),
    "seed": re.compile(r"\bseed\b", re.IGNORECASE),
}
_OF_THESE_IMAGES = re.compile(
    r"(?:cannot|could not|failed to|unable to) (?:decode|process|load|identify|open|read)|corrupt|truncated"
    r"|invalid image|aspect ratio|too (?:large|small|big|many)|at (?:most|least) \d|exceed|dimensions",
    re.IGNORECASE,
)
_OUT_OF_RANGE = re.compile(r"range|at (?:least|most)|less than|greater than|too large|exceed", re.IGNORECASE)


class Dialect(NamedTuple):
    """How many steps down each parameter has gone; 0 is as asked for."""

    response_format: int = 0
    token_limit: int = 0
    temperature: int = 0
    seed: int = 0
    images: int = 0

    def below(self, name: str) -> Dialect | None:
        """The dialect with one parameter a step lower; None where there is no lower step."""
        level = getattr(self, name)
        return None if level >= _LAST[name] else self._replace(**{name: level + 1})

    def meet(self, other: Dialect) -> Dialect:
        """The lower of the two in each parameter: what concurrent calls learned, together."""
        return Dialect(*map(max, self, other))


def body(endpoint: Endpoint, request: Request, dialect: Dialect) -> dict[str, Any]:
    """The JSON body of a chat completion request; keys of `extra_body` replace ours."""
    extra = endpoint.extra_body
    limit = _LIMITS[dialect.token_limit]
    result: dict[str, Any] = {"model": endpoint.model, "messages": messages(endpoint, request, dialect)}
    if limit and not any(name in extra for name in _LIMITS if name):
        result[limit] = endpoint.max_tokens * request.budget
    if endpoint.temperature is not None and not dialect.temperature:
        result["temperature"] = endpoint.temperature
    if endpoint.seed is not None and not dialect.seed:
        result["seed"] = endpoint.seed
    if response_format := _response_format(request.schema, dialect):
        result["response_format"] = response_format
    result.update(extra)
    return result


def format_name(sent: dict[str, Any]) -> str:
    """The structured-output mode of a body: json_schema, json_object or plain."""
    chosen = sent.get("response_format")
    return str(chosen.get("type", "plain")) if isinstance(chosen, dict) else "plain"


def messages(endpoint: Endpoint, request: Request, dialect: Dialect) -> list[Message]:
    """The messages as they go out, without their images where the endpoint takes none."""
    return request.wire_messages(images=endpoint.vision != "off" and not dialect.images)


def has_images(messages: Sequence[Message]) -> bool:
    return any(
        isinstance(message["content"], list)
        and any(part.get("type") == "image_url" for part in message["content"])
        for message in messages
    )


def refused(fault: Fault, sent: dict[str, Any], endpoint: Endpoint) -> str | None:
    """The parameter of `sent` that the fault says was refused; None where none was, or it is the user's."""
    if fault.status not in _STATUSES or fault.kind in ("context_length", "content_filter"):
        return None
    ours = [name for name in _LAST if _is_ours(name, sent, endpoint)]
    blamed = [name for name in ours if _is_refusal(name, fault.error)]
    # Then images first: a server that cannot take them complains in the words of several other parameters.
    blamed.sort(key=lambda name: (not _is_param(name, fault.error), name != "images"))
    return blamed[0] if blamed else None


def is_lasting(name: str, fault: Fault) -> bool:
    """Whether the parameter itself was refused, and not these images for their number, size or state."""
    return name != "images" or not _OF_THESE_IMAGES.search(fault.error.message[:2_000])


def _is_ours(name: str, sent: dict[str, Any], endpoint: Endpoint) -> bool:
    if name == "images":
        return endpoint.vision == "auto" and has_images(sent["messages"])
    keys = [limit for limit in _LIMITS if limit] if name == "token_limit" else [name]
    return any(key in sent and key not in endpoint.extra_body for key in keys)


def _is_refusal(name: str, error: ErrorObject) -> bool:
    said = error.message[:2_000]
    words = _REFUSED.search(said) or (name == "images" and _OF_THESE_IMAGES.search(said))
    if not _is_param(name, error) and not (_NAMES[name].search(said) and words):
        return False
    # "max_tokens must be at most 512" is no refusal: the other spelling would be answered the same.
    return name != "token_limit" or not _OUT_OF_RANGE.search(said)


def _is_param(name: str, error: ErrorObject) -> bool:
    return bool(error.param and _NAMES[name].search(error.param))


def _response_format(schema: dict[str, Any], dialect: Dialect) -> dict[str, Any] | None:
    kind = FORMATS[dialect.response_format]
    if not schema or kind == "plain":
        return None
    if kind == "json_object":
        return {"type": "json_object"}
    return {"type": "json_schema", "json_schema": {"name": "verdict", "schema": schema, "strict": True}}
