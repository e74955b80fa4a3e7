"""What the tests of commands share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def no_settings_from_outside(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A command that starts in an empty folder, with no setting of whoever runs the tests."""
    for name in ("JUDGE_BASE_URL", "JUDGE_MODEL", "JUDGE_API_KEY", "JUDGE_CONFIG", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def log(tmp_path: Path) -> Any:
    """Writes a log of these rows and gives its path; a row that is text becomes a line as it is."""

    def write(*rows: Any) -> str:
        path = tmp_path / "log.jsonl"
        path.write_text(
            "".join((each if isinstance(each, str) else json.dumps(each)) + "\n" for each in rows)
        )
        return str(path)

    return write
