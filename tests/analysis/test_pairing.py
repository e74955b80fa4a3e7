import numpy as np

from analysis.pairing import pair_rows, right_counts


def pairs(frame, of_one_model=False):
    sides = (np.flatnonzero(frame["rubric_version"] == version) for version in "bc")
    left, right = pair_rows(frame, *sides, of_one_model=of_one_model)
    return sorted(zip(left.tolist(), right.tolist(), strict=True))


def test_rows_of_one_run_and_repeat_meet(frame_of, row):
    rows = [
        row(rubric_version="b", trajectory_id="18_19"),
        row(rubric_version="b", trajectory_id="007"),
        row(rubric_version="b", trajectory_id="007", repeat=1),
        row(rubric_version="b", trajectory_id=None),
        row(rubric_version="c", trajectory_id="007", repeat=1),
        row(rubric_version="c", trajectory_id="7"),
        row(rubric_version="c", trajectory_id=1819),
        row(rubric_version="c", trajectory_id="007"),
        row(rubric_version="c", trajectory_id=None),
    ]
    assert pairs(frame_of(rows)) == [(1, 7), (2, 4)]


def test_models_keep_to_themselves_where_asked_and_else_the_last_row_is_taken(frame_of, row):
    judged = [("b", "m1"), ("b", "m2"), ("c", "m2"), ("c", "m1")]
    frame = frame_of([row(rubric_version=version, judge_model=model) for version, model in judged])
    assert pairs(frame, of_one_model=True) == [(0, 3), (1, 2)]
    assert pairs(frame) == [(1, 3)]


def test_nothing_meets_in_an_empty_log(frame_of):
    assert pairs(frame_of([])) == []


def test_the_counts_are_of_baseline_and_candidate_in_this_order():
    ours, theirs = (
        np.array([True, True, True, False, False, False, False]),
        np.array([True, True, False] + 4 * [False]),
    )
    theirs[3:6] = True
    assert list(right_counts(ours, theirs).values()) == [7, 2, 1, 3, 1]
