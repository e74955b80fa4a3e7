"""`judge demo`: one command, no key, no network, from any folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from judge import cli
from judge.readers import read_trajectories
from judge.resources import examples
from tests.pipeline.judged import rows

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> tuple[str, Path]:
    """What the demo prints in a folder of its own, and that folder."""
    monkeypatch.chdir(tmp_path)
    # An endpoint that nobody listens on: the demo must not ask it.
    monkeypatch.setenv("JUDGE_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("JUDGE_MODEL", "judge-x")
    assert cli.run(["demo", "--log", "demo.jsonl"]) == 0
    return capsys.readouterr().out, tmp_path


def test_it_judges_every_example_under_both_versions(shown: tuple[str, Path]) -> None:
    lines = rows(shown[1] / "demo.jsonl")
    runs = [run.trajectory_id for path in examples().glob("*.jsonl") for run in read_trajectories(path)]
    assert len(runs) >= 40
    assert sorted((line["trajectory_id"], line["rubric_version"]) for line in lines) == sorted(
        (run, version) for run in runs for version in ("static_v1", "adapt_v1")
    )
    assert {line["judge_model"] for line in lines} == {"embedded-rules-v1"}
    assert {line["error"]["kind"] for line in lines if line["error"]} <= {"unusable_input"}


def test_it_says_what_its_judge_is_and_where_the_log_lies(shown: tuple[str, Path]) -> None:
    out = shown[0]
    assert "deterministic stand-in" in out
    assert "near chance on policy-bound dialogues" in out
    assert "not a training reward" in out
    assert f"The reward log: demo.jsonl ({len(rows(shown[1] / 'demo.jsonl'))} lines)" in out


def test_it_takes_one_trajectory_apart_on_which_the_versions_disagree(shown: tuple[str, Path]) -> None:
    out = shown[0].split("taken apart:")[1]
    taken = dict(re.findall(r"^(\S+) under (static_v1|adapt_v1)$", out, re.MULTILINE)[::-1])
    assert len(taken) == 1
    (run,) = taken
    both = [line for line in rows(shown[1] / "demo.jsonl") if line["trajectory_id"] == run]
    assert len({line["success"] for line in both}) == 2
    assert re.search(r"^Task: .", out.strip())
    for word in ("category", "shown", "verdict", "reward", "outcome"):
        assert len(re.findall(rf"^  {word} ", out, re.MULTILINE)) == 2


def test_it_runs_from_another_folder_and_leaves_nothing_there(tmp_path: Path) -> None:
    here, temporary = tmp_path / "here", tmp_path / "temporary"
    here.mkdir()
    temporary.mkdir()
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", "from judge.cli import main; main(['demo'])"],
        capture_output=True,
        text=True,
        cwd=here,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(temporary)},
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")
    found = re.search(r"The reward log: (.+) \(\d+ lines\)", done.stdout)
    assert found is not None
    assert Path(found[1]).is_relative_to(temporary)
    assert Path(found[1]).is_file()
    assert list(here.iterdir()) == []
