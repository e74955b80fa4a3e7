"""What the tests of the client share: a request to ask, and a call made to the end."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from judge.client import OpenAIClient
from judge.config import JudgeSection
from judge.errors import JudgeError
from judge.schema import Content, Purpose, Reply, Request

SCHEMA = {
    "type": "object",
    "properties": {"reason": {"type": "string"}, "success": {"type": "boolean"}, "score": {"type": "number"}},
}
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}


def request(text: Any = "Did it work?", purpose: Purpose = "trajectory", **fields: Any) -> Request:
    messages = ({"role": "system", "content": "You judge."}, {"role": "user", "content": text})
    return Request(
        **{"purpose": purpose, "messages": messages, "schema": SCHEMA, "content": Content("task")} | fields
    )


def settings(base_url: str, **changes: Any) -> JudgeSection:
    """Settings that wait for nothing between attempts."""
    return JudgeSection(
        **{"base_url": base_url, "model": "judge-x", "backoff_s": 0.0, "max_attempts": 3} | changes
    )


def ask(base_url: str, *requests: Request, **changes: Any) -> list[Reply | JudgeError]:
    """What one client makes of the requests, one after the other."""

    async def run() -> list[Reply | JudgeError]:
        client = OpenAIClient(settings(base_url, **changes))
        try:
            return [await outcome(client, each) for each in requests or (request(),)]
        finally:
            await client.aclose()

    return asyncio.run(run())


async def outcome(client: OpenAIClient, asked: Request) -> Reply | JudgeError:
    try:
        return await client.call(asked)
    except JudgeError as error:
        return error


def reply(outcomes: Sequence[Reply | JudgeError]) -> Reply:
    """The only outcome, which must be a reply."""
    (only,) = outcomes
    if isinstance(only, JudgeError):
        pytest.fail(str(only))
    return only


def error(outcomes: Sequence[Reply | JudgeError]) -> JudgeError:
    """The only outcome, which must be an error."""
    (only,) = outcomes
    assert isinstance(only, JudgeError), only
    return only
