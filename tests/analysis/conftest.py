"""Reward logs for the tests of analysis: rows written as they would be by any JSON writer."""

import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from analysis.frame import load_frame

ROW = {
    "schema": 1,
    "trajectory_id": "t0",
    "task_id": "task",
    "category": "email",
    "rubric_version": "static_v1",
    "judge_model": "judge-a",
    "repeat": 0,
    "reward": 1.0,
    "outcome": 1.0,
    "outcome_status": "ok",
    "success": True,
    "score": 1.0,
    "error": None,
    "latency_ms": 100.0,
    "usage": {"prompt_tokens": 40, "completion_tokens": 10, "total_tokens": 50, "cached_tokens": None},
    "cost": 0.5,
}
FAILED = {"reward": None, "success": None, "score": None}


@pytest.fixture
def row() -> Callable[..., dict]:
    """A full log row with the given fields put in their place; `error` given as a kind."""

    def build(**fields: object) -> dict:
        if isinstance(kind := fields.get("error"), str):
            fields = {**FAILED, **fields, "error": {"kind": kind, "message": "as the endpoint said"}}
        return {**ROW, **fields}

    return build


@pytest.fixture
def write_log(tmp_path: Path) -> Callable[..., Path]:
    def write(rows: list[dict], name: str = "log.jsonl") -> Path:
        path = tmp_path / name
        path.write_text("".join(json.dumps(each) + "\n" for each in rows), encoding="utf-8")
        return path

    return write


@pytest.fixture
def frame_of(write_log: Callable[..., Path]) -> Callable[..., pd.DataFrame]:
    """The frame of a log of these rows."""

    def load(rows: list[dict], by: str | None = None) -> pd.DataFrame:
        return load_frame([write_log(rows)], by=by)

    return load
