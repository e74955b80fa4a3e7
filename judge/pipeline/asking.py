"""One question, answered: from the cache, from the same question in flight, or by the client, with re-asks.

Every request it takes is kept as a Call, whatever became of it: a reply that could not be read was billed
all the same.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import count
from typing import Generic, Protocol, TypeVar

from judge.cache import ReplyCache, request_key
from judge.config import Endpoint, JudgeSection
from judge.errors import JudgeError
from judge.prompt import PromptSet, repair_request
from judge.schema import Call, Reply, Request, Usage

T = TypeVar("T")

_SHARED = ("route", "fine")
"""Purposes that belong to the instruction: all runs of a task ask the same, with or without a cache."""


class Client(Protocol):
    """Whatever answers requests: an endpoint, the embedded judge, a script in a test.

    `call` returns a Reply with text to be read, or raises JudgeError once the failure is final.
    """

    async def call(self, request: Request) -> Reply: ...


@dataclass(frozen=True)
class Answer(Generic[T]):
    """What became of a question: a value, or the error that ended it; and every call it took."""

    value: T | None = None
    error: JudgeError | None = None
    calls: tuple[Call, ...] = ()


class Asking:
    """Puts questions to a client; equal questions in flight share one call."""

    def __init__(self, settings: JudgeSection, client: Client, cache: ReplyCache) -> None:
        self._settings = settings
        self._client = client
        self._cache = cache
        self._endpoints: dict[str, Endpoint] = {}

    def endpoint(self, purpose: str) -> Endpoint:
        """The endpoint that answers a purpose."""
        if purpose not in self._endpoints:
            self._endpoints[purpose] = self._settings.endpoint(purpose)
        return self._endpoints[purpose]

    async def ask(
        self, request: Request, read: Callable[[Reply], T], prompts: PromptSet, calls: list[Call]
    ) -> T:
        """The reply to `request` as `read` understands it; what it took is appended to `calls`.

        Raises the JudgeError of the last try where the client failed or no reply could be read.
        """
        endpoint = self.endpoint(request.purpose)
        key = request_key(endpoint, request)
        shared = request.purpose in _SHARED
        kept = self._cache.memo.get(key) if shared else self._cache.get(key)
        if known := _known(kept, request, endpoint, read):
            return _taken(known, known.calls, calls)

        async def produce() -> tuple[Answer[T], Iterator[int]]:
            # All runs of a task ask at once: one of them looks on the disk.
            if shared and (stored := self._cache.get(key)):
                self._cache.memo.put(key, stored)
                if found := _known(stored, request, endpoint, read):
                    return found, count()
            return await self._fresh(request, read, prompts, endpoint, key), count()

        answer, takers = await self._cache.through(key, produce, request.deadline)
        # What it cost is for the first who takes it to tell: who asked may have been cut off by then.
        is_first = next(takers) == 0
        return _taken(answer, answer.calls if is_first else map(_told, answer.calls[-1:]), calls)

    async def _fresh(
        self, request: Request, read: Callable[[Reply], T], prompts: PromptSet, endpoint: Endpoint, key: str
    ) -> Answer[T]:
        """Ask, and once more (max_reask) with the fault named where the reply is no answer."""
        calls: list[Call] = []
        question = request
        for again in range(endpoint.max_reask, -1, -1):
            question = question.with_verdict_id(secrets.token_hex(8))
            try:
                reply = await self._call_in_time(question)
            except JudgeError as error:
                calls.append(_failed_call(question, endpoint, error))
                return Answer(error=error, calls=tuple(calls))
            try:
                value = read(reply)
            except JudgeError as error:
                if error.kind == "empty_response" and reply.finish_reason == "length":
                    # Nothing was left of the budget for an answer: thinking, or blanks, took all of it.
                    error.kind = "truncated"
                calls.append(_call(question, reply, endpoint, error))
                if not again:
                    return Answer(error=error, calls=tuple(calls))
                cut = (
                    error.kind == "truncated"
                    or reply.finish_reason == "length"
                    or "reasoning_only" in reply.flags
                )
                question = repair_request(prompts, request, str(error), more=2 if cut else 1)
            else:
                calls.append(_call(question, reply, endpoint))
                self._store(request, key, reply)
                return Answer(value, calls=tuple(calls))
        raise AssertionError("the last round returns")

    async def _call_in_time(self, question: Request) -> Reply:
        """The client's reply. A client that minds no deadline itself is cancelled at it."""
        deadline = question.deadline
        if deadline is None:
            return await self._client.call(question)
        try:
            async with deadline.running():
                return await self._client.call(question)
        except TimeoutError:
            raise JudgeError("timeout", deadline.missed) from None

    def _store(self, request: Request, key: str, reply: Reply) -> None:
        if request.purpose in _SHARED:
            self._cache.memo.put(key, reply)
        self._cache.put(key, reply)


def _known(
    stored: Reply | None, request: Request, endpoint: Endpoint, read: Callable[[Reply], T]
) -> Answer[T] | None:
    """The answer in a stored reply; None where there is none, or none that today's reading accepts."""
    if stored is None:
        return None
    try:
        return Answer(read(stored), calls=(_call(request, stored, endpoint),))
    except JudgeError:
        return None


def _taken(answer: Answer[T], told: Iterable[Call], calls: list[Call]) -> T:
    """The value of an answer, or its error raised; what is told of the calls it took joins `calls`."""
    calls.extend(told)
    if answer.error is not None:
        raise answer.error
    assert answer.value is not None
    return answer.value


def _call(request: Request, reply: Reply, endpoint: Endpoint, error: JudgeError | None = None) -> Call:
    return Call(
        purpose=request.purpose,
        model=reply.model,
        attempts=reply.attempts,
        cached=reply.cached,
        latency_ms=reply.latency_ms,
        usage=reply.usage,
        cost=None if reply.cached else _cost(reply.usage, endpoint),
        finish_reason=reply.finish_reason,
        response_format=reply.response_format,
        verdict_id=reply.verdict_id,
        raw=reply.text,
        error={"kind": error.kind, "message": error.message} if error else None,
    )


def _failed_call(request: Request, endpoint: Endpoint, error: JudgeError) -> Call:
    return Call(
        purpose=request.purpose,
        model=endpoint.model or "",
        attempts=error.attempts,
        latency_ms=error.latency_ms,
        usage=error.usage,
        cost=_cost(error.usage, endpoint),
        finish_reason=error.finish_reason,
        verdict_id=request.verdict_id,
        raw=error.raw,
        error={"kind": error.kind, "message": error.message},
    )


def _told(call: Call) -> Call:
    """A call that another judgement paid for: told, not counted."""
    return replace(call, cached=True, attempts=0, latency_ms=0.0, cost=None)


def _cost(usage: Usage | None, endpoint: Endpoint) -> float | None:
    price = endpoint.price_per_million
    if price is None or usage is None:
        return None
    return (
        (usage.prompt_tokens or 0) * price.prompt + (usage.completion_tokens or 0) * price.completion
    ) / 1e6
