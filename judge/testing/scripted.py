"""A client that answers from a list."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from judge.schema import Reply, Request


class ScriptedClient:
    """A client that answers from a list, in order, and repeats the last answer; `requests` keeps what it saw.

    An answer is a text, a dict (sent as JSON with the request's verdict_id filled in), a Reply, an exception
    to raise, or a function of the request that returns one of these.
    """

    def __init__(self, replies: Sequence[Any] | Any) -> None:
        self._replies = list(replies) if isinstance(replies, list | tuple) else [replies]
        self.requests: list[Request] = []

    async def call(self, request: Request) -> Reply:
        answer = self._replies[min(len(self.requests), len(self._replies) - 1)]
        self.requests.append(request)
        return self._reply(answer, request)

    async def aclose(self) -> None:
        """Nothing to close."""

    def _reply(self, answer: Any, request: Request) -> Reply:
        if isinstance(answer, BaseException):
            raise answer
        if isinstance(answer, Reply):
            return replace(answer, verdict_id=request.verdict_id)
        if isinstance(answer, dict):
            answer = json.dumps({**_token(request.verdict_id), **answer}, ensure_ascii=False)
        if isinstance(answer, str):
            return Reply(answer, "scripted", attempts=1, verdict_id=request.verdict_id)
        return self._reply(answer(request), request)


def _token(verdict_id: str | None) -> dict[str, str]:
    return {} if verdict_id is None else {"verdict_id": verdict_id}
