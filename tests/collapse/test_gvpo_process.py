"""Every worked value of both GVPO variants, and what holds for all checks: range, order, monotony."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.collapse import gvpo_process
from judge.schema import StepVerdict

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
