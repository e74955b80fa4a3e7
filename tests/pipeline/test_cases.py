"""The shared HTTP cases end to end: one run scored over a real connection, re-ask included."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from judge import Judge, Reward, Trajectory
from judge.testing import LoopbackServer
from tests.cases import HttpCase, SwitchingScript, closed_port, http_cases
from tests.pipeline.judged import config, rows, trajectory


@pytest.mark.parametrize("case", http_cases())
def test_case(case: HttpCase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if key := case.client.get("api_key"):
        monkeypatch.setenv("JUDGE_API_KEY", key)
    script = SwitchingScript(case.responses)
    with LoopbackServer(script) as server, _judge(case, server, tmp_path) as judge:
        first = judge.score(_run(case))
        reached = len(server.requests)
        if case.then:
            script.switch(case.then)
            second = judge.score(_run(case))
            _check_second(case, second, rows(tmp_path / "log.jsonl")[1])
    row = rows(tmp_path / "log.jsonl")[0]
    _check_first(case, first, row)
    assert case.is_refused or row["attempts"] == reached
    assert _nothing_leaks(tmp_path, str(case.client.get("api_key") or "sk-demo-DO-NOT-LOG"))


def _judge(case: HttpCase, server: LoopbackServer, folder: Path) -> Judge:
    settings = {
        "base_url": f"http://127.0.0.1:{closed_port()}/v1" if case.is_refused else server.base_url,
        "max_attempts": case.client.get("max_attempts", 3),
        "max_reask": case.client.get("max_reask", 1),
        "timeout_s": case.timeout_s,
    }
    return Judge(config(judge=settings, cache={"dir": folder / "cache"}, log={"path": folder / "log.jsonl"}))


def _run(case: HttpCase) -> Trajectory:
    return trajectory(context={"policy": "word " * int((case.prompt_tokens_estimate or 0) * 4 / 5)})


def _check_first(case: HttpCase, got: Reward, row: dict[str, Any]) -> None:
    expected = case.first
    assert case.accepts("error" if got.error_kind else "verdict", got.error_kind), (got, row)
    _check(case, got, row)
    assert row["attempts"] == expected.get("attempts", row["attempts"])
    assert row["attempts"] <= expected.get("attempts_max", row["attempts"])
    assert row["cached"] is False


def _check(case: HttpCase, got: Reward, row: dict[str, Any]) -> None:
    if got.error_kind:
        assert got.value is row["reward"] is row["score"] is None
        assert case.first.get("hint_contains", "") in (got.error or "")
        assert row["calls"][-1]["raw"] is not None or got.error_kind in ("timeout", "connection_error")
        assert row["calls"][-1]["error"]["kind"] == got.error_kind
        return
    assert got.verdict is not None
    wanted = (
        next(each for each in [case.first, *case.first["acceptable"]] if each["kind"] == "verdict")
        if (case.first["kind"] == "error")
        else case.first
    )
    assert (got.verdict.success, got.verdict.score, got.value) == (
        wanted["success"],
        wanted["score"],
        wanted["score"],
    )
    assert set(case.first.get("flags", ())) <= {*got.flags}


def _check_second(case: HttpCase, got: Reward, row: dict[str, Any]) -> None:
    expected = case.expected["second"]
    assert (got.value, got.error_kind) == (expected["score"], None)
    assert (row["attempts"], row["cached"]) == (expected["attempts"], expected["from_cache"])


def _nothing_leaks(folder: Path, key: str) -> bool:
    secret = key.strip().encode()
    return all(secret not in path.read_bytes() for path in folder.rglob("*") if path.is_file())
