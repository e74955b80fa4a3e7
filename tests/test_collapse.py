"""Every worked value of the reward formulas, and what holds for all inputs: ranges, order, position.

Not covered: which outcome and which verdicts reach a scheme (the pipeline's tests).
"""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.collapse import gvpo_process, score, success, tarl, weighted
from judge.schema import StepVerdict, TrajectoryVerdict

MODES = ("mean_all", "mean_valid", "sum", "ten_mean")
CEILING = {"mean_all": 11, "mean_valid": 11, "sum": 15, "ten_mean": 15}

TARL_TABLE = [
    (1, [1, 1, 0, -1, 1], (5.6, 5.75, 8, 10)),
    (1, [1, 1, 1, 1], (11, 11, 14, 15)),
    (0, [1, 1, 1, 1], (1, 1, 4, 5)),
    (0, [0, 0, -1, 0], (-5, -5, -5, -5)),
    (1, [1] * 30, (11, 11, 15, 15)),
    (0, [-1, -1, 1], (-4.6667, -4, -4, -1.6667)),
    (0, [-1], (-5, -5, -5, -5)),
    (1, [0, 0, 0], (10, 10, 10, 10)),
]

labels = st.lists(st.sampled_from([-1, 0, 1]), max_size=40)
outcomes = st.floats(0, 1)


def check(step: int, correct: bool | None, confidence: float | None) -> StepVerdict:
    return StepVerdict(step=step, correct=correct, confidence=confidence)


checks = st.lists(
    st.builds(check, st.just(0), st.booleans(), st.floats(0, 1)),
    max_size=15,
)
MIXED = [check(3, True, 0.9), check(6, False, 0.8), check(9, True, 0.85)]
ALL_RIGHT = [check(3, True, 0.9), check(6, True, 0.88), check(9, True, 0.9)]


def near(value: float) -> object:
    return pytest.approx(value, abs=1e-4)


def verdict(succeeded: bool, points: float) -> TrajectoryVerdict:
    return TrajectoryVerdict(success=succeeded, score=points)


def test_success_and_score_are_the_judges_own():
    assert (success(verdict(True, 0.7)).value, success(verdict(False, 0.2)).value) == (1.0, 0.0)
    assert score(verdict(True, 0.7)).value == 0.7
    assert success(verdict(True, 0.7)).parts == {"success": 1.0}
    assert score(verdict(True, 0.7)).parts == {"score": 0.7}


class TestTarl:
    @pytest.mark.parametrize(("outcome", "labels", "values"), TARL_TABLE)
    def test_worked_values(self, outcome, labels, values):
        assert [tarl(outcome, labels, mode).value for mode in MODES] == [near(value) for value in values]

    def test_mean_all_is_the_default(self):
        assert tarl(1, [1, 1, 0, -1, 1]).value == near(5.6)

    @pytest.mark.parametrize("mode", MODES)
    def test_no_steps_is_the_outcome_alone(self, mode):
        assert tarl(1, [], mode).value == 10
        assert tarl(0, [], mode).value == 0

    @given(outcomes, labels, st.sampled_from(MODES))
    def test_range_and_parts(self, outcome, labels, mode):
        collapsed = tarl(outcome, labels, mode)
        assert -5 <= collapsed.value <= CEILING[mode]
        assert collapsed.value == pytest.approx(sum(collapsed.parts.values()))

    @given(outcomes, labels, st.randoms(use_true_random=False))
    def test_mean_all_does_not_mind_where_a_label_stands(self, outcome, labels, dice: random.Random):
        shuffled = dice.sample(labels, len(labels))
        assert tarl(outcome, shuffled).value == tarl(outcome, labels).value

    @given(outcomes, st.lists(st.sampled_from([0, 1]), min_size=1))
    def test_a_second_deviation_costs_no_more(self, outcome, rest):
        once = tarl(outcome, [-1, *rest], "sum").value
        assert tarl(outcome, [*rest, -1, -1], "sum").value == once
        assert tarl(outcome, rest, "sum").value == pytest.approx(once + 5)

    def test_weights_are_parameters(self):
        collapsed = tarl(0.5, [1, 1, -1], "sum", outcome_weight=4, deviation_penalty=3, process_clip=1)
        assert collapsed.parts == {"outcome": 2, "deviation": -3, "process": 1}

    @pytest.mark.parametrize("label", [None, 2, 0.5])
    def test_a_step_that_was_not_judged_is_refused(self, label):
        with pytest.raises(ValueError, match="not judged"):
            tarl(1, [1, label, 1])

    @pytest.mark.parametrize("outcome", [-0.1, 1.1, float("nan")])
    def test_an_outcome_out_of_range_is_refused(self, outcome):
        with pytest.raises(ValueError, match=r"in \[0, 1\]"):
            tarl(outcome, [1])

    def test_an_unknown_process_is_refused(self):
        with pytest.raises(ValueError, match="'mean'; there are mean_all"):
            tarl(1, [1], "mean")


class TestGvpoArticle:
    @pytest.mark.parametrize(
        ("outcome", "checks", "value"),
        [
            (1, MIXED, 0.8509),
            (0, ALL_RIGHT, 1.2193),
            (1, [check(i, True, 1.0) for i in range(3)], 1.741),
            (1, [check(i, True, 1.0) for i in range(12)], 4.2771),
        ],
    )
    def test_worked_values(self, outcome, checks, value):
        assert gvpo_process(outcome, checks, "article").value == near(value)

    def test_it_ranks_a_failing_run_above_a_passing_one_and_is_therefore_no_default(self):
        failing, passing = gvpo_process(0, ALL_RIGHT, "article"), gvpo_process(1, MIXED, "article")
        assert failing.value > passing.value
        assert gvpo_process(0, ALL_RIGHT).value < gvpo_process(1, MIXED).value

    def test_no_checks_pay_no_bonus(self):
        assert gvpo_process(0, [], "article").value == 0


class TestGvpoBounded:
    def test_worked_values_of_a_passing_run(self):
        collapsed = gvpo_process(1, MIXED)
        assert collapsed.value == near(0.7637)
        assert collapsed.parts == {"outcome": 1, "process": near(0.6590), "wrong_share": near(0.3330)}

    def test_worked_values_of_a_failing_run(self):
        collapsed = gvpo_process(0, ALL_RIGHT)
        assert collapsed.value == near(0.1893)
        assert collapsed.parts["process"] == near(0.9467)

    def test_no_checks_are_the_outcome(self):
        assert (gvpo_process(1, []).value, gvpo_process(0, []).value) == (1.0, 0.0)

    def test_leaving_out_the_wrong_check_would_pay(self):
        """Why a check without a verdict must fail the judgement: silence is worth .98 instead of .76."""
        assert gvpo_process(1, [MIXED[0], MIXED[2]]).value == pytest.approx(0.98, abs=0.005)

    @given(outcomes, checks, st.sampled_from(["early", "late"]))
    def test_it_stays_in_the_unit_interval(self, outcome, checks, toward):
        assert 0 <= gvpo_process(outcome, checks, decay_toward=toward).value <= 1

    @given(st.floats(0.001, 1), checks, st.sampled_from(["early", "late"]))
    def test_a_failing_run_never_ranks_above_a_passing_one_with_the_same_checks(
        self, outcome, checks, toward
    ):
        failing = gvpo_process(0, checks, decay_toward=toward).value
        assert failing < gvpo_process(outcome, checks, decay_toward=toward).value

    @given(st.sampled_from([0, 1]), checks, st.data())
    def test_a_check_that_turns_right_never_lowers_it(self, outcome, checks, data):
        if not checks:
            return
        i = data.draw(st.integers(0, len(checks) - 1))
        right = [*checks[:i], checks[i].model_copy(update={"correct": True}), *checks[i + 1 :]]
        assert gvpo_process(outcome, right).value >= gvpo_process(outcome, checks).value - 1e-12

    def test_early_steps_weigh_more_unless_told_otherwise(self):
        slip_first, slip_last = (
            [check(0, False, 0.9), check(1, True, 0.9)],
            [
                check(0, True, 0.9),
                check(1, False, 0.9),
            ],
        )
        assert gvpo_process(1, slip_first).value < gvpo_process(1, slip_last).value
        late = [gvpo_process(1, each, decay_toward="late").value for each in (slip_first, slip_last)]
        assert late[0] > late[1]

    @pytest.mark.parametrize("outcome", [0, 1])
    def test_weights_are_shares_of_their_sum(self, outcome):
        scaled = gvpo_process(outcome, MIXED, outcome_weight=6, process_weight=4)
        assert scaled.value == pytest.approx(gvpo_process(outcome, MIXED).value)

    @pytest.mark.parametrize("broken", [check(6, None, 0.9), check(6, True, None)])
    def test_a_check_without_a_verdict_is_refused(self, broken):
        with pytest.raises(ValueError, match="step 6"):
            gvpo_process(1, [MIXED[0], broken])

    def test_what_cannot_be_weighed_is_refused(self):
        with pytest.raises(ValueError, match=r"in \[0, 1\]"):
            gvpo_process(2, [])
        with pytest.raises(ValueError, match="sum to 0"):
            gvpo_process(1, [], outcome_weight=0, process_weight=0)
        with pytest.raises(ValueError, match="'printed'; there are"):
            gvpo_process(1, [], "printed")


class TestWeighted:
    def test_parts_that_are_missing_do_not_count_as_zero(self):
        parts = {"score": 0.5, "verifier": None, "unused": 9.0}
        collapsed = weighted(parts, {"score": 1, "verifier": 3})
        assert collapsed.value == 0.5
        assert collapsed.parts == {"score": 0.5}

    def test_it_is_the_weighted_mean(self):
        assert weighted({"score": 0.5, "verifier": 1.0}, {"score": 1, "verifier": 3}).value == 0.875

    @given(st.dictionaries(st.sampled_from("abc"), st.floats(0, 1), min_size=1))
    def test_it_lies_between_its_parts(self, parts):
        value = weighted(parts, {"a": 1, "b": 2, "c": 0.5}).value
        assert min(parts.values()) - 1e-9 <= value <= max(parts.values()) + 1e-9

    @pytest.mark.parametrize(
        ("parts", "weights"), [({}, {"score": 1}), ({"score": 0.5}, {}), ({"score": 0.5}, {"score": 0})]
    )
    def test_nothing_to_weigh_is_refused(self, parts, weights):
        with pytest.raises(ValueError, match="is present"):
            weighted(parts, weights)
