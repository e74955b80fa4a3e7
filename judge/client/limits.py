"""How hard an endpoint may be pressed: requests at once, requests and tokens a minute, and not at all.

Limits are per process. Several trainer processes on one account need `judge serve`, or a share each.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

from judge.client.faults import Fault
from judge.config import Endpoint

PROBE_EVERY_S = 60.0
"""How long an open breaker spares its endpoint before a call may try it again."""


class TokenBucket:
    """`per_minute` units a minute, evenly: a second's worth may be spent at once, more is a debt.

    Taking is a reservation: callers are served in the order they asked, and one that asks for more than
    a second's worth is let through when the bucket is full and makes the next ones wait.
    """

    def __init__(self, per_minute: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = per_minute / 60.0
        self._capacity = max(1.0, self._rate)
        self._level = self._capacity
        self._clock = clock
        self._filled_at = clock()

    def reserve(self, amount: float) -> float:
        """Take `amount` and return the seconds to wait before using it."""
        now = self._clock()
        self._level = min(self._capacity, self._level + (now - self._filled_at) * self._rate)
        self._filled_at = now
        missing = min(amount, self._capacity) - self._level
        self._level -= amount
        return max(0.0, missing / self._rate)

    def give_back(self, amount: float) -> None:
        """Return what was reserved and not used; a negative amount charges what was used beyond it."""
        self._level += amount

    async def take(self, amount: float) -> None:
        """Reserve and wait. A cancelled wait gives the reservation back."""
        delay = self.reserve(amount)
        if not delay:
            return
        try:
            await asyncio.sleep(delay)
        except asyncio.CancelledError:
            self.give_back(amount)
            raise


class Limits:
    """The limits of one endpoint on one event loop."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._slots = asyncio.Semaphore(endpoint.concurrency)
        self._requests = _bucket(endpoint.requests_per_minute)
        self._tokens = _bucket(endpoint.tokens_per_minute)

    @asynccontextmanager
    async def slot(self, tokens: int) -> AsyncIterator[None]:
        """Hold one of the `concurrency` slots for a request of about `tokens` prompt tokens.

        The rate limits are waited for first, so that a caller they hold up occupies no slot.
        """
        if self._requests:
            await self._requests.take(1)
        if self._tokens:
            await self._tokens.take(tokens)
        async with self._slots:
            yield

    def correct(self, estimated: int, used: int) -> None:
        """Replace an estimate charged by `slot` with the tokens the endpoint counted."""
        if self._tokens:
            self._tokens.give_back(estimated - used)


class Breaker:
    """Remembers a fault that the next calls would meet too: a dead account, or a key that is not accepted.

    Opened by quota_exhausted and by 401. A 403 may concern one model or one prompt and does not open it.
    While it is open one call in PROBE_EVERY_S seconds is let through: accounts are topped up and gateways
    recover, and a training that lasts for days must find out. Closed by the first call that succeeds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._fault: Fault | None = None
        self._probe_at = 0.0

    def check(self) -> None:
        """Raise the fault that opened the breaker, if one did; no request is made then."""
        if self._fault is None:
            return
        now = self._clock()
        if now < self._probe_at:
            raise replace(self._fault)
        self._probe_at = now + PROBE_EVERY_S

    def note(self, fault: Fault) -> None:
        is_lasting = fault.kind == "quota_exhausted" or (fault.kind == "auth_error" and fault.status == 401)
        if is_lasting and self._fault is None:
            message = f"no request made so soon after an earlier call failed: {fault.message}"
            self._fault = replace(fault, message=message, usage=None)
            self._probe_at = self._clock() + PROBE_EVERY_S

    def close(self) -> None:
        self._fault = None


def _bucket(per_minute: float | None) -> TokenBucket | None:
    return TokenBucket(per_minute) if per_minute else None
