"""verl's own way from a sample to a reward: its configuration, loader, reward managers and Ray actors."""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from judge.errors import JudgeError
from judge.testing import LoopbackServer
from tests.integrations.grading import FIGURES, graded, settings, shown

pytest.importorskip("verl", reason="needs verl: see the stage verl of .ci/run")

import numpy as np
import ray
import torch
from hydra import compose, initialize_config_module
from tensordict import TensorDict
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast
from verl import DataProto
from verl.experimental.reward_loop.reward_loop import RewardLoopManager
from verl.trainer.ppo.core_algos import agg_loss
from verl.trainer.ppo.reward import get_custom_reward_fn, load_reward_manager

PROMPT_TOKENS, RESPONSE_TOKENS = 4, 64
MESSAGES = [
    {"role": "user", "content": "Book a flight"},
    {"role": "assistant", "content": "find()"},
    {"role": "tool", "content": "SK4035"},
    {"role": "assistant", "content": "Booked."},
]


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    with LoopbackServer(graded) as running:
        yield running


@pytest.fixture
def tokenizer() -> PreTrainedTokenizerFast:
    """One whose tokens are characters."""
    characters = {chr(code): code for code in range(128)}
    made = Tokenizer(models.WordLevel(characters, unk_token="?"))
    made.pre_tokenizer, made.decoder = pre_tokenizers.Split("", "isolated"), decoders.Fuse()
    return PreTrainedTokenizerFast(tokenizer_object=made, pad_token="\0", eos_token="\1")


def configured(server: LoopbackServer, manager: str = "naive", *overrides: str, **kwargs: Any) -> Any:
    """verl's whole configuration, as its command line makes it of these overrides."""
    where = "+reward.custom_reward_function.reward_kwargs"
    given = {**flat("settings", settings(server)), **kwargs}
    function = ["reward.custom_reward_function.path=pkg://judge.integrations.verl"]
    function += [f"{where}.{name}={'null' if value is None else value}" for name, value in given.items()]
    with initialize_config_module("verl.trainer.config", version_base=None):
        chosen = f"reward.reward_manager.name={manager}"
        return compose("ppo_trainer", overrides=[*function, chosen, *overrides])


def flat(name: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        return {name: value}
    return {key: inner for each in value for key, inner in flat(f"{name}.{each}", value[each]).items()}


def samples(*texts: str, info: Any = None, tools: Any = None) -> DataProto:
    codes = [[ord(character) for character in text] for text in texts]
    responses = torch.tensor([each + [0] * (RESPONSE_TOKENS - len(each)) for each in codes])
    prompts = torch.ones((len(texts), PROMPT_TOKENS), dtype=torch.long)
    mask = torch.cat([prompts, (responses > 0).long()], dim=1)
    batch = {"prompts": prompts, "responses": responses, "attention_mask": mask}
    rows = [{"question": "Say something", "answer": "GOLD", **(info or {})} for _ in texts]
    return DataProto(
        batch=TensorDict(batch, batch_size=len(texts)),
        non_tensor_batch={
            "data_source": np.array(["d"] * len(texts), dtype=object),
            "reward_model": np.array([{"ground_truth": "GOLD"}] * len(texts), dtype=object),
            "extra_info": np.array(rows, dtype=object),
            **({"tool_extra_fields": np.array([tools] * len(texts), dtype=object)} if tools else {}),
        },
    )


def run(config: Any, tokenizer: Any, data: DataProto) -> dict[str, Any]:
    """One sample through the reward manager that the configuration names, which takes the loop it finds."""

    async def single() -> dict[str, Any]:
        return await load_reward_manager(config, tokenizer).run_single(data)

    return asyncio.run(single())


def test_the_loader_takes_it_for_what_it_is(server: LoopbackServer) -> None:
    function = get_custom_reward_fn(configured(server))
    assert function is not None
    assert inspect.iscoroutinefunction(function)


@pytest.mark.parametrize("manager", ["naive", "dapo", "gdpo", "rate_limited"])
def test_every_manager_that_awaits(server: LoopbackServer, tokenizer: Any, manager: str) -> None:
    result = run(configured(server, manager), tokenizer, samples("grade 0.25"))
    assert result["reward_score"] == 0.25
    assert result["reward_extra_info"].keys() == {"score", *FIGURES}
    assert "Say something" in shown(server)
    assert "GOLD" not in shown(server)


@pytest.mark.parametrize("manager", ["naive", "rate_limited"])
def test_what_tools_recorded_is_judged_whole(server: LoopbackServer, tokenizer: Any, manager: str) -> None:
    tools = {"messages": MESSAGES, "max_global_steps": 3, "turn_scores": []}
    run(configured(server, manager), tokenizer, samples("find() SK4035 glued", tools=tools))
    assert "SK4035" in shown(server)
    assert "glued" not in shown(server)


@pytest.mark.parametrize("manager", ["naive", "dapo", "gdpo"])
def test_a_failure_reaches_the_trainer_as_an_exception(
    server: LoopbackServer, tokenizer: Any, manager: str
) -> None:
    with pytest.raises(JudgeError, match="no such thing"):
        run(configured(server, manager), tokenizer, samples("no verdict"))


def test_rate_limited_scores_an_exception_0_and_needs_a_mean(server: LoopbackServer, tokenizer: Any) -> None:
    raised = run(configured(server, "rate_limited"), tokenizer, samples("no verdict"))
    assert raised["reward_score"] == 0.0
    assert "judge_abstained" not in raised["reward_extra_info"]
    config = configured(server, "rate_limited", on_abstain="mean")
    run(config, tokenizer, samples("grade 0.75"))
    settled = run(config, tokenizer, samples("no verdict"))
    assert settled["reward_score"] == 0.75
    assert settled["reward_extra_info"]["judge_abstained"] == 1.0


def test_a_number_from_the_command_line(server: LoopbackServer, tokenizer: Any) -> None:
    result = run(configured(server, on_abstain=0.5), tokenizer, samples("no verdict"))
    assert (result["reward_score"], result["reward_extra_info"]["judge_abstained"]) == (0.5, 1.0)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    # Else Ray leaves a token of its own in the home folder.
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


@pytest.mark.usefixtures("cluster")
def test_its_ray_actors_and_what_is_made_of_their_answers(
    server: LoopbackServer, tokenizer: Any, tmp_path: Path
) -> None:
    tokenizer.save_pretrained(tmp_path)
    model, workers = f"actor_rollout_ref.model.path={tmp_path}", "reward.num_workers=2"
    manager = RewardLoopManager(configured(server, "naive", model, workers, on_abstain="mean"))
    texts = ["grade 0.25", "grade 0.75", "no verdict", "Done."]
    judged = manager.compute_rm_score(samples(*texts))
    scores = judged.batch["rm_scores"]
    last = torch.tensor([len(text) - 1 for text in texts])
    assert scores.sum(dim=1).tolist() == scores[torch.arange(4), last].tolist()
    assert scores.sum(dim=1).tolist()[:2] == [0.25, 0.75]
    assert judged.non_tensor_batch.keys() == {"score", *FIGURES}
    assert judged.non_tensor_batch["judge_abstained"].tolist() == [0.0, 0.0, 1.0, 0.0]
    assert {values.dtype.kind for values in judged.non_tensor_batch.values()} == {"f"}


def test_the_settings_of_the_readme(server):
    readme = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")
    assert "reward.custom_reward_function.path=pkg://judge.integrations.verl" in readme
    [block] = re.findall(r"^```bash\n(algorithm\..*?)^```", readme, re.M | re.S)
    config = configured(server, "naive", *block.replace("\\\n", " ").split())
    actor = config.actor_rollout_ref.actor
    assert (actor.clip_ratio_low, actor.clip_ratio_high) == (0.2, 0.28)
    assert config.algorithm.norm_adv_by_std_in_grpo is False
    # Two sequences, of one token and of three: the mean over tokens comes first.
    loss, mask = torch.tensor([[1.0, 0.0, 0.0], [4.0, 4.0, 4.0]]), torch.tensor([[1, 0, 0], [1, 1, 1]])
    assert agg_loss(loss, mask, loss_agg_mode=actor.loss_agg_mode).item() == pytest.approx(2.5)
