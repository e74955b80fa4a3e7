"""tau-bench results → trajectories, and six of its raw runs against another's conversion of the same runs."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from pydantic import ValidationError

from judge.errors import InputError
from judge.readers import messages, tau
from judge.schema import Trajectory
from tests.readers.mangling import mangled

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"
CALL = {"id": "c1", "type": "function", "function": {"name": "cancel", "arguments": '{"order": "#W1"}'}}
GOLD = [{"name": "cancel", "kwargs": {"order": "#GOLD"}}]
RECORD = {
    "task_id": 4,
    "trial": 1,
    "reward": 1.0,
    "traj": [
        {"role": "system", "content": "Cancel only pending orders"},
        {"role": "user", "content": "Hi, cancel my order"},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "name": "cancel", "content": "Error: order not found"},
        {"role": "assistant", "content": "Which order?"},
        {"role": "user", "content": "Forget it ###STOP###"},
    ],
    "info": {
        "task": {"user_id": "u1", "instruction": "You want to cancel.", "actions": GOLD, "outputs": ["GOLD"]},
        "source": "user",
        "reward_info": {"reward": 1.0, "info": {"r_actions": 1.0}, "actions": GOLD},
    },
}
BROKEN = {
    **RECORD,
    "reward": 0.0,
    "traj": [],
    "info": {"error": "user model down", "traceback": "Traceback ..."},
}


def trajectory(record, stem="gpt-airline"):
    return Trajectory(**tau.fields(record, stem))


def test_every_field_finds_its_place():
    run = trajectory(RECORD)
    assert (run.instruction, run.outcome.reward, run.outcome.status) == ("You want to cancel.", 1.0, "ok")
    assert run.outcome.verifier == "tau-bench: database state and required outputs"
    assert run.context == {
        "policy": "Cancel only pending orders",
        "first_observation": "Hi, cancel my order",
    }
    assert [(step.source_index, step.action, step.observation, step.error) for step in run.steps] == [
        (2, 'cancel({"order": "#W1"})', "Error: order not found", "Error: order not found"),
        (4, "Which order?", "Forget it ###STOP###", False),
    ]
    assert run.metadata == {
        "trial": 1,
        "gold_actions": GOLD,
        "gold_outputs": ["GOLD"],
        "labels": {"gold_actions": GOLD, "gold_outputs": ["GOLD"]},
        "task": {"user_id": "u1"},
        "info": {"source": "user", "reward_info": RECORD["info"]["reward_info"]},
    }


def test_gold_is_not_among_what_is_shown():
    run = trajectory(RECORD)
    shown = json.dumps([run.instruction, run.context, [step.model_dump() for step in run.steps]])
    assert "GOLD" not in shown


def test_ids_tell_files_tasks_trials_and_runs_apart():
    run = trajectory(RECORD)
    assert (run.task_id, run.group) == ("gpt-airline/4", "gpt-airline/4")
    assert run.trajectory_id.startswith("gpt-airline/4/t1/")
    assert trajectory(RECORD, "").task_id == "4"
    other_run = {**RECORD, "traj": RECORD["traj"][:-1]}
    read = [run, trajectory({**RECORD, "trial": 0}), trajectory(RECORD, "b"), trajectory(other_run)]
    assert len({each.trajectory_id for each in read}) == 4
    assert trajectory({**RECORD, "note": "seen"}).trajectory_id == run.trajectory_id


@pytest.mark.parametrize(
    ("answer", "is_error"),
    [
        ({"role": "tool", "content": "Unknown action cansel"}, True),
        ({"role": "tool", "content": "There was an Error: none"}, False),
        ({"role": "user", "content": "API output: Error: order not found"}, True),
        ({"role": "user", "content": "Error: I got this on my phone"}, False),
    ],
)
def test_errors_are_known_by_the_words_of_the_benchmarks_tools(answer, is_error):
    run = trajectory({**RECORD, "traj": [*RECORD["traj"][:3], answer]})
    assert run.steps[0].error == (answer["content"] if is_error else False)


def test_a_broken_harness_says_nothing_about_the_agent():
    run = trajectory(BROKEN)
    assert (run.steps, run.outcome.status, run.outcome.reward) == ((), "infra_error", None)
    assert run.instruction == "(not recorded: the run broke before its first step)"
    assert run.metadata["info"] == BROKEN["info"]
    assert trajectory({**BROKEN, "info": {"error": "other"}}).trajectory_id != run.trajectory_id


def test_an_error_after_steps_counts_and_its_reward_is_no_checks():
    run = trajectory({**RECORD, "info": {**RECORD["info"], "error": "Expecting value: line 1"}})
    assert (len(run.steps), run.outcome.status, run.outcome.reward) == (2, "ok", None)


def test_labels_beside_a_run_are_renumbered():
    run = trajectory({**RECORD, "failures": [{"step_number": 5}], "labels": {"mistake_step": 2}})
    assert run.metadata["failures"] == [{"step_number": 5, "step": 1, "source_step": 5}]
    assert run.metadata["labels"]["mistake_step"] == 0


@pytest.mark.parametrize(
    ("record", "fault"),
    [
        ({**RECORD, "traj": None}, r"traj: must be a list \(it is a NoneType\)"),
        ({**RECORD, "traj": [{"role": "critic"}]}, r"traj\.0\.role: 'critic' is unknown"),
        ({**RECORD, "info": {}}, r"info\.task\.instruction: must be text"),
        ({**RECORD, "info": [1]}, "info: must be an object"),
        ({**RECORD, "info": {"task": "cancel"}}, r"info\.task: must be an object"),
        ({**RECORD, "reward": "1"}, "reward: must be a finite number"),
        ({**RECORD, "task_id": None}, "task_id: must be the number of the task"),
        ({**RECORD, "labels": [1]}, "labels: must be an object"),
    ],
)
def test_what_cannot_be_used_is_named(record, fault):
    with pytest.raises(InputError, match=f"^{fault}"):
        trajectory(record)


def test_only_its_own_records_are_claimed():
    assert tau.matches(RECORD)
    assert tau.matches(BROKEN)
    assert not messages.matches(RECORD)
    for record in ({"traj": "a", "info": {}}, {"traj": []}, {"messages": RECORD["traj"]}, {}):
        assert not tau.matches(record)


@settings(max_examples=200, derandomize=True, deadline=None)
@given(mangled(RECORD))
def test_a_mangled_record_is_read_or_refused_and_nothing_else(record):
    tau.matches(record)
    with suppress(InputError, ValidationError):
        trajectory(record)


@pytest.mark.skipif(not DATA.is_dir(), reason="the shared data is not beside this checkout")
def test_raw_runs_read_as_another_has_converted_them():
    lines = (DATA / "tau_airline.jsonl").read_text(encoding="utf-8").splitlines()
    converted = {run["trajectory_id"]: run for run in map(json.loads, lines)}
    raw = json.loads((DATA / "formats" / "tau_bench_raw_sample.json").read_text(encoding="utf-8"))
    names = {"index", "action", "action_type", "text", "observation", "error", "tool_calls"}
    for record in raw:
        theirs = converted[f"tau_airline/{record['task_id']}/gpt-4o/t{record['trial']}"]
        theirs = Trajectory(**{**theirs, "context": {"policy": theirs["metadata"]["policy"]}})
        ours = trajectory(record)
        assert ours.instruction == theirs.instruction
        assert ours.context["policy"] == theirs.context["policy"]
        assert ours.context["first_observation"] == theirs.metadata["initial_observation"]
        assert ours.outcome.reward == theirs.outcome.reward
        assert [s.source_index for s in ours.steps] == [s.src_index for s in theirs.steps]
        assert [s.model_dump(include=names) for s in ours.steps] == [
            s.model_dump(include=names) for s in theirs.steps
        ]
    assert sum(len(trajectory(record).steps) for record in raw) == 85
