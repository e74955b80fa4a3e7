"""OpenHands' events → trajectories: what is a step, whose an observation is, what a record says of its run.

Not covered: how the file is opened and a bare list of events becomes a record (test_records, test_documents);
images (test_openhands_observation).
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
from judge.readers import openhands
from judge.schema import Trajectory
from tests.readers.mangling import mangled

FORMATS = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "formats"
TOOLS = [{"type": "function", "function": {"name": "execute_bash"}}]
PATCH = "diff --git a/hi.py b/hi.py\n+print('hi')\n"


def act(number: int, action: str, source: str = "agent", **args: Any) -> dict[str, Any]:
    return {"id": number, "source": source, "action": action, "args": args, "message": f"Doing {action}"}


def see(
    number: int, observation: str, content: str, cause: int | None = None, **extras: Any
) -> dict[str, Any]:
    answer = {
        "id": number,
        "source": "agent",
        "observation": observation,
        "content": content,
        "extras": extras,
    }
    return answer if cause is None else {**answer, "cause": cause}


SYSTEM = act(0, "system", content="You are an agent.", tools=TOOLS, agent_class="CodeActAgent")
TASK = act(1, "message", "user", content="Make greet() print hi")
RECALL = act(2, "recall", "user", query="Make greet() print hi")
RECALLED = see(4, "recall", "Added workspace context", 2, runtime_hosts={"localhost": 1})
RUN_LS = act(5, "run", command="ls", thought="I look around.", is_input=False, hidden=False)
SAW_LS = see(6, "run", "hi.py", 5, metadata={"exit_code": 0})
FINISH = act(9, "finish", final_thought="Done", task_completed="true", outputs={}, thought="All done.")
RECORD: dict[str, Any] = {
    "instance_id": "acme__hi-1",
    "instruction": "Make greet() print hi",
    "history": [SYSTEM, TASK, RECALL, RECALLED, RUN_LS, SAW_LS, FINISH],
    "test_result": {"git_patch": PATCH},
    "error": None,
    "metadata": {
        "agent_class": "CodeActAgent",
        "llm_config": {"model": "open/model", "api_key": "sk-secret", "base_url": "http://10.0.0.1"},
        "condenser_config": {"llm_config": {"api_key": "sk-secret"}},
    },
    "instance": {"problem_statement": "greet() prints nothing", "patch": "the gold patch"},
}
FLAT: dict[str, Any] = {
    "issue": {"owner": "acme", "repo": "hi", "number": 5, "title": "greet() prints nothing"},
    "instruction": "Make greet() print hi",
    "history": [
        {"action": "message", "content": "Make greet() print hi", "wait_for_response": False},
        {"action": "run_ipython", "code": "print(1)", "thought": "I try.", "kernel_init_code": "import os"},
        {"observation": "run_ipython", "content": "1", "code": "print(1)"},
        {"action": "run", "command": "grep bye hi.py", "thought": "", "keep_prompt": True},
        {"observation": "run", "content": "", "command": "grep bye hi.py", "exit_code": 1, "command_id": 3},
        {"action": "finish", "thought": "Done.", "outputs": {}},
    ],
    "git_patch": "",
    "success": True,
    "comment_success": None,
    "result_explanation": "The agent has resolved the issue.",
    "error": None,
}


def read(record: dict[str, Any], stem: str = "output") -> Trajectory:
    return Trajectory(**openhands.fields(record, stem))


def steps(*events: Any) -> list[dict[str, Any]]:
    """What TASK and these events come to."""
    return [step.model_dump() for step in read({"history": [TASK, *events]}).steps]


def test_an_action_of_the_agent_is_a_step_and_a_cause_says_whose_an_observation_is():
    ls, finish = read(RECORD).steps
    assert (ls.action, ls.action_type, ls.text, ls.observation) == ("ls", "run", "I look around.", "hi.py")
    assert finish.action == 'finish({"final_thought": "Done", "task_completed": "true"})'
    assert finish.text == "All done."
    assert [step.model_dump()["source_index"] for step in read(RECORD).steps] == [5, 9]


def test_system_prompt_and_tools_are_context_and_recalls_are_nothing():
    run = read(RECORD)
    assert run.context == {"policy": "You are an agent.", "tools": json.dumps(TOOLS)}
    assert "workspace context" not in run.model_dump_json()


def test_the_flat_older_form_is_paired_in_order():
    run = read(FLAT)
    assert [(step.action, step.text, step.observation) for step in run.steps] == [
        ("print(1)", "I try.", "1"),
        ("grep bye hi.py", "", "(exit code 1)"),
        ("finish()", "Done.", "git_patch: (empty)"),
    ]
    assert [step.model_dump()["source_index"] for step in run.steps] == [1, 3, 5]
    assert not any(step.error for step in run.steps)


def test_pairs_of_action_and_observation_are_events_too():
    null = {"observation": "null", "content": "", "extras": {}}
    pairs = [[TASK, null], [RUN_LS, SAW_LS], [FINISH, None]]
    flat = [[event for event in pair if event] for pair in pairs]
    assert read({**RECORD, "history": pairs}).steps == read(RECORD).steps
    assert read({**RECORD, "history": flat}).steps == read(RECORD).steps


def test_observations_that_come_late_and_out_of_order_find_their_steps():
    history = [
        act(2, "run", command="a"),
        act(3, "run", command="b"),
        see(4, "run", "B", 3),
        see(5, "run", "A", 2),
    ]
    first, second = steps(*history)
    assert (first["observation"], second["observation"]) == ("A", "B")


def test_an_error_of_a_call_that_left_no_action_is_a_step_without_one():
    ls, refused, finish = steps(RUN_LS, SAW_LS, see(7, "error", "Parameter 'command' is missing"), FINISH)
    assert (ls["observation"], ls["error"]) == ("hi.py", False)
    assert (refused["action"], refused["observation"]) == ("", "Parameter 'command' is missing")
    assert (refused["error"], refused["source_index"], finish["source_index"]) == (True, 7, 9)


def test_an_error_without_a_cause_answers_the_step_that_waits():
    (ls,) = steps(RUN_LS, see(6, "error", "The shell is gone"))
    assert (ls["observation"], ls["error"]) == ("The shell is gone", True)


@pytest.mark.parametrize(
    ("observation", "error"),
    [
        (see(6, "error", "no such tool", 5), True),
        (see(6, "edit", "ERROR:\nNo replacement was performed", 5), True),
        (see(6, "browse", "page", 5, error=True), True),
        (see(6, "browse", "page", 5, error=False), False),
        (see(6, "run", "ERROR:\nprinted by the agent's own script", 5), False),
        (see(6, "run", "", 5, metadata={"exit_code": 1}), False),
    ],
)
def test_an_error_is_what_the_record_calls_one(observation, error):
    assert steps(RUN_LS, observation)[0]["error"] is error


def test_only_an_exit_code_that_is_not_zero_is_noted():
    seen = [steps(RUN_LS, see(6, "run", "out", 5, metadata={"exit_code": code})) for code in (0, 2, -1, None)]
    assert [found[0]["observation"] for found in seen] == [
        "out",
        "out\n\n(exit code 2)",
        "out\n\n(exit code -1)",
        "out",
    ]


def test_what_the_user_says_and_does_later_belongs_to_the_step_before():
    ask = act(2, "message", content="May I?", wait_for_response=True)
    (asked,) = steps(ask, act(3, "message", "user", content="Go on"), act(4, "run", "user", command="ls"))
    assert (asked["text"], asked["action"], asked["observation"]) == ("May I?", "", "Go on\n\nls")


def test_without_a_source_a_message_that_waits_for_a_response_is_the_agents():
    flat = [
        {"action": "message", "content": "Make greet() print hi", "wait_for_response": False},
        {"action": "message", "content": "Which greeting?", "wait_for_response": True},
        {"action": "message", "content": "hi", "wait_for_response": False},
    ]
    (step,) = read({"history": flat}).steps
    assert (step.text, step.observation) == ("Which greeting?", "hi")


def test_what_comes_before_the_first_step_and_is_not_the_instruction_is_the_first_observation():
    history = [TASK, act(2, "message", "user", content="Hurry"), see(3, "run", "booted", 99), RUN_LS]
    run = read({**RECORD, "instruction": "Make greet() print hi\n", "history": history})
    assert run.context["first_observation"] == "Hurry\n\nbooted"


@pytest.mark.parametrize(
    ("change", "instruction"),
    [
        ({"instruction": "The record's own"}, "The record's own"),
        ({"instruction": None}, "Make greet() print hi"),
        ({"instruction": " ", "history": [RUN_LS]}, "greet() prints nothing"),
    ],
)
def test_the_instruction_is_the_records_then_the_users_then_the_instances(change, instruction):
    assert read({**RECORD, **change}).instruction == instruction


def test_arguments_are_shown_as_given_without_nulls_and_bookkeeping():
    edit = act(2, "edit", path="hi.py", new_str="", insert_line=0, file_text=None, impl_source="oh_aci")
    (step,) = steps(edit)
    assert step["action"] == 'edit({"path": "hi.py", "new_str": "", "insert_line": 0})'


def test_a_thought_alone_is_text_and_null_texts_are_empty():
    thought, silent = steps(act(2, "think", thought="Hm."), act(3, "run", command=None, thought=None))
    assert (thought["text"], thought["action"]) == ("Hm.", "")
    assert (silent["text"], silent["action"], silent["observation"]) == ("", "", "")


def test_a_page_leaves_its_address_and_its_screenshot():
    image = "data:image/png;base64,AAAA"
    browse = act(2, "browse_interactive", browser_actions="goto('http://a')")
    (step,) = steps(browse, see(3, "browse", "page", 2, url="http://a", screenshot=image))
    assert (step["action"], step["state"], step["screenshot"]) == ("goto('http://a')", "http://a", image)


def test_the_last_step_shows_the_diff_the_agent_left():
    assert read(RECORD).steps[-1].observation == f"git_patch:\n{PATCH}"
    assert read({**FLAT, "git_patch": PATCH}).steps[-1].observation == f"git_patch:\n{PATCH}"
    assert read({**RECORD, "test_result": {}}).steps[-1].observation == ""


FATAL = "AgentRuntimeDisconnectedError: the sandbox does not answer"
LIMIT = "RuntimeError: Agent reached maximum iteration in headless mode. Current iteration: 50"


@pytest.mark.parametrize(
    ("history", "error", "status"),
    [
        (RECORD["history"], None, "ok"),
        (RECORD["history"], LIMIT, "ok"),
        (RECORD["history"], "AgentStuckInLoopError: Agent got stuck in a loop", "ok"),
        (RECORD["history"], FATAL, "infra_error"),
        (RECORD["history"], "ConnectionError: refused", "infra_error"),
        ([SYSTEM, TASK], "Timeout after 300 seconds", "infra_error"),
        ([SYSTEM, TASK], None, "ok"),
        ([], None, "ok"),
    ],
)
def test_an_error_blames_the_environment_where_there_is_no_step_or_it_is_fatal(history, error, status):
    assert read({**RECORD, "history": history, "error": error}).outcome.status == status


def test_a_run_that_never_began_needs_no_instruction():
    record = {
        "instance_id": "acme__hi-1",
        "test_result": {},
        "history": None,
        "error": "Timeout",
        "metadata": None,
    }
    assert openhands.matches(record)
    run = read(record)
    assert (run.task_id, run.steps, run.outcome.status) == ("acme__hi-1", (), "infra_error")
    assert run.metadata["error"] == "Timeout"


@pytest.mark.parametrize(
    ("change", "reward"),
    [
        ({}, None),
        ({"success": True}, None),
        ({"report": {"resolved": True}}, 1.0),
        ({"test_result": {"report": {"resolved": False}}}, 0.0),
        ({"test_result": {"report": {"resolved": False, "error_eval": True}}}, None),
        ({"test_result": {"report": {"resolved": None}}}, None),
        ({"test_result": {"report": {"resolved": None}, "reward": 1.0}}, None),
        ({"test_result": True}, None),
    ],
)
def test_only_a_verifiers_report_is_a_reward(change, reward):
    outcome = read({**RECORD, **change}).outcome
    assert (outcome.reward, outcome.verifier) == (reward, None if reward is None else "report.resolved")


@pytest.mark.parametrize(
    ("stored", "reward"), [(1.0, 1.0), (0, 0.0), (-1.0, None), (None, None), ("1", None)]
)
def test_web_benchmarks_store_their_reward_and_minus_one_where_their_check_broke(stored, reward):
    outcome = read({**RECORD, "test_result": {"reward": stored}}).outcome
    assert (outcome.reward, outcome.verifier) == (reward, None if reward is None else "test_result.reward")


@pytest.mark.parametrize(
    ("result", "reward"),
    [
        ({"score": True, "ground_truth": "42"}, 1.0),
        ({"score": False}, 0.0),
        ({"score": 0.5}, None),
        ({"score": None}, None),
        ({"final_score": {"result": 1, "total": 1}}, None),
    ],
)
def test_a_score_is_a_reward_where_it_says_right_or_wrong(result, reward):
    run = read({**RECORD, "test_result": result})
    verifier = None if reward is None else "test_result.score"
    assert (run.outcome.reward, run.outcome.verifier) == (reward, verifier)
    assert run.metadata["test_result"] == result


def test_of_two_verdicts_a_report_counts_before_a_reward_and_that_before_a_score():
    scored = {"score": True, "reward": 0.25}
    assert read({**RECORD, "test_result": scored}).outcome.reward == 0.25
    assert read({**RECORD, "test_result": {**scored, "report": {"resolved": False}}}).outcome.reward == 0.0
    assert read({**RECORD, "test_result": {"score": True, "report": {}}}).outcome.reward is None


def test_a_models_guess_and_the_gold_patch_are_metadata_and_a_key_is_nowhere():
    run = read({**RECORD, "success": True, "result_explanation": "It looks right."})
    assert (run.metadata["success"], run.metadata["result_explanation"]) == (True, "It looks right.")
    assert (run.metadata["agent"], run.metadata["agent_class"]) == ("open/model", "CodeActAgent")
    shown = run.model_dump_json(exclude={"metadata"})
    assert not any(text in shown for text in ("gold patch", "It looks right"))
    assert not any(text in run.model_dump_json() for text in ("sk-secret", "10.0.0.1"))


@pytest.mark.parametrize(
    ("record", "task"),
    [
        (RECORD, "acme__hi-1"),
        ({**RECORD, "instance_id": 17}, "17"),
        (FLAT, "acme/hi#5"),
        ({"history": [TASK, RUN_LS]}, "session-7"),
    ],
)
def test_the_task_is_the_instance_the_issue_or_for_a_bare_list_the_file(record, task):
    run = read(record, "session-7")
    assert (run.task_id, run.group) == (task, task)


def test_a_line_that_names_no_task_does_not_take_the_name_of_the_file_it_shares():
    run = read({**FLAT, "issue": None}, "output")
    assert (run.task_id[:7], run.group) == ("sha256:", None)


def test_two_runs_of_a_task_have_two_names():
    other = {**RECORD, "history": [*RECORD["history"][:-1]]}
    assert read(RECORD).trajectory_id == read(RECORD).trajectory_id != read(other).trajectory_id


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"history": {"0": TASK}}, "history: must be a list of events (it is a dict)"),
        ({"history": [TASK, "ls"]}, "history.1: an event has either an action or an observation"),
        ({"history": [TASK, {"id": 2}]}, "history.1: an event has either an action or an observation"),
        ({"history": [{**TASK, "observation": "run"}]}, "history.0: an event has either"),
        ({"history": [[TASK, 5]]}, "history.0.1: an event has either an action or an observation"),
        ({"history": [{**RUN_LS, "args": "ls"}]}, "history.0.args: must be an object (it is a str)"),
        ({"history": [{**SAW_LS, "extras": [1]}]}, "history.0.extras: must be an object (it is a list)"),
        ({"history": [RUN_LS], "instruction": "", "instance": None}, "instruction: missing"),
        ({"test_result": {"reward": float("nan")}}, "test_result.reward: must be a finite number"),
    ],
)
def test_what_cannot_be_used_is_named_by_its_field(change, message):
    with pytest.raises(InputError) as raised:
        read({**RECORD, **change})
    assert raised.value.message.startswith(message)


@pytest.mark.parametrize(
    "record", [RECORD, FLAT, {"history": [RUN_LS]}, {"history": [[TASK, None]]}, {**RECORD, "history": None}]
)
def test_its_own_records_are_told_by_their_fields(record):
    assert openhands.matches(record)


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"instruction": "x", "steps": [], "history": [RUN_LS]},
        {"frames": [], "history": [RUN_LS]},
        {"trajectory": [], "history": [RUN_LS]},
        {"history": [{"role": "assistant", "content": "ls", "action": "ls"}]},
        {"history": [{"action": "ls", "observation": "hi.py"}]},
        {"history": [[], None, 5, {"action": 5}]},
        {"history": "ls", "instance_id": "1", "test_result": {}},
        {"traj": [], "info": {}},
    ],
)
def test_other_records_are_left_alone(record):
    assert not openhands.matches(record)


@settings(max_examples=400, derandomize=True, deadline=None)
@given(mangled(RECORD) | mangled(FLAT))
def test_a_mangled_record_is_read_or_refused_and_nothing_else(record):
    openhands.matches(record)
    with contextlib.suppress(InputError, ValidationError):
        read(record)


def stored(name: str) -> list[Trajectory]:
    lines = (FORMATS / f"openhands_{name}_output.jsonl").read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    assert all(map(openhands.matches, records))
    return [read(record) for record in records]


@pytest.mark.skipif(not FORMATS.is_dir(), reason="the shared data is not beside this checkout")
def test_a_public_evaluation_holds_the_steps_that_were_counted():
    # By hand: run + read + edit + think + finish + malformed calls; the third run ended at its limit of 50.
    runs = stored("multi_swe_bench_examples")
    assert [len(run.steps) for run in runs] == [13 + 6 + 2 + 1 + 1, 12 + 9 + 11 + 1 + 1, 24 + 8 + 16 + 1 + 1]
    assert [run.task_id for run in runs] == [f"ponylang__ponyc-{number}" for number in (4595, 4593, 4588)]
    assert [run.steps[-1].action_type for run in runs] == ["finish", "finish", "run"]
    assert [sum(step.action_type == "" for step in run.steps) for run in runs] == [0, 1, 1]
    assert {run.outcome.status for run in runs} == {"ok"}
    assert all("git_patch:\ndiff --git" in run.steps[-1].observation for run in runs)


@pytest.mark.skipif(not FORMATS.is_dir(), reason="the shared data is not beside this checkout")
def test_a_public_run_of_the_resolver_holds_the_steps_that_were_counted():
    short, long = stored("resolver_mock")
    kinds = [step.action_type for step in long.steps]
    assert [step.action_type for step in short.steps] == ["run", "run_ipython", "run", "finish"]
    assert (len(kinds), kinds.count("run_ipython"), kinds[0], kinds[-1]) == (22, 20, "run", "finish")
    assert (short.steps[0].action, short.task_id) == ("touch LICENSE", "neubig/pr-viewer#5")
    assert short.outcome.reward is None
