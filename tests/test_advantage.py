"""Every worked value of the advantages, and what holds for all groups: order, masks, missing rewards."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.advantage import dr_grpo, grpo, gtpo, gvpo, over_tokens, valid

NAN = math.nan
SPREAD = [11, 5.6, 1, -5]

groups = st.lists(st.none() | st.just(NAN) | st.floats(-100, 100), max_size=12)
rollouts = st.lists(
    st.tuples(
        st.none() | st.floats(0, 1),
        st.lists(st.tuples(st.floats(-1, 1), st.booleans()), max_size=5),
    ),
    max_size=7,
)


def near(values):
    return pytest.approx(values, abs=1e-4)


def shuffled(items, dice):
    order = dice.sample(range(len(items)), len(items))
    return order, [items[i] for i in order]


class TestGroupBaselines:
    def test_worked_values(self):
        assert dr_grpo(SPREAD) == near([7.85, 2.45, -2.15, -8.15])
        assert grpo(SPREAD) == near([1.1546, 0.3604, -0.3162, -1.1987])
        assert grpo(SPREAD, ddof=0) == near([1.3332, 0.4161, -0.3652, -1.3842])

    def test_the_std_has_a_floor(self):
        assert grpo([0, 2e-6], ddof=0) == near([-0.5, 0.5])

    def test_missing_rewards_are_left_out_and_not_zero(self):
        rewards = [1, None, 0, 0]
        assert dr_grpo(rewards) == near([0.6667, 0, -0.3333, -0.3333])
        assert valid(rewards) == [1, 0, 1, 1]
        assert grpo(rewards) == near([1.1547, 0, -0.5774, -0.5774])
        assert dr_grpo([1, 0, 0, 0]) == near([0.75, -0.25, -0.25, -0.25])

    @pytest.mark.parametrize("baseline", [grpo, dr_grpo])
    @pytest.mark.parametrize("value", [0.1, 1, 0, -5, 1e15 / 3])
    def test_all_equal_is_all_zero(self, baseline, value):
        assert baseline([value] * 3) == [0, 0, 0]
        assert baseline([value, None, value]) == [0, 0, 0]

    def test_rounding_noise_is_no_difference(self):
        assert grpo([0.1 + 0.2, 0.3, 0.3]) == [0, 0, 0]

    @pytest.mark.parametrize("ddof", [0, 1])
    def test_a_group_of_one(self, ddof):
        assert (grpo([0.7], ddof), grpo([None, 0.7], ddof)) == ([0], [0, 0])
        assert (dr_grpo([0.7]), dr_grpo([None, 0.7])) == ([0.7], [0, 0.7])

    def test_nothing_to_compare(self):
        assert grpo([]) == dr_grpo([]) == valid([]) == []
        assert grpo([None, NAN]) == dr_grpo([None, NAN]) == [0, 0]

    def test_any_iterable_of_numbers_will_do(self):
        for rewards in (
            np.array(SPREAD),
            tuple(SPREAD),
            iter(SPREAD),
            [Fraction(reward) for reward in SPREAD],
        ):
            advantages = grpo(rewards)
            assert advantages == grpo(SPREAD)
            assert {type(advantages), *map(type, advantages)} == {list, float}
        assert dr_grpo(np.array([1, np.nan, 0, 0], dtype=np.float32)) == near([0.6667, 0, -0.3333, -0.3333])
        assert dr_grpo([True, False]) == [0.5, -0.5]

    def test_what_has_no_advantage_is_refused(self):
        with pytest.raises(ValueError, match="reward 1 is inf"):
            grpo([0, math.inf])
        with pytest.raises(ValueError, match="ddof is 2"):
            grpo([0, 1], ddof=2)

    @given(groups, st.sampled_from([grpo, dr_grpo, valid]), st.randoms(use_true_random=False))
    def test_permuting_a_group_permutes_the_advantages(self, rewards, baseline, dice):
        order, moved = shuffled(rewards, dice)
        assert baseline(moved) == [baseline(rewards)[i] for i in order]

    @given(groups, st.sampled_from([0, 1]))
    def test_missing_rewards_change_no_other(self, rewards, ddof):
        kept = [reward for reward, is_there in zip(rewards, valid(rewards), strict=True) if is_there]
        for baseline in (dr_grpo, lambda values: grpo(values, ddof)):
            pairs = list(zip(baseline(rewards), valid(rewards), strict=True))
            assert [advantage for advantage, is_there in pairs if is_there] == baseline(kept)
            assert all(advantage == 0 for advantage, is_there in pairs if not is_there)

    @given(st.lists(st.floats(-100, 100), min_size=2, max_size=12))
    def test_advantages_are_centred(self, rewards):
        assert sum(dr_grpo(rewards)) == pytest.approx(0, abs=1e-7)
        assert sum(grpo(rewards)) == pytest.approx(0, abs=1e-3)


class TestGvpo:
    @pytest.mark.parametrize(
        ("rewards", "expected"),
        [
            ([1, 0.5, 0.5, 0], [(0.5, 0), (0, -0.2), (0, -0.2), (-0.5, -0.6)]),
            ([1, 1, 0, 0], [(0.5, 0), (0.5, 0), (-0.5, -0.6), (-0.5, -0.6)]),
            ([0.75, 0.25, 0, 1], [(0.25, 0), (-0.25, -0.3), (-0.5, -0.6), (0.5, 0)]),
            ([1, 1, 1, 1], [(0, -0.2)] * 4),
            ([0.1, 0.1, 0.1], [(0, -0.2)] * 3),
        ],
    )
    def test_worked_values(self, rewards, expected):
        shaped = gvpo(rewards, [[False, True]] * len(rewards))
        assert shaped == [near(list(pair)) for pair in expected]

    def test_the_papers_ablations(self):
        failed = [[0, 1]] * 4
        assert gvpo([1, 1, 0, 0], failed, std=True)[2] == near([-0.8660, -1.0392])
        assert (
            gvpo([1, 1, 0, 0], failed, shaping="additive") == [near([0.5, 0])] * 2 + [near([-0.5, -0.7])] * 2
        )
        assert gvpo([1, 1], [[0, 1]] * 2, shaping="additive") == [near([0, -0.2])] * 2
        assert gvpo([1, 0], [[1], [1]], b=0.5) == [[0], near([-0.75])]

    def test_a_group_of_one_keeps_its_reward(self):
        assert gvpo([1], [[False, True]]) == [[1, 0]]
        assert gvpo([1], [[False, True]], std=True) == [near([0, -0.2])]

    def test_rollouts_are_ragged_and_may_be_arrays(self):
        failed = [np.array([True]), np.array([False, False, True]), np.array([], dtype=bool)]
        assert gvpo(np.array([1.0, 0.0, 0.5]), failed) == [[0], near([-0.5, -0.5, -0.6]), []]

    def test_a_rollout_without_a_reward_has_no_advantage_not_even_a_penalty(self):
        assert gvpo([1, None, 0], [[1, 0], [1, 0], [1, 0]]) == [[0, 0.5], [0, 0], near([-0.6, -0.5])]

    def test_labels_of_the_step_judge(self):
        labels = [[1, -1, 0], [None], [-1, 1]]
        assert gvpo([1, None, 0], labels, failed_from="judge") == [[0.5, 0, 0.5], [0], near([-0.6, -0.5])]

    def test_labels_are_never_taken_for_executions(self):
        with pytest.raises(ValueError, match="a step is -1; failed_from='execution'"):
            gvpo([1, 0], [[1, -1], [0, 1]])
        with pytest.raises(ValueError, match="a step is None; failed_from='judge'"):
            gvpo([1, 0], [[1, None], [0, 1]], failed_from="judge")

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"b": -0.1}, "b is -0.1"),
            ({"b": math.inf}, "b is inf"),
            ({"shaping": "square"}, "'square'; there are scale"),
            ({"failed_from": "tests"}, "'tests'; there are execution"),
        ],
    )
    def test_unknown_options_are_refused(self, options, message):
        with pytest.raises(ValueError, match=message):
            gvpo([1, 0], [[0], [0]], **options)

    def test_every_reward_needs_its_rollout(self):
        with pytest.raises(ValueError, match="2 rewards and 1 rollouts"):
            gvpo([1, 0], [[0]])

    @given(rollouts, st.booleans(), st.sampled_from(["scale", "additive"]), st.randoms(use_true_random=False))
    def test_permuting_a_group_permutes_the_advantages(self, group, std, shaping, dice):
        def shaped(each):
            failed = [[has_failed for _, has_failed in steps] for _, steps in each]
            return gvpo([reward for reward, _ in each], failed, std=std, shaping=shaping)

        order, moved = shuffled(group, dice)
        assert shaped(moved) == [shaped(group)[i] for i in order]

    @given(st.lists(st.floats(0, 1), min_size=1, max_size=8), st.sampled_from(["scale", "additive"]))
    def test_failing_never_pays(self, rewards, shaping):
        for succeeded, failed in gvpo(rewards, [[False, True]] * len(rewards), shaping=shaping):
            assert failed <= min(succeeded, 0)


class TestOverTokens:
    def test_observations_and_the_prompt_are_masked(self):
        values, mask = over_tokens([0.5, -0.6], [(2, 4), (6, 7)], length=8)
        assert values == [0, 0, 0.5, 0.5, 0, 0, -0.6, 0]
        assert mask == [0, 0, 1, 1, 0, 0, 1, 0]

    def test_a_step_without_an_advantage_is_no_observation(self):
        assert over_tokens([0.0], [(0, 1)], length=2) == ([0, 0], [True, False])

    def test_arrays_and_empty_spans(self):
        assert over_tokens(np.array([1.0, 2.0]), np.array([[0, 0], [0, 1]]), 1) == ([2.0], [True])
        assert over_tokens([], [], 2) == ([0, 0], [False, False])

    @pytest.mark.parametrize(
        "spans", [[(0, 3), (2, 4)], [(4, 5), (0, 1)], [(0, 1), (3, 9)], [(2, 1), (3, 4)]]
    )
    def test_spans_out_of_order_or_range_are_refused(self, spans):
        with pytest.raises(ValueError, match="does not lie in order"):
            over_tokens([1, 1], spans, length=8)

    @pytest.mark.parametrize("span", [(0, 1.9), ("0", "2"), (0, None)])
    def test_a_bound_that_is_no_whole_number_is_refused(self, span):
        with pytest.raises(TypeError, match="integer"):
            over_tokens([1], [span], length=8)

    def test_every_step_needs_its_span(self):
        with pytest.raises(ValueError, match="2 step advantages and 1 spans"):
            over_tokens([1, 1], [(0, 1)], length=8)

    @given(st.lists(st.tuples(st.floats(0.1, 1), st.integers(0, 4), st.integers(0, 4)), max_size=6))
    def test_only_the_policys_tokens_carry_an_advantage(self, steps):
        spans, reached = [], 0
        for _, observed, written in steps:
            spans.append((reached + observed, reached + observed + written))
            reached = spans[-1][1]
        values, mask = over_tokens([advantage for advantage, _, _ in steps], spans, reached + 1)
        assert sum(mask) == sum(written for _, _, written in steps)
        assert [value != 0 for value in values] == mask


class TestGtpo:
    STEPS = ([0, 1, 0], [0, 0, -0.1])
    OUTCOMES = (1, 0)

    def test_returns_are_discounted_from_the_end(self):
        """Pooled and without lambda, the advantages are those of the returns as one group."""
        returns = [1.629, 1.81, 0.9, -0.081, -0.09, -0.1]
        flat = [
            value for steps in gtpo(self.STEPS, self.OUTCOMES, lam=0, normalise="pooled") for value in steps
        ]
        assert flat == near(grpo(returns))

    def test_worked_values_by_position(self):
        assert gtpo(self.STEPS, self.OUTCOMES) == [near([0.9192] * 3), near([-0.9192] * 3)]
        assert gtpo(self.STEPS, self.OUTCOMES, ddof=0) == [near([1.3] * 3), near([-1.3] * 3)]

    def test_worked_values_pooled(self):
        assert gtpo(self.STEPS, self.OUTCOMES, normalise="pooled") == [
            near([1.2745, 1.4768, 0.4601]),
            near([-1.0601, -1.0701, -1.0813]),
        ]

    @pytest.mark.parametrize(("ddof", "outcome_advantage"), [(1, 0.7071), (0, 1)])
    def test_lambda_weighs_the_outcome(self, ddof, outcome_advantage):
        steps = gtpo(self.STEPS, self.OUTCOMES, ddof=ddof, lam=1)[0]
        assert steps[0] - gtpo(self.STEPS, self.OUTCOMES, ddof=ddof, lam=0)[0][0] == near(outcome_advantage)

    def test_a_step_that_one_rollout_alone_reaches_has_the_outcome_only(self):
        ragged = gtpo([[0, 1, 0, 1], [0], []], [1, 0, 0])
        assert ragged[0][1:] == near([0.3 * 1.1547] * 3)
        assert [len(steps) for steps in ragged] == [4, 1, 0]

    def test_a_group_of_one_and_a_group_of_equals_have_none(self):
        assert gtpo([[0, 1]], [1]) == [[0, 0]]
        assert gtpo([[0.1, 0.2]] * 3, [1] * 3) == [[0, 0]] * 3

    @pytest.mark.parametrize("normalise", ["position", "pooled"])
    @pytest.mark.parametrize("broken", [([1, 1], None), ([1, None], 1), ([NAN, 1], 0)])
    def test_a_rollout_that_was_not_judged_is_left_out(self, normalise, broken):
        steps, outcome = broken
        left, gap, right = gtpo([self.STEPS[0], steps, self.STEPS[1]], [1, outcome, 0], normalise=normalise)
        assert [left, right] == gtpo(self.STEPS, self.OUTCOMES, normalise=normalise)
        assert gap == [0, 0]

    def test_arrays_will_do(self):
        assert gtpo(np.array(self.STEPS), np.array(self.OUTCOMES)) == gtpo(self.STEPS, self.OUTCOMES)
        assert gtpo([], []) == []

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"gamma": 1.1}, "gamma is 1.1"),
            ({"lam": NAN}, "lam is nan"),
            ({"lam": math.inf}, "lam is inf"),
            ({"normalise": "none"}, "'none'; there are position"),
            ({"ddof": 2}, "ddof is 2"),
        ],
    )
    def test_unknown_options_are_refused(self, options, message):
        with pytest.raises(ValueError, match=message):
            gtpo(self.STEPS, self.OUTCOMES, **options)

    def test_every_rollout_needs_its_outcome(self):
        with pytest.raises(ValueError, match="2 rollouts of step rewards and 1 outcomes"):
            gtpo(self.STEPS, [1])

    @given(rollouts, st.sampled_from(["position", "pooled"]), st.randoms(use_true_random=False))
    def test_permuting_a_group_permutes_the_advantages(self, group, normalise, dice):
        def advantages(each):
            step_rewards = [[reward for reward, _ in steps] for _, steps in each]
            return gtpo(step_rewards, [outcome for outcome, _ in each], normalise=normalise)

        order, moved = shuffled(group, dice)
        assert advantages(moved) == [advantages(group)[i] for i in order]
