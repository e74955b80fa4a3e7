"""The command itself: help without heavy imports, exit statuses, errors in one line, the rows it tells of."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from judge import cli
from judge.cli.apart import taken_apart
from judge.cli.progress import Tally
from judge.schema import Reward

ROOT = Path(__file__).resolve().parents[2]


def python(code: str, **options: Any) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=60, **options
    )


def test_help_lists_every_command_and_says_where_to_start(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["--help"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in ("demo", "rejudge", "report", "rubrics"))
    assert "Start with:  judge demo" in out


@pytest.mark.parametrize("command", ["demo", "rejudge", "report", "rubrics"])
def test_every_command_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run([command, "-h"]) == 0
    assert f"Usage: judge {command}" in capsys.readouterr().out


def test_help_loads_nothing_heavy() -> None:
    done = python(
        "import sys; from judge.cli import run; run(['--help'])\n"
        "print({'openai', 'pandas', 'rich', 'judge.judging'} & set(sys.modules), file=sys.stderr)"
    )
    assert done.stderr.strip() == "set()"


@pytest.mark.parametrize("arguments", [["nonsense"], ["demo", "--nonsense"], ["rejudge"]])
def test_bad_usage_is_status_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(arguments) == 2
    assert "Usage: judge" in capsys.readouterr().err


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["--version"]) == 0
    assert capsys.readouterr().out.startswith("judge, version ")


def test_main_exits_with_the_status() -> None:
    assert python("from judge.cli import main; main(['rubrics', 'show', 'v9'])").returncode == 2
    assert python("from judge.cli import main; main(['rubrics', 'list'])").returncode == 0


def test_a_reader_that_has_gone_is_no_error() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", "from judge.cli import main; main(['rubrics', 'list'])"],
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        timeout=60,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


def tallied(*kinds: str | None, cost: float | None = None) -> Tally:
    tally = Tally()
    for kind in kinds:
        tally.count(Reward(value=None if kind else 1.0, error_kind=kind, cost=cost))
    return tally


@pytest.mark.parametrize(
    ("kinds", "status"),
    [
        ([], 0),
        ([None], 0),
        ([None, "unusable_input"], 0),
        (["unusable_input"], 0),
        ([None, "timeout"], 3),
        (["timeout", "timeout"], 4),
        (["timeout", "unusable_input"], 4),
    ],
)
def test_the_exit_status_counts_failures_and_not_the_unusable(kinds: list[str | None], status: int) -> None:
    assert tallied(*kinds).exit_status == status


def test_more_than_a_twentieth_of_failures_is_said_with_the_commonest_kind() -> None:
    assert tallied(*[None] * 19, "timeout").warning() is None
    assert tallied(*[None] * 18, "refusal", "timeout").warning() is not None
    assert tallied(*[None] * 7, "refusal", "timeout", "timeout").warning() == (
        "3 of 10 judgements failed (30%), most often timeout (2)"
    )
    assert tallied().warning() is None


def test_figures_are_one_phrase() -> None:
    tally = tallied(None, "timeout", "unusable_input", cost=0.25)
    assert tally.figures() == "1 judged, 1 failed, 1 unusable, cost 0.7500"


ROW: dict[str, Any] = {
    "trajectory_id": "r0",
    "rubric_version": "adapt_v1",
    "category": "general",
    "routing": {"reason": "no cue"},
    "frame_count": 3,
    "prompt_set": "v1",
    "fine_rubrics": [{"id": "fine_1", "text": "It is page 2.", "quote": "page 2"}],
    "fine_dropped": [{"item": "Be kind.", "why": "no_quote"}],
    "error": None,
    "criteria": [{"id": "done", "met": "yes", "step": 2}, {"id": "no_harm", "met": "unclear", "step": None}],
    "steps": [{"step": 0, "label": 1, "reason": "Helps."}, {"step": 1, "label": -1, "reason": ""}],
    "evidence": [{"step": 2, "quote": "page 2 of 7"}],
    "reason": "It is open.",
    "success": True,
    "score": 0.9,
    "parts": {"score": 0.9},
    "reward": 0.9,
    "scheme": "score",
    "outcome": 1.0,
    "outcome_status": "ok",
    "flags": ["coerced"],
}


def test_a_row_is_taken_apart_from_the_rubric_to_the_number() -> None:
    assert taken_apart(ROW).split("\n") == [
        "r0 under adapt_v1",
        "  category    general (no cue)",
        "  shown       3 key frames, prompts v1",
        "  attention   [fine_1] It is page 2.  (the task says: 'page 2')",
        "  not used    Be kind.: no_quote",
        "  yes         done (step 2)",
        "  unclear     no_harm",
        "  step 0      +1 Helps.",
        "  step 1      -1",
        "  evidence    step 2: page 2 of 7",
        "  reason      It is open.",
        "  verdict     success, score 0.9",
        "  reward      0.9 = score 0.9 (scheme score)",
        "  outcome     1 (status ok; never shown to the judge)",
        "  flags       coerced",
    ]


def test_a_row_says_how_many_screenshots_were_shown() -> None:
    images = [{"step": 0, "sha256": "0", "media_type": "image/png"}]
    assert "3 key frames (1 with a screenshot), 2 steps left out" in taken_apart(
        {**ROW, "images": images, "omitted": {"steps": 2, "chars": 0}}
    )


def test_a_failed_row_says_why_and_shows_no_number() -> None:
    failed = {
        **ROW,
        **{
            "error": {"kind": "timeout", "message": "too late"},
            "reward": None,
            "success": None,
            "score": None,
        },
        **{"parts": {}, "outcome": None, "flags": []},
    }
    shown = taken_apart(failed).split("\n")
    assert shown[-3:] == [
        "  failed      timeout: too late",
        "  reward      none",
        "  outcome     none stored (status ok; never shown to the judge)",
    ]
