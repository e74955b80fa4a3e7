"""What a Judge holds open in one process: its client, cache, log and pipeline; and closing them in time.

Built on first use and never carried into another process: a fork or a pickle starts with none.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os

from judge import loops
from judge.cache import ReplyCache
from judge.config import Config
from judge.embedded import EmbeddedJudge
from judge.errors import JudgeError
from judge.log import RewardLog
from judge.pipeline import Client, Pipeline
from judge.schema import Reply, Request


class Workshop:
    """What a Judge needs in one process: the pipeline, and the handles it holds open."""

    def __init__(self, config: Config, client: Client | None) -> None:
        self.pid = os.getpid()
        self.client = _client(config) if client is None else _Bounded(client, config.judge.concurrency)
        embedded = config.judge.is_embedded and client is None
        # The embedded judge costs less than a look into the cache.
        self.cache = ReplyCache(None if embedded else config.cache.dir, config.cache.size_limit_gb)
        self.log = RewardLog(config.log.path) if config.log.path else None
        self.pipeline = Pipeline(config, self.client, self.cache)
        _open.add(self)

    async def aclose(self) -> None:
        _open.discard(self)
        close = getattr(self.client, "aclose", None)
        if close is not None:
            await close()
        self.cache.close()
        if self.log is not None:
            self.log.close()


class _Bounded:
    """A caller's own client with no more calls at once than configured; OpenAIClient sees to that itself."""

    def __init__(self, client: Client, concurrency: int) -> None:
        self._client = client
        self._slots = asyncio.Semaphore(concurrency)

    async def call(self, request: Request) -> Reply:
        async with self._slots:
            return await self._client.call(request)

    async def aclose(self) -> None:
        if (close := getattr(self._client, "aclose", None)) is not None:
            await close()


def _client(config: Config) -> Client:
    if config.judge.is_embedded:
        return EmbeddedJudge()
    from judge.client import OpenAIClient

    return OpenAIClient(config.judge)


_open: set[Workshop] = set()
"""Held until closed on their own loop. A fork keeps its parent's for good: what they hold open is shared."""


def release(workshop: Workshop) -> None:
    """Close it, if nobody has: a Judge that was dropped leaves no connection behind."""
    if workshop in _open and workshop.pid == os.getpid():
        loops.submit(workshop.aclose())


def _close_all() -> None:
    for workshop in list(_open):
        if workshop.pid == os.getpid():
            with contextlib.suppress(JudgeError, RuntimeError, OSError):
                loops.run(workshop.aclose())


atexit.register(_close_all)
