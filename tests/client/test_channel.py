from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from typing import Any

import pytest

from judge.client import OpenAIClient
from judge.client.channel import Channel, Learned
from judge.client.limits import PROBE_EVERY_S, Breaker, Limits
from judge.client.wire import Wire
from judge.config import Endpoint
from judge.errors import JudgeError
from judge.schema import Deadline, Reply
from judge.testing import LoopbackServer, completion
from tests.client.asking import PICTURE, ask, error, outcome, reply, request, settings


async def _until(server: LoopbackServer, number: int) -> None:
    while len(server.requests) < number:
        await asyncio.sleep(0.005)


def test_a_reply_says_how_it_was_come_by() -> None:
    with LoopbackServer() as server:
        got = reply(ask(server.base_url, request(verdict_id="t0k3n")))
    assert (got.attempts, got.response_format, got.verdict_id, got.cached) == (
        1,
        "json_schema",
        "t0k3n",
        False,
    )
    assert got.latency_ms > 0
    assert server.requests[0]["json"]["messages"][1]["content"].endswith("\nverdict_id: t0k3n")


@pytest.mark.parametrize(
    ("response", "kind"),
    [
        (
            {"status": 429, "body_json": {"error": {"code": "insufficient_quota", "message": "no credit"}}},
            "quota_exhausted",
        ),
        ({"status": 401, "body_json": {"error": {"message": "wrong key"}}}, "auth_error"),
    ],
)
def test_an_open_breaker_spares_the_endpoint(response: dict[str, Any], kind: str) -> None:
    with LoopbackServer([response]) as server:
        first, second = ask(server.base_url, request("a"), request("b", purpose="fine"))
    assert (first.attempts, second.attempts, len(server.requests)) == (1, 0, 1)
    assert (first.kind, second.kind) == (kind, kind)
    assert "no request made" in second.message


def test_a_breaker_closes_once_the_account_is_topped_up() -> None:
    now = [0.0]
    broke = {"status": 429, "body_json": {"error": {"code": "insufficient_quota", "message": "no credit"}}}

    async def run(endpoint: Endpoint) -> list[str]:
        learned = Learned(breakers=defaultdict(lambda: Breaker(lambda: now[0])))
        wire = Wire(endpoint)
        channel, found = Channel(endpoint, wire, Limits(endpoint), learned), []
        for seconds in (0, 1, PROBE_EVERY_S, 1, PROBE_EVERY_S, 1):
            now[0] += seconds
            try:
                found.append((await channel.ask(request(str(now)))).text and "reply")
            except JudgeError as error:
                found.append(f"{error.kind}, {error.attempts}")
        await wire.close()
        return found

    with LoopbackServer([broke, broke, {"status": 503, "body_json": {}}, {}]) as server:
        got = asyncio.run(run(settings(server.base_url).endpoint("trajectory")))
    spared, asked = "quota_exhausted, 0", "quota_exhausted, 1"
    # The last probe is tried again after the 503, although the breaker is still open then.
    assert got == [asked, spared, asked, spared, "reply", "reply"]


def test_a_403_concerns_one_call() -> None:
    with LoopbackServer([{"status": 403, "body_json": {}}, {}]) as server:
        first, second = ask(server.base_url, request(), request())
    assert first.kind == "auth_error"
    assert isinstance(second, Reply)


def test_the_deadline_ends_a_call_and_all_its_retries() -> None:
    with LoopbackServer([{"status": 503, "body_json": {}}, {"accept_then_stall_s": 3600}]) as server:
        got = error(ask(server.base_url, deadline_s=2.0, timeout_s=30, max_attempts=9))
    assert (got.kind, got.attempts, len(server.requests)) == ("timeout", 2, 2)
    assert "deadline_s" in got.message


def test_queueing_for_a_slot_does_not_count_against_the_deadline() -> None:
    async def run(server: LoopbackServer) -> list[Any]:
        client = OpenAIClient(settings(server.base_url, concurrency=1, deadline_s=4.0))
        got = await asyncio.gather(*(outcome(client, request(str(i))) for i in range(15)))
        await client.aclose()
        return got

    with LoopbackServer(delay_s=0.3) as server:
        assert all(isinstance(got, Reply) for got in asyncio.run(run(server)))


def test_queueing_for_a_slot_counts_against_the_limit_of_a_caller() -> None:
    async def run(server: LoopbackServer) -> JudgeError:
        client = OpenAIClient(settings(server.base_url, concurrency=1, deadline_s=60))
        first = asyncio.ensure_future(outcome(client, request("first")))
        await _until(server, 1)
        second = await outcome(client, request("second", deadline=Deadline(60, within_s=0.2)))
        first.cancel()
        await client.aclose()
        assert isinstance(second, JudgeError)
        return second

    with LoopbackServer([{"accept_then_stall_s": 3600}]) as server:
        got = asyncio.run(run(server))
        assert (got.kind, got.attempts, len(server.requests)) == ("timeout", 0, 1)
    assert "within 0.2 s, all that the limit of the caller leaves for calls (it was not asked" in got.message


def test_a_call_cut_by_the_limit_of_a_caller_says_what_it_took() -> None:
    async def run(server: LoopbackServer) -> Reply | JudgeError:
        client = OpenAIClient(settings(server.base_url, deadline_s=60))
        got = await outcome(client, request(deadline=Deadline(60, within_s=0.5)))
        await client.aclose()
        return got

    with LoopbackServer([{"accept_then_stall_s": 3600}]) as server:
        got = asyncio.run(run(server))
    assert isinstance(got, JudgeError)
    assert (got.kind, got.attempts, "not asked" in got.message) == ("timeout", 1, False)


def test_no_more_requests_at_once_than_allowed() -> None:
    async def run(server: LoopbackServer) -> int:
        client = OpenAIClient(settings(server.base_url, concurrency=3))
        calls = [asyncio.ensure_future(outcome(client, request(str(i)))) for i in range(9)]
        await _until(server, 3)
        await asyncio.sleep(0.05)
        reached = len(server.requests)
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        await client.aclose()
        return reached

    with LoopbackServer([{"accept_then_stall_s": 3600}]) as server:
        assert asyncio.run(run(server)) == 3


def test_a_cancelled_call_leaves_neither_request_nor_slot_behind() -> None:
    async def run(server: LoopbackServer) -> Reply:
        client = OpenAIClient(settings(server.base_url, concurrency=1))
        stalled = asyncio.ensure_future(client.call(request("stalled")))
        await _until(server, 1)
        stalled.cancel()
        with pytest.raises(asyncio.CancelledError):
            await stalled
        while server.connections:
            await asyncio.sleep(0.005)
        got = await client.call(request("next"))
        await client.aclose()
        return got

    with LoopbackServer([{"accept_then_stall_s": 3600}, {}]) as server:
        assert asyncio.run(run(server)).attempts == 1


def test_a_rate_limit_holds_requests_back() -> None:
    async def run(server: LoopbackServer) -> int:
        client = OpenAIClient(settings(server.base_url, requests_per_minute=1))
        await client.call(request("first"))
        held = asyncio.ensure_future(client.call(request("held")))
        await asyncio.sleep(0.1)
        held.cancel()
        await asyncio.gather(held, return_exceptions=True)
        await client.aclose()
        return len(server.requests)

    with LoopbackServer() as server:
        assert asyncio.run(run(server)) == 1


@pytest.mark.parametrize(
    ("counted", "flags"), [(2_050, ("prompt_truncation_suspected",)), (5_000, ()), (None, ())]
)
def test_a_prompt_that_was_cut_is_flagged_and_said_once(
    counted: int | None, flags: tuple[str, ...], caplog: pytest.LogCaptureFixture
) -> None:
    body = completion("{}", usage={"prompt_tokens": counted})
    asked = request("word " * 6_000)
    with LoopbackServer([{"body_json": body}]) as server, caplog.at_level(logging.WARNING, "judge.client"):
        first, second = ask(server.base_url, asked, asked)
    assert first.flags == second.flags == flags
    assert len(caplog.records) == len(flags)


def test_what_one_purpose_learned_of_images_does_not_blind_one_that_must_show_them() -> None:
    def refuse(asked: dict[str, Any]) -> dict[str, Any]:
        message = {"message": "image input is not supported"}
        return {"status": 400, "body_json": {"error": message}} if "image_url" in str(asked) else {}

    part = [{"type": "text", "text": "Look"}, PICTURE]
    asked = [request(part, purpose="steps"), request(part), request(part, purpose="steps")]
    with LoopbackServer(refuse) as server:
        first, demanded, last = ask(server.base_url, *asked, purposes={"trajectory": {"vision": "on"}})
    assert [reply([each]).flags for each in (first, last)] == [("images_not_sent",)] * 2
    assert demanded.kind == "bad_request"
    shown = ["image_url" in str(each["json"]) for each in server.requests]
    assert shown == [True, False, True, False]


def test_a_short_prompt_accuses_nobody() -> None:
    body = completion("{}", usage={"prompt_tokens": 1})
    with LoopbackServer([{"body_json": body}]) as server:
        assert reply(ask(server.base_url, request("word " * 700))).flags == ()
