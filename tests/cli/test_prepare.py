"""`judge prepare`: what it asks, what a later run then finds, and what it says where nothing is to do."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from judge import cli
from judge.testing import LoopbackServer, completion, verdict_response
from tests.pipeline.judged import FAILURE, rows

ROOT = Path(__file__).resolve().parents[2]


pytestmark = pytest.mark.usefixtures("no_settings_from_outside")


@pytest.fixture
def runs(tmp_path: Path) -> Callable[..., str]:
    """Writes these records to a file and gives its path."""

    def write(*records: dict[str, Any]) -> str:
        (tmp_path / "runs.jsonl").write_text("".join(json.dumps(each) + "\n" for each in records))
        return "runs.jsonl"

    return write


@pytest.fixture
def settings(tmp_path: Path) -> Callable[..., str]:
    """Writes these sections to a file of settings and gives its path."""

    def write(**sections: Any) -> str:
        (tmp_path / "judge.yaml").write_text(json.dumps(sections))
        return "judge.yaml"

    return write


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopbackServer]:
    """An endpoint that the environment names."""
    with LoopbackServer() as server:
        monkeypatch.setenv("JUDGE_BASE_URL", server.base_url)
        monkeypatch.setenv("JUDGE_MODEL", "judge-env")
        yield server


def record(task: int = 0, rollout: int = 0, **fields: Any) -> dict[str, Any]:
    common = {"trajectory_id": f"t{task}-{rollout}", "task_id": f"t{task}", "instruction": f"Write {task}.5"}
    return {**common, "steps": [{"action": f"type('{rollout}')", "observation": "done"}], **fields}


def group(tasks: int, rollouts: int = 2) -> list[dict[str, Any]]:
    return [record(task, rollout) for task in range(tasks) for rollout in range(rollouts)]


def is_fine(asked: dict[str, Any]) -> bool:
    return "items" in asked["response_format"]["json_schema"]["schema"]["properties"]


def fine_calls(endpoint: LoopbackServer) -> int:
    return sum(is_fine(request["json"]) for request in endpoint.requests)


def proposing(*items: dict[str, str]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Answers questions for fine rubrics with these items, and others as they ask."""
    fine = {"body_json": completion(json.dumps({"items": items}))}
    return lambda asked: fine if is_fine(asked) else verdict_response(asked)


def prepare(*arguments: str) -> int:
    return cli.run(["prepare", *arguments])


def test_a_later_run_asks_for_no_fine_rubrics_and_a_second_preparation_for_nothing(
    tmp_path: Path, runs: Callable[..., str], endpoint: LoopbackServer, capsys: pytest.CaptureFixture[str]
) -> None:
    endpoint.script = proposing({"quote": "2.5", "text": "It is 2.5."}, {"quote": "7", "text": "It is 7."})
    path = runs(*group(3))
    assert prepare(path) == 0
    assert (fine_calls(endpoint), endpoint.served) == (3, 3)
    assert capsys.readouterr().out.splitlines() == [
        "adapt_v1: 3 instructions, 0 from the cache, 3 asked, 0 failed",
        "  fine rubrics  none 2 (67%), one 1 (33%), two 0 (0%)",
        "  dropped       quote_not_in_instruction 5",
    ]
    assert prepare(path) == 0
    assert endpoint.served == 3
    assert "adapt_v1: 3 instructions, 3 from the cache, 0 asked, 0 failed" in capsys.readouterr().out
    assert cli.run(["rejudge", path, "--log", "log.jsonl"]) == 0
    assert (fine_calls(endpoint), endpoint.served) == (3, 3 + 6)
    quotes = {
        row["task_id"]: [item["quote"] for item in row["fine_rubrics"]]
        for row in rows(tmp_path / "log.jsonl")
    }
    assert quotes == {"t0": [], "t1": [], "t2": ["2.5"]}


def test_it_judges_nothing_and_writes_no_log(
    tmp_path: Path, runs: Callable[..., str], endpoint: LoopbackServer
) -> None:
    assert prepare(runs(*group(2))) == 0
    assert fine_calls(endpoint) == endpoint.served == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache", "runs.jsonl"]


def test_runs_that_take_no_judge_take_no_preparation(
    runs: Callable[..., str], endpoint: LoopbackServer
) -> None:
    unjudged = {"verifier_only": True, "outcome": {"reward": 1.0}}
    assert prepare(runs(record(0, steps=[]), record(1, **unjudged), record(2))) == 0
    assert endpoint.served == 1


def test_an_instruction_of_two_categories_is_two_questions(
    runs: Callable[..., str], endpoint: LoopbackServer
) -> None:
    assert prepare(runs(record(0, 0), record(0, 1, category="transfer"), record(0, 2))) == 0
    assert endpoint.served == 2


def test_versions_without_fine_rubrics_need_nothing(
    runs: Callable[..., str],
    endpoint: LoopbackServer,
    settings: Callable[..., str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = runs(*group(2))
    off = settings(cache={"dir": None})
    assert prepare(path, "--rubrics", "static_v1", "--config", off) == 0
    out, err = capsys.readouterr()
    assert (out, err) == ("", "static_v1: has no fine rubrics, so there is nothing to prepare\n")
    assert endpoint.served == 0
    assert prepare(path, "--rubrics", "static_v1, adapt_v1") == 0
    out, err = capsys.readouterr()
    assert "static_v1: has no fine rubrics" in err
    assert out.startswith("adapt_v1: 2 instructions, 0 from the cache, 2 asked")


@pytest.mark.parametrize(("router", "calls"), [("llm", 4), ("joint", 2)])
def test_where_a_judge_routes_its_answers_are_prepared_too(
    runs: Callable[..., str],
    endpoint: LoopbackServer,
    settings: Callable[..., str],
    capsys: pytest.CaptureFixture[str],
    router: str,
    calls: int,
) -> None:
    routed = settings(rubrics={"router": router})
    path = runs(*group(2))
    assert prepare(path, "--config", routed) == 0
    assert (fine_calls(endpoint), endpoint.served) == (2, calls)
    assert f"2 instructions, at most {calls} calls" in capsys.readouterr().err
    assert cli.run(["rejudge", path, "--log", "log.jsonl", "--config", routed]) == 0
    assert endpoint.served == calls + 4


def test_without_a_cache_nothing_would_be_kept(
    runs: Callable[..., str],
    endpoint: LoopbackServer,
    settings: Callable[..., str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert prepare(runs(record()), "--config", settings(cache={"dir": None})) == 2
    assert "cache.dir is null: nothing would be kept" in capsys.readouterr().err
    assert endpoint.served == 0


def test_a_dry_run_tells_calls_tokens_and_cost_and_asks_nothing(
    runs: Callable[..., str],
    endpoint: LoopbackServer,
    settings: Callable[..., str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = runs(*group(3))
    free = settings(judge={"price_per_million": {"completion": 1000}})
    assert prepare(path, "--dry-run", "--config", free) == 0
    out, err = capsys.readouterr()
    assert err == ""
    said = re.fullmatch(
        r"3 instructions, at most 3 calls: about ([\d,]+) prompt and 360 completion tokens, "
        r"cost about 0.3600\n",
        out,
    )
    assert said
    assert prepare(path, "--dry-run") == 0
    assert "no price set" in capsys.readouterr().out
    assert endpoint.served == 0
    assert prepare(path) == 0
    chars = sum(len(part["content"]) for asked in endpoint.requests for part in asked["json"]["messages"])
    # The question goes out with a token of a few characters at its end.
    assert int(said[1].replace(",", "")) == pytest.approx(chars / 4, rel=0.05)
    assert "3 instructions, at most 3 calls" in capsys.readouterr().err


def test_limits_and_several_versions_count_as_a_run_would(
    tmp_path: Path, runs: Callable[..., str], endpoint: LoopbackServer, capsys: pytest.CaptureFixture[str]
) -> None:
    own = tmp_path / "mine"
    own.mkdir()
    (own / "version.yaml").write_text("description: Mine\nprompts: v1\nfine: 'on'\nframes: key\n")
    (own / "general.yaml").write_text("name: general\nsteps: [Do it.]\noutput: Say so.\n")
    assert prepare(runs(*group(4)), "--rubrics", "adapt_v1,./mine", "--limit", "3") == 0
    out = capsys.readouterr().out
    assert "adapt_v1: 2 instructions, 0 from the cache, 2 asked" in out
    assert "./mine: 2 instructions, 0 from the cache, 2 asked" in out
    assert endpoint.served == 4


def test_failures_are_named_and_a_rerun_asks_only_for_those(
    runs: Callable[..., str],
    endpoint: LoopbackServer,
    settings: Callable[..., str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    # A run may go on with the coarse rubric alone; a preparation that did would look complete.
    command = [runs(*group(3)), "--config", settings(rubrics={"on_fine_error": "coarse"})]
    endpoint.script = [FAILURE]
    assert prepare(*command) == 4
    assert "3 of 3 instructions failed (100%), most often bad_request (3)" in capsys.readouterr().err
    endpoint.script = lambda asked: (
        FAILURE if "Write 1.5" in str(asked["messages"]) else verdict_response(asked)
    )
    assert prepare(*command) == 3
    assert "0 from the cache, 2 asked, 1 failed" in capsys.readouterr().out
    endpoint.script, served = None, endpoint.served
    assert prepare(*command) == 0
    assert endpoint.served == served + 1
    assert "2 from the cache, 1 asked, 0 failed" in capsys.readouterr().out


def test_what_was_billed_is_said(
    runs: Callable[..., str],
    endpoint: LoopbackServer,
    settings: Callable[..., str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    command = [runs(*group(2)), "--config", settings(judge={"price_per_million": {"prompt": 1000}})]
    assert prepare(*command) == 0
    assert "2 asked, 0 failed, cost 1.8000" in capsys.readouterr().out
    assert prepare(*command) == 0
    assert "cost" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["absent.jsonl", "--embedded"], "absent.jsonl: cannot be read"),
        (["runs.jsonl", "--embedded", "--rubrics", "adapt_v0"], "unknown rubric version 'adapt_v0'"),
        (["runs.jsonl", "--embedded", "--model", "m"], "leave out --model"),
        (["runs.jsonl"], "JUDGE_BASE_URL"),
        ([], "INPUT..."),
    ],
)
def test_bad_usage_is_a_message_and_status_2(
    runs: Callable[..., str], capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    runs(record())
    assert prepare(*arguments) == 2
    out, err = capsys.readouterr()
    assert said in err
    assert out == ""


def test_bad_records_stop_it_or_are_passed_over(
    runs: Callable[..., str], endpoint: LoopbackServer, capsys: pytest.CaptureFixture[str]
) -> None:
    path = runs(record(0), {"steps": []}, record(1))
    assert prepare(path) == 2
    assert "runs.jsonl:2: instruction: missing" in capsys.readouterr().err
    assert endpoint.served == 0
    assert prepare(path, "--skip-bad") == 0
    assert "1 bad records passed over, the first: runs.jsonl:2" in capsys.readouterr().err
    assert endpoint.served == 2


def test_the_embedded_judge_shows_the_shares_and_keeps_nothing(
    tmp_path: Path, runs: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert prepare(runs(*group(3)), "--embedded") == 0
    out, err = capsys.readouterr()
    assert out.startswith(
        "adapt_v1: 3 instructions, 0 from the cache, 3 asked, 0 failed\n  fine rubrics  none "
    )
    assert "keeps nothing" in err
    assert not (tmp_path / "cache").exists()


def process(*arguments: str, **options: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", "from judge.cli import main; main()", "prepare", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=environment, **options)


def test_ctrl_c_keeps_what_was_answered(
    runs: Callable[..., str], endpoint: LoopbackServer, capsys: pytest.CaptureFixture[str]
) -> None:
    path = runs(*group(6))
    endpoint.script = [{}, {}, {}, {"accept_then_stall_s": 3600}]
    with process(path, "--concurrency", "1") as running:
        for _ in range(4_000):
            if endpoint.served > 3:
                break
            time.sleep(0.005)
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=30)
    assert running.returncode == 130
    counted = r"interrupted after 0 from the cache, [23] asked, 0 failed; the same command goes on from there"
    assert re.search(counted, err)
    assert "Traceback" not in err
    endpoint.script = None
    assert prepare(path) == 0
    assert "6 instructions, 3 from the cache, 3 asked, 0 failed" in capsys.readouterr().out


def test_from_a_pipe_it_asks_without_an_estimate(endpoint: LoopbackServer) -> None:
    lines = "".join(json.dumps(each) + "\n" for each in group(2))
    with process("-", stdin=subprocess.PIPE) as running:
        out, err = running.communicate(lines, timeout=30)
    assert (running.returncode, err) == (0, "")
    assert out.startswith("adapt_v1: 2 instructions, 0 from the cache, 2 asked")
