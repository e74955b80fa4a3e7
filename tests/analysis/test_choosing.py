"""The choice of tasks: what leaves one out, and that repeats are looked for among those left."""

import pandas as pd
import pytest

from analysis.choosing import choose, instructions_of
from analysis.duplicates import Instruction
from analysis.frame import load_frame
from analysis.tasks import TASK_COLUMNS

TEXTS = {"a": "Open the cart", "b": "open the CART", "c": "Pay bill 7", "d": "Pay bill 8", "e": "Go home"}
INSTRUCTIONS = {name: Instruction(name, text) for name, text in TEXTS.items()}


def table(*tasks):
    return pd.DataFrame({"task_id": pd.Categorical(tasks), "rubric_version": "v"})


def missing(tasks, **lost):
    return pd.DataFrame(
        {name: [task in whom for task in tasks] for name, whom in lost.items()}, index=range(len(tasks))
    )


@pytest.mark.parametrize(
    ("drop", "kept"), [(None, "abcde"), ("exact", "acde"), ("template", "ace"), ("near", "ace")]
)
def test_repeats_are_dropped_as_close_as_asked_for(drop, kept):
    chosen = choose(table(*"abcde"), missing("abcde"), INSTRUCTIONS, drop=drop)
    assert chosen.kept == list(kept)
    assert chosen.duplicates["task_id"].to_list() == ["b", "d"]
    assert chosen.left_out == ({} if drop is None else {"drop_duplicates": 5 - len(kept)})


def test_a_task_that_a_filter_left_out_takes_no_repeat_with_it():
    chosen = choose(table(*"abcde"), missing("abcde", max_steps="a"), INSTRUCTIONS, drop="exact")
    assert chosen.kept == ["b", "c", "d", "e"]
    assert chosen.duplicates["task_id"].to_list() == ["d"]
    assert chosen.left_out == {"max_steps": 1, "drop_duplicates": 0}


def test_tasks_of_an_evaluation_are_left_out_with_those_like_them():
    chosen = choose(table(*"abcde"), missing("abcde"), INSTRUCTIONS, [Instruction("x", "Pay bill 99")])
    assert chosen.kept == ["a", "b", "e"]
    assert chosen.leaks["evaluation_task"].to_list() == ["x", "x"]
    assert chosen.left_out == {"exclude": 2}


def test_every_reason_is_said_and_counted():
    lost = missing("abcde", min_steps="cd", alive="ce")
    chosen = choose(table(*"abcde"), lost, INSTRUCTIONS, [Instruction("x", "Go home")])
    assert chosen.table["left_out"].to_list() == ["", "", "min_steps, alive", "min_steps", "alive, exclude"]
    assert chosen.table["kept"].to_list() == [True, True, False, False, False]
    assert chosen.left_out == {"min_steps": 2, "alive": 2, "exclude": 1}


def test_a_task_is_kept_where_every_version_keeps_it():
    lost = pd.DataFrame({"alive": [False, False, True, False]})
    chosen = choose(table("a", "c", "a", "c"), lost, INSTRUCTIONS)
    assert chosen.kept == ["c"]
    assert chosen.table["kept"].to_list() == [False, True, False, True]


def test_no_tasks_are_no_choice():
    chosen = choose(table(), missing(""), {})
    assert (chosen.kept, chosen.left_out, len(chosen.table)) == ([], {}, 0)


def test_instructions_are_the_stored_texts_and_the_first_hash_of_the_log(write_log, row):
    rows = [
        row(task_id="a", instruction_hash=None),
        row(task_id="a", instruction_hash="h1", trajectory_id="t1"),
        row(task_id="a", instruction_hash="h2", trajectory_id="t2"),
        row(task_id="b", trajectory_id="t3"),
        row(task_id=None, instruction_hash="h4", trajectory_id="t4"),
    ]
    frame = load_frame([write_log(rows)], also=TASK_COLUMNS)
    assert instructions_of(frame, {"b": "Go", "z": "No"}) == {
        "a": Instruction("a", None, "h1"),
        "b": Instruction("b", "Go", None),
    }
