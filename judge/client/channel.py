"""One call to one endpoint, from Request to Reply: the slot, the retries, the steps down, the flags.

The deadline of a call runs while the endpoint has it or a retry is waited for, not while the call queues
for a slot or a rate limit of our own: a long queue is no fault of the endpoint's.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from judge.client import dialect as dialects
from judge.client.dialect import Dialect
from judge.client.envelope import Answer, read
from judge.client.faults import Fault
from judge.client.limits import Breaker, Limits
from judge.client.retry import retrying
from judge.client.tokens import estimate_tokens
from judge.client.wire import Wire, shown_url
from judge.config import Endpoint
from judge.errors import JudgeError
from judge.schema import Deadline, Reply, Request, Usage

_log = logging.getLogger("judge.client")

# Below this many estimated tokens the estimate is too rough to accuse a server of cutting the prompt.
_ESTIMATE_FLOOR = 1_000
_CUT_SHARE = 0.5


@dataclass
class Learned:
    """What the client found out about its endpoints; survives loops."""

    dialects: defaultdict[tuple[str, str | None], Dialect] = field(
        default_factory=lambda: defaultdict(Dialect)
    )
    breakers: defaultdict[tuple[str, str | None], Breaker] = field(
        default_factory=lambda: defaultdict(Breaker)
    )
    warned: set[tuple[str, str | None]] = field(default_factory=set)


@dataclass
class _Call:
    """One call while it lasts: what has been spent on it, and the dialect it speaks by now.

    `passing` names the parameters that were refused for what this call holds, and only for that.
    """

    request: Request
    estimate: int
    dialect: Dialect
    deadline: Deadline
    attempts: int = 0
    latency_ms: float = 0.0
    passing: set[str] = field(default_factory=set)


class Channel:
    """One endpoint and model, ready to be asked."""

    def __init__(self, endpoint: Endpoint, wire: Wire, limits: Limits, learned: Learned) -> None:
        self._endpoint = endpoint
        self._wire = wire
        self._limits = limits
        self._learned = learned
        self._where = shown_url(endpoint)
        self._name = (endpoint.identity, endpoint.model)
        self._breaker = learned.breakers[endpoint.identity, endpoint.api_key_env]

    async def ask(self, request: Request) -> Reply:
        deadline = request.deadline or Deadline(self._endpoint.deadline_s)
        dialect = self._known()
        call = _Call(request, estimate_tokens(request.messages), dialect, deadline)
        async with deadline.running():
            try:
                return await self._persistently(call)
            except asyncio.CancelledError:
                if not deadline.expired:
                    raise
                raise self._overdue(call) from None
            except Fault as fault:
                self._breaker.note(fault)
                raise fault.as_error(call.attempts, call.latency_ms) from None

    async def _persistently(self, call: _Call) -> Reply:
        """Try as often as the policy says. The controller is built only once there is something to retry."""
        try:
            return await self._attempt(call)
        except Fault as fault:
            if not fault.retryable:
                raise
            first: list[Fault] = [fault]

        async def attempt() -> Reply:
            if first:
                raise first.pop()
            return await self._attempt(call)

        return await retrying(self._endpoint, call.deadline.left)(attempt)

    async def _attempt(self, call: _Call) -> Reply:
        """One try of the retry policy: one request, and one more for each parameter refused."""
        call.deadline.stop()
        async with self._limits.slot(call.estimate):
            call.deadline.go_on()
            if not call.attempts:
                # Only now: a call that was let through may retry, and step down, while the breaker is open.
                self._breaker.check()
            # Other calls may have been refused something while this one was in the queue.
            call.dialect = call.dialect.meet(self._known())
            while True:
                sent = await self._body(call)
                try:
                    answer = await self._exchange(call, sent)
                    break
                except Fault as fault:
                    refused = dialects.refused(fault, sent, self._endpoint)
                    lower = call.dialect.below(refused) if refused else None
                    if lower is None:
                        raise
                    call.dialect = lower
                    if not dialects.is_lasting(str(refused), fault):
                        call.passing.add(str(refused))
        self._breaker.close()
        # Only now: a step down that did not help must not be remembered against the endpoint.
        learned = call.dialect._replace(**dict.fromkeys(call.passing, 0))
        self._learned.dialects[self._name] = self._learned.dialects[self._name].meet(learned)
        return self._reply(call, sent, answer)

    def _known(self) -> Dialect:
        """What this endpoint and model are known to take. Where images must be shown they are, come what may:
        another purpose may have learned, under vision auto, that they are refused.
        """
        known = self._learned.dialects[self._name]
        return known._replace(images=0) if self._endpoint.vision == "on" else known

    async def _exchange(self, call: _Call, sent: dict[str, Any]) -> Answer:
        call.attempts += 1
        started = time.perf_counter()
        try:
            received = await self._wire.post(sent)
        finally:
            call.latency_ms += (time.perf_counter() - started) * 1000
        return read(received, self._where)

    async def _body(self, call: _Call) -> dict[str, Any]:
        """The body to send: made once there is a slot, so that only bodies on their way hold images."""
        if call.dialect.images or not dialects.has_images(call.request.messages):
            return dialects.body(self._endpoint, call.request, call.dialect)
        # In a thread, because pictures are read and scaled here.
        try:
            return await asyncio.to_thread(dialects.body, self._endpoint, call.request, call.dialect)
        except (OSError, ValueError) as error:
            raise Fault("bad_request", f"a screenshot can no longer be read: {error}") from None

    def _reply(self, call: _Call, sent: dict[str, Any], answer: Answer) -> Reply:
        if answer.usage and answer.usage.total_tokens is not None:
            self._limits.correct(call.estimate, answer.usage.total_tokens)
        return Reply(
            text=answer.text,
            model=answer.model or str(self._endpoint.model),
            finish_reason=answer.finish_reason,
            usage=answer.usage,
            attempts=call.attempts,
            latency_ms=call.latency_ms,
            response_format=dialects.format_name(sent),
            verdict_id=call.request.verdict_id,
            flags=(*answer.flags, *self._flags(call, sent, answer.usage)),
        )

    def _flags(self, call: _Call, sent: dict[str, Any], usage: Usage | None) -> list[str]:
        flags = []
        counted = usage.prompt_tokens if usage else None
        if counted is not None and call.estimate > _ESTIMATE_FLOOR and counted < call.estimate * _CUT_SHARE:
            flags.append("prompt_truncation_suspected")
            self._warn_of_cut_prompt(call.estimate, counted)
        if dialects.has_images(call.request.messages) and not dialects.has_images(sent["messages"]):
            flags.append("images_not_sent")
        return flags

    def _warn_of_cut_prompt(self, estimate: int, counted: int) -> None:
        if self._name in self._learned.warned:
            return
        self._learned.warned.add(self._name)
        _log.warning(
            "%s counted %d prompt tokens where about %d were sent: it may be dropping the start of the "
            "prompt, the rubric with it. Serve %s with a longer context.",
            *(self._where, counted, estimate, self._endpoint.model),
        )

    def _overdue(self, call: _Call) -> JudgeError:
        message = f"{self._where}: {call.deadline.missed}"
        if not call.attempts:
            message += " (it was not asked: the time went by in a queue of ours)"
        return JudgeError("timeout", message, attempts=call.attempts, latency_ms=call.latency_ms)
