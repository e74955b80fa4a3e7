"""What can go wrong, by name.

    JudgeError                  a judgement failed; `.kind` is one of ERROR_KINDS
    ├── InputError              the caller's file or sample is at fault (kind unusable_input)
    ├── ConfigError             the caller's settings are at fault (kind bad_config)
    └── RubricError             a rubric or prompt folder is at fault (kind invalid_rubric)

A failed judgement is never a score: the pipeline turns a JudgeError into a Reward whose value is None.
The three subclasses are raised before any call is made and reach the user as they are (exit status 2).
"""

from __future__ import annotations

from typing import Any

__all__ = ["ERROR_KINDS", "ConfigError", "InputError", "JudgeError", "RubricError"]

ERROR_KINDS = frozenset(
    {
        "parse_error",
        "invalid_verdict",
        "ambiguous_verdict",
        "inconsistent_verdict",
        "judge_abstained",
        "refusal",
        "truncated",
        "empty_response",
        "content_filter",
        "context_length",
        "rate_limited",
        "quota_exhausted",
        "auth_error",
        "bad_request",
        "bad_response",
        "upstream_error",
        "connection_error",
        "timeout",
        "incomplete_steps",
        "empty_trajectory",
        "unusable_input",
        "invalid_rubric",
    }
)


class JudgeError(Exception):
    """A judgement that failed.

    Attributes:
        kind: one of ERROR_KINDS (`bad_config` for ConfigError).
        raw: the reply text as received, where there was one.
        attempts: HTTP requests spent, 0 where none was made.
        latency_ms: wall time spent on them, in milliseconds.
        usage: what the endpoint billed although the judgement failed, else None (a `judge.schema.Usage`).
        finish_reason: as the endpoint gave it, else None.
    """

    def __init__(
        self,
        kind: str,
        message: str,
        *,
        raw: str | None = None,
        attempts: int = 0,
        latency_ms: float = 0.0,
        usage: Any = None,
        finish_reason: str | None = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.raw = raw
        self.attempts = attempts
        self.latency_ms = latency_ms
        self.usage = usage
        self.finish_reason = finish_reason

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}"

    def __reduce__(self) -> tuple[Any, ...]:
        return _revive, (type(self), self.kind, self.message, {**self.__dict__})


class InputError(JudgeError):
    """A stored trajectory or sample that cannot be used; the message names file, line and field."""

    def __init__(self, message: str) -> None:
        super().__init__("unusable_input", message)

    def __str__(self) -> str:
        return self.message


class ConfigError(JudgeError):
    """A setting that cannot be used; the message names where it came from and its key."""

    def __init__(self, message: str) -> None:
        super().__init__("bad_config", message)

    def __str__(self) -> str:
        return self.message


class RubricError(JudgeError):
    """A rubric or prompt file that cannot be used; the message names the file and the key."""

    def __init__(self, message: str) -> None:
        super().__init__("invalid_rubric", message)

    def __str__(self) -> str:
        return self.message


def _revive(cls: type[JudgeError], kind: str, message: str, state: dict[str, Any]) -> JudgeError:
    error = JudgeError.__new__(cls)
    JudgeError.__init__(error, kind, message)
    error.__dict__.update(state)
    return error
