"""OpenRLHF's own way from a response to a reward, with an engine that says what it is told to say.

Run are its executor (which loads the user's file, decodes, calls in a thread and reads the result) and what
makes training samples of that. vLLM is not there: of it, the latter only needs names to import.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from judge.errors import ConfigError
from judge.testing import LoopbackServer
from tests.integrations.grading import FIGURES, graded, say_in_environment, settings, shown

pytest.importorskip("openrlhf", reason="needs OpenRLHF: see the stage openrlhf of .ci/run")

import torch
from openrlhf.utils.agent import SingleTurnAgentExecutor

PROMPT = "<|im_start|>user\nName a fjord.<|im_end|>\n<|im_start|>assistant\n"
LIMIT = 2048


class Characters:
    """A tokenizer whose tokens are characters."""

    def __call__(self, text: str, **_: Any) -> dict[str, Any]:
        return {"input_ids": torch.tensor([[ord(character) for character in text]])}

    def decode(self, tokens: list[int], skip_special_tokens: bool) -> str:
        assert not skip_special_tokens
        return "".join(map(chr, tokens))


class Engine:
    def __init__(self, response: str) -> None:
        self._response = response

    async def generate(self, prompt: Any, sampling: Any, multi_modal_data: Any) -> Any:
        tokens = [ord(character) for character in self._response]
        said = SimpleNamespace(token_ids=tokens, text=self._response, finish_reason="stop", logprobs=None)
        return SimpleNamespace(outputs=[said])


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopbackServer]:
    with LoopbackServer(graded) as running:
        say_in_environment(monkeypatch, tmp_path, **settings(running))
        yield running


@pytest.fixture
def executor(server: LoopbackServer, tmp_path: Path) -> SingleTurnAgentExecutor:
    return SingleTurnAgentExecutor(users_file(tmp_path))


def users_file(folder: Path) -> str:
    file = folder / "reward_func.py"
    file.write_text(
        "from judge.integrations.openrlhf import check, reward_func\n\ncheck()\n", encoding="utf-8"
    )
    return str(file)


def rollouts(executor: SingleTurnAgentExecutor, *responses: str, label: Any = "GOLD") -> list[dict[str, Any]]:
    """One after the other, as they may end."""
    sampling = SimpleNamespace(max_tokens=64, logprobs=None)

    async def run() -> list[dict[str, Any]]:
        together = (PROMPT, label, sampling, LIMIT, Characters())
        return [await executor.execute(*together, Engine(f"{said}<|im_end|>")) for said in responses]

    return asyncio.run(run())


@pytest.fixture
def experience(monkeypatch: pytest.MonkeyPatch) -> Any:
    """OpenRLHF's function from what its executor gives to a training sample."""
    pytest.importorskip("ray", reason="needs Ray")
    names = {"vllm": "SamplingParams", "vllm.inputs": "TokensPrompt", "vllm.utils": "random_uuid"}
    for module, name in names.items():
        stand_in = ModuleType(module)
        setattr(stand_in, name, object)
        monkeypatch.setitem(sys.modules, module, stand_in)
    from openrlhf.trainer.ppo_utils.samples_generator import SamplesGenerator

    generator = SamplesGenerator.__new__(SamplesGenerator)
    return lambda rollout: generator._process_response_into_experience(rollout, max_len=LIMIT)


def test_a_response_is_judged_and_its_reward_read(
    server: LoopbackServer, executor: SingleTurnAgentExecutor
) -> None:
    (rollout,) = rollouts(executor, "Geiranger grade 0.25")
    assert (rollout["reward"], rollout["scores"]) == (0.25, 0.25)
    assert rollout["extra_logs"].keys() == FIGURES
    assert "Name a fjord." in shown(server)
    assert "GOLD" not in shown(server)


def test_a_group_with_a_failure_becomes_training_samples(
    executor: SingleTurnAgentExecutor, experience: Any
) -> None:
    samples = [*map(experience, rollouts(executor, "grade 0.0", "grade 1.0", "grade 0.5", "no verdict"))]
    rewards = torch.cat([sample.rewards for sample in samples])
    assert rewards.tolist() == [0.0, 1.0, 0.5, 0.5]
    assert torch.cat([sample.scores for sample in samples]).tolist() == rewards.tolist()
    abstained = torch.cat([sample.info["judge_abstained"] for sample in samples])
    assert (abstained.dtype, abstained.tolist()) == (torch.float32, [0.0, 0.0, 0.0, 1.0])
    assert all(sample.info.keys() >= FIGURES for sample in samples)
    assert (rewards - rewards.mean()).tolist()[3] == 0.0


def test_a_label_may_be_a_mapping(server: LoopbackServer, executor: SingleTurnAgentExecutor) -> None:
    rollouts(executor, "Geiranger", label={"instruction": "Answer in one word", "answer": "GOLD"})
    assert "Answer in one word" in shown(server)
    assert "GOLD" not in shown(server)


def test_an_actor_does_not_start_without_a_judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    say_in_environment(monkeypatch, tmp_path)
    with pytest.raises(ConfigError, match="JUDGE_BASE_URL"):
        SingleTurnAgentExecutor(users_file(tmp_path))
