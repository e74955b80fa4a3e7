import json
import math

import pytest

from analysis.frame import FINE, FINE_COLUMNS, load_frame


def test_ids_stay_the_text_they_were(frame_of):
    # Guessing types turns these into 1819, 121314, 1819 and 7, 10, 7.
    ids = [("18_19", "007"), ("12_13_14", "010"), ("1819", "7")]
    frame = frame_of([{"task_id": task, "sample": sample} for task, sample in ids], by="sample")
    assert frame["task_id"].to_list() == ["18_19", "12_13_14", "1819"]
    assert frame["sample"].to_list() == ["007", "010", "7"]
    assert len(frame.groupby("task_id", observed=True)) == 3


@pytest.mark.parametrize("given", ["2026-11-29", "1e5", str(2**63 + 1), "NaN", "null", "", "任务"])
def test_an_id_that_looks_like_something_else_is_text(frame_of, given):
    assert frame_of([{"task_id": given}])["task_id"].to_list() == [given]


def test_an_integer_id_is_its_digits(frame_of):
    assert frame_of([{"task_id": 2**63 + 1}])["task_id"].to_list() == [str(2**63 + 1)]


def test_a_lone_surrogate_in_a_name_can_be_printed(frame_of):
    (category,) = frame_of([{"category": "a\ud800b"}])["category"]
    assert category.encode() == "a\N{REPLACEMENT CHARACTER}b".encode()


@pytest.mark.parametrize(
    ("given", "success"),
    [(True, 1.0), (False, 0.0), ("false", 0.0), (" TRUE ", 1.0), (1, 1.0), (0.0, 0.0), ("no", 0.0)],
)
def test_success_is_read_by_a_closed_list(frame_of, given, success):
    assert frame_of([{"success": given}])["success"].to_list() == [success]


@pytest.mark.parametrize("given", ["0.5", 0.5, "maybe", None, [], {}, float("nan"), 2, ""])
def test_success_of_another_spelling_is_missing(frame_of, given):
    assert frame_of([{"success": given}])["success"].isna().all()


@pytest.mark.parametrize(("given", "number"), [("0.5", 0.5), (1, 1.0), (True, 1.0), (" -2e-1 ", -0.2)])
def test_numbers_in_strings_are_numbers(frame_of, given, number):
    assert frame_of([{"reward": given}])["reward"].to_list() == [number]


@pytest.mark.parametrize(
    "given", ["high", "1/2", "inf", "nan", "1_0", math.inf, math.nan, 10**400, "9e999", 1e200, {}]
)
def test_what_is_no_finite_number_is_missing(frame_of, given):
    assert frame_of([{"reward": given}])["reward"].isna().all()


@pytest.mark.parametrize(
    ("error", "kind"),
    [({"kind": "timeout", "message": "x"}, "timeout"), ("timeout", "timeout"), ({"message": "x"}, "unknown")],
)
def test_an_error_is_known_by_its_kind(frame_of, error, kind):
    assert frame_of([{"error": error}])["error_kind"].to_list() == [kind]


@pytest.mark.parametrize("error", [None, "", {}, False])
def test_an_empty_error_is_none(frame_of, error):
    assert frame_of([{"error": error}])["error_kind"].isna().all()


def test_missing_columns_take_their_defaults(frame_of):
    (only,) = frame_of([{}]).to_dict("records")
    assert (only["rubric_version"], only["judge_model"], only["repeat"]) == ("(none)", "(none)", "0")
    assert only["outcome_status"] == "ok"


def test_the_last_settled_row_of_a_judgement_counts(frame_of, row):
    rows = [row(reward=0.1), row(reward=0.2), row(error="timeout"), row(trajectory_id="t1", reward=0.3)]
    frame = frame_of(rows)
    assert frame["reward"].to_list() == [0.2, 0.3]
    assert frame.attrs["superseded"] == 2


def test_without_a_settled_row_the_last_failure_counts(frame_of, row):
    frame = frame_of([row(error="timeout"), row(error="parse_error")])
    assert frame["error_kind"].to_list() == ["parse_error"]


def test_an_unusable_input_is_settled(frame_of, row):
    frame = frame_of([row(error="unusable_input"), row(error="timeout")])
    assert frame["error_kind"].to_list() == ["unusable_input"]


@pytest.mark.parametrize("field", ["trajectory_id", "rubric_version", "judge_model", "repeat"])
def test_rows_that_differ_in_their_key_are_different_judgements(frame_of, row, field):
    assert len(frame_of([row(), row(**{field: "another"})])) == 2


def test_rows_without_a_trajectory_id_are_never_folded(frame_of, row):
    assert len(frame_of([row(trajectory_id=None), row(trajectory_id=None)])) == 2


def test_a_torn_line_is_reported_and_passed_over(write_log, row):
    path = write_log([row()])
    path.write_bytes(b'{"trajectory_id": "t9", "rew\n' + path.read_bytes())
    bad = []
    assert len(load_frame([path], on_bad=bad.append)) == 1
    assert [line.startswith(f"{path}:1: ") for line in bad] == [True]


def test_several_logs_are_one_frame(write_log, row):
    paths = [write_log([row(trajectory_id=name)], f"{name}.jsonl") for name in ("b", "a")]
    assert load_frame(paths)["trajectory_id"].to_list() == ["b", "a"]


def test_more_rows_than_one_batch_are_all_read(frame_of, row):
    frame = frame_of([row(trajectory_id=f"t{number}", reward=number) for number in range(2_500)])
    assert frame["trajectory_id"].to_list() == [f"t{number}" for number in range(2_500)]
    assert frame["reward"].sum() == sum(range(2_500))


def test_odd_values_and_rows_change_nothing_in_the_rows_beside_them(frame_of, row):
    odd = ["0.25", 10**400, {}, True, 1e200, math.nan]
    rows = [row(trajectory_id=f"t{at}", reward=reward) for at, reward in enumerate([0.5, None, *odd, 2])]
    frame = frame_of([*rows, {"trajectory_id": "bare", "usage": [], "reward": 3}, row(trajectory_id="last")])
    known = frame["reward"].dropna().to_dict()
    assert known == {0: 0.5, 2: 0.25, 5: 1.0, 8: 2.0, 9: 3.0, 10: 1.0}
    assert frame["tokens"].dropna().to_list() == [50.0] * 10
    assert frame["trajectory_id"].to_list()[-2:] == ["bare", "last"]


def test_any_key_of_the_log_can_be_a_column(frame_of, row):
    frame = frame_of([row(step=3), row(trajectory_id="t1", step=[1, "x"])], by="step")
    assert frame["step"].to_list() == ["3", '[1, "x"]']
    assert frame_of([row(error="timeout")], by="error")["error"].str.contains("endpoint").all()


def test_fine_rubrics_are_columns_only_where_they_are_asked_for(frame_of, row):
    fine = [{"id": "fine_1", "text": "It is 5 €.", "quote": "5 €"}, {"id": "fine_2", "text": "Heed it."}]
    told = row(fine_rubrics=fine, fine_dropped=[{"item": "x", "why": "no_quote"}], instruction_hash="ab")
    frame = frame_of([told, row(trajectory_id="t1")], by=FINE)
    assert [json.loads(quotes) for quotes in frame["fine_quotes"]] == [["5 €", "(none)"], []]
    assert [json.loads(reasons) for reasons in frame["fine_dropped"]] == [["no_quote"], []]
    assert frame["instruction_hash"].to_list() == ["ab", "(none)"]
    assert not {*FINE_COLUMNS, "prompt_tokens", FINE} & set(frame_of([told]).columns)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"absent\.jsonl"):
        load_frame([tmp_path / "absent.jsonl"])
