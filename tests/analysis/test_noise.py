import random
from itertools import combinations, pairwise
from statistics import mean, stdev

import numpy as np
import pytest

from analysis.frame import load_frame
from analysis.noise import NOISE_COLUMNS, judged_runs, noise_figures, notes, settled_rate
from tests.bench.bench_reading import JUDGES, readings


@pytest.fixture
def runs_of(write_log):
    def load(rows):
        frame = load_frame([write_log(rows)], also=NOISE_COLUMNS)
        return frame, judged_runs(frame)

    return load


@pytest.fixture
def repeated(row):
    """Rows of one run, a verdict for each of `said`."""

    def build(said, run="t0", **fields):
        return [
            row(trajectory_id=run, repeat=at, success=one, score=float(one), **fields)
            for at, one in enumerate(said)
        ]

    return build


def figures(runs):
    (only,) = noise_figures(runs).to_dict("records")
    return only


def test_an_outcome_that_only_a_later_repeat_knows_counts(runs_of, repeated):
    rows = [*repeated([False, True, True]), *repeated([True, True], run="t1")]
    rows[0]["outcome"] = None
    rows[4]["outcome_status"] = "crashed"
    _, runs = runs_of(rows)
    assert runs["outcome"].to_list() == [1.0, 1.0]


def test_figures_agree_with_a_recount_in_plain_python(runs_of, row):
    chance, rows, said = random.Random(5), [], {}
    for number in range(120):
        outcome = chance.choice([0.0, 0.5, 1.0, None])
        for repeat in range(chance.choice([1, 2, 3, 5])):
            success, score = chance.random() < 0.6, chance.random()
            failed = chance.random() < 0.1
            fields = {"trajectory_id": f"00{number}", "task_id": f"18_{number % 30}", "repeat": repeat}
            verdict = {"error": "timeout"} if failed else {"success": success, "score": score}
            rows.append(row(outcome=outcome, **fields, **verdict))
            if not failed:
                said.setdefault((number, outcome), []).append((success, score))
    several = [each for each in said.values() if len(each) > 1]
    pairs = [[a[0] != b[0] for a, b in combinations(each, 2)] for each in several]
    wrong = {
        name: [mean(one != right for one, _ in each) for (_, outcome), each in said.items() if outcome in of]
        for name, right, of in (("fnr", True, {1.0}), ("fpr", False, {0.0, 0.5}))
    }
    expected = {
        "runs": len(said),
        "repeated": len(several),
        "flip_rate": mean(len({one for one, _ in each}) > 1 for each in several),
        "disagreement": mean(map(mean, pairs)),
        "score_sd": mean(stdev(score for _, score in each) for each in several),
        "successes": len(wrong["fnr"]),
        "failures": len(wrong["fpr"]),
        **{name: mean(each) for name, each in wrong.items()},
    }
    found = figures(runs_of(rows)[1])
    assert {name: found[name] for name in expected} == pytest.approx(expected)
    assert found["disagreement_low"] < found["disagreement"] < found["disagreement_high"]


def test_flip_rate_grows_with_the_repeats_and_disagreement_does_not(runs_of, repeated):
    chance, found = random.Random(1), []
    for repeats in (2, 4, 8):
        rows = [
            row
            for number in range(300)
            for row in repeated([chance.random() < 0.8 for _ in range(repeats)], f"t{number}")
        ]
        found.append(figures(runs_of(rows)[1]))
    assert all(less["flip_rate"] + 0.1 < more["flip_rate"] for less, more in pairwise(found))
    assert [each["disagreement"] for each in found] == pytest.approx([0.32] * 3, abs=0.06)


@pytest.mark.parametrize("conviction", [0.0, 0.1, 0.4, 1.0])
@pytest.mark.parametrize("noise", [0.0, 0.05, 0.3])
def test_noise_is_taken_out_of_a_rate_as_it_was_put_in(conviction, noise):
    wrong = conviction * (1 - noise) + (1 - conviction) * noise
    found = settled_rate(np.array(wrong), np.array(2 * noise * (1 - noise)))
    assert float(found) == pytest.approx(conviction)


def test_verdicts_by_the_toss_of_a_coin_have_no_settled_rate():
    assert np.isnan(settled_rate(np.array(0.5), np.array(0.5)))


def test_failed_and_skipped_rows_are_no_verdicts(runs_of, row):
    rows = [row(), row(repeat=1, error="timeout"), row(trajectory_id="t1", error="unusable_input")]
    found = figures(runs_of(rows)[1])
    assert (found["runs"], found["repeated"], found["fnr"]) == (1, 0, 0.0)
    assert np.isnan(found["flip_rate"])


def test_a_run_that_two_judges_saw_is_no_repeat(runs_of, row):
    table = noise_figures(runs_of([row(), row(rubric_version="adapt_v1"), row(judge_model="b")])[1])
    assert table["runs"].to_list() == [1, 1, 1]
    assert table["repeated"].to_list() == [0, 0, 0]


def test_a_run_belongs_to_the_category_of_its_first_verdict(runs_of, repeated):
    rows = repeated([True, False], "a", category="shop") + repeated([True, True], "b", category=None)
    rows[1]["category"] = "email"
    table = noise_figures(runs_of(rows)[1], by_category=True)
    assert dict(zip(table["category"], table["flip_rate"], strict=True)) == {"shop": 1.0, "(none)": 0.0}


@pytest.mark.parametrize("rows", [[], [{"error": "timeout"}], [{"trajectory_id": None, "success": True}]])
def test_nothing_to_count_gives_empty_tables(runs_of, rows):
    frame, runs = runs_of(rows)
    assert noise_figures(runs).empty
    assert noise_figures(runs, by_category=True).empty
    assert notes(frame, runs) == []


def test_what_the_repeats_cannot_tell_is_noted(runs_of, repeated):
    alike = repeated([True, True], cached=False)
    assert [note[:24] for note in notes(*runs_of(alike))] == ["The repeats are identica"]
    cached = repeated([True, False], cached=True)
    assert [note[:24] for note in notes(*runs_of(cached))] == ["Every repeated verdict c"]
    assert "--repeat 3" in notes(*runs_of(alike[:1]))[0]
    assert notes(*runs_of([*alike, *repeated([True, False], "t1")])) == []


def test_a_coin_is_not_called_lenient_because_one_run_was_repeated(runs_of, repeated):
    tossed = [
        row
        for number in range(60)
        for row in repeated([number % 2 == 0], f"t{number}", task_id=f"t{number}", outcome=0.0)
    ]
    agreeing = repeated([True, True], "again", task_id="again", outcome=0.0)
    found = figures(runs_of([*tossed, *agreeing])[1])
    assert found["reading"] == "not enough data"
    assert "settled FPR 0.51 on 1 tasks, of 10 needed" in found["advice"]


@pytest.mark.parametrize("cause", [name for name in JUDGES if name != "at the level"])
@pytest.mark.parametrize("kind", ["flips", "bar"])
def test_the_reading_names_the_cause_of_synthetic_judges(cause, kind):
    found = list(readings(JUDGES[cause][kind], tasks=60, repeats=3, logs=5))
    assert found.count(cause) >= 4
