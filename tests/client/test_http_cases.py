"""The shared HTTP cases, as far as one call decides them: what needs a second question is the pipeline's."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from judge.client import OpenAIClient
from judge.errors import JudgeError
from judge.schema import Reply, Request
from judge.testing import LoopbackServer
from tests.cases import HttpCase, SwitchingScript, closed_port, http_cases
from tests.client.asking import outcome, request, settings


@pytest.mark.parametrize("case", http_cases())
def test_case(case: HttpCase, monkeypatch: pytest.MonkeyPatch) -> None:
    if key := case.client.get("api_key"):
        monkeypatch.setenv("JUDGE_API_KEY", key)
    with LoopbackServer(SwitchingScript(case.responses)) as server:
        url = f"http://127.0.0.1:{closed_port()}/v1" if case.is_refused else server.base_url
        outcomes = asyncio.run(_ask(case, url, server))
        reached = len(server.requests)
    _check(case, outcomes[0], outcomes[0].attempts)
    assert case.is_refused or reached == sum(each.attempts for each in outcomes)
    if case.then:
        assert isinstance(outcomes[1], Reply)
        assert _verdict(outcomes[1])["score"] == case.expected["second"]["score"]


async def _ask(case: HttpCase, url: str, server: LoopbackServer) -> list[Reply | JudgeError]:
    attempts = case.client.get("max_attempts", 3)
    client = OpenAIClient(settings(url, max_attempts=attempts, timeout_s=case.timeout_s))
    try:
        outcomes = [await outcome(client, _request(case))]
        if case.then:
            server_script = server.script
            assert isinstance(server_script, SwitchingScript)
            server_script.switch(case.then)
            outcomes.append(await outcome(client, _request(case)))
        return outcomes
    finally:
        await client.aclose()


def _request(case: HttpCase) -> Request:
    return request("word " * int((case.prompt_tokens_estimate or 0) * 4 / 5))


def _check(case: HttpCase, got: Reply | JudgeError, attempts: int) -> None:
    expected = case.first
    if isinstance(got, JudgeError):
        assert case.accepts("error", got.kind), got
        assert expected.get("hint_contains", "") in got.message
        assert got.raw is not None or got.kind in ("timeout", "connection_error")
        assert "sk-demo-DO-NOT-LOG" not in f"{got} {got!r} {got.raw}"
    elif not _is_verdict(got):
        # Empty, cut or unreadable: a re-ask is due, or the parser's refusal.
        assert expected.get("error_kind") != "upstream_error"
        assert attempts == 1
        return
    else:
        assert case.accepts("verdict")
        assert _verdict(got)["success"] is expected.get("success", True) or expected["kind"] == "error"
        assert set(expected.get("flags", [])) <= {*got.flags, "verdict_from_reasoning_field"}
    assert attempts == expected.get("attempts", attempts)
    assert attempts <= expected.get("attempts_max", attempts)


def _is_verdict(got: Reply) -> bool:
    return got.finish_reason != "length" and got.text.startswith("{")


def _verdict(got: Reply) -> dict[str, Any]:
    verdict: dict[str, Any] = json.loads(got.text)
    return verdict
