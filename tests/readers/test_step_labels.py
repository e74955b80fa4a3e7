"""Foreign step numbers → ours, for a run whose steps begin at messages 2, 4 and 5 of 8."""

from __future__ import annotations

import pytest

from judge.errors import InputError
from judge.readers.step_labels import StepNumbers, renumbered

STEPS = StepNumbers([2, 4, 5], 8)


@pytest.mark.parametrize(
    ("numbering", "numbers"),
    [
        ("messages_from_0", {-1: None, 0: None, 1: None, 2: 0, 3: 0, 4: 1, 5: 2, 7: 2, 8: None}),
        ("messages_from_1", {0: None, 2: None, 3: 0, 4: 0, 5: 1, 6: 2, 8: 2, 9: None}),
        ("steps_from_0", {-1: None, 0: 0, 2: 2, 3: None}),
        ("steps_from_1", {0: None, 1: 0, 3: 2, 4: None}),
    ],
)
def test_every_numbering_names_the_step_that_holds_the_message(numbering, numbers):
    assert {number: STEPS.index(number, numbering) for number in numbers} == numbers


@pytest.mark.parametrize("number", ["4", 4, 4.0])
def test_a_number_may_be_text_or_a_whole_float(number):
    assert STEPS.index(number, "messages_from_0") == 1


@pytest.mark.parametrize("number", [None, True, 4.5, "four", "²", "", "9" * 5000, float("inf"), [4], {}])
def test_what_is_no_number_names_no_step(number):
    assert STEPS.index(number, "messages_from_0") is None


def test_a_stated_numbering_holds_for_every_list_and_says_that_it_was_converted():
    labels = {
        "step_numbering": "messages_from_1",
        "errors": [{"step": 6, "why": "wrong"}, {"step": 1}, "a note", {"why": "no step"}],
        "failures": [{"step_number": 3}],
        "mistake_step": 5,
        "success": False,
    }
    assert renumbered(labels, STEPS) == {
        "step_numbering": "steps_from_0",
        "source_step_numbering": "messages_from_1",
        "errors": [
            {"step": 2, "source_step": 6, "why": "wrong"},
            {"step": None, "source_step": 1},
            "a note",
            {"why": "no step"},
        ],
        "failures": [{"step_number": 3, "step": 0, "source_step": 3}],
        "mistake_step": 1,
        "source_mistake_step": 5,
        "success": False,
    }


def test_two_conventions_are_known_without_being_stated():
    labels = {"failures": [{"step_number": 7, "category": "c"}], "mistake_step": "3", "errors": [{"step": 3}]}
    assert renumbered(labels, STEPS) == {
        "failures": [{"step_number": 7, "step": 2, "source_step": 7, "category": "c"}],
        "mistake_step": 0,
        "source_mistake_step": "3",
        "errors": [{"step": 3}],
    }


def test_failures_that_already_name_a_step_are_left_alone():
    labels = {"failures": [{"step": 0, "step_number": 7}], "step_numbering": None}
    assert renumbered(labels, STEPS) == labels


@pytest.mark.parametrize("numbering", ["turns_from_1", 1, ["steps_from_0"]])
def test_an_unknown_numbering_is_an_error_that_lists_the_known(numbering):
    with pytest.raises(InputError, match=r"^labels\.step_numbering: unknown; it is one of messages_from_0"):
        renumbered({"step_numbering": numbering}, STEPS)
