"""Single flight: who asks what is already being asked waits for that answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from judge.schema import Deadline

T = TypeVar("T")


class Flights:
    """Work in progress by key, on each event loop its own."""

    def __init__(self) -> None:
        self._flights: dict[tuple[asyncio.AbstractEventLoop, str], _Flight] = {}

    async def through(
        self, key: str, produce: Callable[[], Awaitable[T]], deadline: Deadline | None = None
    ) -> T:
        """The result of `produce`, shared with all who ask for `key` until it is there.

        `deadline` is the one that `produce` minds; it lasts as long as the most patient of them may wait.
        """
        place = (asyncio.get_running_loop(), key)
        flight = self._flights.get(place)
        if flight is None:
            flight = self._flights[place] = _Flight(asyncio.ensure_future(produce()), deadline)
        elif flight.deadline is not None and deadline is not None:
            flight.deadline.share(deadline)
        flight.waiting += 1
        try:
            # Shielded: this waiter may be cancelled while others still want the result.
            result: T = await asyncio.shield(flight.work)
            return result
        finally:
            flight.waiting -= 1
            if flight.work.done() or not flight.waiting:
                self._land(place, flight)
            if not flight.work.done() and not flight.waiting:
                await flight.abandon()

    def _land(self, place: tuple[asyncio.AbstractEventLoop, str], flight: _Flight) -> None:
        if self._flights.get(place) is flight:
            del self._flights[place]


class _Flight:
    def __init__(self, work: asyncio.Future[Any], deadline: Deadline | None) -> None:
        self.work = work
        self.deadline = deadline
        self.waiting = 0

    async def abandon(self) -> None:
        """Cancel the work and see it end, so that nothing of it outlives the last waiter."""
        self.work.cancel()
        await asyncio.gather(self.work, return_exceptions=True)
