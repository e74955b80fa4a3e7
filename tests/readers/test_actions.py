"""The `actions` array → trajectories: what is a step, what was delivered, and who is to blame for the end."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from pydantic import ValidationError

from judge.errors import InputError
from judge.readers import actions, native
from judge.schema import Trajectory
from tests.readers.mangling import mangled
from tests.readers.samples import ACTIONS


def read(**changes: Any) -> Trajectory:
    return Trajectory(**actions.fields({**ACTIONS, **changes}))


def step(**action: Any) -> dict[str, Any]:
    """The fields of the one step that this action comes to, beside those with their defaults."""
    [found] = read(actions=[action], final_code=None).steps
    return found.model_dump(exclude_defaults=True)


def test_every_field_finds_its_place():
    run = read()
    assert (run.trajectory_id, run.instruction) == ("a1", "Print the first ten primes")
    assert [each.model_dump(exclude_defaults=True) for each in run.steps] == [
        {"action_type": "think", "text": "A sieve will do.", "source_index": 1, "reward": 0},
        {
            **{"index": 1, "action_type": "run", "action": "python p.py", "observation": "2 3 5"},
            **{"state": "final_code:\nprint(2, 3, 5)", "source_index": 2, "reward": -0.5},
        },
    ]
    assert run.outcome.model_dump(exclude_defaults=True) == {
        **{"reward": 0.25, "done": True, "terminal_reason": "max_steps"}
    }
    assert run.metadata == {"language": "python"}


def test_rewards_are_not_among_what_is_shown():
    run = read(reward=0.987, actions=[{"content": "ls", "reward": 0.986}])
    shown = [run.instruction, run.context, *((s.deed, s.text, s.observation, s.state) for s in run.steps)]
    assert "0.98" not in json.dumps(shown)


@pytest.mark.parametrize(
    ("action", "found"),
    [
        ({"content": "ls", "observation": None}, {"action": "ls"}),
        ({"action_type": " Thought", "content": "Hm."}, {"action_type": " Thought", "text": "Hm."}),
        (
            {"content": {"cmd": "ls"}, "observation": ["a"]},
            {"action": '{"cmd": "ls"}', "observation": '["a"]'},
        ),
        ({"action": "ls", "text": "Look.", "content": None}, {"action": "ls", "text": "Look."}),
        ({"content": "ls", "text": "Look."}, {"action": "ls", "text": "Look."}),
        ({"content": "ls", "error": "denied"}, {"action": "ls", "error": "denied"}),
        ({"content": "ls", "index": 5}, {"action": "ls", "source_index": 5}),
        (
            {"content": "ls", "prompt": "again", "messages": [{}], "history": [], "query": "q"},
            {"action": "ls"},
        ),
        ({}, {}),
    ],
)
def test_an_action_is_a_step(action, found):
    assert step(**action) == found


@pytest.mark.parametrize("numbers", [(0, 1), (1, 2), (10, 20), (3, 1), (None, None)])
def test_the_order_of_the_list_rules_whatever_the_steps_are_numbered(numbers):
    run = read(actions=[{"step": number, "content": str(number)} for number in numbers])
    assert [(each.index, each.action) for each in run.steps] == [(0, str(numbers[0])), (1, str(numbers[1]))]


def test_an_instruction_goes_before_a_prompt():
    assert read(instruction="Print primes").instruction == "Print primes"
    assert "prompt" not in read(instruction="Print primes").metadata


def test_context_and_group_come_from_metadata():
    run = read(metadata={"policy": "No network", "group": 3})
    assert (run.context, run.group) == ({"policy": "No network"}, "3")


def test_code_that_was_delivered_joins_the_last_state():
    [last] = read(actions=[{"content": "ls", "state": "clean"}]).steps
    assert last.state == "clean\nfinal_code:\nprint(2, 3, 5)"


def test_code_without_an_action_is_a_step_of_its_own():
    [only] = read(actions=[]).steps
    assert (only.action_type, only.action, only.state) == ("final_code", "print(2, 3, 5)", "")


@pytest.mark.parametrize("code", ["", None])
def test_no_action_and_no_code_is_a_run_in_which_nothing_was_done(code):
    run = read(actions=[], final_code=code)
    assert (run.is_empty, run.outcome.status) == (True, "ok")


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"terminal_reason": "max_steps"}, "ok"),
        ({"terminal_reason": "timeout"}, "ok"),
        ({"terminal_reason": None}, "ok"),
        ({"terminal_reason": " Sandbox_Error"}, "infra_error"),
        ({"terminal_reason": "infra_error", "actions": []}, "infra_error"),
        ({"error": "boom"}, "ok"),
        ({"error": "boom", "actions": []}, "infra_error"),
        ({"metadata": {"traceback": "Traceback ..."}, "actions": []}, "infra_error"),
        ({"metadata": {"error": None}, "actions": []}, "ok"),
    ],
)
def test_who_is_to_blame_for_the_end(changes, status):
    assert read(**changes).outcome.status == status


@pytest.mark.parametrize(
    ("changes", "reward", "status"),
    [
        ({"reward": True}, 1.0, "ok"),
        ({"reward": None}, None, "ok"),
        ({"outcome": {"reward": 0, "status": "timeout", "verifier": "tests"}}, 0.0, "timeout"),
        ({"outcome": {"reward": None, "status": None}}, 0.25, "ok"),
        ({"outcome": None, "terminal_reason": "crash"}, 0.25, "infra_error"),
    ],
)
def test_the_records_own_outcome_goes_before_its_reward(changes, reward, status):
    outcome = read(**changes).outcome
    assert (outcome.reward, outcome.status) == (reward, status)


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"actions": None}, r"actions: must be a list \(it is a NoneType\)"),
        ({"actions": [{}, "ls"]}, r"actions\.1: must be an object \(it is a str\)"),
        ({"metadata": [1]}, r"metadata: must be an object \(it is a list\)"),
        ({"outcome": 1.0}, r"outcome: must be an object \(it is a float\)"),
    ],
)
def test_what_cannot_be_used_is_named(changes, fault):
    with pytest.raises(InputError, match=f"^{fault}"):
        read(**changes)


def test_only_its_own_records_are_claimed():
    assert actions.matches(ACTIONS)
    assert actions.matches({"actions": []})
    assert not native.matches(ACTIONS)
    for record in ({"actions": None}, {"actions": "ls"}, {"actions": {"0": "ls"}}, {}):
        assert not actions.matches(record)


@settings(max_examples=200, derandomize=True, deadline=None)
@given(mangled(ACTIONS))
def test_a_mangled_record_is_read_or_refused_and_nothing_else(record):
    actions.matches(record)
    with suppress(InputError, ValidationError):
        Trajectory(**actions.fields(record))
