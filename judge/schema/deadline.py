"""A budget of time that several calls in a row share."""

from __future__ import annotations

import asyncio
from copy import copy
from types import TracebackType


class Deadline:
    """Seconds that run only while they are being spent: all the calls of one trajectory share one.

    Its clock runs inside `running` and can be stopped there, for a wait that is no fault of whoever is being
    waited for (a queue of our own). The clock on the wall cannot: `within_s` seconds from now, where given,
    the time is up in any case. Calls in turn, not at once.
    """

    def __init__(self, seconds: float, within_s: float | None = None) -> None:
        self._seconds, self._within_s = seconds, within_s
        self._left = seconds
        # Moments of the loop's clock: the end of the seconds, while they run, and the end in any case.
        self._until: float | None = None
        self._latest = None if within_s is None else asyncio.get_running_loop().time() + within_s
        self._scope: asyncio.Timeout | None = None

    def running(self) -> _Running:
        """A context in which the clock runs; within itself it changes nothing.

        Raises TimeoutError once the seconds are spent.
        """
        return _Running(self)

    def left(self) -> float:
        """Seconds that are left, while the clock runs."""
        end = self._end()
        assert end is not None
        return end - asyncio.get_running_loop().time()

    def rest(self) -> Deadline:
        """A deadline of its own with what is left, for calls that are made at once."""
        found = copy(self)
        found._scope = None
        found._spend()
        return found

    def share(self, other: Deadline) -> None:
        """Let it last as long on the wall as `other`, if that is longer: two wait for one call."""
        if self._latest is not None and (other._latest is None or other._latest > self._latest):
            self._latest, self._within_s = other._latest, other._within_s
            self._reschedule()

    @property
    def expired(self) -> bool:
        """Whether what runs now is being cancelled because the time is up."""
        return self._scope is not None and self._scope.expired()

    @property
    def missed(self) -> str:
        """What to say of it once the time is up."""
        if self._latest is not None and asyncio.get_running_loop().time() >= self._latest:
            return f"no reply within {self._within_s:g} s, all that the limit of the caller leaves for calls"
        return f"no reply within judge.deadline_s = {self._seconds:g} s"

    def stop(self) -> None:
        """Stop the clock."""
        self._spend()
        self._reschedule()

    def go_on(self) -> None:
        """Let the clock run again."""
        self._until = asyncio.get_running_loop().time() + self._left
        self._reschedule()

    def _end(self) -> float | None:
        ends = [end for end in (self._until, self._latest) if end is not None]
        return min(ends, default=None)

    def _spend(self) -> None:
        if self._until is not None:
            self._left = self._until - asyncio.get_running_loop().time()
            self._until = None

    def _reschedule(self) -> None:
        if self._scope is not None and not self._scope.expired():
            self._scope.reschedule(self._end())


class _Running:
    """A class and not a generator: every call of every trajectory passes through two of these."""

    def __init__(self, deadline: Deadline) -> None:
        self._deadline = deadline
        self._scope: asyncio.Timeout | None = None

    async def __aenter__(self) -> None:
        deadline = self._deadline
        if deadline._scope is not None:
            return
        deadline.go_on()
        self._scope = deadline._scope = asyncio.timeout_at(deadline._end())
        await self._scope.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._scope is None:
            return
        self._deadline._spend()
        try:
            await self._scope.__aexit__(kind, error, trace)
        finally:
            self._deadline._scope = None
