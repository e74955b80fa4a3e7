from __future__ import annotations

import asyncio
import gc
import multiprocessing
import subprocess
import sys
import warnings
from typing import Any

import pytest

from judge.client import OpenAIClient
from judge.errors import ConfigError
from judge.schema import Reply
from judge.testing import LoopbackServer
from tests.client.asking import ask, error, reply, request, settings


def test_importing_the_client_loads_neither_the_sdk_nor_tenacity() -> None:
    heavy = "{'openai', 'tenacity', 'httpx', 'httpx2', 'aiohttp'}"
    code = f"import sys, judge.client; print(*({heavy} & set(sys.modules)))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout == "\n"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"base_url": None}, "JUDGE_BASE_URL"),
        ({"model": None}, "JUDGE_MODEL"),
        ({"base_url": "localhost:8000"}, "http://"),
    ],
)
def test_settings_without_an_endpoint_say_what_to_set(changes: dict[str, Any], said: str) -> None:
    got = error(ask(**{"base_url": "http://127.0.0.1:9/v1", **changes}))
    assert isinstance(got, ConfigError)
    assert said in got.message


def test_each_purpose_has_its_own_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUDGE_API_KEY", "key-of-the-big-one")
    monkeypatch.setenv("SMALL_KEY", "key-of-the-small-one")
    with LoopbackServer() as big, LoopbackServer() as small:
        own = {"base_url": small.base_url, "model": "small", "api_key_env": "SMALL_KEY", "max_tokens": 64}
        ask(big.base_url, request(), request(purpose="fine"), purposes={"fine": own})
    assert [server.requests[0]["json"]["model"] for server in (big, small)] == ["judge-x", "small"]
    assert small.requests[0]["json"]["max_tokens"] == 64
    assert small.requests[0]["headers"]["authorization"] == "Bearer key-of-the-small-one"


def test_purposes_of_one_endpoint_share_its_slots() -> None:
    async def run(server: LoopbackServer) -> int:
        client = OpenAIClient(settings(server.base_url, concurrency=1, purposes={"fine": {"model": "small"}}))
        calls = [
            asyncio.ensure_future(client.call(request(purpose=purpose))) for purpose in ("trajectory", "fine")
        ]
        async with asyncio.timeout(30):
            while not server.requests:
                await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        await client.aclose()
        return len(server.requests)

    with LoopbackServer([{"accept_then_stall_s": 3600}]) as server:
        assert asyncio.run(run(server)) == 1


def test_two_loops_in_turn_and_back_again() -> None:
    loops = [asyncio.new_event_loop(), asyncio.new_event_loop()]
    with LoopbackServer() as server:
        client = OpenAIClient(settings(server.base_url))
        for loop in (loops[0], loops[1], loops[0]):
            assert loop.run_until_complete(client.call(request())).attempts == 1
        for loop in loops:
            loop.run_until_complete(client.aclose())
            loop.close()


def test_a_loop_that_ended_without_a_goodbye() -> None:
    async def run(client: OpenAIClient) -> Reply:
        return await client.call(request())

    async def run_and_close(client: OpenAIClient) -> Reply:
        got = await client.call(request())
        await client.aclose()
        return got

    # Sockets that outlive their loop are reported by asyncio when they are collected.
    with warnings.catch_warnings(), LoopbackServer() as server:
        warnings.simplefilter("ignore", ResourceWarning)
        client = OpenAIClient(settings(server.base_url))
        assert asyncio.run(run(client)).attempts == 1
        assert asyncio.run(run_and_close(client)).attempts == 1
        gc.collect()


def test_calls_may_follow_a_close() -> None:
    async def run(base_url: str) -> int:
        client = OpenAIClient(settings(base_url))
        for _ in range(2):
            await client.call(request())
            await client.aclose()
        return 2

    with LoopbackServer() as server:
        assert asyncio.run(run(server.base_url)) == len(server.requests)


def test_what_was_learned_survives_the_loop() -> None:
    def script(asked: dict[str, Any]) -> dict[str, Any]:
        return (
            {"status": 400, "body_json": {"error": {"param": "seed", "message": "no"}}}
            if "seed" in asked
            else {}
        )

    async def run(client: OpenAIClient) -> int:
        got = await client.call(request())
        await client.aclose()
        return got.attempts

    with LoopbackServer(script) as server:
        client = OpenAIClient(settings(server.base_url))
        assert [asyncio.run(run(client)), asyncio.run(run(client))] == [2, 1]


async def _call_and_close(client: OpenAIClient) -> int:
    got = await client.call(request())
    await client.aclose()
    return got.attempts


def _call_in_child(client: OpenAIClient) -> None:
    # A fork keeps the parent's running loop in mind; a loop of its own is what any library would start.
    asyncio.events._set_running_loop(None)
    sys.exit(0 if asyncio.run(_call_and_close(client)) == 1 else 1)


@pytest.mark.skipif(sys.platform == "win32", reason="no fork on this platform")
def test_a_fork_after_first_use_gets_connections_of_its_own() -> None:
    async def run(base_url: str) -> tuple[int | None, int]:
        client = OpenAIClient(settings(base_url))
        await client.call(request())
        with warnings.catch_warnings():
            # Newer Pythons warn of forking with threads about, which is what is tested here.
            warnings.simplefilter("ignore", DeprecationWarning)
            child = multiprocessing.get_context("fork").Process(target=_call_in_child, args=(client,))
            child.start()
        await asyncio.to_thread(child.join)
        return child.exitcode, await _call_and_close(client)

    with LoopbackServer() as server:
        assert asyncio.run(run(server.base_url)) == (0, 1)
    assert len(server.requests) == 3


def test_many_calls_keep_to_their_own_answers() -> None:
    async def run(base_url: str) -> list[Reply]:
        client = OpenAIClient(settings(base_url, concurrency=16))
        got = await asyncio.gather(*(client.call(request(verdict_id=f"token-{i}")) for i in range(100)))
        await client.aclose()
        return got

    with LoopbackServer() as server:
        got = asyncio.run(run(server.base_url))
    assert all(f"token-{i}" in each.text for i, each in enumerate(got))
    assert len(server.connections) <= 16


def test_the_reply_names_the_model_that_answered() -> None:
    with LoopbackServer() as server:
        assert reply(ask(server.base_url, model="alias")).model == "judge-x"
