"""A budget of time that several calls in a row share."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


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

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run the clock; raises TimeoutError once the seconds are spent. Within itself it changes nothing."""
        if self._scope is not None:
            yield
            return
        try:
            async with asyncio.timeout(self._left) as self._scope:
                self._until = asyncio.get_running_loop().time() + self._left
                yield
        finally:
            self._left = self.left()
            self._scope = None

    def left(self) -> float:
        """Seconds that are left, while the clock runs."""
        return self._until - asyncio.get_running_loop().time()

    @property
    def expired(self) -> bool:
        """Whether what runs now is being cancelled because the seconds are spent."""
        return self._scope is not None and self._scope.expired()

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
