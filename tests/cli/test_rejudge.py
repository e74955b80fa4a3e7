"""`judge rejudge`: what it writes, what a rerun leaves alone, and what it says when something is wrong."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from judge import cli
from judge.testing import LoopbackServer
from tests.pipeline.judged import FAILURE, rows

ROOT = Path(__file__).resolve().parents[2]
AIRLINE = ROOT.parent / "shared" / "data" / "tau_airline.jsonl"
VERSIONS = "static_v1,adapt_v1"
needs_data = pytest.mark.skipif(not AIRLINE.is_file(), reason="the shared data is not beside this checkout")


pytestmark = pytest.mark.usefixtures("no_settings_from_outside")


@pytest.fixture
def stored(tmp_path: Path) -> Callable[..., str]:
    """Writes records, or lines as they are, to a file and gives its path."""

    def write(*records: Any, name: str = "runs.jsonl") -> str:
        lines = [record if isinstance(record, str) else json.dumps(record) for record in records]
        (tmp_path / name).write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        return name

    return write


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopbackServer]:
    """An endpoint that JUDGE_BASE_URL, JUDGE_API_KEY and JUDGE_MODEL name."""
    with LoopbackServer() as server:
        monkeypatch.setenv("JUDGE_BASE_URL", server.base_url)
        monkeypatch.setenv("JUDGE_API_KEY", "sk-test-only")
        monkeypatch.setenv("JUDGE_MODEL", "judge-env")
        yield server


def record(i: int = 0, **fields: Any) -> dict[str, Any]:
    common = {"trajectory_id": f"r{i}", "task_id": f"t{i}", "instruction": f"Task number {i}."}
    return {**common, "steps": [{"action": "click('x')", "observation": "done"}], **fields}


def rejudge(*arguments: str) -> int:
    return cli.run(["rejudge", *arguments])


def embedded(*arguments: str, log: str = "log.jsonl", rubrics: str = "static_v1") -> int:
    return rejudge(*arguments, "--embedded", "--rubrics", rubrics, "--log", log)


def keys(log: Path) -> Counter[tuple[str, str, int]]:
    return Counter((row["trajectory_id"], row["rubric_version"], row["repeat"]) for row in rows(log))


@needs_data
def test_the_airline_runs_make_400_lines_and_a_rerun_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert embedded(str(AIRLINE), rubrics=VERSIONS) == 0
    lines = rows(tmp_path / "log.jsonl")
    assert len(lines) == len(keys(tmp_path / "log.jsonl")) == 400
    assert all(line["error"] is None and line["judge_model"] == "embedded-rules-v1" for line in lines)
    assert all(0.0 <= line["reward"] <= 1.0 and line["schema"] == 1 for line in lines)
    before = (tmp_path / "log.jsonl").read_bytes()
    assert embedded(str(AIRLINE), rubrics=VERSIONS) == 0
    assert (tmp_path / "log.jsonl").read_bytes() == before
    assert "0 judged, 0 failed, 400 in the log already" in capsys.readouterr().err
    _report_agrees_with_a_recount(lines, capsys)


def _report_agrees_with_a_recount(lines: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["report", "log.jsonl", "--json"]) == 0
    reported = json.loads(capsys.readouterr().out)
    right: dict[str, dict[str, bool]] = {}
    for figures in reported["versions"]:
        own = [line for line in lines if line["rubric_version"] == figures["rubric_version"]]
        cells = Counter((line["success"], line["outcome"] == 1) for line in own)
        tp, fp, fn, tn = (
            cells[cell] for cell in ((True, True), (True, False), (False, True), (False, False))
        )
        assert (figures["n"], figures["failed"], figures["skipped"]) == (len(own), 0, 0)
        assert [figures[name] for name in ("tp", "fp", "fn", "tn")] == [tp, fp, fn, tn]
        assert figures["accuracy"] == pytest.approx((tp + tn) / len(own))
        assert figures["precision"] == pytest.approx(tp / (tp + fp))
        assert figures["recall"] == pytest.approx(tp / (tp + fn))
        assert figures["reward_mean"] == pytest.approx(sum(line["reward"] for line in own) / len(own))
        right[figures["rubric_version"]] = {
            line["trajectory_id"]: line["success"] == (line["outcome"] == 1) for line in own
        }
    pairs = Counter((right["static_v1"][run], right["adapt_v1"][run]) for run in right["static_v1"])
    counted = [pairs[True, True], pairs[True, False], pairs[False, True], pairs[False, False]]
    names = ("both_right", "only_baseline", "only_candidate", "both_wrong")
    assert [reported["paired"][name] for name in names] == counted


def process(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", "from judge.cli import main; main()", "rejudge", *arguments]
    return subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )


def wait_for_lines(log: Path, count: int) -> None:
    for _ in range(4_000):
        if log.exists() and log.read_bytes().count(b"\n") >= count:
            return
        time.sleep(0.005)
    pytest.fail(f"{log} did not reach {count} lines")


@needs_data
def test_a_killed_run_is_finished_by_the_same_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log.jsonl"
    command = [str(AIRLINE), "--embedded", "--rubrics", VERSIONS, "--log", str(log)]
    with process(*command) as running:
        wait_for_lines(log, 100)
        running.send_signal(signal.SIGKILL)
        assert running.wait(30) == -signal.SIGKILL
    # Killed in the middle of a write is the worst that can happen.
    log.write_bytes(log.read_bytes()[:-40])
    with pytest.warns(UserWarning, match="cut off"):
        assert rejudge(*command) == 0
    whole = [line for line in log.read_bytes().split(b"\n") if line.endswith(b"}")]
    settled = Counter(
        (row["trajectory_id"], row["rubric_version"]) for row in map(json.loads, whole) if not row["error"]
    )
    assert len(settled) == 400
    assert set(settled.values()) == {1}
    assert "already" in capsys.readouterr().err


def test_ctrl_c_says_how_to_go_on(
    tmp_path: Path, stored: Callable[..., str], endpoint: LoopbackServer
) -> None:
    path = stored(*(record(i) for i in range(9)))
    endpoint.script = [{}, {}, {}, {"accept_then_stall_s": 3600}]
    with process(path, "--rubrics", "static_v1", "--log", "log.jsonl", "--concurrency", "2") as running:
        wait_for_lines(tmp_path / "log.jsonl", 3)
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=30)
    assert running.returncode == 130
    assert re.search(r"interrupted after [23] judged, 0 failed; the same command goes on from there", err)
    assert "Traceback" not in err
    endpoint.script = None
    assert rejudge(path, "--rubrics", "static_v1", "--log", "log.jsonl") == 0
    assert set(keys(tmp_path / "log.jsonl").values()) == {1}
    assert len(rows(tmp_path / "log.jsonl")) == 9


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{not json", "runs.jsonl:2: not JSON"),
        ("[1]", "runs.jsonl:2: a trajectory is a JSON object"),
        ({"steps": []}, "runs.jsonl:2: instruction: missing"),
        ({"instruction": "Go", "steps": ["click"]}, "runs.jsonl:2: steps.0: must be an object"),
        ({"instruction": "Go", "steps": None}, "runs.jsonl:2: steps: is null"),
        ({"question": "Go"}, "runs.jsonl:2: unknown format"),
    ],
)
def test_a_bad_record_stops_the_run_before_anything_is_written(
    tmp_path: Path,
    stored: Callable[..., str],
    capsys: pytest.CaptureFixture[str],
    line: Any,
    said: str,
) -> None:
    path = stored(record(1), line, record(2))
    assert embedded(path) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "log.jsonl").exists()
    assert embedded(path, "--skip-bad") == 0
    err = capsys.readouterr().err
    assert "2 judged, 0 failed, 1 bad records passed over" in err
    assert said in err
    assert len(rows(tmp_path / "log.jsonl")) == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["absent.jsonl", "--embedded"], "absent.jsonl: cannot be read"),
        (["runs.jsonl", "--embedded", "--rubrics", "static_v0"], "unknown rubric version 'static_v0'"),
        (["runs.jsonl", "--embedded", "--config", "bad.yaml"], "bad.yaml: judge.modle: unknown key"),
        (["runs.jsonl", "--embedded", "--config", "gone.yaml"], "gone.yaml: cannot be read"),
        (["runs.jsonl", "--embedded", "--model", "m"], "leave out --model"),
        (["runs.jsonl", "--embedded", "--shard", "3/2"], "'3/2' is not I/N"),
        (["runs.jsonl", "--embedded", "--format", "csv"], "'csv' is not one of"),
        (["runs.jsonl", "--embedded", "--log", "."], "Is a directory"),
        (["runs.jsonl"], "JUDGE_BASE_URL"),
        (["runs.jsonl", "--base-url", "http://127.0.0.1:9/v1"], "JUDGE_MODEL"),
        ([], "INPUT..."),
    ],
)
def test_bad_usage_is_a_message_and_status_2(
    tmp_path: Path,
    stored: Callable[..., str],
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    said: str,
) -> None:
    stored(record())
    stored("judge: {modle: x}", name="bad.yaml")
    assert rejudge(*arguments) == 2
    out, err = capsys.readouterr()
    assert said in err
    assert out == ""
    assert not (tmp_path / "log.jsonl").exists()
    assert not (tmp_path / "reward_log.jsonl").exists()


def test_a_rubric_of_ones_own_with_a_misspelt_key_is_named(
    tmp_path: Path, stored: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    own = tmp_path / "mine"
    own.mkdir()
    (own / "version.yaml").write_text("description: Mine\nprompts: v1\nfine: 'off'\nframes: key\n")
    (own / "general.yaml").write_text("name: general\nstps: [Do it.]\noutput: Say so.\n")
    assert rejudge(stored(record()), "--embedded", "--rubrics", "./mine", "--log", "log.jsonl") == 2
    err = capsys.readouterr().err
    assert "general.yaml" in err
    assert "stps: unknown key" in err
    (own / "general.yaml").write_text("name: general\nsteps: [Do it.]\noutput: Say so.\n")
    assert rejudge("runs.jsonl", "--embedded", "--rubrics", "./mine", "--log", "log.jsonl") == 0
    assert rows(tmp_path / "log.jsonl")[0]["rubric_version"] == "mine"


def test_one_trajectory_twice_is_an_error_or_passed_over(
    tmp_path: Path, stored: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    path = stored(record(1), record(1), record(2))
    assert embedded(path) == 2
    assert "trajectory_id 'r1' occurs twice" in capsys.readouterr().err
    assert embedded(path, "--skip-bad") == 0
    assert len(rows(tmp_path / "log.jsonl")) == 2


def test_an_endpoint_from_the_environment_is_asked(
    tmp_path: Path, stored: Callable[..., str], endpoint: LoopbackServer
) -> None:
    path = stored(record(1), record(2))
    assert rejudge(path, "--rubrics", VERSIONS, "--log", "log.jsonl") == 0
    assert {request["json"]["model"] for request in endpoint.requests} == {"judge-env"}
    assert {request["headers"]["authorization"] for request in endpoint.requests} == {"Bearer sk-test-only"}
    assert len(rows(tmp_path / "log.jsonl")) == 4
    assert b"sk-test-only" not in (tmp_path / "log.jsonl").read_bytes()
    asked = endpoint.served
    assert rejudge(path, "--rubrics", VERSIONS, "--log", "other.jsonl") == 0
    assert endpoint.served == asked


def test_all_failed_some_failed_and_a_rerun_judges_only_those(
    tmp_path: Path,
    stored: Callable[..., str],
    endpoint: LoopbackServer,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """R08."""
    command = [stored(*map(record, range(3))), "--rubrics", "static_v1", "--log", "log.jsonl"]
    endpoint.script = [FAILURE]
    assert rejudge(*command) == 4
    err = capsys.readouterr().err
    assert "0 judged, 3 failed" in err
    assert "3 of 3 judgements failed (100%), most often bad_request (3)" in err
    failed = rows(tmp_path / "log.jsonl")
    assert [(row["reward"], row["error"]["kind"], row["attempts"]) for row in failed] == [
        (None, "bad_request", 1)
    ] * 3
    endpoint.script = lambda asked: FAILURE if "Task number 1." in str(asked["messages"]) else {}
    assert rejudge(*command) == 3
    assert "2 judged, 1 failed" in capsys.readouterr().err
    endpoint.script = None
    served = endpoint.served
    assert rejudge(*command) == 0
    assert endpoint.served == served + 1
    assert "1 judged, 0 failed, 2 in the log already" in capsys.readouterr().err


def test_runs_that_say_nothing_about_the_agent_are_settled_and_no_failures(
    tmp_path: Path, stored: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    lost = record(1, steps=[], outcome={"reward": 0.0, "status": "infra_error"})
    path = stored(lost, record(2, steps=[]), record(3))
    assert embedded(path) == 0
    assert "2 judged, 0 failed, 1 unusable" in capsys.readouterr().err
    assert embedded(path) == 0
    assert "0 judged, 0 failed, 3 in the log already" in capsys.readouterr().err


@pytest.mark.parametrize("stop", ["--max-failures", "--max-cost"])
def test_a_run_stops_at_its_limit(
    tmp_path: Path,
    stored: Callable[..., str],
    endpoint: LoopbackServer,
    capsys: pytest.CaptureFixture[str],
    stop: str,
) -> None:
    if stop == "--max-failures":
        endpoint.script = [FAILURE]
    stored("judge: {price_per_million: {prompt: 1000, completion: 1000}}", name="priced.yaml")
    path = stored(*map(record, range(40)))
    status = rejudge(
        path,
        "--rubrics",
        "static_v1",
        "--log",
        "l",
        "--config",
        "priced.yaml",
        "--concurrency",
        "1",
        stop,
        "2",
    )
    assert status == (4 if stop == "--max-failures" else 0)
    assert f"stopped early: {stop} 2 is reached" in capsys.readouterr().err
    assert endpoint.served < 15


def test_shards_are_disjoint_whole_and_split_by_task(tmp_path: Path, stored: Callable[..., str]) -> None:
    path = stored(*(record(i, task_id=f"t{i // 3}") for i in range(60)))
    parts = []
    for part in (1, 2, 3):
        assert embedded(path, "--shard", f"{part}/3", log=f"{part}.jsonl") == 0
        parts.append({(row["task_id"], row["trajectory_id"]) for row in rows(tmp_path / f"{part}.jsonl")})
    assert sum(map(len, parts)) == len(set().union(*parts)) == 60
    tasks = [{task for task, _ in part} for part in parts]
    assert sum(map(len, tasks)) == 20


def test_repeats_and_limits(tmp_path: Path, stored: Callable[..., str]) -> None:
    path = stored(*map(record, range(5)))
    assert embedded(path, "--limit", "2", "--repeat", "3") == 0
    assert sorted(keys(tmp_path / "log.jsonl")) == [
        (f"r{i}", "static_v1", repeat) for i in range(2) for repeat in range(3)
    ]


def test_a_dry_run_counts_and_writes_nothing(
    tmp_path: Path, stored: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    path = stored(*map(record, range(5)))
    assert embedded(path, "--dry-run", rubrics=VERSIONS) == 0
    assert capsys.readouterr().out == "10 judgements to make, 0 in the log already\n"
    assert not (tmp_path / "log.jsonl").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this platform has no device that is always full")
def test_a_full_disk_ends_the_run_and_names_the_log(
    stored: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert embedded(stored(record()), log="/dev/full") == 2
    assert "judge: /dev/full: No space left on device" in capsys.readouterr().err


def test_tarl_brings_step_judging_along(tmp_path: Path, stored: Callable[..., str]) -> None:
    assert embedded(stored(record(outcome={"reward": 1.0})), "--scheme", "tarl") == 0
    (row,) = rows(tmp_path / "log.jsonl")
    assert row["scheme"] == "tarl"
    assert [step["step"] for step in row["steps"]] == [0]
    assert "outcome_from_verifier" in row["flags"]


def test_a_blend_takes_its_weights_from_the_settings(
    stored: Callable[..., str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = stored(record(outcome={"reward": 1.0}))
    assert embedded(path, "--scheme", "weighted") == 2
    assert "reward: scheme weighted needs reward.weights" in capsys.readouterr().err
    (tmp_path / "blend.yaml").write_text("reward: {weights: {outcome: 1, score: 3}}\n", encoding="utf-8")
    assert embedded(path, "--scheme", "weighted", "--config", "blend.yaml") == 0
    (row,) = rows(tmp_path / "log.jsonl")
    assert row["parts"] == {"outcome": 1.0, "score": row["score"]}
    assert row["reward"] == pytest.approx((1.0 + 3 * row["score"]) / 4)


def test_other_settings_are_judged_anew(tmp_path: Path, stored: Callable[..., str]) -> None:
    path = stored(record())
    assert embedded(path) == 0
    assert embedded(path, "--scheme", "success") == 0
    assert len(rows(tmp_path / "log.jsonl")) == 1
    assert embedded(path, "--steps", "whole") == 0
    assert len(rows(tmp_path / "log.jsonl")) == 2
