import random

import pytest
from scipy import stats

from analysis.compare import pair, records
from analysis.frame import load_frame
from analysis.paired import COMPARED, compare_judges
from analysis.versions import choose_judges
from judge.errors import InputError


def compared(frame, by=None, **named):
    return records(
        compare_judges(frame, choose_judges(frame, **named), by), [*([by] if by else []), *COMPARED]
    )


def judged(row, version, verdicts, **fields):
    """Rows of one version: a verdict and an outcome each, a task for every two."""
    return [
        row(
            rubric_version=version,
            trajectory_id=f"t{number}",
            task_id=f"task{number // 2}",
            success=bool(said),
            outcome=was,
            reward=float(said),
            **fields,
        )
        for number, (said, was) in enumerate(verdicts)
    ]


def random_rows(row, versions="bc", size=200):
    chance = random.Random(5)
    outcomes = [chance.randrange(2) for _ in range(size)]
    accuracy = dict(zip("bcd", (0.7, 0.8, 0.9), strict=True))
    return [
        each
        for version in versions
        for each in judged(
            row, version, [(was if chance.random() < accuracy[version] else 1 - was, was) for was in outcomes]
        )
    ]


def test_figures_agree_with_a_recount_in_plain_python(frame_of, row):
    rows = random_rows(row)
    (found,) = compared(frame_of(rows))
    ours, theirs = rows[:200], rows[200:]

    def rate(side, outcome):
        of = [each for each in side if outcome is None or each["outcome"] == outcome]
        wanted = [each["success"] == (each["outcome"] == 1 if outcome is None else True) for each in of]
        return sum(wanted) / len(of)

    right = [[each["success"] == (each["outcome"] == 1) for each in side] for side in (ours, theirs)]
    both = list(zip(*right, strict=True))
    lost, gained = both.count((True, False)), both.count((False, True))
    tasks = [sum(b - a for a, b in both[start : start + 2]) for start in range(0, 200, 2)]
    by_task = stats.permutation_test(
        (tasks,), lambda x, axis: x.sum(axis), permutation_type="samples", n_resamples=20_000, rng=1
    )
    assert (found["n"], found["tasks"], found["reward_pairs"]) == (200, 100, 200)
    assert (found["only_baseline"], found["only_candidate"]) == (lost, gained)
    assert found["accuracy_diff"] == pytest.approx(rate(theirs, None) - rate(ours, None))
    assert found["recall_diff"] == pytest.approx(rate(theirs, 1) - rate(ours, 1))
    assert found["fpr_diff"] == pytest.approx(rate(theirs, 0) - rate(ours, 0))
    rewards = [sum(each["reward"] for each in side) / 200 for side in (theirs, ours)]
    assert found["reward_diff"] == pytest.approx(rewards[0] - rewards[1])
    assert found["p_mcnemar"] == pytest.approx(stats.binomtest(lost, lost + gained).pvalue)
    assert found["p_task"] == pytest.approx(by_task.pvalue, abs=0.01)
    for name in ("accuracy_diff", "recall_diff", "fpr_diff", "reward_diff"):
        assert found[f"{name}_low"] < found[name] < found[f"{name}_high"]


def test_the_counts_are_those_of_the_summary(frame_of, row):
    frame = frame_of(random_rows(row))
    (found,) = compared(frame)
    summary = records(
        pair(frame, "b", "c"), ["n", "both_right", "only_baseline", "only_candidate", "both_wrong"]
    )
    assert {name: found[name] for name in summary[0]} == summary[0]


def test_one_pair_a_task_makes_both_tests_the_same(frame_of, row):
    rows = [{**each, "task_id": each["trajectory_id"]} for each in random_rows(row)]
    (found,) = compared(frame_of(rows))
    assert found["p_task"] == pytest.approx(found["p_mcnemar"])


def test_the_test_by_task_takes_rollouts_that_agree_as_one(frame_of, row):
    right, wrong = [(1, 1)] * 40, [(0, 1)] * 40
    rows = [
        {**each, "task_id": str(number % 40 // 10)}
        for number, each in enumerate(judged(row, "b", wrong) + judged(row, "c", right))
    ]
    (found,) = compared(frame_of(rows))
    assert found["p_mcnemar"] < 1e-6
    assert (found["p_task"], found["verdict"]) == (pytest.approx(2 / 2**4), "no difference shown")


@pytest.mark.parametrize(("better", "verdict"), [("c", "better"), ("b", "worse")])
def test_a_difference_beyond_chance_is_named(frame_of, row, better, verdict):
    rows = [each for version in "bc" for each in judged(row, version, [(int(version == better), 1)] * 20)]
    (found,) = compared(frame_of(rows))
    assert (found["verdict"], found["p_task"]) == (verdict, pytest.approx(2 / 2**10))


def test_several_candidates_are_corrected_for_each_other(frame_of, row):
    one, other = compared(frame_of(random_rows(row, "bcd")))
    assert (one["candidate"], other["candidate"]) == ("c", "d")
    smaller, larger = sorted((one, other), key=lambda each: each["p_task"])
    assert smaller["p_holm"] == pytest.approx(2 * smaller["p_task"])
    assert larger["p_holm"] == pytest.approx(max(larger["p_task"], smaller["p_holm"]))


def test_what_meets_nothing_is_counted_and_not_compared(frame_of, row):
    rows = [
        *judged(row, "b", [(1, 1)] * 5),
        *judged(row, "c", [(0, 1)] * 3),
        row(rubric_version="c", trajectory_id="t4", error="timeout"),
        row(rubric_version="c", trajectory_id="elsewhere"),
    ]
    (found,) = compared(frame_of(rows))
    assert (found["n"], found["baseline_alone"], found["candidate_alone"]) == (3, 2, 1)


def test_pairs_of_unknown_or_different_outcome_are_counted(frame_of, row):
    rows = [*judged(row, "b", [(1, 1), (1, 1), (1, None)]), *judged(row, "c", [(1, 1), (1, 0), (1, 1)])]
    (found,) = compared(frame_of(rows))
    assert (found["n"], found["outcome_unknown"], found["outcome_differs"]) == (2, 1, 1)
    assert found["reward_pairs"] == 3


def test_a_version_that_always_failed_has_no_pairs_and_no_verdict(frame_of, row):
    rows = [*judged(row, "b", [(1, 1)] * 3), *(row(rubric_version="c", error="timeout") for _ in range(1))]
    (found,) = compared(frame_of(rows))
    assert (found["n"], found["tasks"], found["baseline_alone"]) == (0, 0, 3)
    undefined = (
        "p_mcnemar",
        "p_task",
        "p_holm",
        "accuracy_diff",
        "reward_diff",
        "reward_diff_low",
        "verdict",
    )
    assert {found[name] for name in undefined} == {None}


def test_two_judges_of_one_version_are_compared_too(frame_of, row):
    rows = [*judged(row, "b", [(1, 1)] * 3), *judged(row, "b", [(0, 1)] * 3, judge_model="judge-b")]
    (found,) = compared(frame_of(rows))
    assert (found["baseline_model"], found["candidate_model"]) == ("judge-a", "judge-b")
    assert (found["n"], found["only_baseline"]) == (3, 3)


def test_repeats_are_paired_with_their_own_and_are_of_one_task(frame_of, row):
    rows = [
        each
        for version, said in (("b", 0), ("c", 1))
        for repeat in range(4)
        for each in judged(row, version, [(said, 1)] * 2, repeat=repeat)
    ]
    (found,) = compared(frame_of(rows))
    assert (found["n"], found["tasks"], found["p_task"]) == (8, 1, 1.0)


def test_groups_hold_the_pairs_of_the_candidates_value_and_add_up(frame_of, row):
    rows = random_rows(row)
    for number, each in enumerate(rows):
        each["category"] = "general" if number < 200 else ["email", None][number % 2]
    found = compared(frame_of(rows), by="category")
    assert [(each["category"], each["n"]) for each in found] == [("email", 100), ("(none)", 100)]
    alone = [each for number, each in enumerate(rows) if number % 2 == 0]
    (only,) = compared(frame_of(alone))
    assert found[0]["accuracy_diff_low"] == pytest.approx(only["accuracy_diff_low"])
    assert found[0]["p_holm"] >= found[0]["p_task"]


def test_a_group_named_like_a_figure_is_refused(frame_of, row):
    with pytest.raises(InputError, match="cannot group by 'tasks'"):
        compared(frame_of([row(tasks=1)], by="tasks"), by="tasks")


def test_no_candidates_make_an_empty_table(frame_of, write_log, row):
    assert compared(frame_of([row()])) == []
    assert compared(load_frame([write_log([])]), by="category") == []
