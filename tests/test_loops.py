"""The background loop: one per process, whoever asks, and nothing left of cancelled work."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from judge import loops


async def _current() -> asyncio.AbstractEventLoop:
    return asyncio.get_running_loop()


def test_all_work_runs_on_one_loop_whoever_asks() -> None:
    here = loops.run(_current())
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(lambda _: loops.run(_current()), range(8))) == {here}

    async def inside() -> asyncio.AbstractEventLoop:
        assert asyncio.get_running_loop() is not here
        return loops.run(_current())

    assert asyncio.run(inside()) is here
    assert loops.submit(_current()).result(5) is here


def test_what_the_work_raises_reaches_the_caller() -> None:
    async def fail() -> None:
        raise LookupError("nothing there")

    with pytest.raises(LookupError, match="nothing there"):
        loops.run(fail())


def test_a_blocking_call_on_the_loop_itself_is_refused() -> None:
    async def nested() -> Any:
        return loops.run(_current())

    with pytest.raises(RuntimeError, match="own event loop"):
        loops.run(nested())


def test_cancelled_work_has_unwound_when_cancel_returns() -> None:
    started, unwound = threading.Event(), []

    async def slow() -> None:
        try:
            started.set()
            await asyncio.sleep(3600)
        finally:
            for _ in range(20):
                await asyncio.sleep(0)
            unwound.append(True)

    work = loops.Work(slow())
    assert started.wait(30)
    work.cancel()
    assert unwound == [True]
    work.cancel()


def test_ctrl_c_in_the_waiting_thread_cancels_the_work() -> None:
    unwound = threading.Event()

    async def slow() -> None:
        try:
            threading.Timer(0.3, os.kill, [os.getpid(), signal.SIGINT]).start()
            await asyncio.sleep(3600)
        finally:
            unwound.set()

    with pytest.raises(KeyboardInterrupt):
        loops.run(slow())
    assert unwound.is_set()
