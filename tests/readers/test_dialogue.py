"""Dialogues → steps: what comes before the first step, what belongs to which step, errors and images."""

from __future__ import annotations

import pytest

from judge.errors import InputError
from judge.readers.dialogue import leftover, number_at, read


def dialogue(*messages, **options):
    return read(((f"messages.{at}", message) for at, message in enumerate(messages)), **options)


def said(role, content=None, **more):
    return {"role": role, "content": content, **more}


def calling(*names, **more):
    calls = [{"id": f"c{at}", "function": {"name": name, "arguments": "{}"}} for at, name in enumerate(names)]
    return said("assistant", tool_calls=calls, **more)


ASKED = said("user", "Sum up")


def test_a_dialogue_becomes_its_steps_and_what_came_before_them():
    read = dialogue(
        said("system", "Be kind"),
        said("developer", "Be short"),
        said("user", "Hi"),
        said("tool", "clock: 12:00"),
        said("user", "Sum up"),
        calling("add"),
        said("tool", "3", tool_call_id="c0"),
        said("assistant", "It is 3"),
        said("user", "Thanks"),
    )
    assert (read.policy, read.request) == ("Be kind\n\nBe short", "Hi\n\nSum up")
    assert (read.opening, read.length) == ("Hi\n\nclock: 12:00\n\nSum up", 9)
    assert read.steps == [
        {
            "source_index": 5,
            "action": "add({})",
            "action_type": "tool_call",
            "text": "",
            "observation": "3",
            "error": False,
            "tool_calls": [{"name": "add", "arguments": {}, "id": "c0"}],
        },
        {
            "source_index": 7,
            "action": "It is 3",
            "action_type": "message",
            "text": "It is 3",
            "observation": "Thanks",
            "error": False,
        },
    ]


def test_an_agent_that_speaks_first_begins_with_a_step():
    read = dialogue(
        said("assistant", "How can I help?"), said("user", "Book a table"), said("user", "For two")
    )
    assert (read.request, read.opening) == ("Book a table", "")
    assert read.steps[0]["observation"] == "user: Book a table\nuser: For two"


def test_without_an_agent_there_are_no_steps():
    assert dialogue().steps == dialogue(ASKED, said("tool", "3")).steps == []


def test_consecutive_messages_of_the_agent_are_steps_with_nothing_between():
    steps = dialogue(ASKED, said("assistant", "One"), said("assistant"), calling("add")).steps
    assert [(step["action"], step["observation"]) for step in steps] == [
        ("One", ""),
        ("", ""),
        ("add({})", ""),
    ]


@pytest.mark.parametrize(
    ("message", "action", "text"),
    [
        (said("assistant", "Hi", reasoning_content="Greet"), "Hi", "Greet"),
        (said("assistant", "Hi", reasoning="Greet", thinking="x"), "Hi", "Greet"),
        (said("assistant", "Hi", reasoning_content=" "), "Hi", "Hi"),
        (said("assistant", None, thinking="Greet"), "", "Greet"),
        (said("assistant", None, refusal="I won't"), "I won't", "I won't"),
        (
            calling("add", reasoning_content="Two numbers", content="Adding"),
            "add({})",
            "Two numbers\n\nAdding",
        ),
        (calling("add", "sub"), "add({})\nsub({})", ""),
    ],
)
def test_reasoning_refusals_and_calls(message, action, text):
    (step,) = dialogue(ASKED, {**message}).steps
    assert (step["action"], step["text"]) == (action, text)


@pytest.mark.parametrize(
    ("answers", "observation"),
    [
        ([("3", {"tool_call_id": "c0"}), ("1", {"tool_call_id": "c1"})], "add (call 1): 3\nsub (call 2): 1"),
        ([("1", {"tool_call_id": "c1"}), ("3", {"tool_call_id": "c0"})], "sub (call 2): 1\nadd (call 1): 3"),
        ([("3", {}), ("1", {})], "add (call 1): 3\nsub (call 2): 1"),
        ([("1", {"name": "sub"}), ("3", {})], "sub (call 2): 1\nadd (call 1): 3"),
        ([("1", {"tool_call_id": "c1"})], "sub (call 2): 1"),
        ([(None, {"tool_call_id": "c0"})], "add (call 1): (empty)"),
        ([("?", {"tool_call_id": "c9", "name": "log"})], "log: ?"),
        ([("3", {}), ("1", {}), ("?", {})], "add (call 1): 3\nsub (call 2): 1\ntool: ?"),
    ],
)
def test_what_several_calls_brought_back_says_which_call(answers, observation):
    tools = [said("tool", content, **more) for content, more in answers]
    (step,) = dialogue(ASKED, calling("add", "sub"), *tools).steps
    assert step["observation"] == observation


def test_calls_without_ids_are_answered_in_order():
    calls = [{"function": {"name": "add"}}, {"function": {"name": "add"}}]
    tools = [said("tool", "3", tool_call_id="x"), said("tool", "4", tool_call_id="y")]
    (step,) = dialogue(ASKED, said("assistant", tool_calls=calls), *tools).steps
    assert step["observation"] == "add (call 1): 3\nadd (call 2): 4"


def test_a_result_that_comes_late_belongs_to_the_step_that_called_for_it():
    later = said("assistant", tool_calls=[{"id": "c9", "function": {"name": "sub"}}])
    late = said("tool", "3", tool_call_id="c0", error="overflow")
    run = dialogue(ASKED, calling("add"), later, late, said("tool", "1", tool_call_id="c9"))
    assert [(step["observation"], step["error"]) for step in run.steps] == [("3", "overflow"), ("1", False)]
    run = dialogue(ASKED, calling("add"), calling("add"), late, said("tool", "?", tool_call_id="c7"))
    assert [step["observation"] for step in run.steps] == ["", "add: 3\ntool: ?"]
    run = dialogue(ASKED, calling("add"), said("assistant", "Wait"), {**late, "role": "user"})
    assert [step["observation"] for step in run.steps] == ["", "3"]


def test_what_several_speakers_brought_back_says_who_spoke():
    back = [said("tool", "3", tool_call_id="c0"), said("user", "Well?"), said("system", "One turn left")]
    (step,) = dialogue(ASKED, calling("add"), *back).steps
    assert step["observation"] == "add: 3\nuser: Well?\nsystem: One turn left"


@pytest.mark.parametrize(
    ("told", "error"),
    [
        ({"is_error": True}, True),
        ({"status": "error"}, True),
        ({"error": True}, True),
        ({"error": "no such file"}, "no such file"),
        ({"error": False, "is_error": None, "status": "success"}, False),
        ({"error": " "}, False),
        ({}, False),
    ],
)
def test_an_error_is_what_the_message_of_a_tool_says_is_one(told, error):
    answers = [said("tool", "Error: not flagged"), said("tool", "went wrong", **told)]
    (step,) = dialogue(ASKED, calling("add", "sub"), *answers).steps
    assert step["error"] == error
    (step,) = dialogue(ASKED, calling("add"), said("user", "wrong", **told)).steps
    assert step["error"] is False


def test_a_format_may_know_errors_by_their_text():
    (step,) = dialogue(
        ASKED, calling("add"), said("tool", "Error: x"), is_error=lambda m: "Err" in m.text
    ).steps
    assert step["error"] == "Error: x"


def picture(role, *names):
    return said(role, [{"type": "image_url", "image_url": {"url": name}} for name in names])


def test_an_image_belongs_to_the_step_that_saw_it_and_the_last_one_to_a_step_of_its_own():
    found = dialogue(
        picture("user", "start.png"),
        calling("click"),
        picture("tool", "menu.png", "close-up.png"),
        calling("click"),
        said("tool", "ok"),
        calling("click"),
        picture("tool", "end.png"),
    )
    *steps, end = found.steps
    assert [step.get("screenshot") for step in steps] == ["start.png", "close-up.png", None]
    assert [step.get("earlier_images") for step in steps] == [None, ["menu.png"], None]
    assert [step["observation"] for step in steps] == ["(image)", "ok", "(image)"]
    assert end == {"role": "environment", "action_type": "end", "screenshot": "end.png"}
    assert found.numbers.index(6, "messages_from_0") == 2


def test_labels_and_rewards_of_a_message_stay_with_its_step():
    (step,) = dialogue(
        ASKED, said("assistant", "Hi", label=1, reward=0.5, messages=["the whole prompt"])
    ).steps
    assert (step["label"], step["reward"], "messages" in step) == (1, 0.5, False)


def test_what_is_left_over_keeps_its_place_and_its_labels_are_renumbered():
    run = dialogue(said("system", "s"), ASKED, said("assistant", "a"), said("user", "b"))
    record = {"failures": [{"step_number": 4}], "labels": {"mistake_step": 2}, "answer": "42", "messages": []}
    assert leftover(record, {"messages"}, run) == {
        "failures": [{"step_number": 4, "step": 0, "source_step": 4}],
        "labels": {"mistake_step": 0, "source_mistake_step": 2},
        "answer": "42",
    }


@pytest.mark.parametrize(("value", "number"), [(1, 1.0), (0.5, 0.5), (True, 1.0), (False, 0.0)])
def test_numbers_and_truth_are_numbers(value, number):
    assert number_at("reward", value) == number


@pytest.mark.parametrize("value", ["1.0", None, float("nan"), float("-inf"), 10**400, [1], {"total": 1}])
def test_anything_else_is_no_reward(value):
    with pytest.raises(InputError, match=r"^reward: must be a finite number"):
        number_at("reward", value)
