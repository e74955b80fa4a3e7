"""Steps of TRL's own trainers on the CPU: what becomes of the judge's rewards, and of failed judgements.

Not covered: vLLM, and AsyncGRPOTrainer (which needs it); its call is made here as it makes it.
"""

from __future__ import annotations

import asyncio
import copy
import json
import math
import pickle
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("trl", reason="TRL is not installed")
pytest.importorskip("torch", reason="torch is not installed")

import torch
from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer, RLOOConfig, RLOOTrainer

from judge import Reward, Trajectory
from judge.advantage import dr_grpo, grpo
from judge.errors import JudgeError
from judge.integrations.advantages import gvpo_steps, on_tokens
from judge.integrations.trl import judge_reward, judge_reward_sync
from judge.testing import LoopbackServer, completion, verdict_response
from tests.pipeline.judged import FAILURE, rows
from tests.test_readme import block, run
from tests.trainers import tiny

SIZE = 4
"""Completions for each prompt; every batch holds those of both prompts."""

TASKS = ("Archive the newsletter", "Write a haiku")
SCORES = (0.6, 1.0)
PLAIN = [{"prompt": task, "answer": "SECRET"} for task in TASKS]
CHAT = [{"prompt": [{"role": "user", "content": task}], "answer": "SECRET"} for task in TASKS]
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
# TRL adds 1e-4 to the std and computes in float32; judge.advantage adds 1e-6.
CLOSE = 2e-3


class Moody:
    """A judge that, of the requests for each task, fails the first and the third and scores the others."""

    def __init__(self, fails: Callable[[str, int], bool] = lambda task, turn: turn % 2 == 0) -> None:
        self._fails = fails
        self._turns: Counter[str] = Counter()

    def __call__(self, body: dict[str, Any]) -> dict[str, Any]:
        said = json.dumps(body["messages"])
        (task,) = (each for each in TASKS if each in said)
        turn = self._turns[task]
        self._turns[task] += 1
        if self._fails(task, turn):
            return FAILURE
        item = verdict_response(body)
        answer = json.loads(item["body_json"]["choices"][0]["message"]["content"])
        return {"body_json": completion(json.dumps(answer | {"score": SCORES[turn // 2 % 2]}))}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[LoopbackServer]:
    """The endpoint that the environment names, with a judge that fails half the time."""
    quiet = {"cache": {"dir": None}, "log": {"path": str(tmp_path / "log")}, "rubrics": {"fine": "off"}}
    (tmp_path / "judge.yaml").write_text(json.dumps(quiet))
    with LoopbackServer(Moody()) as running:
        monkeypatch.setenv("JUDGE_BASE_URL", running.base_url)
        monkeypatch.setenv("JUDGE_MODEL", "judge-x")
        monkeypatch.setenv("JUDGE_CONFIG", str(tmp_path / "judge.yaml"))
        yield running


def stepped(
    tmp_path: Path, reward_funcs: Any, data: list[dict[str, Any]], kind: Any = GRPOTrainer, **settings: Any
) -> Any:
    """The trainer after one step over all of `data`, SIZE completions each."""
    config = RLOOConfig if issubclass(kind, RLOOTrainer) else GRPOConfig
    template = settings.pop("chat_template", TEMPLATE)
    more = {name: settings.pop(name) for name in ("environment_factory", "tools") if name in settings}
    common: dict[str, Any] = {
        "output_dir": str(tmp_path / "out"),
        "per_device_train_batch_size": SIZE * len(data),
        "num_generations": SIZE,
        "max_completion_length": 8,
        "max_steps": 1,
        "learning_rate": 1e-3,
        "logging_steps": 1,
        "report_to": "none",
        "use_cpu": True,
        "bf16": False,
        "save_strategy": "no",
        "disable_tqdm": True,
    }
    tokens = tiny.tokenizer(template)
    trainer = kind(
        model=tiny.policy(tokens),
        reward_funcs=reward_funcs,
        args=config(**{**common, **settings}),
        train_dataset=Dataset.from_list(data),
        processing_class=tokens,
        **more,
    )
    trainer.train()
    return trainer


def groups(trainer: Any, values: Any) -> list[list[Any]]:
    """What the trainer kept of its last batch, by group."""
    assert len(values) == len(trainer._logs["advantages"])
    return [list(values)[at : at + SIZE] for at in range(0, len(values), SIZE)]


def kept(trainer: Any) -> list[tuple[list[float | None], list[float]]]:
    """For each group: its rewards (None: the judgement failed), and the advantages that came of them."""
    (name,) = (each for each in trainer._logs["rewards"] if each.startswith("judge_reward"))
    given = groups(trainer, trainer._logs["rewards"][name])
    failed = groups(trainer, [bool(error) for error in trainer._logs["extra"]["judge_error"]])
    made = groups(trainer, trainer._logs["advantages"])
    each = zip(given, failed, made, strict=True)
    return [([None if no else one for one, no in zip(r, f, strict=True)], a) for r, f, a in each]


def filled(rewards: list[float | None]) -> list[float]:
    there = [reward for reward in rewards if reward is not None]
    return [sum(there) / len(there) if reward is None else reward for reward in rewards]


@pytest.mark.parametrize("data", [PLAIN, CHAT], ids=["plain", "chat"])
@pytest.mark.parametrize("function", [judge_reward, judge_reward_sync], ids=["async", "sync"])
def test_a_failed_row_has_advantage_0_and_the_others_those_of_grpo(server, tmp_path, function, data):
    trainer = stepped(tmp_path, pickle.loads(pickle.dumps(function)), data)
    for rewards, advantages in kept(trainer):
        assert sorted(map(str, rewards)) == ["0.6000000238418579", "1.0", "None", "None"]
        assert advantages == pytest.approx(grpo(filled(rewards)), abs=CLOSE)
        assert [advantages[at] for at in range(SIZE) if rewards[at] is None] == pytest.approx(
            [0, 0], abs=1e-5
        )
    assert server.served == 2 * SIZE
    assert "SECRET" not in json.dumps([request["json"] for request in server.requests])
    logged = rows(tmp_path / "log")
    assert {row["step"] for row in logged} == {0}
    assert {row["trajectory_id"] for row in logged} == set(trainer._logs["extra"]["judge_trajectory_id"])
    said = trainer.state.log_history[0]
    assert said["judge/abstain_frac"] == 0.5
    assert said["judge/seconds"] > 0


def length(completions: list[Any], **_: Any) -> list[float]:
    """A reward of the kind that stands beside a judge; it differs within a group."""
    return [float(len(json.dumps(each)) % 7) for each in completions]


def test_beside_another_reward_a_failure_leaves_the_decision_to_it(server, tmp_path):
    trainer = stepped(tmp_path, [judge_reward, length], CHAT)
    others = groups(trainer, trainer._logs["rewards"]["length"])
    for (rewards, advantages), other in zip(kept(trainer), others, strict=True):
        assert rewards.count(None) == 2
        together = [judged + one for judged, one in zip(filled(rewards), other, strict=True)]
        assert advantages == pytest.approx(grpo(together), abs=CLOSE)


def one(completions: list[Any], **_: Any) -> list[float]:
    """A reward that is the same for all."""
    return [1.0] * len(completions)


def test_beside_a_reward_that_is_the_same_for_all_a_failure_counts_for_nothing(server, tmp_path):
    for rewards, advantages in kept(stepped(tmp_path, [judge_reward, one], PLAIN)):
        failed = [advantages[at] for at in range(SIZE) if rewards[at] is None]
        assert failed == pytest.approx([0, 0], abs=1e-3)
        assert advantages == pytest.approx(grpo(filled(rewards)), abs=CLOSE)


async def strict(*args: Any, **kwargs: Any) -> list[float | None]:
    """A second judge, as the module's description has it."""
    return await judge_reward(*args, rubric_version="static_v1", log_as="strict", **kwargs)


def test_a_second_judge_has_columns_and_metrics_of_its_own(server, tmp_path):
    trainer = stepped(tmp_path, [judge_reward, strict], PLAIN)
    assert all(len(trainer._logs["rewards"][name]) == 2 * SIZE for name in ("judge_reward", "strict"))
    by_id = {row["trajectory_id"]: row for row in rows(tmp_path / "log")}
    for name, column, version in (("judge", "judge_reward", "adapt_v1"), ("strict", "strict", "static_v1")):
        ids, given = trainer._logs["extra"][f"{name}_trajectory_id"], trainer._logs["rewards"][column]
        assert {by_id[each]["rubric_version"] for each in ids} == {version}
        for each, value in zip(ids, given, strict=True):
            assert by_id[each]["reward"] in (None, pytest.approx(value))
        assert 0 < trainer.state.log_history[0][f"{name}/abstain_frac"] < 1


def test_on_ranks_that_hold_parts_of_groups_none_is_left_out_of_the_whole(server, tmp_path):
    """Two processes, each with half of every group, in which one completion fails."""
    server.script = Moody(lambda task, turn: turn % 4 == 0)
    told = tmp_path / "told.json"
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    work = [*launch, "-m", "tests.trainers.ranks", str(tmp_path / "out"), str(told)]
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(work, cwd=root, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stderr[-2000:]
    logged = {row["trajectory_id"]: row["reward"] for row in rows(tmp_path / "log")}
    seen = json.loads(told.read_text())
    assert len(logged) == len(seen) == 2 * SIZE
    assert {None, *SCORES} == set(logged.values())
    for each in seen:
        assert logged[each["id"]] == (None if each["error"] else pytest.approx(each["reward"]))
        assert not each["error"] or each["advantage"] == 0.0
    assert any(each["advantage"] for each in seen)


def test_none_is_left_out_as_the_only_reward_and_punishes_beside_another(server, tmp_path):
    abstaining = partial(judge_reward, on_abstain="none")
    for rewards, advantages in kept(stepped(tmp_path, abstaining, PLAIN)):
        assert rewards.count(None) == 2
        assert advantages == pytest.approx(grpo(rewards), abs=CLOSE)
    for rewards, advantages in kept(stepped(tmp_path, [abstaining, one], PLAIN)):
        assert all(advantages[at] < -0.5 for at in range(SIZE) if rewards[at] is None)
    settings = {"multi_objective_aggregation": "normalize_then_sum"}
    for rewards, advantages in kept(stepped(tmp_path, [abstaining, one], PLAIN, **settings)):
        assert [advantages[at] for at in range(SIZE) if rewards[at] is None] == pytest.approx(
            [0, 0], abs=1e-5
        )


def test_a_group_that_failed_as_a_whole_moves_nothing(server, tmp_path):
    server.script = Moody(lambda task, turn: task == TASKS[0])
    trainer = stepped(tmp_path, [judge_reward, one], PLAIN)
    dead, alive = sorted(kept(trainer), key=lambda group: group[0].count(None), reverse=True)
    assert dead == ([None] * SIZE, [0.0] * SIZE)
    assert alive[1] == pytest.approx(grpo(filled(alive[0])), abs=CLOSE)


def test_when_every_judgement_fails_the_policy_stays_as_it_is(server, tmp_path, caplog):
    server.script = Moody(lambda task, turn: True)
    trainer = stepped(tmp_path, judge_reward, CHAT)
    assert list(trainer._logs["advantages"]) == [0.0] * 2 * SIZE
    assert "8 of the last 8 judgements failed (the mean of the group instead): bad_request" in caplog.text
    untouched = tiny.policy(trainer.processing_class).state_dict()
    now = trainer.model.state_dict()
    assert all(bool((now[name] == value).all()) for name, value in untouched.items())


def test_raise_ends_the_training(server, tmp_path):
    for function in (judge_reward, judge_reward_sync):
        with pytest.raises(JudgeError, match="no such thing"):
            stepped(tmp_path, partial(function, on_abstain="raise"), PLAIN)


def test_rloo(server, tmp_path):
    trainer = stepped(tmp_path, judge_reward, PLAIN, RLOOTrainer, beta=0.0)
    for rewards, advantages in kept(trainer):
        whole = filled(rewards)
        expected = [value - (sum(whole) - value) / (SIZE - 1) for value in whole]
        assert advantages == pytest.approx(expected, abs=1e-5)


def test_trainers_one_after_another_with_an_event_loop_each(server, tmp_path):
    server.script = None
    first = stepped(tmp_path, judge_reward, CHAT)
    second = stepped(tmp_path, [judge_reward, partial(judge_reward_sync, log_as="sync")], CHAT)
    assert first.async_loop is not second.async_loop
    for trainer in (first, second):
        assert list(trainer._logs["rewards"]["judge_reward"]) == [1.0] * 2 * SIZE
    assert len(second._logs["extra"]) == 6
    assert len(rows(tmp_path / "log")) == 3 * 2 * SIZE


class Mailbox:
    """An environment: one tool that works once and then raises."""

    def reset(self, **_: Any) -> str:
        self._archived: list[int] = []
        return " (7 unread)"

    def archive(self, id: int) -> str:
        """Archive a mail.

        Args:
            id: Which mail.
        """
        if id != 7:
            raise ValueError(f"can't find mail {id}")
        self._archived.append(id)
        return "archived"

    @property
    def judge_state(self) -> dict[str, list[int]]:
        return {"archived mails": self._archived}


class ToldWhatToSay(GRPOTrainer):
    """A policy that calls the tool rightly and wrongly by turns, and then says that it is done."""

    def _generate_single_turn(self, prompt_ids: Any, *_: Any, **__: Any) -> Any:
        is_first = not any("tool_response" in self.processing_class.decode(ids) for ids in prompt_ids)
        call = '<tool_call>\n{{"name": "archive", "arguments": {{"id": {}}}}}\n</tool_call><|im_end|>'
        said = [call.format(7 + at % 2) if is_first else "Done.<|im_end|>" for at in range(len(prompt_ids))]
        return [self.processing_class.encode(text, add_special_tokens=False) for text in said], None


@pytest.mark.parametrize("function", [judge_reward, judge_reward_sync], ids=["async", "sync"])
def test_tools_and_what_the_environment_tells(server, tmp_path, function):
    from trl.chat_template_utils import qwen3_chat_template

    server.script = None
    stepped(
        tmp_path,
        function,
        CHAT[:1],
        ToldWhatToSay,
        environment_factory=Mailbox,
        chat_template=qwen3_chat_template,
        max_completion_length=512,
    )
    assert len(rows(tmp_path / "log")) == SIZE
    # Runs that are equal may share a call.
    shown = {
        request["json"]["messages"][-1]["content"].rpartition("verdict_id")[0] for request in server.requests
    }
    (right,) = (text for text in shown if 'archive({"id": 7})' in text)
    (wrong,) = (text for text in shown if 'archive({"id": 8})' in text)
    assert '{"archived mails": [7]}' in right
    assert "error: yes" not in right
    assert '{"archived mails": []}' in wrong
    assert "error: yes" in wrong
    assert "can't find mail 8" in wrong
    assert all("Archive the newsletter (7 unread)" in text and "Done." in text for text in shown)


def test_the_call_of_the_asynchronous_trainer(server):
    """AsyncGRPOTrainer ships the function to a process of its own and calls it for one group at a time."""
    server.script = None
    group = {
        "prompts": [CHAT[0]["prompt"]] * SIZE,
        "completion_ids": [[1]] * SIZE,
        "answer": ["SECRET"] * SIZE,
    }
    said = [[{"role": "assistant", "content": f"{at}"}] for at in range(SIZE)]
    before = copy.deepcopy(said)

    async def scored() -> list[list[float | None]]:
        shipped, sync = (
            pickle.loads(pickle.dumps(partial(each))) for each in (judge_reward, judge_reward_sync)
        )
        return await asyncio.gather(
            shipped(completions=said, **group), asyncio.to_thread(sync, completions=said, **group)
        )

    assert asyncio.run(scored()) == [[1.0] * SIZE] * 2
    assert said == before


def test_the_lines_of_the_readme(server, tmp_path):
    tokens = tiny.tokenizer(TEMPLATE)
    settings = run(block("epsilon_high"))["settings"]
    args = GRPOConfig(
        output_dir=str(tmp_path / "out"),
        per_device_train_batch_size=SIZE,
        num_generations=SIZE,
        max_completion_length=8,
        max_steps=1,
        report_to="none",
        use_cpu=True,
        bf16=False,
        save_strategy="no",
        **settings,
    )
    names = {
        "model": tiny.policy(tokens),
        "args": args,
        "dataset": Dataset.from_list(PLAIN[:1]),
        "tokenizer": tokens,
    }
    trainer = run(block("integrations.trl"), **names)["trainer"]
    trainer.train()
    [(rewards, advantages)] = kept(trainer)
    assert advantages == pytest.approx(dr_grpo(filled(rewards)), abs=1e-6)


class Stepwise(GRPOTrainer):
    """GVPO on tokens: each completion is two steps, and the second of every other one failed."""

    def _generate_and_score_completions(self, inputs):
        outputs = super()._generate_and_score_completions(inputs)
        lengths = outputs["completion_mask"].sum(dim=1).tolist()
        values = list(next(iter(self._logs["rewards"].values())))[-len(lengths) :]
        rewards = [Reward(value=None if math.isnan(value) else value) for value in values]
        group = [
            Trajectory(instruction="-", steps=[{"action": "a"}, {"action": "b", "error": bool(at % 2)}])
            for at in range(len(lengths))
        ]
        spans = [[(0, length // 2), (length // 2, length)] for length in lengths]
        width = outputs["completion_mask"].shape[1]
        self.laid = on_tokens(rewards, gvpo_steps(rewards, group), spans, [width] * len(lengths))
        outputs["advantages"] = torch.tensor([each.values for each in self.laid])
        return outputs


def test_advantages_on_tokens_train_a_subclass(server, tmp_path):
    settings = run(block("epsilon_high"))["settings"]
    rewarding = partial(judge_reward, on_abstain="none")
    before = tiny.policy(tiny.tokenizer(TEMPLATE)).state_dict()
    trainer = stepped(tmp_path, rewarding, PLAIN[:1], Stepwise, **settings)
    judged = [each for each in trainer.laid if any(each.mask)]
    assert 0 < len(judged) < SIZE
    assert any(each.values[0] != each.values[sum(each.mask) - 1] for each in judged)
    after = trainer.model.state_dict()
    assert any(not torch.equal(before[name], after[name].cpu()) for name in before)
