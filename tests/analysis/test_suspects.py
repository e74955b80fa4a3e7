import math

import pytest

from analysis import suspects
from analysis.frame import load_frame
from analysis.noise import NOISE_COLUMNS, judged_runs
from analysis.suspects import look_first
from judge.log import read_log


@pytest.fixture
def first_of(write_log):
    """What is to be looked at first in a log of these rows."""

    def load(rows):
        path = write_log(rows)
        frame = load_frame([path], also=NOISE_COLUMNS)
        return look_first(read_log(path), judged_runs(frame), frame)

    return load


@pytest.fixture
def failure(row):
    """A judged failure; `met` answers its items in order, a capital letter those of the fine rubric."""

    def build(run="t0", met="", quotes=0, **fields):
        answers = {"y": "yes", "n": "no", "u": "unclear"}
        ids = [f"{'fine' if each.isupper() else 'item'}_{at}" for at, each in enumerate(met)]
        criteria = [{"id": item, "met": answers[each.lower()]} for item, each in zip(ids, met, strict=True)]
        fine = [{"id": item, "text": "x", "quote": "x"} for item in ids if item.startswith("fine")]
        evidence = [{"step": at, "quote": "seen"} for at in range(quotes)]
        shown = {"criteria": criteria, "fine_rubrics": fine, "evidence": evidence, "reason": "why"}
        return row(trajectory_id=run, success=False, score=0.2, reward=0.2, **{**shown, **fields})

    return build


@pytest.mark.parametrize(
    ("met", "quotes", "why"),
    [
        ("yyy", 0, "strict_suspect"),
        ("yyyN", 0, "hint_as_gate"),
        ("yyyU", 0, "hint_as_gate"),
        ("yuy", 0, "no_item_failed"),
        ("uu", 0, "no_item_failed"),
        ("yyyn", 1, "most_met"),
        ("yyyn", 0, None),
        ("yyn", 3, None),
        ("nnnN", 3, None),
        ("", 3, None),
    ],
)
def test_why_a_failure_is_suspect(first_of, failure, met, quotes, why):
    found = first_of([failure(met=met, quotes=quotes)]).rows["why"].to_list()
    assert found == ([why] if why else [])


def test_the_flag_of_the_reader_is_enough(first_of, failure):
    (found,) = first_of([failure(flags=["coerced", "strict_suspect"])]).rows.to_dict("records")
    assert (found["why"], found["met"], found["items"]) == ("strict_suspect", 0, 0)


def test_quotes_that_name_no_step_are_no_strong_evidence(first_of, failure):
    weak = [{"step": None, "quote": "seen"}, {"step": 1, "quote": ""}, "seen", None]
    assert first_of([failure(met="yyyn", evidence=weak)]).rows.empty


def test_successes_failed_judgements_and_nameless_rows_are_not_looked_at(first_of, row, failure):
    rows = [
        row(criteria=[{"id": "a", "met": "yes"}]),
        row(trajectory_id="t1", error="timeout", flags=["strict_suspect"]),
        {**failure(met="yy"), "trajectory_id": None},
    ]
    found = first_of(rows)
    assert found.rows.empty
    assert found.failures == 0


def test_the_strongest_sign_comes_first_then_what_the_verifier_passed(first_of, failure):
    rows = [
        failure("few", "yyyn", 1),
        failure("gate", "yyN", outcome=1.0),
        failure("wrong", "yy", outcome=0.0),
        failure("right", "yy", outcome=1.0),
        failure("more", "yyyyyyyn", 1),
        failure("quoted", "yyyyyyyn", 2),
        failure("unknown", "yy", outcome=1.0, outcome_status="error"),
    ]
    order = first_of(rows).rows["trajectory_id"].to_list()
    assert order == ["right", "wrong", "unknown", "gate", "quoted", "more", "few"]


def test_a_row_that_a_later_judgement_stands_for_is_left_out(first_of, failure, row):
    again = [failure("a", "yy"), row(trajectory_id="a"), failure("b", "yy"), failure("b", "yn")]
    assert first_of(again).rows.empty
    assert len(first_of([failure("a", "yn"), failure("a", "yy")]).rows) == 1


def test_the_verdicts_of_the_other_repeats_stand_beside_it(first_of, failure, row):
    rows = [failure("007", "yy"), row(trajectory_id="007", repeat=1), row(trajectory_id="007", repeat=2)]
    (found,) = first_of(rows).rows.to_dict("records")
    assert (found["trajectory_id"], found["repeat"]) == ("007", "0")
    assert found["success_share"] == pytest.approx(2 / 3)


def test_odd_names_and_long_reasons_do_no_harm(first_of, failure):
    odd = failure(run=["a", 1], met="yy", category={"x": 1}, reason="one\n two " + "long " * 100)
    (found,) = first_of([odd]).rows.to_dict("records")
    assert (found["trajectory_id"], found["category"]) == ('["a", 1]', '{"x": 1}')
    assert found["reason"].startswith("one two long")
    assert len(found["reason"]) == 160


def test_an_outcome_that_is_no_number_is_unknown(first_of, failure):
    (found,) = first_of([failure(run="a", met="yy", outcome="1e400")]).rows.to_dict("records")
    assert math.isnan(found["outcome"])


def test_no_more_rows_than_a_reader_could_want(first_of, failure):
    rows = [failure(f"t{number}", "yy") for number in range(250)]
    found = first_of(rows)
    assert (len(found.rows), found.failures, found.is_all) == (200, 250, True)


def test_a_long_log_is_not_read_to_its_end(failure):
    many = (failure(f"t{number}") for number in range(suspects._MOST_EXAMINED + 1))
    frame = load_frame([], also=NOISE_COLUMNS)
    found = look_first(many, judged_runs(frame), frame)
    assert (found.failures, found.is_all) == (suspects._MOST_EXAMINED, False)


def test_of_the_repeats_of_one_run_the_foremost_stands_for_all(first_of, failure):
    rows = [
        failure("t0", "yyyn", 1, repeat=0),
        failure("t0", "yyy", repeat=1),
        failure("t1", "yuy", repeat=0),
    ]
    found = first_of(rows).rows
    assert list(zip(found["trajectory_id"], found["repeat"], found["why"], strict=True)) == [
        ("t0", "1", "strict_suspect"),
        ("t1", "0", "no_item_failed"),
    ]
