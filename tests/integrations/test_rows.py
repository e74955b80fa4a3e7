"""Rows of a data set as records, pictures in their places, and the mean that stands in for a failure."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest

from judge import Judge, Reward
from judge.integrations import recent
from judge.integrations.rows import figures, illustrated, plain, prompt_of, record
from judge.readers import trajectory_from
from tests.pipeline.judged import scripted

GUI: list[Any] = [
    {"role": "user", "content": "Open the archive"},
    {"role": "assistant", "content": "click(1)"},
    {"role": "tool", "content": "clicked"},
    {"role": "assistant", "content": "click(2)"},
    {"role": "tool", "content": [{"type": "image", "image": "own.png"}]},
    {"role": "assistant", "content": "done"},
]


def screenshots(messages: list[Any]) -> list[Any]:
    return [step.screenshot for step in trajectory_from({"messages": messages}, "messages").steps]


def test_arrays_and_mappings_become_pythons_own() -> None:
    row = {
        "messages": np.array([{"role": "user"}], dtype=object),
        "step": np.int64(3),
        "of": (1, np.float32(2.0)),
    }
    assert plain(row) == {"messages": [{"role": "user"}], "step": 3, "of": [1, 2.0]}
    assert type(plain(row)["step"]) is int


def test_only_named_fields_pass() -> None:
    row = {"instruction": "Go", "answer": "42", "solution": "42", "context": None, "outcome": 1, "index": 7}
    made = record(row, [], "I went.")
    assert made.pop("trajectory_id")
    assert made == {
        "instruction": "Go",
        "outcome": {"reward": 1},
        "messages": [{"role": "assistant", "content": "I went."}],
    }


def test_screens_go_with_the_answers_of_tools_in_order() -> None:
    assert screenshots(GUI) == [None, None, "own.png"]
    assert screenshots(illustrated(GUI, ["start.png"], ["after.png"])) == [
        "start.png",
        "after.png",
        "own.png",
    ]
    assert GUI[2] == {"role": "tool", "content": "clicked"}


def test_a_picture_of_its_own_may_be_a_url_and_a_placeholder_is_none() -> None:
    url = {"role": "tool", "content": [{"type": "image_url", "image_url": {"url": "own.png"}}]}
    bare = {"role": "tool", "content": [{"type": "image"}]}
    messages = [*GUI[:2], url, GUI[3], bare, GUI[5]]
    assert screenshots(illustrated(messages, None, ["after.png"])) == [None, "own.png", "after.png"]


def test_screens_without_a_place_were_seen_before_the_last_message() -> None:
    glued = [GUI[0], {"role": "assistant", "content": "click(1) clicked done"}]
    assert screenshots(illustrated(glued, ["start.png"], ["1.png", "2.png"])) == ["2.png"]
    assert screenshots(illustrated(glued, "start.png", None)) == ["start.png"]
    assert illustrated(glued, None, None) == glued


@pytest.mark.parametrize(
    ("one", "other", "are_one"),
    [
        ({"group": "g", "task_id": 1}, {"group": "g", "task_id": 2}, True),
        ({"task_id": 1}, {"task_id": 2}, False),
        ({"instruction": "Go"}, {"question": "Go"}, False),
        ({"messages": GUI}, {"messages": GUI[:2]}, True),
        ({"messages": GUI}, {"messages": [{"role": "user", "content": "Else"}, *GUI[1:]]}, False),
        ({"messages": "none"}, {"messages": [{"role": "user", "content": object()}]}, False),
    ],
)
def test_what_makes_rollouts_those_of_one_prompt(one: Any, other: Any, are_one: bool) -> None:
    assert (prompt_of(one) == prompt_of(other)) is are_one


def test_figures_of_a_failure_are_zeros_whatever_was_found_before_it() -> None:
    judge, _ = scripted()
    good = judge.score({"instruction": "Go", "steps": [{"action": "go()"}]})
    assert figures(good)["judge_met"] == 1.0
    failed = good.model_copy(update={"value": None, "error_kind": "incomplete_steps"})
    assert figures(failed) == {**dict.fromkeys(figures(good), 0.0), "judge_abstained": 1.0}


FAILED = Reward(value=None, error_kind="timeout", error="no verdict in time")


def given(judge: Judge, prompt: str, *values: float) -> None:
    for value in values:
        recent.settled(judge, prompt, Reward(value=value))


def test_a_mean_is_of_the_latest_rewards() -> None:
    judge, _ = scripted()
    given(judge, "p", *[1.0] * 100, *[0.0] * 32, *[1.0] * 32)
    assert recent.settled(judge, "p", FAILED) == 0.5
    given(judge, "q", *[0.25] * 5000)
    assert recent.settled(judge, "new", FAILED) == 0.25


def test_what_is_kept_is_bounded() -> None:
    judge, _ = scripted()
    given(judge, "first", 1.0)
    for number in range(5000):
        given(judge, str(number), 0.0)
    assert recent.settled(judge, "first", FAILED) == 0.0


def test_the_typical_reward_is_the_mean_of_the_latest_of_all_prompts() -> None:
    judge, _ = scripted()
    assert recent.typical(judge, [None]) == recent.NEUTRAL
    given(judge, "p", 1.0)
    assert recent.typical(judge, [0.0, None]) == 0.5
    assert recent.typical(judge, [0.25] * 5000) == 0.25


def test_a_failure_is_told_of_with_what_stands_in_for_it(caplog: pytest.LogCaptureFixture) -> None:
    judge, _ = scripted()
    with caplog.at_level(logging.WARNING, "judge.integrations"):
        assert recent.settled(judge, "p", FAILED, neutral=0.125) == 0.125
        given(judge, "p", 1.0)
        assert recent.settled(judge, "p", FAILED.model_copy(update={"error_kind": "refusal"})) == 1.0
    assert [record.getMessage() for record in caplog.records] == [
        "1 of the last 1 judgements failed (a neutral value instead): timeout: no verdict in time",
        "1 of the last 2 judgements failed (a mean instead): refusal: no verdict in time",
    ]
