"""Judgements made by a real model: its replies under our schema, its usage, and its prefix cache."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from judge import Judge, Reward, Trajectory
from judge.config import Config

from .small import MODEL, config, rows, timer

pytestmark = pytest.mark.slow


def judged(settings: Config, *runs: Trajectory) -> list[Reward]:
    """The rewards of the runs, judged one after the other."""
    with Judge(settings) as judge:
        return [judge.score(run) for run in runs]


def test_a_verdict_comes_all_the_way(base_url: str, tmp_path: Path) -> None:
    (reward,) = judged(config(base_url, tmp_path), timer("tea"))
    (row,) = rows(tmp_path)
    assert (reward.error, reward.value, row["reward"], row["success"]) == (None, 1.0, 1.0, True)
    assert row["rubric_hits"] == ["done"]
    call = row["calls"][-1]
    assert (call["model"], call["response_format"], call["finish_reason"]) == (MODEL, "json_schema", "stop")
    # The keys in the order of our schema, which is the order they were generated in.
    assert list(json.loads(call["raw"])) == [
        "reason",
        "evidence",
        "criteria",
        "success",
        "score",
        "verdict_id",
    ]


def test_usage_reaches_the_log(base_url: str, tmp_path: Path) -> None:
    judged(config(base_url, tmp_path, max_tokens=4, max_reask=0), timer("tea"))
    (row,) = rows(tmp_path)
    usage = row["usage"]
    assert usage["prompt_tokens"] > 100
    assert usage["completion_tokens"] == 4
    assert usage["total_tokens"] == usage["prompt_tokens"] + 4
    assert 0 <= usage["cached_tokens"] < usage["prompt_tokens"]


def test_a_score_of_100_is_no_reward(base_url: str, tmp_path: Path) -> None:
    (reward,) = judged(config(base_url, tmp_path, score=100), timer("tea"))
    (row,) = rows(tmp_path)
    assert [json.loads(call["raw"])["score"] for call in row["calls"]] == [100, 100]
    assert (reward.value, reward.error_kind) == (None, "invalid_verdict")
    assert (row["reward"], row["score"], row["error"]["kind"]) == (None, None, "invalid_verdict")


def test_a_reply_that_runs_into_the_limit_is_asked_again_with_twice_the_budget(
    base_url: str, tmp_path: Path
) -> None:
    loose = {"response_format": {"type": "json_object"}}
    (reward,) = judged(config(base_url, tmp_path, max_tokens=16, extra_body=loose), timer("tea"))
    (row,) = rows(tmp_path)
    assert (reward.value, reward.error_kind, row["attempts"]) == (None, "truncated", 2)
    assert [call["usage"]["completion_tokens"] for call in row["calls"]] == [16, 32]
    assert {call["finish_reason"] for call in row["calls"]} == {"length"}
    assert {call["response_format"] for call in row["calls"]} == {"json_object"}


def test_rollouts_of_one_task_reuse_its_prefix(base_url: str, tmp_path: Path) -> None:
    runs = [timer("eggs for the whole family"), *(timer("bread", attempt) for attempt in range(3))]
    judged(config(base_url, tmp_path, max_tokens=4, max_reask=0), *runs)
    _, first, *siblings = (row["usage"]["cached_tokens"] for row in rows(tmp_path))
    assert all(sibling > first > 0 for sibling in siblings)
