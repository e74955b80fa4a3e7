"""SWE-agent's .traj → trajectories: whose words are whose, how a run ends, and what is left out.

Not covered: how parts of a message's content are read (test_chat) and how the file is opened (test_records).
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from pydantic import ValidationError

from judge.errors import InputError
from judge.readers import sweagent
from judge.schema import Trajectory
from tests.readers.mangling import mangled

FORMATS = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "formats"
SYSTEM = {"role": "system", "content": "You work in a shell.", "agent": "main"}
TASK = {"role": "user", "content": "ISSUE: greet() prints nothing\nINSTRUCTIONS: submit when done"}
DEMO = {"role": "user", "content": "Here is how another issue was solved", "is_demo": True}
PATCH = "\r\ndiff --git a/hi.py b/hi.py\r\n+print('hi')\r\n"


def entry(action: str, observation: str = "", **other: Any) -> dict[str, Any]:
    thought = f"I will {action}"
    return {"action": action, "observation": observation, "thought": thought, "response": thought, **other}


OPEN = entry("open hi.py\n", "[File: hi.py]", state='{"open_file": "hi.py"}\n', execution_time=0.3)
SUBMIT = entry("submit", PATCH, state={"open_file": "hi.py"}, query=[SYSTEM, TASK], extra_info={})
RUN: dict[str, Any] = {
    "environment": "swe_main",
    "trajectory": [OPEN, SUBMIT],
    "history": [SYSTEM, DEMO, TASK, {"role": "assistant", "content": "open it", "action": "open hi.py\n"}],
    "info": {"exit_status": "submitted", "submission": PATCH, "edited_files30": "…", "model_stats": {}},
}
DEMONSTRATION: dict[str, Any] = {
    "history": [
        SYSTEM,
        TASK,
        {"role": "assistant", "content": "Look.\n```\nls\n```", "thought": "Look.", "action": "ls"},
        {"role": "tool", "content": [{"type": "text", "text": "hi.py"}], "tool_call_ids": ["c1"]},
        {"role": "assistant", "content": [{"type": "text", "text": "Done."}], "action": "submit"},
        {"role": "user", "content": PATCH},
    ]
}


def read(record: dict[str, Any], stem: str = "acme__hi-1") -> Trajectory:
    return Trajectory(**sweagent.fields(record, stem))


def test_an_entry_is_a_step_and_its_observation_came_back_after_its_action():
    run = read(RUN)
    first, last = run.steps
    assert (first.action, first.text) == ("open hi.py\n", "I will open hi.py\n")
    assert (first.observation, first.state) == ("[File: hi.py]", '{"open_file": "hi.py"}')
    assert (last.action, last.observation, last.state) == ("submit", PATCH, '{"open_file": "hi.py"}')
    assert [step.model_dump()["source_index"] for step in run.steps] == [0, 1]
    assert not any(step.error for step in run.steps)


def test_the_first_user_message_that_is_no_demonstration_is_the_instruction():
    run = read(RUN)
    assert run.instruction == TASK["content"]
    assert run.context == {"policy": "You work in a shell."}


def test_what_follows_the_task_before_the_first_step_is_the_first_observation():
    history = [SYSTEM, TASK, {"role": "user", "content": "STRATEGY: look first"}, *RUN["history"][3:]]
    assert read({**RUN, "history": history}).context["first_observation"] == "STRATEGY: look first"


def test_prompts_and_copies_of_files_are_kept_nowhere():
    run = read({**RUN, "replay_config": {"agent": {"model": {"api_key": "sk-secret"}}}})
    stored = run.model_dump_json()
    assert not any(text in stored for text in ("query", "edited_files30", "sk-secret"))
    assert run.metadata == {
        "environment": "swe_main",
        "info": {"exit_status": "submitted", "submission": PATCH, "model_stats": {}},
    }


def test_null_and_missing_texts_are_empty_and_a_null_thought_leaves_the_response():
    steps = [{"action": None, "response": "no command here", "thought": None}, {"action": "ls", "state": {}}]
    first, second = read({**RUN, "trajectory": steps, "info": None}).steps
    assert (first.action, first.text, first.observation) == ("", "no command here", "")
    assert (second.text, second.observation, second.state) == ("", "", "")


@pytest.mark.parametrize(
    ("replay", "task"),
    [
        (None, "acme__hi-1"),
        ("not JSON", "acme__hi-1"),
        ({"problem_statement": {"text": "no id"}}, "acme__hi-1"),
        ({"problem_statement": {"id": "hi-i1"}}, "hi-i1"),
        (json.dumps({"problem_statement": {"id": "hi-i1"}}), "hi-i1"),
    ],
)
def test_the_task_is_named_by_its_problem_else_by_the_file(replay, task):
    run = read({**RUN, "replay_config": replay})
    assert (run.task_id, run.group) == (task, task)


def test_a_record_of_no_file_and_no_problem_is_named_by_its_content():
    run = read(RUN, stem="")
    assert (run.task_id[:7], run.group) == ("sha256:", None)


def test_two_runs_of_a_task_have_two_names_and_a_rerun_finds_them_again():
    other = {**RUN, "trajectory": [OPEN, entry("submit", "")]}
    assert read(RUN).trajectory_id == read(RUN).trajectory_id != read(other).trajectory_id
    assert read(RUN).task_id == read(other).task_id


@pytest.mark.parametrize(
    ("last", "submission", "shown"),
    [
        (SUBMIT, PATCH, PATCH),
        (SUBMIT, PATCH.replace("\r\n", "\n") + " ", PATCH),
        (entry("submit 'FLAG{a}'"), "\nFLAG{a}\n", ""),
        (entry("submit"), "+late", "submission:\n+late"),
        (entry("ls", "hi.py"), None, "hi.py\n\nsubmission: (none)"),
    ],
)
def test_the_last_step_shows_what_was_delivered_once(last, submission, shown):
    info = {"exit_status": "submitted", "submission": submission}
    assert read({**RUN, "trajectory": [OPEN, last], "info": info}).steps[-1].observation == shown


STOPPED_NEW = {"action": "", "observation": "Exited (autosubmitted)", "thought": "Exit due to cost limit"}
STOPPED_OLD = {**STOPPED_NEW, "action": "exit_cost", "state": "{}"}


@pytest.mark.parametrize("stopped", [STOPPED_NEW, STOPPED_OLD])
def test_what_sweagent_wrote_when_it_stopped_the_run_is_no_step(stopped):
    info = {"exit_status": "submitted (exit_cost)", "submission": "+print('hi')"}
    run = read({**RUN, "trajectory": [OPEN, stopped], "info": info})
    assert [step.observation for step in run.steps] == [
        "[File: hi.py]\n\nExit due to cost limit\n\nExited (autosubmitted)\n\nsubmission:\n+print('hi')"
    ]
    assert run.outcome.status == "ok"


def test_an_agent_that_speaks_of_an_exit_and_acts_made_a_step():
    spoken = {**entry("pytest"), "thought": "Exit due to a bug in the test, I think"}
    assert len(read({**RUN, "trajectory": [OPEN, spoken]}).steps) == 2


@pytest.mark.parametrize(
    ("exit_status", "status"),
    [
        (None, "ok"),
        ("submitted", "ok"),
        ("submitted (exit_cost)", "ok"),
        ("exit_context", "ok"),
        ("exit_format", "ok"),
        ("exit_error", "ok"),
        ("exit_api", "infra_error"),
        ("exit_environment_error", "infra_error"),
        ("submitted (exit_environment_error)", "infra_error"),
    ],
)
def test_only_a_broken_environment_is_an_infra_error_after_steps(exit_status, status):
    run = read({**RUN, "info": {"exit_status": exit_status}})
    assert (run.outcome.status, run.outcome.reward, len(run.steps)) == (status, None, 2)


@pytest.mark.parametrize("trajectory", [[], [{**STOPPED_NEW, "thought": "Exiting due to environment error"}]])
def test_a_run_that_exited_without_a_step_says_nothing_about_the_agent(trajectory):
    run = read({"history": [SYSTEM, TASK], "trajectory": trajectory, "info": {"exit_status": "exit_error"}})
    assert (run.steps, run.outcome.status) == ((), "infra_error")


def test_a_run_without_a_step_and_without_an_exit_is_an_agent_that_did_nothing():
    run = read({"history": [SYSTEM, TASK], "trajectory": [], "info": {}})
    assert (run.is_empty, run.outcome.status) == (True, "ok")


@pytest.mark.parametrize("record", [DEMONSTRATION, {**DEMONSTRATION, "trajectory": []}])
def test_a_history_alone_is_read_message_by_message(record):
    run = read(record)
    assert [(step.text, step.action, step.observation) for step in run.steps] == [
        ("Look.", "ls", "hi.py"),
        ("Done.", "submit", PATCH),
    ]
    assert [step.model_dump()["source_index"] for step in run.steps] == [2, 4]
    assert (run.instruction, run.metadata) == (TASK["content"], {})


def test_a_message_without_an_action_shows_its_calls():
    call = {"id": "c1", "type": "function", "function": {"name": "open", "arguments": '{"path": "hi.py"}'}}
    said = {"role": "assistant", "content": None, "action": None, "tool_calls": [call]}
    (step,) = read({"history": [SYSTEM, TASK, said]}).steps
    assert (step.action, step.text) == ('open({"path": "hi.py"})', "")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"trajectory": {"0": OPEN}}, "trajectory: must be a list (it is a dict)"),
        ({"trajectory": [OPEN, "submit"]}, "trajectory.1: must be an object (it is a str)"),
        ({"history": [SYSTEM, None]}, "history.1: must be an object (it is a NoneType)"),
        ({"history": [{**TASK, "role": 7}]}, "history.0.role: must be text (it is a int)"),
        ({"history": None}, "history: no user message comes before the first step"),
        ({"history": [SYSTEM, DEMO]}, "history: no user message comes before the first step"),
        ({"info": "submitted"}, "info: must be an object (it is a str)"),
    ],
)
def test_what_cannot_be_used_is_named_by_its_field(change, message):
    with pytest.raises(InputError) as raised:
        read({**RUN, **change})
    assert raised.value.message.startswith(message)


def test_a_text_nested_too_deeply_is_named_by_its_field():
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(InputError, match=r"^trajectory\.1\.observation: nested too deeply"):
        read({**RUN, "trajectory": [OPEN, {**SUBMIT, "observation": deep}]})


@pytest.mark.parametrize("record", [RUN, DEMONSTRATION, {**RUN, "history": None}, {**RUN, "trajectory": []}])
def test_its_own_records_are_told_by_their_fields(record):
    assert sweagent.matches(record)


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"instruction": "x", "steps": [], "trajectory": [OPEN]},
        {"instruction": "x", "frames": [], "history": [TASK]},
        {"messages": [TASK]},
        {"actions": [{"action_type": "run", "content": "ls", "observation": ""}]},
        {"traj": [TASK], "info": {}},
        {"history": [{"id": 0, "source": "agent", "action": "run", "args": {"command": "ls"}}]},
        {"history": [], "trajectory": []},
        {"trajectory": "ls", "history": 5},
        {"trajectory": [None, 5, [OPEN]]},
    ],
)
def test_other_records_are_left_alone(record):
    assert not sweagent.matches(record)


@settings(max_examples=400, derandomize=True, deadline=None)
@given(mangled(RUN) | mangled(DEMONSTRATION))
def test_a_mangled_record_is_read_or_refused_and_nothing_else(record):
    sweagent.matches(record)
    with contextlib.suppress(InputError, ValidationError):
        read(record, "stem")


def stored(name: str) -> Trajectory:
    record = json.loads((FORMATS / f"sweagent__{name}.traj").read_text(encoding="utf-8"))
    assert sweagent.matches(record)
    return read(record, name)


# Counted by hand in the files: steps, the first action, the last one.
PYDICOM = "gpt4__swe-bench-dev-easy_first_only__default__t-0.00__p-0.95__pydicom__pydicom-1458"
FUNCTIONS = "replay__marshmallow-code__marshmallow-1867__function_calling__marshmallow-code__marshmallow-1867"
FLAG = "submit 'HTB{l00k_47_y0u_r3v3rs1ng_3qu4710n5_c0ngr475}'"


@pytest.mark.skipif(not FORMATS.is_dir(), reason="the shared data is not beside this checkout")
@pytest.mark.parametrize(
    ("name", "steps", "first", "last"),
    [
        (PYDICOM, 12, "create reproduce_bug.py", "submit"),
        (FUNCTIONS, 11, "create reproduce.py", "submit"),
        ("demonstrations__function_calling_simple", 5, "find_file missing_colon.py", "submit"),
        ("crypto__BabyEncryption", 16, "open chall.py", FLAG),
    ],
)
def test_public_runs_hold_the_steps_that_were_counted(name, steps, first, last):
    run = stored(name)
    actions = [step.action.strip() for step in run.steps]
    assert (len(actions), actions[0], actions[-1]) == (steps, first, last)


@pytest.mark.skipif(not FORMATS.is_dir(), reason="the shared data is not beside this checkout")
def test_every_public_run_is_read_to_its_submission():
    names = [path.stem.removeprefix("sweagent__") for path in sorted(FORMATS.glob("sweagent__*.traj"))]
    runs = [stored(name) for name in names]
    assert (len(runs), sum(len(run.steps) for run in runs)) == (16, 162)
    assert all(run.steps[-1].action.startswith("submit") and run.context["policy"] for run in runs)
    assert {run.instruction.split("solving the following ")[1].split()[0] for run in runs} == {"issue", "CTF"}
    assert len({run.trajectory_id for run in runs}) == 16
