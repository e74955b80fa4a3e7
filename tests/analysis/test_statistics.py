import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn import metrics

from analysis.statistics import RATES, bootstrap, holm, mcnemar_p, rates, ratio, sign_flip_p

counts = st.lists(st.integers(0, 9), min_size=4, max_size=4)


def test_rates_are_those_of_scikit_learn():
    tp, fp, fn, tn = 83, 14, 66, 329
    was = [1] * tp + [0] * fp + [1] * fn + [0] * tn
    said = [1] * (tp + fp) + [0] * (fn + tn)
    expected = {
        "precision": metrics.precision_score(was, said),
        "recall": metrics.recall_score(was, said),
        "f1": metrics.f1_score(was, said),
        "fpr": 1 - metrics.recall_score(was, said, pos_label=0),
        "accuracy": metrics.accuracy_score(was, said),
        "base_rate": np.mean(was),
        "kappa": metrics.cohen_kappa_score(was, said),
    }
    assert dict(zip(RATES, rates([tp, fp, fn, tn]), strict=True)) == pytest.approx(expected)


@given(counts)
def test_rates_stay_in_their_range_or_are_undefined(cells):
    *shares, kappa = rates(cells)
    assert all(math.isnan(share) or 0 <= share <= 1 for share in shares)
    assert math.isnan(kappa) or -1 <= kappa <= 1


def test_rates_of_nothing_are_undefined_and_of_many_keep_their_shape():
    assert np.isnan(rates([0, 0, 0, 0])).all()
    assert rates(np.ones((3, 2, 4))).shape == (3, 2, 7)


def test_a_constant_judge_of_one_class_has_no_kappa_and_one_of_two_has_none_beyond_chance():
    assert math.isnan(rates([5, 0, 0, 0])[-1])
    assert rates([5, 5, 0, 0])[-1] == 0


def mean(sums):
    return ratio(sums[..., 0], sums[..., 1])[..., None]


def moments(values):
    values = np.asarray(values, dtype=float)
    return np.column_stack([values, np.ones_like(values)])


def test_intervals_are_those_of_scipy_read_at_the_wider_levels():
    values = np.random.default_rng(3).exponential(size=40)
    wide = 2 * stats.norm.cdf(math.sqrt(40 / 39) * stats.t.ppf(0.975, 39)) - 1
    for skewed, method in ((True, "BCa"), (False, "percentile")):
        theirs = stats.bootstrap(
            (values,), np.mean, n_resamples=20_000, confidence_level=wide, method=method, rng=5
        ).confidence_interval
        ours = bootstrap(moments(values), np.arange(40), mean, skewed=skewed)[:, 0]
        assert ours == pytest.approx(list(theirs), abs=0.04)


@pytest.mark.parametrize("skewed", [True, False])
def test_intervals_are_over_tasks_and_not_over_rows(skewed):
    chance = np.random.default_rng(0)
    once = chance.normal(size=30)
    of_tasks = bootstrap(moments(once), np.arange(30), mean, skewed=skewed)
    copied = bootstrap(moments(np.repeat(once, 10)), np.repeat(np.arange(30), 10), mean, skewed=skewed)
    of_rows = bootstrap(moments(np.repeat(once, 10)), np.arange(300), mean, skewed=skewed)
    assert copied == pytest.approx(of_tasks)
    assert np.ptp(of_rows) < np.ptp(of_tasks) / 2.5


def test_intervals_do_not_depend_on_the_order_of_rows_or_the_names_of_tasks():
    chance = np.random.default_rng(0)
    values, tasks = chance.random(60), np.repeat(np.arange(15), 4)
    order = chance.permutation(60)
    expected = bootstrap(moments(values), tasks, mean)
    assert bootstrap(moments(values[order]), tasks[order] + 100, mean) == pytest.approx(expected)


def test_a_share_that_no_task_contradicts_has_the_exact_bound():
    cells = np.zeros((12, 4))
    cells[:8, 0] = 1
    cells[8:, 3] = 1
    low, high = (
        dict(zip(RATES, each, strict=True)) for each in bootstrap(cells, np.arange(12), rates, shares=6)
    )
    exact = stats.binomtest(8, 8).proportion_ci(0.95, "exact")
    assert (low["recall"], high["recall"]) == pytest.approx((exact.low, exact.high))
    exact = stats.binomtest(0, 4).proportion_ci(0.95, "exact")
    assert (low["fpr"], high["fpr"]) == pytest.approx((exact.low, exact.high))
    assert 0 < low["base_rate"] < 8 / 12 < high["base_rate"] < 1


def test_what_does_not_vary_has_no_interval():
    assert np.isnan(bootstrap(moments([0.5] * 8), np.arange(8), mean)).all()
    assert np.isnan(bootstrap(moments([1.0] * 8), np.arange(8), mean)).all()


def test_one_task_and_none_have_no_interval():
    assert np.isnan(bootstrap(moments([0.0, 1.0]), np.zeros(2, int), mean)).all()
    assert np.isnan(bootstrap(np.zeros((0, 2)), np.zeros(0, int), mean)).all()


@given(st.lists(counts, min_size=2, max_size=6))
def test_intervals_hold_the_figure(cells):
    cells = np.array(cells)
    low, high = bootstrap(cells, np.arange(len(cells)), rates, shares=6)
    value = rates(cells.sum(axis=0))
    defined = ~np.isnan(low)
    assert (low[defined] <= value[defined]).all()
    assert (value[defined] <= high[defined]).all()


def test_many_tasks_are_drawn_in_blocks_and_vary_as_much():
    values = np.random.default_rng(1).normal(size=50_000)
    low, high = bootstrap(moments(values), np.arange(50_000), mean)[:, 0]
    assert high - low == pytest.approx(2 * 1.96 / math.sqrt(50_000), rel=0.08)


def flipped(differences):
    """The p of every flipping of signs, one by one."""
    seen = [
        abs(sum(sign * each for sign, each in zip(signs, differences, strict=True)))
        for signs in product((-1, 1), repeat=len(differences))
    ]
    return sum(each >= abs(sum(differences)) for each in seen) / len(seen)


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=9))
def test_flipping_signs_agrees_with_trying_all(differences):
    assert sign_flip_p(np.array(differences)) == pytest.approx(flipped(differences))


def test_flipping_signs_agrees_with_scipy():
    differences = np.array([3, -1, 2, 2, 0, 1, -2, 4, 1, 1])
    theirs = stats.permutation_test(
        (differences,), lambda x, axis: x.sum(axis), permutation_type="samples", n_resamples=np.inf
    )
    assert sign_flip_p(differences) == pytest.approx(theirs.pvalue)


@pytest.mark.parametrize(("lost", "gained"), [(5, 1), (0, 9), (31, 26), (400, 500), (0, 0), (7, 7)])
def test_mcnemar_is_the_binomial_test_of_what_only_one_got_right(lost, gained):
    there = lost + gained
    expected = stats.binomtest(lost, there).pvalue if there else 1.0
    assert mcnemar_p(lost, gained) == pytest.approx(expected, rel=1e-6)


def test_flipping_signs_of_nothing_is_no_test_and_of_no_difference_finds_none():
    assert math.isnan(sign_flip_p(np.array([], dtype=int)))
    assert sign_flip_p(np.zeros(5, int)) == 1.0
    assert sign_flip_p(np.array([7])) == 1.0


def test_a_p_beyond_the_arithmetic_is_the_smallest_that_is_given():
    assert mcnemar_p(0, 1000) == 1e-12


def test_holm_is_scaled_by_rank_and_never_falls():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_holm_leaves_out_what_is_no_test():
    corrected = holm([math.nan, 0.02, 0.03])
    assert math.isnan(corrected[0])
    assert corrected[1:] == pytest.approx([0.04, 0.04])
