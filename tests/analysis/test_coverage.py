"""A short form of tests/bench/bench_statistics.py: seeded, so that it measures the same every time."""

import pytest

from tests.bench.bench_statistics import KINDS, measured

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def found():
    return measured(KINDS["usual"], 60)


def test_intervals_hold_the_truth_about_as_often_as_they_say(found):
    # Of 60 logs 95 % are 57, and fewer than 51 or an average below 92 % would be no chance any more.
    covered = found.drop(["p_mcnemar", "p_task"])
    assert covered.min() >= 0.85
    assert 0.92 <= covered.mean() <= 0.98


def test_the_paired_test_seldom_sees_a_difference_that_is_not_there(found):
    assert found["p_task"] <= 0.12


def test_the_paired_test_sees_one_that_is():
    assert measured(KINDS["better"], 30)["p_task"] >= 0.4
