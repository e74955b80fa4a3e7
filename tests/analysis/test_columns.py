import json

import pytest

from analysis.columns import flagged
from analysis.frame import load_frame


@pytest.fixture
def frame_also(write_log):
    def load(rows, *also):
        return load_frame([write_log(rows)], also=also)

    return load


def test_the_parts_of_rewards_become_columns_with_gaps_where_a_row_has_none(frame_also):
    rows = [
        {"parts": {"process": 0.5}},
        {"parts": None},
        {"parts": {"outcome": 1, "process": "0.25"}},
        {"parts": ["process"]},
        {"parts": {"process": "much", "outcome": float("inf")}},
    ]
    frame = frame_also(rows, "parts")
    known = {name: frame[name].dropna().to_dict() for name in ("parts.process", "parts.outcome")}
    assert known == {"parts.process": {0: 0.5, 2: 0.25}, "parts.outcome": {2: 1.0}}


def test_a_new_part_in_every_row_makes_no_table_of_as_many_columns(frame_also):
    frame = frame_also([{"parts": {f"p{number}": 1.0}} for number in range(100)], "parts")
    assert sum(name.startswith("parts.") for name in frame) == 32


def test_flags_are_told_apart_by_their_whole_name(frame_also):
    held = [["coerced", "a b"], ["not_coerced"], [], None, "coerced", [{"odd": 1}, "x"]]
    frame = frame_also([{"flags": flags} for flags in held], "flags")
    assert flagged(frame, "coerced").tolist() == [True, False, False, False, True, False]
    assert flagged(frame, "x", "a b").tolist() == [True, False, False, False, False, True]


def test_no_rows_bear_no_flags(frame_also):
    assert flagged(frame_also([], "flags"), "coerced").tolist() == []


def test_counts_and_truths_are_numbers(frame_also):
    row = {"omitted": {"steps": 5, "chars": 0}, "frame_count": "10", "attempts": 2, "cached": True}
    frame = frame_also([row, {"omitted": 3}], "omitted_steps", "frame_count", "attempts", "cached")
    names = ["omitted_steps", "frame_count", "attempts", "cached"]
    assert json.loads(frame[names].to_json(orient="values")) == [[5, 10, 2, 1], [None] * 4]
