"""Replies kept on disk, and equal questions in flight answered by one call.

Covered: the key of a request, a size-limited directory that many processes share, and single flight within
a process. Not covered: deciding what may be stored (only complete, valid replies; the pipeline knows).

A cache is an optimisation: it may get slower, it may never fail a judgement. Keep it on a local disk.
"""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import asdict, replace
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

from judge.cache.disk import MOUNTS, DiskStore
from judge.cache.flight import Flights
from judge.config import Endpoint
from judge.schema import Deadline, Picture, Reply, Request, Usage

__all__ = ["Memo", "ReplyCache", "request_key"]

T = TypeVar("T")

_GIB = 1024**3
_MOST_PARTS = 1024
_constant_parts: dict[tuple[int, int], tuple[Endpoint, dict[str, Any], bytes]] = {}


def request_key(endpoint: Endpoint, request: Request) -> str:
    """SHA-256, in hex, over all that a reply depends on: two requests with one key are one question.

    Parameters count as asked for, before any stepping down. The verdict_id is left out, being random, and
    so is `budget`: a reply to the second, larger try answers the first.
    """
    digest = hashlib.sha256(_constant_part(endpoint, request.schema))
    digest.update(f"repeat {request.repeat}".encode())
    for message in request.messages:
        content = message["content"]
        text = content if isinstance(content, str) else json.dumps(content, default=_spelled)
        data = text.encode("utf-8", "surrogatepass")
        # With its length before it, no content can run into the next message.
        digest.update(f"\n{message['role']} {len(data)} ".encode())
        digest.update(data)
    return digest.hexdigest()


def _constant_part(endpoint: Endpoint, schema: dict[str, Any]) -> bytes:
    """What all requests of one endpoint and schema have in common, encoded once for each pair of objects."""
    place = (id(endpoint), id(schema))
    known = _constant_parts.get(place)
    if known is None:
        sampling = (endpoint.temperature, endpoint.seed, endpoint.max_tokens, endpoint.vision)
        asked = (endpoint.identity, endpoint.model, sampling, endpoint.extra_body, schema)
        if len(_constant_parts) >= _MOST_PARTS:
            _constant_parts.clear()
        # The objects are kept too: an id means nothing once its object is gone.
        known = endpoint, schema, json.dumps(asked, sort_keys=True, default=repr).encode()
        _constant_parts[place] = known
    return known[2]


def _spelled(value: Any) -> str:
    return value.key if isinstance(value, Picture) else repr(value)


class Memo:
    """The last `size` replies put, in memory: what rollouts of one task share without a disk cache."""

    def __init__(self, size: int = 1024) -> None:
        self._size = size
        self._replies: OrderedDict[str, Reply] = OrderedDict()
        self._lock = Lock()

    def get(self, key: str) -> Reply | None:
        """The reply with `cached` true, no attempts and no latency; None where there is none."""
        reply = self._replies.get(key)
        return reply and _as_cached(reply)

    def put(self, key: str, reply: Reply) -> None:
        with self._lock:
            self._replies[key] = reply
            if len(self._replies) > self._size:
                self._replies.popitem(last=False)


class ReplyCache:
    """Replies by key, in `dir`; with `dir` None nothing is stored, and single flight still holds.

    `size_limit_gb` (GiB) bounds the database; beyond it the oldest replies go, said aloud once. `mounts`
    lists what is mounted where, in the format of /proc/mounts. The directory is opened at first use, and
    anew in a forked process. `get` and `put` never raise and may be called from several threads.
    """

    def __init__(self, dir: Path | None, size_limit_gb: float = 8.0, *, mounts: Path = MOUNTS) -> None:
        self.memo = Memo()
        self._disk = DiskStore(dir, int(size_limit_gb * _GIB), mounts) if dir else None
        self._flights = Flights()

    def get(self, key: str) -> Reply | None:
        """The stored reply with `cached` true, no attempts and no latency; None where there is none."""
        text = self._disk.get(key) if self._disk else None
        return None if text is None else _reply(text)

    def put(self, key: str, reply: Reply) -> None:
        """Store a complete, valid reply, if it can be stored."""
        if self._disk:
            self._disk.put(key, json.dumps(_stored(reply), separators=(",", ":")))

    async def through(
        self, key: str, produce: Callable[[], Awaitable[T]], deadline: Deadline | None = None
    ) -> T:
        """What `produce` returns, run once however many ask for `key` meanwhile on this event loop.

        `deadline` is the one that `produce` minds; it lasts as long as the most patient of them may wait. A
        failure reaches all who wait, and is forgotten. A waiter that is cancelled leaves the others
        waiting; when the last one goes, the work is cancelled with it.
        """
        return await self._flights.through(key, produce, deadline)

    def close(self) -> None:
        """Close the database; later use opens it again."""
        if self._disk:
            self._disk.close()


def _stored(reply: Reply) -> dict[str, Any]:
    """What of a reply is worth keeping: not what it cost to get."""
    return {
        "text": reply.text,
        "model": reply.model,
        "finish_reason": reply.finish_reason,
        "usage": asdict(reply.usage) if reply.usage else None,
        "response_format": reply.response_format,
        "verdict_id": reply.verdict_id,
        "flags": reply.flags,
    }


def _reply(text: str) -> Reply | None:
    """The reply a stored text spells; None where it spells something else."""
    try:
        stored = json.loads(text)
        usage, flags = stored.pop("usage"), stored.pop("flags")
        reply = Reply(**stored, usage=usage and Usage(**usage), flags=tuple(flags), cached=True)
    except (ValueError, TypeError, AttributeError, KeyError):
        return None
    return reply if isinstance(reply.text, str) and isinstance(reply.model, str) else None


def _as_cached(reply: Reply) -> Reply:
    return replace(reply, cached=True, attempts=0, latency_ms=0.0)
