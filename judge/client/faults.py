"""What an endpoint's complaint means: HTTP status and error object → error kind, and whether to try again.

An error object inside a 200 is settled by its code exactly as the HTTP status would be. Wording decides
only where no code does: for a prompt that is too long. Quota is decided by code alone, because some
gateways word a plain rate limit as "insufficient quota".
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from judge.errors import JudgeError
from judge.schema import Usage

RAW_CHARS = 4_000
"""How much of a body an error keeps, in characters."""


class ErrorObject(NamedTuple):
    """The parts of an error body that mean something; "" where absent. Codes and types in lower case."""

    code: str = ""
    type: str = ""
    param: str = ""
    message: str = ""


_NOTHING_SAID = ErrorObject()


@dataclass(eq=False)
class Fault(Exception):
    """One request that came to nothing. Becomes a JudgeError unless the next attempt succeeds.

    Attributes:
        kind: one of judge.errors.ERROR_KINDS.
        retry_after_s: what the endpoint asked to be waited, in seconds, uncapped.
        status, error: what a refused parameter is recognised by; 0 and empty where no endpoint spoke.
    """

    kind: str
    message: str
    retryable: bool = False
    retry_after_s: float | None = None
    raw: str | None = None
    usage: Usage | None = None
    finish_reason: str | None = None
    status: int = 0
    error: ErrorObject = _NOTHING_SAID

    def as_error(self, attempts: int, latency_ms: float) -> JudgeError:
        return JudgeError(
            self.kind,
            self.message,
            raw=self.raw,
            attempts=attempts,
            latency_ms=latency_ms,
            usage=self.usage,
            finish_reason=self.finish_reason,
        )


_QUOTA = frozenset(("insufficient_quota", "billing_hard_limit_reached", "insufficient_balance", "arrearage"))
_FILTERED = frozenset(
    (
        "content_filter",
        "content_policy_violation",
        "data_inspection_failed",
        "datainspectionfailed",
        "responsibleaipolicyviolation",
    )
)
_TOO_LONG = frozenset(("context_length_exceeded", "exceed_context_size_error", "string_above_max_length"))
_TOO_LONG_WORDS = re.compile(
    r"maximum (?:context|model|sequence|input) length|context (?:length|window|size)|max_model_len"
    r"|(?:prompt|input|request)(?: \w+){0,3} (?:is )?too (?:long|large)|too many (?:input )?tokens"
    r"|range of input length|reduce the length of the (?:messages|prompt|input)",
    re.IGNORECASE,
)
_STATUS_OF_NAME = {
    **dict.fromkeys(
        ("rate_limit_exceeded", "rate_limit_error", "too_many_requests", "requests", "tokens"), 429
    ),
    **dict.fromkeys(("server_error", "internal_server_error", "internal_error", "api_error"), 500),
    **dict.fromkeys(("overloaded_error", "overloaded", "service_unavailable", "engine_overloaded"), 503),
    **dict.fromkeys(("timeout", "request_timeout"), 408),
    **dict.fromkeys(("invalid_api_key", "authentication_error"), 401),
    **dict.fromkeys(("permission_error", "permission_denied", "access_denied"), 403),
    **dict.fromkeys(("model_not_found", "not_found", "not_found_error"), 404),
    **dict.fromkeys(
        ("invalid_request_error", "badrequesterror", "unsupported_parameter", "unsupported_value"), 400
    ),
}
_ADVICE = {
    "auth_error": "check the API key, and that it may use this model",
    "quota_exhausted": "the account is out of credit, waiting cannot help: top it up",
    "rate_limited": "lower judge.concurrency, or set judge.requests_per_minute",
    "context_length": "lower frames.max_frames or frames.max_chars, or serve the model with a longer context",
    "content_filter": "the endpoint's filter stopped this trajectory",
    "upstream_error": "the endpoint is failing: see its own log",
    "bad_request": "check judge.model, judge.base_url and judge.extra_body",
    "timeout": "raise judge.timeout_s or lower judge.concurrency",
}


def error_object(payload: Any) -> ErrorObject:
    """The error in a decoded body, whether {"error": {…}}, {"error": "…"}, {"detail": …} or flat."""
    if not isinstance(payload, Mapping):
        return ErrorObject(message=_text(payload))
    inner = payload.get("error")
    if isinstance(inner, Mapping):
        message = (
            inner.get("message") or inner.get("detail") or {k: v for k, v in inner.items() if k != "code"}
        )
        return ErrorObject(
            _name(inner.get("code")), _name(inner.get("type")), _text(inner.get("param")), _text(message)
        )
    spoken = [inner, payload.get("message"), payload.get("detail")]
    message = ": ".join(_text(part) for part in spoken if part) or _text(payload)
    return ErrorObject(
        _name(payload.get("code")), _name(payload.get("type")), _text(payload.get("param")), message
    )


def embedded_status(error: ErrorObject) -> int:
    """The HTTP status that an error object inside a 200 stands for; 502 where it does not say."""
    if error.code.isdecimal() and 400 <= int(error.code) <= 599:
        return int(error.code)
    return _STATUS_OF_NAME.get(error.code) or _STATUS_OF_NAME.get(error.type) or 502


def settle(status: int, error: ErrorObject, *, where: str, **details: Any) -> Fault:
    """The Fault for an HTTP error status (or the status an embedded error stands for).

    `where` names the endpoint in the message; `details` are further fields of Fault.
    """
    kind, retryable = _kind(status, error)
    said = " ".join(error.message.split())[:300] or "no message"
    advice = _ADVICE.get(kind)
    message = f"{where} answered {status}: {said}" + (f" ({advice})" if advice else "")
    return Fault(kind, message, retryable, status=status, error=error, **details)


def _kind(status: int, error: ErrorObject) -> tuple[str, bool]:
    names = {error.code, error.type}
    if names & _QUOTA or status == 402:
        return "quota_exhausted", False
    if names & _FILTERED:
        return "content_filter", False
    if status == 413 or names & _TOO_LONG or (status in (400, 422) and _TOO_LONG_WORDS.search(error.message)):
        return "context_length", False
    if status in (401, 403):
        return "auth_error", False
    if status == 408:
        return "timeout", True
    if status == 429:
        return "rate_limited", True
    if status == 409 or status >= 500:
        return "upstream_error", True
    return "bad_request", False


def _name(value: Any) -> str:
    return "" if value is None or isinstance(value, dict | list) else str(value).strip().lower()


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=repr)
