"""The command line against a real server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from judge import cli, resources
from judge.errors import ERROR_KINDS

from .small import API_KEY, MODEL, rows, sections

pytestmark = pytest.mark.slow


@pytest.fixture
def config_file(base_url: str, tmp_path: Path) -> Path:
    path = tmp_path / "judge.yaml"
    path.write_text(json.dumps(sections(base_url, tmp_path)))
    return path


def test_doctor_finds_what_the_server_takes(
    config_file: Path, base_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status = cli.run(["doctor", "--config", str(config_file), "--json"])
    printed = capsys.readouterr().out
    report = json.loads(printed)
    findings = {finding["check"]: finding for finding in report["findings"]}
    assert (status, report["ok"]) == (0, True), printed
    assert findings["models"]["facts"] == {"listed": [MODEL], "configured": True}
    assert findings["call"]["facts"]["prompt_tokens"] > 100
    assert findings["verdict"]["facts"] == {"replies": 3, "readable": 3}
    assert findings["parameters"]["facts"]["response_format"] == "json_schema"
    assert findings["images"]["facts"] == {"taken": False}
    assert API_KEY not in printed


def test_rejudge_gives_every_run_a_verdict_or_a_named_failure(config_file: Path, tmp_path: Path) -> None:
    examples = str(resources.examples() / "web_gui.jsonl")
    status = cli.run(["rejudge", examples, "--config", str(config_file), "--limit", "3"])
    logged = rows(tmp_path)
    assert len({row["trajectory_id"] for row in logged}) == len(logged) == 3
    failed = [row for row in logged if row["error"]]
    assert status == (0 if not failed else 4 if len(failed) == 3 else 3)
    assert all(row["error"]["kind"] in ERROR_KINDS and row["reward"] is None for row in failed)
    assert all(0.0 <= row["reward"] <= 1.0 for row in logged if not row["error"])
    assert all(row["usage"]["prompt_tokens"] > 0 for row in logged)
