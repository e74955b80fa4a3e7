"""The README's Python runs as it stands there, against a real endpoint; for trainers see tests/trainers."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest

from judge import Config, Judge, Trajectory
from judge.testing import LoopbackServer

REPOSITORY = Path(__file__).resolve().parents[1]
BLOCKS = re.findall(
    r"^```python\n(.*?)^```", (REPOSITORY / "README.md").read_text(encoding="utf-8"), re.M | re.S
)
TRAJECTORIES = [
    Trajectory(trajectory_id=f"t{i}", instruction="Archive it", steps=[{"action": "click('Archive')"}] * 2)
    for i in range(2)
]


def block(words: str) -> str:
    """The one block that holds `words`."""
    [found] = [each for each in BLOCKS if words in each]
    return found


@pytest.fixture
def endpoint(monkeypatch, tmp_path):
    for name in ("JUDGE_CONFIG", "JUDGE_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with LoopbackServer() as server:
        monkeypatch.setenv("JUDGE_BASE_URL", server.base_url)
        monkeypatch.setenv("JUDGE_MODEL", "judge-x")
        yield server


def run(code: str, **names: Any) -> dict[str, Any]:
    exec(compile(code, "README.md", "exec"), names)
    return names


def test_reward_fn(endpoint):
    assert run(block("import reward_fn"))["reward"] == 1.0


def test_a_batch(endpoint):
    code = block("import Config, Judge").replace("http://localhost:8000/v1", endpoint.base_url)
    done = run(code, trajectories=TRAJECTORIES)
    assert [reward.value for reward in done["rewards"]] == [1.0, 1.0]
    done["judge"].close()


def test_the_file_for_openrlhf(endpoint, tmp_path):
    path = tmp_path / "reward_func.py"
    path.write_text(block("integrations.openrlhf"), encoding="utf-8")
    spec = importlib.util.spec_from_file_location("reward_func", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.reward_func(["Name a fjord. Geiranger"], ["Name a fjord."], [""])["rewards"] == 1.0


def test_advantages_of_steps_and_tokens(endpoint):
    config = Config(judge={"base_url": endpoint.base_url, "model": "judge-x"}, cache={"dir": None})
    spans, lengths = [[(0, 2), (3, 5)]] * 2, [6, 6]
    with Judge(config) as judge:
        code = block("integrations.advantages")
        done = run(code, judge=judge, group=TRAJECTORIES, spans=spans, lengths=lengths)
    assert [sum(each.mask) for each in done["tokens"]] == [4, 4]


def test_every_block_is_run_somewhere():
    of_trainers = ("integrations.trl", "epsilon_high")
    here = ("import reward_fn", "import Config, Judge", "integrations.openrlhf", "integrations.advantages")
    assert [each for each in BLOCKS if not any(words in each for words in (*here, *of_trainers))] == []
