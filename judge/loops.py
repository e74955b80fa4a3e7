"""One event loop in a background thread per process, on which all judging runs.

It serves scripts, threads, a caller's own running loop and forked or spawned children alike: clients,
semaphores and connections are built on it once and never meet another loop. It is rebuilt after a fork.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, Generic, TypeVar

T = TypeVar("T")

_PATIENCE_S = 5.0
"""How long cancelled work may take to unwind before it is left to itself."""

_lock = threading.Lock()
_thread: threading.Thread | None = None
_loop: asyncio.AbstractEventLoop | None = None


def background_loop() -> asyncio.AbstractEventLoop:
    """The loop of this process, started on first use."""
    global _loop, _thread
    with _lock:
        if _loop is None or _thread is None or not _thread.is_alive():
            _loop = asyncio.new_event_loop()
            _thread = threading.Thread(target=_loop.run_forever, name="adaptive-judge", daemon=True)
            _thread.start()
        return _loop


class Work(Generic[T]):
    """A coroutine at work on the background loop, from outside of it."""

    def __init__(self, coroutine: Coroutine[Any, Any, T]) -> None:
        self._ended = threading.Event()
        self.future: Future[T] = asyncio.run_coroutine_threadsafe(self._run(coroutine), background_loop())

    async def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        try:
            return await coroutine
        finally:
            self._ended.set()

    def cancel(self) -> None:
        """Cancel what is not done yet and see it unwind: for at most some seconds, and never on the loop."""
        if self.future.cancel() and not _is_here():
            self._ended.wait(_PATIENCE_S)


def submit(work: Coroutine[Any, Any, T]) -> Future[T]:
    """Start `work` on the background loop and return at once."""
    return asyncio.run_coroutine_threadsafe(work, background_loop())


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run `work` on the background loop and wait for its result.

    An exception that breaks the wait (Ctrl-C) cancels the work and waits until it has cleaned up. Raises
    RuntimeError on the background loop itself, where waiting would never end.
    """
    if _is_here():
        work.close()
        raise RuntimeError("a blocking call from the judge's own event loop; await the async method instead")
    started = Work(work)
    try:
        return started.future.result()
    except BaseException:
        started.cancel()
        raise


def _is_here() -> bool:
    return threading.current_thread() is _thread


def _forget() -> None:
    """In a forked child the parent's thread is gone: what it left is dropped without being touched."""
    global _lock, _loop, _thread
    _lock, _loop, _thread = threading.Lock(), None, None


def _stop() -> None:
    """At exit: what is still at work is cancelled and unwinds, so that nothing is said about it on stderr."""
    loop, thread = _loop, _thread
    if loop is None or thread is None or not thread.is_alive():
        return
    with contextlib.suppress(TimeoutError):
        submit(_wind_up()).result(_PATIENCE_S)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(_PATIENCE_S)
    if not thread.is_alive():
        loop.close()


async def _wind_up() -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
atexit.register(_stop)
