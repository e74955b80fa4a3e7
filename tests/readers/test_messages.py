"""Chat records → trajectories: where each field comes from, and what is refused. Steps: test_dialogue."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given, settings
from pydantic import ValidationError

from judge.errors import InputError
from judge.readers import messages
from judge.schema import Trajectory
from tests.readers.mangling import mangled

SYSTEM = {"role": "system", "content": "Be kind"}
ASKED = {"role": "user", "content": "Sum 1 and 2"}
CALL = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1, "b": 2}'}}
TALK = [
    SYSTEM,
    ASKED,
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "name": "add", "content": [{"type": "text", "text": "3"}]},
    {"role": "assistant", "content": "It is 3", "reasoning_content": "Easy"},
]
RECORD = {
    "messages": TALK,
    "tools": [{"type": "function", "function": {"name": "add"}}],
    "reward": 1,
    "labels": {"step_numbering": "messages_from_0", "errors": [{"step": 4}]},
    "failures": [{"step_number": 3, "category": "none"}],
    "mistake_step": "2",
    "metadata": {"split": "test"},
    "gold_answer": "SECRET",
    "id": 7,
}


def trajectory(record):
    return Trajectory(**messages.fields(record, "file"))


def test_every_field_finds_its_place():
    run = trajectory(RECORD)
    assert (run.instruction, run.task_id, run.outcome.reward, run.outcome.status) == (
        "Sum 1 and 2",
        "7",
        1.0,
        "ok",
    )
    assert run.context == {
        "policy": "Be kind",
        "tools": '[{"type": "function", "function": {"name": "add"}}]',
    }
    assert [(step.index, step.source_index, step.deed, step.observation) for step in run.steps] == [
        (0, 2, 'add({"a": 1, "b": 2})', "3"),
        (1, 4, "It is 3", ""),
    ]
    assert run.metadata == {
        "split": "test",
        "gold_answer": "SECRET",
        "failures": [{"step_number": 3, "category": "none", "step": 0, "source_step": 3}],
        "mistake_step": 0,
        "source_mistake_step": "2",
        "labels": {
            "errors": [{"step": 1, "source_step": 4}],
            "step_numbering": "steps_from_0",
            "source_step_numbering": "messages_from_0",
        },
    }


def test_gold_answers_and_labels_are_not_among_what_is_shown():
    run = trajectory(RECORD)
    shown = json.dumps([run.instruction, run.context, [step.model_dump() for step in run.steps]])
    assert not [word for word in ("SECRET", "split", "category", "mistake") if word in shown]


@pytest.mark.parametrize(
    ("own", "instruction", "left"),
    [
        ({"instruction": "Add", "prompt": "p"}, "Add", {"prompt": "p"}),
        ({"question": "Add", "task": "math"}, "Add", {"task": "math"}),
        ({"task": "Add"}, "Add", {}),
        ({"prompt": "Add", "task": {"name": "math"}}, "Add", {"task": {"name": "math"}}),
    ],
)
def test_an_instruction_of_its_own_wins_and_the_users_words_become_context(own, instruction, left):
    run = trajectory({"messages": TALK, **own})
    assert (run.instruction, run.metadata) == (instruction, left)
    assert run.context["first_observation"] == "Sum 1 and 2"


@pytest.mark.parametrize(
    "own", [{}, {"instruction": None}, {"instruction": " "}, {"instruction": "Sum 1 and 2"}]
)
def test_what_is_the_instruction_is_not_repeated_in_the_context(own):
    run = trajectory({"messages": TALK, **own})
    assert (run.instruction, run.context) == ("Sum 1 and 2", {"policy": "Be kind"})


@pytest.mark.parametrize(
    ("own", "context"),
    [
        ({"policy": "Mine", "date": 1}, {"policy": "Mine", "date": "1"}),
        ("Background", {"policy": "Be kind", "context": "Background"}),
        ({"policy": None}, {"policy": "Be kind"}),
    ],
)
def test_a_context_of_its_own_wins(own, context):
    assert trajectory({"messages": TALK, "context": own}).context == context


def test_prompt_and_completion_are_one_dialogue():
    record = {"prompt": TALK[:2], "completion": TALK[2:], "reward": 0.5}
    run = trajectory(record)
    assert messages.matches(record)
    assert [step.source_index for step in run.steps] == [2, 4]
    assert run.metadata == {}
    assert run.steps == trajectory({"messages": TALK}).steps
    with pytest.raises(InputError, match=r"^completion\.0\.role: missing"):
        trajectory({**record, "completion": [{"content": "hi"}]})


def test_columns_of_a_table_that_are_null_are_absent():
    names = ("role", "content", "tool_calls", "tool_call_id", "name", "function_call", "refusal", "error")
    rows = [dict.fromkeys(names) | message for message in TALK]
    columns = ("prompt", "completion", "outcome", "context", "task_id", "step", "metadata", "labels", "gold")
    record = dict.fromkeys(columns) | {"messages": rows}
    assert messages.matches(record)
    assert trajectory(record) == trajectory({"messages": TALK})


@pytest.mark.parametrize(
    ("ids", "task", "run"),
    [
        ({"id": 7}, "7", None),
        ({"id": "r", "task_id": "t"}, "t", "r"),
        ({"id": "x", "task_id": "t", "trajectory_id": "r"}, "t", "r"),
        ({"id": 1.5, "task_id": 3}, "3", None),
    ],
)
def test_an_id_names_the_task_or_beside_a_task_the_run(ids, task, run):
    read = trajectory({"messages": TALK, **ids})
    assert read.task_id == task
    assert read.trajectory_id == (run or trajectory({"messages": TALK}).trajectory_id)


def test_two_runs_of_one_prompt_share_the_task_and_are_two_runs():
    one, two = (trajectory({"messages": [ASKED, {"role": "assistant", "content": text}]}) for text in "ab")
    assert one.task_id == two.task_id
    assert one.trajectory_id != two.trajectory_id


@pytest.mark.parametrize(
    ("more", "reward", "status"),
    [
        ({}, None, "ok"),
        ({"reward": True}, 1.0, "ok"),
        ({"reward": 0.5, "outcome": {"reward": None, "status": None}}, 0.5, "ok"),
        ({"reward": 0.5, "outcome": {"reward": False, "verifier": "tests"}}, 0.0, "ok"),
        ({"error": "socket closed"}, None, "ok"),
    ],
)
def test_the_outcome_is_the_verifiers_number_or_nothing(more, reward, status):
    outcome = trajectory({"messages": TALK, **more}).outcome
    assert (outcome.reward, outcome.status) == (reward, status)


def test_the_system_prompt_beside_the_messages_is_the_policy_where_no_message_is_one():
    blocks = [{"type": "text", "text": "Be kind"}, "Be short", {"type": "text", "text": None}, 7]
    for system, policy in (("Be kind", "Be kind"), (blocks, "Be kind\n\nBe short")):
        assert trajectory({"messages": TALK[1:], "system": system}).context == {"policy": policy}
    assert trajectory({"messages": TALK, "system": "Be quick"}).context == {"policy": "Be kind"}
    assert trajectory({"messages": TALK[1:], "system": {"a": 1}}).context == {}


def test_how_mini_swe_agent_ends_a_run_comes_back_to_its_last_step():
    end = {"role": "exit", "content": "+print('hi')", "extra": {"exit_status": "Submitted"}}
    run = trajectory({"messages": [ASKED, {"role": "assistant", "content": "submit"}, end], "info": {}})
    assert [(step.action, step.observation) for step in run.steps] == [("submit", "+print('hi')")]
    for extra, status in (({"traceback": "Traceback ..."}, "infra_error"), ({}, "ok"), (7, "ok")):
        run = trajectory({"messages": [ASKED, {**end, "extra": extra}]})
        assert (run.instruction, run.steps, run.outcome.status) == ("Sum 1 and 2", (), status)


@pytest.mark.parametrize(
    "told",
    [
        {"error": "socket closed"},
        {"traceback": ["line 1"]},
        {"info": {"exception": "socket closed"}},
    ],
)
def test_an_error_without_steps_is_the_environments(told):
    run = trajectory({"messages": [ASKED], **told})
    assert (run.steps, run.outcome.status, run.metadata) == ((), "infra_error", told)


def test_no_agent_and_no_error_is_an_agent_that_did_nothing():
    run = trajectory({"messages": [], "instruction": "Add"})
    assert (run.is_empty, run.outcome.status) == (True, "ok")


@pytest.mark.parametrize(
    ("record", "fault"),
    [
        ({"messages": []}, "instruction: missing"),
        ({"messages": [SYSTEM, TALK[-1]]}, "instruction: missing"),
        ({"messages": "hi"}, "messages: must be a list"),
        ({"prompt": TALK, "messages": None}, "messages: must be a list"),
        ({"messages": [ASKED, "hi"]}, r"messages\.1: must be an object \(it is a str\)"),
        ({"messages": [ASKED, {"role": "critic"}]}, r"messages\.1\.role: 'critic' is unknown"),
        ({"messages": TALK, "reward": "good"}, "reward: must be a finite number"),
        ({"messages": TALK, "outcome": {"reward": "good"}}, r"outcome\.reward: must be a finite number"),
        ({"messages": TALK, "outcome": 1}, "outcome: must be an object"),
        ({"messages": TALK, "metadata": [1]}, "metadata: must be an object"),
        ({"messages": TALK, "context": [1]}, "context: must be an object"),
        ({"messages": TALK, "labels": {"step_numbering": "turns"}}, r"labels\.step_numbering: unknown"),
    ],
)
def test_what_cannot_be_used_is_named(record, fault):
    with pytest.raises(InputError, match=f"^{fault}"):
        trajectory(record)


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"messages": {"role": "user"}},
        {"messages": "hi"},
        {"prompt": "hi", "completion": "ho"},
        {"prompt": TALK, "completion": None},
        *({"messages": TALK, name: []} for name in ("steps", "frames", "traj", "trajectory", "history")),
    ],
)
def test_records_of_other_formats_are_not_claimed(record):
    assert not messages.matches(record)


@settings(max_examples=300, derandomize=True, deadline=None)
@given(mangled(RECORD))
def test_a_mangled_record_is_read_or_refused_and_nothing_else(record):
    messages.matches(record)
    with suppress(InputError, ValidationError):
        trajectory(record)


PLACE, ANSWER = {"type": "image"}, {"role": "assistant", "content": "A cat"}


def test_images_beside_the_messages_fill_the_places_kept_for_them():
    asked = {"role": "user", "content": [PLACE, {"type": "text", "text": "What?"}]}
    again = {"role": "user", "content": [PLACE, PLACE]}
    run = trajectory({"messages": [asked, ANSWER, again, ANSWER], "images": ["1.png", b"2", "3.png"]})
    assert [step.screenshot for step in run.steps] == ["1.png", "3.png"]
    assert run.steps[1].earlier_images == [b"2"]
    assert (run.instruction, run.metadata) == ("What?", {})


@pytest.mark.parametrize("images", [["1.png", "2.png"], [], "1.png", None])
def test_places_without_as_many_images_are_told_of(images):
    asked = {"role": "user", "content": [PLACE, {"type": "text", "text": "What?"}]}
    run = trajectory({"messages": [asked, ANSWER], "images": images})
    assert (run.instruction, run.steps[0].screenshot) == ("What?\n(image: not shown)", None)
    assert run.metadata.get("images") == images
