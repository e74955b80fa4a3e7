import random
from itertools import count

import pandas as pd
import pytest

from analysis.compare import FIGURES, PAIRED, breakdown, choose_pair, pair, records, summarise
from judge.errors import InputError


def figures(frame):
    (only,) = records(
        summarise(frame), [*FIGURES, "rows", "rewarded", "score_mean", "outcome_unknown", "commonest_error"]
    )
    return only


def generated(row, size=400):
    """Rows under two versions with failures, skips, unknown outcomes, missing figures and reruns."""
    chance = random.Random(7)
    rows = []
    for number in range(size):
        kind = chance.choice([None] * 6 + ["timeout", "unusable_input"])
        fields = {
            "trajectory_id": f"t{chance.randrange(150)}",
            "rubric_version": chance.choice(["static_v1", "adapt_v1"]),
            "category": chance.choice(["email", "shop", None]),
            "outcome": chance.choice([0.0, 0.5, 1.0, None]),
            "outcome_status": chance.choice(["ok", "ok", "ok", "error"]),
            "reward": chance.random(),
            "success": chance.random() < 0.5,
            "latency_ms": float(number),
            "cost": chance.choice([None, 0.25]),
        }
        rows.append(row(**{**fields, **({"error": kind, "reward": None, "success": None} if kind else {})}))
    return rows


def settled(row):
    return row["error"] is None or row["error"]["kind"] == "unusable_input"


def test_figures_agree_with_a_recount_in_plain_python(frame_of, row):
    rows, counted = generated(row), {}
    for one in rows:
        key = one["trajectory_id"], one["rubric_version"]
        if key not in counted or settled(one) or not settled(counted[key]):
            counted[key] = one
    for table_row in summarise(frame_of(rows)).to_dict("records"):
        mine = [one for (_, version), one in counted.items() if version == table_row["rubric_version"]]
        judged = [one for one in mine if one["error"] is None]
        known = [one for one in judged if one["outcome"] is not None and one["outcome_status"] == "ok"]
        cells = [(one["success"], one["outcome"] == 1) for one in known]
        tp, fp, fn, tn = (
            cells.count(cell) for cell in ((True, True), (True, False), (False, True), (False, False))
        )
        priced = [one for one in mine if not one["error"] or one["error"]["kind"] == "timeout"]
        expected = {
            "n": len(judged),
            "failed": sum(not settled(one) for one in mine),
            "skipped": sum(settled(one) for one in mine) - len(judged),
            "reward_mean": sum(one["reward"] for one in judged) / len(judged),
            "success_rate": sum(one["success"] for one in judged) / len(judged),
            **{"tp": tp, "fp": fp, "fn": fn, "tn": tn},
            **{"precision": tp / (tp + fp), "recall": tp / (tp + fn), "f1": 2 * tp / (2 * tp + fp + fn)},
            "fpr": fp / (fp + tn),
            "accuracy": (tp + tn) / len(known),
            "base_rate": (tp + fn) / len(known),
            "latency_ms_mean": sum(one["latency_ms"] for one in priced) / len(priced),
            "cost": sum(one["cost"] or 0 for one in priced),
            "outcome_unknown": len(judged) - len(known),
        }
        assert {name: table_row[name] for name in expected} == pytest.approx(expected)


def test_pairs_agree_with_a_recount_in_plain_python(frame_of, row):
    rows, right = generated(row), {"static_v1": {}, "adapt_v1": {}}
    for one in sorted(rows, key=settled):
        known = one["error"] is None and one["outcome"] is not None and one["outcome_status"] == "ok"
        verdict = one["success"] == (one["outcome"] == 1) if known else None
        right[one["rubric_version"]][one["trajectory_id"]] = verdict
    both = [(right["static_v1"][run], right["adapt_v1"].get(run)) for run in right["static_v1"]]
    cells = [(True, True), (True, False), (False, True), (False, False)]
    expected = [
        "static_v1",
        "adapt_v1",
        sum(None not in two for two in both),
        *(both.count(cell) for cell in cells),
    ]
    assert records(pair(frame_of(rows), "static_v1", "adapt_v1"), PAIRED) == [
        dict(zip(PAIRED, expected, strict=True))
    ]


def test_every_row_is_in_one_group(frame_of):
    rows = [
        {"task_id": "a", "category": "email", "reward": 1.0, "success": True},
        {"task_id": "b", "category": None, "reward": 0.0, "success": False},
        {"task_id": "c", "reward": 0.0, "success": False},
    ]
    frame = frame_of(rows)
    table = breakdown(frame, "category")
    assert table[["category", "n", "reward_mean"]].to_numpy().tolist() == [
        ["email", 1, 1.0],
        ["(none)", 2, 0.0],
    ]
    assert table["n"].sum() == figures(frame)["n"] == 3
    assert figures(frame)["reward_mean"] == pytest.approx(0.3333, abs=5e-5)


def test_failures_and_mixed_types_stay_out_of_the_means(frame_of):
    rows = [
        {"task_id": "a", "success": True, "score": 1.0, "reward": 1.0, "error": None},
        {"task_id": "b", "success": None, "score": None, "reward": None, "error": {"kind": "timeout"}},
        {"task_id": "c", "success": False, "score": 0.0, "reward": 0.0, "error": None},
        {"task_id": "d", "success": "false", "score": "0.5", "reward": "0.5", "error": None},
    ]
    found = figures(frame_of(rows))
    assert (found["rows"], found["n"], found["failed"]) == (4, 3, 1)
    assert found["score_mean"] == found["reward_mean"] == 0.5
    assert found["success_rate"] == pytest.approx(0.3333, abs=5e-5)


def test_a_failed_row_is_no_reward_of_zero(frame_of, row):
    found = figures(frame_of([row(), row(trajectory_id="t1", error="timeout", reward=0.0)]))
    assert (found["reward_mean"], found["rewarded"]) == (1.0, 1)


def test_a_log_of_failures_has_no_figures(frame_of, row):
    rows = [row(trajectory_id="a", error="timeout"), row(trajectory_id="b", error="unusable_input")]
    found = figures(frame_of(rows))
    assert (found["n"], found["failed"], found["skipped"]) == (0, 1, 1)
    undefined = ["reward_mean", "success_rate", "precision", "recall", "f1", "fpr", "accuracy", "base_rate"]
    assert {found[name] for name in undefined} == {None}


def test_an_empty_log_has_no_versions(frame_of):
    frame = frame_of([])
    assert summarise(frame).empty
    assert breakdown(frame, "category").empty
    assert choose_pair(frame) is None


def test_an_unknown_outcome_is_neither_right_nor_wrong(frame_of, row):
    rows = [row(trajectory_id="a", outcome_status="error"), row(trajectory_id="b", outcome=None), row()]
    found = figures(frame_of(rows))
    assert (found["n"], found["tp"], found["outcome_unknown"], found["accuracy"]) == (3, 1, 2, 1.0)


def test_only_an_outcome_of_one_is_a_success(frame_of, row):
    found = figures(frame_of([row(trajectory_id=str(value), outcome=value) for value in (1, 0.99, 0)]))
    assert (found["tp"], found["fp"]) == (1, 2)


def test_each_rate_is_undefined_where_it_divides_by_nothing(frame_of, row):
    found = figures(frame_of([row(success=False, outcome=0)]))
    assert (found["precision"], found["recall"], found["f1"], found["base_rate"]) == (None, None, None, 0.0)
    found = figures(frame_of([row(success=False, outcome=1)]))
    assert (found["precision"], found["recall"], found["f1"], found["fpr"]) == (None, 0.0, 0.0, None)


def test_money_spent_on_failures_counts_and_skipped_rows_do_not(frame_of, row):
    rows = [row(), row(trajectory_id="a", error="timeout", latency_ms=300.0, usage=None, cost=0.25)]
    found = figures(
        frame_of([*rows, row(trajectory_id="b", error="unusable_input", latency_ms=0.0, cost=0.0)])
    )
    assert (found["latency_ms_mean"], found["tokens_mean"], found["cost"]) == (200.0, 50.0, 0.75)
    assert figures(frame_of([row(cost=None)]))["cost"] is None


def test_a_row_with_neither_verdict_nor_error_is_only_a_row(frame_of, row):
    found = figures(frame_of([row(success=None)]))
    assert (found["rows"], found["n"], found["failed"], found["skipped"]) == (1, 0, 0, 0)


def test_versions_stand_in_order_of_appearance_per_judge(frame_of, row):
    names = [("z", "m2"), ("a", "m1"), ("z", "m1"), ("z", "m2")]
    rows = [
        row(rubric_version=version, judge_model=model, repeat=n) for n, (version, model) in enumerate(names)
    ]
    table = summarise(frame_of(rows))
    assert table[["rubric_version", "judge_model", "n"]].to_numpy().tolist() == [
        ["z", "m2", 2],
        ["z", "m1", 1],
        ["a", "m1", 1],
    ]


def test_the_commonest_error_leaves_skipped_rows_aside(frame_of, row):
    number = count()
    kinds = ["unusable_input"] * 3 + ["parse_error", "timeout", "timeout"]
    rows = [row(trajectory_id=f"t{next(number)}", error=kind) for kind in kinds]
    assert figures(frame_of(rows))["commonest_error"] == "timeout"
    assert figures(frame_of([row()]))["commonest_error"] is None


def test_groups_that_are_numbers_rise(frame_of, row):
    rows = [row(trajectory_id=str(step), step=step) for step in (10, None, 9, "nan", "warm-up", 100)]
    assert breakdown(frame_of(rows, by="step"), "step")["step"].to_list() == [
        "9",
        "10",
        "100",
        "nan",
        "warm-up",
        "(none)",
    ]


def test_a_group_may_be_a_key_or_a_number_of_the_frame(frame_of, row):
    frame = frame_of([row(), row(trajectory_id="a", success=False)])
    assert breakdown(frame, "rubric_version")["n"].to_list() == [2]
    assert breakdown(frame, "success")["success"].to_list() == [0.0, 1.0]


@pytest.mark.parametrize("name", ["cost", "n", "rows"])
def test_a_group_named_like_a_figure_is_refused(frame_of, row, name):
    with pytest.raises(InputError, match=f"cannot group by '{name}'"):
        breakdown(frame_of([row()], by=name), name)


@pytest.mark.parametrize(
    ("there", "named", "chosen"),
    [
        (["b", "a"], (None, None), ("b", "a")),
        (["b", "a"], ("a", None), ("a", "b")),
        (["b", "a"], (None, "b"), ("a", "b")),
        (["b", "a", "c"], ("c", "b"), ("c", "b")),
        (["b", "a", "c"], (None, None), None),
        (["b"], (None, None), None),
        (["b"], ("b", None), None),
    ],
)
def test_the_pair_is_the_named_one_or_the_only_one(frame_of, row, there, named, chosen):
    assert choose_pair(frame_of([row(rubric_version=version) for version in there]), *named) == chosen


def test_the_baseline_is_the_version_seen_first_even_if_judged_again_later(frame_of, row):
    rows = [row(rubric_version="b", error="timeout"), row(rubric_version="a"), row(rubric_version="b")]
    assert choose_pair(frame_of(rows)) == ("b", "a")


@pytest.mark.parametrize(
    ("named", "why"),
    [
        (("x", "a"), "unknown rubric version 'x': there are b, a, c"),
        (("b", None), "name both"),
        (("a", "a"), "both 'a'"),
    ],
)
def test_a_pair_that_cannot_be_is_refused_with_the_versions_there_are(frame_of, row, named, why):
    frame = frame_of([row(rubric_version=version) for version in "bac"])
    with pytest.raises(InputError, match=why):
        choose_pair(frame, *named)


def counts(frame, baseline="b", candidate="c"):
    return pair(frame, baseline, candidate).iloc[0].to_list()[2:]


def test_only_what_both_judged_with_a_known_outcome_is_paired(frame_of, row):
    rows = [
        row(rubric_version="b", trajectory_id="only-b"),
        *(row(rubric_version=version, trajectory_id="failed-once") for version in "b"),
        row(rubric_version="c", trajectory_id="failed-once", error="timeout"),
        *(row(rubric_version=version, trajectory_id="unknown", outcome=None) for version in "bc"),
        *(row(rubric_version=version, trajectory_id=None) for version in "bc"),
        *(row(rubric_version=version, success=version == "c") for version in "bc"),
    ]
    assert counts(frame_of(rows)) == [1, 0, 0, 1, 0]


def test_repeats_are_paired_with_their_own(frame_of, row):
    rows = [row(rubric_version=version, repeat=number) for version in "bc" for number in (0, 1)]
    rows.append(row(rubric_version="b", repeat=2))
    assert counts(frame_of(rows)) == [2, 2, 0, 0, 0]


def test_a_judge_is_paired_with_itself_where_it_judged_under_both(frame_of, row):
    rows = [row(rubric_version=version, judge_model=model) for version in "bc" for model in ("m1", "m2")]
    assert counts(frame_of(rows))[0] == 2
    rows = [row(rubric_version=version, judge_model=f"model of {version}") for version in "bc"]
    assert counts(frame_of(rows))[0] == 1


def test_records_hold_plain_values_only():
    table = pd.DataFrame({"n": [1, 2], "mean": [0.5, None], "name": ["a", None]})
    assert records(table, ["name", "n", "mean"]) == [
        {"name": "a", "n": 1, "mean": 0.5},
        {"name": None, "n": 2, "mean": None},
    ]
    assert [type(value) for value in records(table, ["n", "mean"])[0].values()] == [int, float]


def test_a_group_named_like_a_step_of_the_reckoning_is_itself(frame_of, row):
    rows = [row(right="x"), row(trajectory_id="a", right="y"), row(trajectory_id="b")]
    assert breakdown(frame_of(rows, by="right"), "right")["right"].to_list() == ["x", "y", "(none)"]
