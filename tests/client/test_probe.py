from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from judge.client.probe import Failure, Probe, _names
from judge.client.wire import Received
from judge.schema import Reply
from judge.testing import LoopbackServer
from tests.cases import closed_port
from tests.client.asking import PICTURE, request, settings


def probed(base_url: str, work: Callable[[Probe], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        probe = Probe(settings(base_url).endpoint("trajectory"))
        try:
            return await work(probe)
        finally:
            await probe.close()

    return asyncio.run(run())


def test_the_models_come_in_the_endpoint_s_order() -> None:
    with LoopbackServer(models=("b", "a")) as server:
        assert probed(server.base_url, lambda probe: probe.models()) == ["b", "a"]


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (200, b'[{"id": "a"}, {"name": "b"}, "c"]', ["a"]),
        (200, b'{"data": []}', []),
        (200, b'{"data": null}', None),
        (200, b"<html>", None),
        (404, b'{"data": [{"id": "a"}]}', None),
    ],
)
def test_what_is_a_list_of_models(status: int, body: bytes, expected: list[str] | None) -> None:
    assert _names(Received(status, "application/json", None, body)) == expected


def test_a_failure_keeps_the_status_and_is_not_tried_again() -> None:
    refusal = {"status": 503, "body_json": {"error": {"message": "loading"}}}
    with LoopbackServer([refusal]) as server:
        failure = probed(server.base_url, lambda probe: probe.ask(request()))
        assert failure.message == f"{server.base_url} answered 503: loading"
    assert (failure.kind, failure.status, failure.is_silent) == ("upstream_error", 503, False)
    assert len(server.requests) == 1


def test_nobody_listening_is_silence() -> None:
    failure = probed(f"http://127.0.0.1:{closed_port()}/v1", lambda probe: probe.models())
    assert isinstance(failure, Failure)
    assert failure.is_silent


def test_what_was_refused_is_known_afterwards() -> None:
    def script(asked: dict[str, Any]) -> dict[str, Any]:
        if "seed" in asked:
            return {"status": 400, "body_json": {"error": {"message": "seed is not supported"}}}
        return {}

    async def work(probe: Probe) -> Any:
        asked = request([{"type": "text", "text": "Did it?"}, PICTURE])
        return probe.accepted(asked), await probe.ask(asked), probe.accepted(asked)

    with LoopbackServer(script) as server:
        before, reply, after = probed(server.base_url, work)
    assert isinstance(reply, Reply)
    assert before == ("json_schema", "max_tokens", ("temperature", "seed", "images"), ())
    assert after == ("json_schema", "max_tokens", ("temperature", "images"), ("seed",))
