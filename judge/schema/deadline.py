"""A budget of time that several calls in a row share."""

from __future__ import annotations

import asyncio
from types import TracebackType


class Deadline:
    """Seconds that run only while they are being spent: all the calls of one trajectory share one.

    Its clock runs inside `running` and can be stopped there, for a wait that is no fault of whoever is being
    waited for (a queue of our own). Calls in turn, not at once.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._left = seconds
        self._until = 0.0
        self._scope: asyncio.Timeout | None = None

    def running(self) -> _Running:
        """A context in which the clock runs; within itself it changes nothing.

        Raises TimeoutError once the seconds are spent.
        """
        return _Running(self)

    def left(self) -> float:
        """Seconds that are left, while the clock runs."""
        return self._until - asyncio.get_running_loop().time()

    def rest(self) -> Deadline:
        """A deadline of its own with the seconds that are left, for calls that are made at once."""
        return Deadline(self._left if self._scope is None else self.left())

    @property
    def expired(self) -> bool:
        """Whether what runs now is being cancelled because the seconds are spent."""
        return self._scope is not None and self._scope.expired()

    @property
    def missed(self) -> str:
        """What to say of it once the seconds are spent."""
        return f"no reply within {self.seconds:g} s (judge.deadline_s, or a shorter limit of the caller)"

    def stop(self) -> None:
        """Stop the clock."""
        self._left = self.left()
        if self._scope is not None:
            self._scope.reschedule(None)

    def go_on(self) -> None:
        """Let the clock run again."""
        self._until = asyncio.get_running_loop().time() + self._left
        if self._scope is not None:
            self._scope.reschedule(self._until)


class _Running:
    """A class and not a generator: every call of every trajectory passes through two of these."""

    def __init__(self, deadline: Deadline) -> None:
        self._deadline = deadline
        self._scope: asyncio.Timeout | None = None

    async def __aenter__(self) -> None:
        deadline = self._deadline
        if deadline._scope is not None:
            return
        self._scope = deadline._scope = asyncio.timeout(deadline._left)
        await self._scope.__aenter__()
        deadline._until = asyncio.get_running_loop().time() + deadline._left

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._scope is None:
            return
        self._deadline._left = self._deadline.left()
        try:
            await self._scope.__aexit__(kind, error, trace)
        finally:
            self._deadline._scope = None
