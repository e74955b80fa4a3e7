"""OpenAIClient: which endpoint answers which purpose, on which event loop.

Everything bound to an event loop (connections, slots, rate limits) is built per loop and process; what was
learned about an endpoint (refused parameters, a dead key) is kept for the life of the client.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from typing import Any

from judge.client.channel import Channel, Learned
from judge.client.limits import Limits
from judge.client.wire import Wire, checked
from judge.config import Endpoint, JudgeSection
from judge.schema import Reply, Request


class OpenAIClient:
    """Calls OpenAI-compatible endpoints, each purpose its own where the settings say so.

    Purposes with the same address, key and limits share connections and limits. Use it from one event loop
    at a time; another loop, or a forked process, gets connections of its own.
    """

    def __init__(self, settings: JudgeSection) -> None:
        self._settings = settings
        self._learned = Learned()
        self._pid = os.getpid()
        self._pools: dict[asyncio.AbstractEventLoop, _Pool] = {}
        self._forsaken: list[Any] = []

    async def call(self, request: Request) -> Reply:
        """The judge's reply to `request`.

        An empty or cut reply is a Reply too (see `finish_reason` and the flags reasoning_only,
        prompt_truncation_suspected, images_not_sent): asking again is the caller's decision.

        Raises:
            JudgeError: with the kind, the attempts and milliseconds spent, the body received and its usage.
            ConfigError: where the settings name no endpoint or model, or a key that cannot be used.
        """
        pool = self._pools.get(asyncio.get_running_loop())
        if pool is None or self._pid != os.getpid():
            pool = await self._open_pool()
        return await pool.channel(request.purpose).ask(request)

    async def aclose(self) -> None:
        """Close the connections of the running loop, and of loops that have ended. Calls may follow."""
        self._leave_to_parent()
        running = asyncio.get_running_loop()
        for loop in list(self._pools):
            if loop is running or loop.is_closed():
                await self._close_pool(loop)

    async def _open_pool(self) -> _Pool:
        self._leave_to_parent()
        for loop in [loop for loop in self._pools if loop.is_closed()]:
            await self._close_pool(loop)
        return self._pools.setdefault(asyncio.get_running_loop(), _Pool(self._settings, self._learned))

    def _leave_to_parent(self) -> None:
        if self._pid != os.getpid():
            # The parent's sockets and selector are shared with this fork: closing them here would close
            # them there, so they are kept out of the garbage collector's reach instead.
            self._forsaken.append(self._pools)
            self._pools, self._pid = {}, os.getpid()

    async def _close_pool(self, loop: asyncio.AbstractEventLoop) -> None:
        pool = self._pools.pop(loop)
        # The sockets of a loop that has ended cannot be closed politely; nothing is lost with them.
        with suppress(RuntimeError):
            await pool.close()


class _Pool:
    """What is bound to one event loop: a channel per purpose, over shared connections and limits."""

    def __init__(self, settings: JudgeSection, learned: Learned) -> None:
        self._settings = settings
        self._learned = learned
        self._channels: dict[str, Channel] = {}
        self._wires: dict[Any, Wire] = {}
        self._limits: dict[Any, Limits] = {}

    def channel(self, purpose: str) -> Channel:
        if purpose not in self._channels:
            self._channels[purpose] = self._connect(checked(self._settings.endpoint(purpose)))
        return self._channels[purpose]

    def _connect(self, endpoint: Endpoint) -> Channel:
        address = (endpoint.base_url, endpoint.api_key_env, endpoint.timeout_s)
        pressure = (
            *address[:2],
            endpoint.concurrency,
            endpoint.requests_per_minute,
            endpoint.tokens_per_minute,
        )
        if address not in self._wires:
            self._wires[address] = Wire(endpoint)
        limits = self._limits.setdefault(pressure, Limits(endpoint))
        return Channel(endpoint, self._wires[address], limits, self._learned)

    async def close(self) -> None:
        for wire in self._wires.values():
            await wire.close()
