"""judge_reward and judge_reward_sync, called as TRL calls them, without TRL.

What the trainer makes of the rewards is tested with TRL itself, in tests/trainers.
"""

from __future__ import annotations

import asyncio
import copy
import inspect
import json
import math
import multiprocessing
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

from judge.errors import ConfigError, JudgeError, RubricError
from judge.integrations.completions import records
from judge.integrations.trl import judge_reward, judge_reward_sync
from judge.testing import LoopbackServer, completion, verdict_response
from tests.pipeline.judged import FAILURE, rows

QUIET: dict[str, Any] = {"cache": {"dir": None}, "log": {"path": None}, "rubrics": {"fine": "off"}}
ASK = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Archive the newsletter"}]
TOOLS = [
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"type": "function", "function": {"name": "archive", "arguments": {"id": 7}}}],
    },
    {"role": "tool", "name": "archive", "content": "{'error': \"can't find mail 7\"}"},
    {"role": "assistant", "content": "There is no such mail."},
]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopbackServer]:
    for name in ("JUDGE_API_KEY", "JUDGE_CONFIG", "OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    with LoopbackServer() as running:
        monkeypatch.setenv("JUDGE_BASE_URL", running.base_url)
        monkeypatch.setenv("JUDGE_MODEL", "judge-x")
        yield running


def awaited(*args: Any, **kwargs: Any) -> list[float | None]:
    return asyncio.run(judge_reward(*args, **kwargs))


@pytest.fixture(params=[awaited, judge_reward_sync], ids=["async", "sync"])
def rewards(request: pytest.FixtureRequest) -> Callable[..., list[float | None]]:
    return partial(request.param, settings=QUIET)


def asked(server: LoopbackServer, number: int = -1) -> str:
    """All that the judge was shown in a request, pictures left out."""
    contents = [message["content"] for message in server.requests[number]["json"]["messages"]]
    parts = [part for held in contents for part in (held if isinstance(held, list) else [{"text": held}])]
    return "\n".join(part.get("text", "") for part in parts)


def pictures(server: LoopbackServer) -> int:
    return json.dumps(server.requests[-1]["json"]["messages"]).count("data:image/png")


def by_mark(body: dict[str, Any]) -> dict[str, Any]:
    """A judge that fails where the run says FAIL, and gives .25 where it says POOR."""
    said = json.dumps(body["messages"])
    if "FAIL" in said:
        return FAILURE
    item = verdict_response(body)
    if "POOR" in said:
        answer = json.loads(item["body_json"]["choices"][0]["message"]["content"])
        answer |= {"success": False, "score": 0.25}
        item = {"body_json": completion(json.dumps(answer))}
    return item


def test_trainers_can_ship_name_and_recognise_the_functions():
    for function in (judge_reward, judge_reward_sync):
        assert pickle.loads(pickle.dumps(function)) is function
        shipped = pickle.loads(pickle.dumps(partial(function, on_abstain="none", settings=QUIET)))
        assert (shipped.func, shipped.keywords["on_abstain"]) == (function, "none")
        given = inspect.signature(function).parameters
        assert [name for name, each in given.items() if each.default is inspect.Parameter.empty] == [
            *("prompts", "completions", "columns")
        ]
        assert given["rubric_version"].default is None
    assert (judge_reward.__name__, judge_reward_sync.__name__) == ("judge_reward", "judge_reward_sync")
    assert inspect.iscoroutinefunction(partial(judge_reward, on_abstain="none"))
    assert not inspect.iscoroutinefunction(judge_reward_sync)


def test_importing_loads_no_framework():
    loading = "import sys, judge.integrations.trl; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", loading], capture_output=True, text=True, check=True)
    assert not {"trl", "torch", "transformers", "openai", "pandas", "PIL"} & set(done.stdout.split())


def test_one_reward_for_each_completion_in_order(server, rewards):
    server.script = by_mark
    told = [f"{'POOR' if number % 2 else 'good'} answer {number}" for number in range(6)]
    plain = rewards(prompts=["Write a haiku"] * 6, completions=told, completion_ids=[[1]] * 6)
    assert plain == [1.0, 0.25] * 3
    chats = [[{"role": "assistant", "content": text}] for text in told]
    assert rewards(prompts=[ASK] * 6, completions=chats, answer=["gold"] * 6) == plain
    assert rewards(prompts=[], completions=[]) == []


def test_a_text_prompt_is_the_instruction_and_its_completion_one_step(server, rewards):
    rewards(prompts=["Write a haiku"], completions=["An old silent pond"])
    assert "Write a haiku" in asked(server)
    assert "An old silent pond" in asked(server)
    assert "step 0" in asked(server)
    assert "step 1" not in asked(server)


def test_an_agent_that_said_nothing_failed(server, rewards):
    assert rewards(prompts=["Write a haiku"], completions=[""]) == [0.0]
    assert rewards(prompts=[ASK], completions=[[]]) == [0.0]
    assert server.served == 0


def test_tool_calls_and_what_came_of_them(server, rewards):
    assert rewards(prompts=[ASK], completions=[TOOLS]) == [1.0]
    seen = asked(server)
    assert 'archive({"id": 7})' in seen
    assert "error: yes" in seen
    assert "can't find mail 7" in seen
    assert "There is no such mail." in seen
    assert "Be brief." in seen


@pytest.mark.parametrize(
    "said", ["{'error': None}", "{'error': 'x', 'hits': 3}", "error: 'x'", "no {'error': 'x'}"]
)
def test_an_answer_that_speaks_of_errors_is_none(server, rewards, said):
    rewards(prompts=[ASK], completions=[[TOOLS[0], {"role": "tool", "name": "archive", "content": said}]])
    assert "error: yes" not in asked(server)


def test_gold_answers_outcomes_and_metadata_never_reach_the_judge(server, rewards, tmp_path):
    columns = {
        "answer": ["SECRET1"],
        "ground_truth": [{"text": "SECRET2"}],
        "outcome": [{"reward": 0.0, "verifier": "SECRET3"}],
        "metadata": [{"note": "SECRET4", "source": "mails"}],
        "solution": ["SECRET5"],
        "question": ["SECRET6"],
        "task": ["SECRET7"],
        "context": ["SECRET8"],
        "labels": [["SECRET9"]],
        "steps": [["SECRET10"]],
    }
    log = {"path": str(tmp_path / "log")}
    assert rewards(prompts=[ASK], completions=[TOOLS], settings={**QUIET, "log": log}, **columns) == [1.0]
    assert "SECRET" not in json.dumps(server.requests[-1]["json"])
    (row,) = rows(tmp_path / "log")
    assert (row["source"], row["outcome"]) == ("mails", 0.0)


def test_columns_that_a_stored_run_has_too(server, rewards, tmp_path):
    columns = {
        "task_id": ["t1", "t1"],
        "group": [5, 5],
        "trajectory_id": ["one", "two"],
        "instruction": ["Put the newsletter away"] * 2,
        "category": ["composite_workflow"] * 2,
        "outcome": [1, 0],
    }
    settings = {**QUIET, "log": {"path": str(tmp_path / "log")}}
    state = SimpleNamespace(global_step=12)
    rewards(prompts=[ASK] * 2, completions=[TOOLS] * 2, settings=settings, trainer_state=state, **columns)
    logged = {row["trajectory_id"]: row for row in rows(tmp_path / "log")}
    assert logged.keys() == {"one", "two"}
    assert {(row["task_id"], row["group"], row["step"]) for row in logged.values()} == {("t1", "5", 12)}
    assert [logged[name]["outcome"] for name in ("one", "two")] == [1.0, 0.0]
    assert logged["one"]["category"] == "composite_workflow"
    assert "Put the newsletter away" in asked(server)


def test_equal_completions_are_runs_of_their_own(server, rewards, tmp_path):
    settings = {**QUIET, "log": {"path": str(tmp_path / "log")}}
    for _ in range(2):
        rewards(prompts=["Write a haiku"] * 2, completions=["An old silent pond"] * 2, settings=settings)
    logged = rows(tmp_path / "log")
    assert len({row["trajectory_id"] for row in logged}) == 4
    assert len({row["task_id"] for row in logged}) == 1


def test_rollouts_of_one_row_are_runs_of_their_own(server, rewards, tmp_path):
    settings = {**QUIET, "log": {"path": str(tmp_path / "log")}}
    rewards(
        prompts=[ASK] * 3, completions=[TOOLS] * 3, settings=settings, trajectory_id=["row 7", "row 7", 7]
    )
    assert len({row["trajectory_id"] for row in rows(tmp_path / "log")}) == 3


def test_an_outcome_may_be_a_number_of_numpy(server, rewards, tmp_path):
    settings = {**QUIET, "log": {"path": str(tmp_path / "log")}}
    outcomes = [np.float32(0.5), np.int64(1), {"reward": np.float32(0.25)}]
    rewards(prompts=[ASK] * 3, completions=[TOOLS] * 3, settings=settings, outcome=outcomes)
    assert sorted(row["outcome"] for row in rows(tmp_path / "log")) == [0.25, 0.5, 1.0]


def test_images_of_messages_and_of_columns(server, rewards):
    image = Image.new("RGB", (8, 8), "red")
    seeing = {**QUIET, "judge": {"vision": "on"}}
    within = [
        {"role": "user", "content": [{"type": "image", "image": image}, {"type": "text", "text": "Colour?"}]}
    ]
    say = [{"role": "assistant", "content": "red"}]
    for columns in ({}, {"image": [image]}, {"images": [[image]]}):
        assert rewards(prompts=[within], completions=[say], settings=seeing, **columns) == [1.0]
        assert pictures(server) == 1
    for columns in ({"image": [image]}, {"images": [[image]]}):
        assert rewards(prompts=["Colour?"], completions=["red"], settings=seeing, **columns) == [1.0]
        assert pictures(server) == 1
        placeholder = [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "Colour?"}]}]
        rewards(prompts=[placeholder], completions=[say], settings=seeing, **columns)
        assert pictures(server) == 1
    rewards(prompts=["Colour?"], completions=["red"], settings=seeing, image=[None], images=[None])
    assert pictures(server) == 0
    (record,) = records([within], [say], {"images": [[image]]})
    assert record["prompt"] == within


class Mailbox:
    """An environment as TRL makes them, with what the judge may be told of it."""

    judge_outcome = 0.0

    @property
    def judge_state(self) -> dict[str, int]:
        return {"inbox": 0, "archive": 1}

    def get_reward(self) -> float:
        raise AssertionError("an environment's own reward is TRL's to ask for")


class Calendar:
    """One that tells by a method."""

    def judge_state(self) -> str:
        return "no meetings left"


def test_what_an_environment_tells(server, rewards, tmp_path):
    settings = {**QUIET, "log": {"path": str(tmp_path / "log")}}
    pair = {"prompts": [ASK] * 2, "completions": [TOOLS] * 2, "outcome": [1.0] * 2}
    rewards(**pair, environments=[Mailbox(), Calendar()], settings=settings)
    told = [asked(server, number) for number in (0, 1)]
    assert sum('{"inbox": 0, "archive": 1}' in each for each in told) == 1
    assert sum("no meetings left" in each for each in told) == 1
    assert sorted(row["outcome"] for row in rows(tmp_path / "log")) == [0.0, 1.0]


def test_nothing_of_the_trainer_is_changed(server, rewards):
    image = Image.new("RGB", (8, 8), "red")
    given = {
        "prompts": [ASK] * 2,
        "completions": [TOOLS] * 2,
        "completion_ids": [[1, 2]] * 2,
        "metadata": [{"source": "mails"}] * 2,
        "images": [[image]] * 2,
        "outcome": [{"reward": 1.0}] * 2,
    }
    before = copy.deepcopy(given)
    rewards(**given)
    assert given == before


def test_newer_arguments_and_columns_of_another_length_do_no_harm(server, rewards):
    odd = {
        "num_generations": 4,
        "group": ["of another length"] * 3,
        "later": object(),
        "empty": [],
        "id": None,
    }
    assert rewards(prompts=[ASK], completions=[TOOLS], **odd) == [1.0]


class Log(dict[str, list[Any]]):
    """What TRL keeps of log_extra and log_metric."""

    def extra(self, column: str, values: list[Any]) -> None:
        self.setdefault(column, []).extend(values)

    def metric(self, name: str, value: float) -> None:
        self.setdefault(name, []).append(value)


def test_the_same_is_logged_whatever_happens(server, rewards):
    server.script = by_mark
    priced = {**QUIET, "judge": {"price_per_million": {"prompt": 1000, "completion": 0}}}
    for texts, failed in (["a", "b"], 0), (["a", "FAIL"], 1), (["", ""], 0):
        log = Log()
        told = {"log_extra": log.extra, "log_metric": log.metric}
        rewards(prompts=["Go"] * 2, completions=texts, settings=priced, **told)
        names = {"judge_trajectory_id", "judge_explanation", "judge_error"}
        assert log.keys() == names | {"judge/abstain_frac", "judge/cost", "judge/seconds"}
        assert all(len(log[name]) == 2 and all(isinstance(one, str) for one in log[name]) for name in names)
        assert log["judge/abstain_frac"] == [failed / 2]
        assert all(math.isfinite(log[name][0]) for name in log if "/" in name)
        calls = sum(bool(text) and text != "FAIL" for text in texts)
        assert log["judge/cost"] == [pytest.approx(0.9 * calls)]
        assert [bool(error) for error in log["judge_error"]] == ["FAIL" in text for text in texts]


def test_two_of_them_log_apart(server, rewards):
    log = Log()
    rewards(prompts=["Go"], completions=["a"], log_as="strict", log_extra=log.extra, log_metric=log.metric)
    assert {name[:6] for name in log} == {"strict"}


def test_a_failed_judgement_gets_the_mean_of_its_group(server, rewards):
    server.script = by_mark
    prompts = [ASK, "Write a haiku", ASK, "Write a haiku", ASK]
    assert rewards(prompts=prompts, completions=["a", "POOR", "FAIL", "FAIL", "POOR"]) == [
        *(1.0, 0.25, 0.625, 0.25, 0.25)
    ]
    ids = {"task_id": ["x", "y", "y"]}
    assert rewards(prompts=[ASK] * 3, completions=["a", "POOR", "FAIL"], **ids) == [1.0, 0.25, 0.25]
    nulls = {"task_id": [None] * 3, "group": [None] * 3, "trajectory_id": [None] * 3}
    log = Log()
    assert rewards(
        prompts=["A", "B", "B"], completions=["a", "POOR", "FAIL"], log_extra=log.extra, **nulls
    ) == [*(1.0, 0.25, 0.25)]
    assert None not in log["judge_trajectory_id"]
    names = {"group": ["x", "y", "x"], "task_id": ["x", "y", "y"]}
    assert rewards(prompts=["A", "B", "C"], completions=["a", "POOR", "FAIL"], **names) == [1.0, 0.25, 1.0]


def test_prompts_that_differ_in_a_picture_are_two_groups_and_copies_one(server, rewards):
    server.script = by_mark

    def prompt(colour: str) -> list[dict[str, Any]]:
        image = {"type": "image", "image": Image.new("RGB", (8, 8), colour)}
        return [{"role": "user", "content": [image, {"type": "text", "text": "Colour?"}]}]

    prompts = [prompt("red"), prompt("red"), prompt("blue"), prompt("blue")]
    assert rewards(prompts=prompts, completions=["a", "FAIL", "POOR", "FAIL"]) == [1.0, 1.0, 0.25, 0.25]


def test_a_group_that_failed_as_a_whole_gets_one_value(server, rewards):
    server.script = by_mark
    texts = ["FAIL", "FAIL", "a", "POOR"]
    assert rewards(prompts=["A", "A", "B", "B"], completions=texts) == [0.625, 0.625, 1.0, 0.25]


def test_a_part_of_a_group_that_failed_as_a_whole_is_not_taken_for_bad(server, rewards):
    """Another rank may have the rest of it, so that the value is compared with rewards that are not here."""
    server.script = by_mark
    assert rewards(prompts=["A"] * 2, completions=["FAIL"] * 2) == [0.5, 0.5]
    rewards(prompts=["A", "B"], completions=["a", "POOR"])
    assert rewards(prompts=["C"], completions=["FAIL"]) == [0.625]


def test_a_judge_that_is_down_is_told_of_as_long_as_it_is(server, rewards, caplog):
    server.script = [{"status": 401, "body_json": {"error": {"message": "Incorrect API key provided"}}}]
    for _ in range(8):
        rewards(prompts=["A"] * 2, completions=["a", "b"])
    told = [record.getMessage() for record in caplog.records if record.name == "judge.integrations"]
    assert [each.partition(" judgements")[0] for each in told] == [
        *("2 of the last 2", "4 of the last 4", "8 of the last 8")
    ]
    assert "(the mean of the group instead): auth_error: " in told[0]
    assert all("Incorrect API key provided" in each for each in told)


def test_none_and_raise(server, rewards):
    server.script = by_mark
    pair = {"prompts": ["A"] * 2, "completions": ["a", "FAIL"]}
    assert rewards(**pair, on_abstain="none") == [1.0, None]
    assert rewards(prompts=["A"], completions=["FAIL"], on_abstain="none") == [None]
    log = Log()
    with pytest.raises(JudgeError, match="bad_request"):
        rewards(**pair, on_abstain="raise", log_extra=log.extra)
    assert log["judge_error"][0] == ""
    assert rewards(prompts=["A"], completions=["a"], on_abstain="raise") == [1.0]


def test_zero_and_what_the_configuration_says_where_nothing_else_is_said(server, rewards):
    server.script = by_mark
    pair = {"prompts": ["A"] * 2, "completions": ["a", "FAIL"]}
    assert rewards(**pair, on_abstain="zero") == [1.0, 0.0]
    assert rewards(**pair, settings={**QUIET, "on_error": "zero"}) == [1.0, 0.0]
    assert rewards(**pair, settings={**QUIET, "on_error": "zero"}, on_abstain="none") == [1.0, None]
    with pytest.raises(JudgeError, match="bad_request"):
        rewards(**pair, settings={**QUIET, "on_error": "raise"})


def test_what_is_no_run_or_has_no_verdict_in_time_is_a_failure_like_others(server, rewards):
    log = Log()
    odd = [[{"role": "narrator", "content": "x"}], "fine", "fine"]
    nan = {"outcome": [None, float("nan"), None]}
    assert rewards(prompts=["A"] * 3, completions=odd, log_extra=log.extra, **nan) == [1.0, 1.0, 1.0]
    assert [error.partition(":")[0] for error in log["judge_error"]] == ["unusable_input"] * 2 + [""]
    assert all(log["judge_trajectory_id"])
    server.script = [{"accept_then_stall_s": 60}]
    assert rewards(prompts=["A"], completions=["a"], within_s=0.2) == [1.0]
    one_by_one, log = {**QUIET, "judge": {"concurrency": 1}}, Log()
    three = {"prompts": ["A"] * 3, "completions": ["a", "b", "c"]}
    rewards(**three, settings=one_by_one, within_s=0.2, log_extra=log.extra)
    assert all(told.startswith("timeout: ") for told in log["judge_error"])


def test_settings_that_cannot_be_used_are_told_at_once(server, rewards, monkeypatch):
    one = {"prompts": ["A"], "completions": ["a"]}
    with pytest.raises(ConfigError, match="on_abstain is 'nil'; it is one of group_mean, none, zero, raise"):
        rewards(**one, on_abstain="nil")
    for name in ("rubric_version", "settings", "within_s", "on_abstain", "log_as"):
        with pytest.raises(ConfigError, match=f"{name} is a list; is it a column"):
            rewards(**one, **{name: ["of the dataset"]})
    with pytest.raises((ConfigError, RubricError), match="no_such"):
        rewards(**one, rubric_version="no_such")
    monkeypatch.delenv("JUDGE_BASE_URL")
    with pytest.raises(ConfigError, match="JUDGE_BASE_URL"):
        rewards(**one)
    assert server.served == 0


def test_a_rubric_version_of_ones_choice(server, rewards, tmp_path):
    settings = {**QUIET, "log": {"path": str(tmp_path / "log")}}
    rewards(prompts=["A"], completions=["a"], rubric_version="static_v1", settings=settings)
    assert [row["rubric_version"] for row in rows(tmp_path / "log")] == ["static_v1"]


def test_the_default_settings_are_the_environments(server, tmp_path: Path, monkeypatch):
    stored = tmp_path / "judge.yaml"
    log = {"path": str(tmp_path / "log")}
    chosen = {"judge": {"max_tokens": 77}, "rubrics": {"version": "static_v1"}, "log": log}
    stored.write_text(json.dumps({**QUIET, **chosen}))
    monkeypatch.setenv("JUDGE_CONFIG", str(stored))
    assert judge_reward_sync(prompts=["A"], completions=["a"]) == [1.0]
    assert server.requests[-1]["json"]["max_tokens"] == 77
    assert [row["rubric_version"] for row in rows(tmp_path / "log")] == ["static_v1"]


def test_trainers_at_once_each_on_a_loop_of_its_own(server):
    def trained(name: str) -> list[list[float | None]]:
        one = partial(judge_reward, settings=QUIET, prompts=[f"Task {name}"] * 8)

        async def steps() -> list[list[float | None]]:
            return [await one(completions=[f"{step}.{at}" for at in range(8)]) for step in range(3)]

        return asyncio.run(steps())

    with ThreadPoolExecutor(2) as pool:
        assert [*pool.map(trained, "ab"), trained("c")] == [[[1.0] * 8] * 3] * 3
    assert server.served == 3 * 3 * 8


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_in_a_forked_or_spawned_process(server, method):
    """After a call in the parent: nothing of it may be in the child's way."""
    call = partial(judge_reward_sync, prompts=["A"] * 2, completions=["a", "b"], settings=QUIET)
    assert call() == [1.0, 1.0]
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context(method)) as pool:
        assert pool.submit(call).result(60) == [1.0, 1.0]
