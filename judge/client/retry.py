"""The one layer that retries: which faults, how often, and how long in between.

The SDK's own retries are off. Waiting is exponential from `backoff_s`; Retry-After is a floor under it,
capped by `max_retry_after_s`; jitter only adds.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from judge.client.faults import Fault
from judge.config import Endpoint

if TYPE_CHECKING:
    from tenacity import AsyncRetrying, RetryCallState

_MAX_BACKOFF_S = 30.0


def retrying(endpoint: Endpoint, left: Callable[[], float]) -> AsyncRetrying:
    """A fresh tenacity controller for one call: at most `max_attempts` tries within the seconds `left`.

    A wait that would outlast the deadline is not begun: the last fault says more than "timeout" would.
    """
    from tenacity import AsyncRetrying

    def wait(state: RetryCallState) -> float:
        floor = least_wait(endpoint, state.attempt_number, _fault(state))
        return floor + random.uniform(0, min(endpoint.backoff_s, _MAX_BACKOFF_S))

    def stop(state: RetryCallState) -> bool:
        floor = least_wait(endpoint, state.attempt_number, _fault(state))
        return state.attempt_number >= endpoint.max_attempts or floor >= left()

    return AsyncRetrying(wait=wait, stop=stop, retry=_is_retryable, reraise=True)


def least_wait(endpoint: Endpoint, attempt: int, fault: Fault) -> float:
    """Seconds to wait at least after the `attempt`-th try (from 1), before jitter."""
    backoff = min(endpoint.backoff_s * 2.0 ** (attempt - 1), _MAX_BACKOFF_S)
    return max(backoff, min(fault.retry_after_s or 0.0, endpoint.max_retry_after_s))


def retry_after_s(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """What Retry-After asks for, in seconds from `now` (a Unix time); None where absent or unreadable.

    Reads the seconds and the HTTP-date form (RFC 9110, 10.2.3), and retry-after-ms, which is finer.
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after")
    if value is None or (seconds := _number(value)) is not None:
        return None if value is None else seconds
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - (time.time() if now is None else now))
    except (ValueError, TypeError, OverflowError):
        return None


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


def _fault(state: RetryCallState) -> Fault:
    fault: Any = state.outcome.exception() if state.outcome else None
    assert isinstance(fault, Fault)
    return fault


def _is_retryable(state: RetryCallState) -> bool:
    fault = state.outcome.exception() if state.outcome else None
    return isinstance(fault, Fault) and fault.retryable
