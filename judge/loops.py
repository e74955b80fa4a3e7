"""One event loop in a background thread per process, on which all judging runs.

It serves scripts, threads, a caller's own running loop and forked or spawned children alike: clients,
semaphores and connections are built on it once and never meet another loop. It is rebuilt after a fork.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")

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


def submit(work: Coroutine[Any, Any, T]) -> Future[T]:
    """Start `work` on the background loop and return at once."""
    return asyncio.run_coroutine_threadsafe(work, background_loop())


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run `work` on the background loop and wait for its result.

    An exception that breaks the wait (Ctrl-C) cancels the work and waits until it has cleaned up. Raises
    RuntimeError on the background loop itself, where waiting would never end.
    """
    if threading.current_thread() is _thread:
        work.close()
        raise RuntimeError("a blocking call from the judge's own event loop; await the async method instead")
    future = submit(_shielded(work))
    try:
        return future.result()
    except BaseException:
        if future.cancel():
            submit(asyncio.sleep(0)).result(timeout=5)
        raise


async def _shielded(work: Coroutine[Any, Any, T]) -> T:
    return await work


def _forget() -> None:
    """In a forked child the parent's thread is gone: what it left is dropped without being touched."""
    global _lock, _loop, _thread
    _lock, _loop, _thread = threading.Lock(), None, None


def _stop() -> None:
    loop, thread = _loop, _thread
    if loop is None or thread is None or not thread.is_alive():
        return
    loop.call_soon_threadsafe(loop.stop)
    thread.join(timeout=2)
    if not thread.is_alive():
        loop.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
atexit.register(_stop)
