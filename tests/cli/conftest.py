"""What the tests of commands share."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def no_settings_from_outside(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A command that starts in an empty folder, with no setting of whoever runs the tests."""
    for name in ("JUDGE_BASE_URL", "JUDGE_MODEL", "JUDGE_API_KEY", "JUDGE_CONFIG", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
