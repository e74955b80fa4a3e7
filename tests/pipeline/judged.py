"""What the tests of the pipeline and of Judge share: a run, settings that wait for nothing, good answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from judge import Config, Judge, Step, Trajectory
from judge.schema import Request
from judge.testing import LoopbackServer, ScriptedClient, example

SHARED = Path(__file__).resolve().parents[2].parent / "shared"

FAILURE = {"status": 400, "body_json": {"error": {"message": "no such thing", "type": "invalid_request"}}}
_NO_WAIT = {"backoff_s": 0, "max_retry_after_s": 0}


def trajectory(name: str = "r0", **fields: Any) -> Trajectory:
    made = [Step(index=i, action=f"click('{i}')", observation=f"page {i}") for i in range(3)]
    common = {
        "trajectory_id": name,
        "task_id": "t",
        "instruction": "Open page 2 of the archive",
        "steps": made,
    }
    return Trajectory(**{**common, **fields})


def config(**sections: Any) -> Config:
    """Nothing stored, nothing waited for, no fine rubrics; `sections` on top."""
    merged: dict[str, Any] = {
        "judge": {"base_url": "http://127.0.0.1:9/v1", "model": "judge-x", **_NO_WAIT},
        "rubrics": {"fine": "off"},
        "cache": {"dir": None},
        "log": {"path": None},
    }
    for name, section in sections.items():
        merged[name] = {**merged.get(name, {}), **section} if isinstance(section, dict) else section
    return Config(**merged)


def good(request: Request) -> dict[str, Any]:
    """An answer that the request's schema allows: every item met, success, score 1, no fine items.

    Its token is left to the ScriptedClient.
    """
    return {key: value for key, value in example(request.schema).items() if key != "verdict_id"}


def scripted(replies: Any = good, **sections: Any) -> tuple[Judge, ScriptedClient]:
    client = ScriptedClient(replies)
    return Judge(config(**sections), client), client


def connected(server: LoopbackServer, **sections: Any) -> Judge:
    judge = {"base_url": server.base_url, **sections.pop("judge", {})}
    return Judge(config(judge=judge, **sections))


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
