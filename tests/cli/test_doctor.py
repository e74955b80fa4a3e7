from __future__ import annotations

import json
from pathlib import Path

import pytest

from judge.cli import run
from judge.testing import LoopbackServer

KEY = "sk-live-0123456789-abcdefghijkl"


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("JUDGE_API_KEY", KEY)
    for name in ("JUDGE_BASE_URL", "JUDGE_MODEL", "JUDGE_CONFIG", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


def test_a_good_endpoint_exits_with_0_and_a_line_a_finding(capsys: pytest.CaptureFixture[str]) -> None:
    with LoopbackServer() as server:
        assert run(["doctor", "--base-url", server.base_url, "--model", "judge-x"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert {line[:6] for line in lines} == {"ok    "}
    assert any(line.startswith("ok    models: 1 listed") for line in lines)


def test_warnings_exit_with_0(capsys: pytest.CaptureFixture[str]) -> None:
    with LoopbackServer(models=("judge-y",)) as server:
        assert run(["doctor", "--base-url", server.base_url, "--model", "judge-x"]) == 0
    assert "warn  models: " in capsys.readouterr().out


def test_what_cannot_work_exits_with_4_and_says_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "--model", "judge-x"]) == 4
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("FAIL")]
    assert " — set JUDGE_BASE_URL" in line


def test_json_holds_the_same_for_machines_and_no_key(capsys: pytest.CaptureFixture[str]) -> None:
    refusal = {"status": 401, "body_json": {"error": {"message": f"bad key {KEY}"}}}
    with LoopbackServer([refusal]) as server:
        assert run(["doctor", "--base-url", server.base_url, "--model", "judge-x", "--json"]) == 4
    out = capsys.readouterr().out
    found = json.loads(out)
    assert KEY not in out
    assert found["ok"] is False
    (failed,) = [finding for finding in found["findings"] if finding["level"] == "fail"]
    assert (failed["check"], failed["facts"]) == ("call", {"kind": "auth_error", "status": 401})


def test_the_file_is_read_and_the_command_line_goes_above_it(tmp_path: Path) -> None:
    with LoopbackServer() as server:
        file = tmp_path / "judge.yaml"
        file.write_text(json.dumps({"judge": {"base_url": server.base_url, "model": "judge-x"}}))
        assert run(["doctor", "--config", str(file), "--model", "judge-z"]) == 0
    assert {asked["json"]["model"] for asked in server.requests} == {"judge-z"}


@pytest.mark.parametrize("arguments", [["--config", "nowhere.yaml"], ["--colour"], ["surplus"]])
def test_bad_usage_exits_with_2(arguments: list[str]) -> None:
    assert run(["doctor", *arguments]) == 2
