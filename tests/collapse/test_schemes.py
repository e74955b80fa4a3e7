"""Every worked value of success, score and TARL, and what holds for all inputs: range, order, position.

Not covered: which outcome and which verdicts reach a scheme (the pipeline's tests).
"""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.collapse import score, success, tarl
from judge.schema import TrajectoryVerdict

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
