"""What tests of integrations share: a judge that gives the grade that a run asks for, and its settings."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from judge.testing import LoopbackServer, verdict_response
from tests.pipeline.judged import FAILURE

FIGURES = {"judge_abstained", "judge_score", "judge_success", "judge_met", "judge_cost"}


def graded(asked: dict[str, Any]) -> dict[str, Any]:
    """The last grade the request speaks of ("grade 0.25"), else 1; a failure where it says "no verdict"."""
    text = said(asked)
    if "no verdict" in text:
        return FAILURE
    grades = re.findall(r"grade (\d\.\d+)", text)
    if not grades:
        return {}
    response = verdict_response(asked)
    message = response["body_json"]["choices"][0]["message"]
    score = float(grades[-1])
    message["content"] = json.dumps(
        {**json.loads(message["content"]), "success": score > 0.5, "score": score}
    )
    return response


def said(asked: dict[str, Any]) -> str:
    """All the text of a request."""
    contents = [message["content"] for message in asked["messages"]]
    parts = [part for content in contents if isinstance(content, list) for part in content]
    texts = [content for content in contents if isinstance(content, str)]
    return "\n".join([*texts, *(part["text"] for part in parts if part["type"] == "text")])


def shown(server: LoopbackServer) -> str:
    """The text of the one request that was made."""
    (request,) = server.requests
    return said(request["json"])


def settings(server: LoopbackServer, **sections: Any) -> dict[str, Any]:
    """The judge of `server`, nothing stored and nothing waited for."""
    judge = {"base_url": server.base_url, "model": "judge-x", "backoff_s": 0, "max_retry_after_s": 0}
    quiet = {"judge": judge, "rubrics": {"fine": "off"}, "cache": {"dir": None}, "log": {"path": None}}
    return {**quiet, **sections}


def say_in_environment(monkeypatch: pytest.MonkeyPatch, folder: Path, **sections: Any) -> None:
    """The same settings as a user gives them who can only set variables."""
    for name in ("JUDGE_BASE_URL", "JUDGE_MODEL", "JUDGE_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    (folder / "judge.yaml").write_text(json.dumps(sections), encoding="utf-8")
    monkeypatch.setenv("JUDGE_CONFIG", str(folder / "judge.yaml"))
