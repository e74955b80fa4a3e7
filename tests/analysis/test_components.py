import numpy as np
import pytest

from analysis.components import components


@pytest.fixture
def random():
    return np.random.default_rng(2)


def test_shares_are_those_of_the_weighted_sum_the_reward_is(random):
    parts = random.normal(size=(300, 3)) * [10.0, 5.0, 1.0]
    rewards = parts @ [1.0, 1.0, 2.0]
    found = components(["outcome", "process", "x"], parts, rewards, np.arange(300) // 4)
    by_hand = [
        w * np.cov(part, rewards)[0, 1] / rewards.var(ddof=1)
        for w, part in zip([1, 1, 2], parts.T, strict=True)
    ]
    assert list(found.shares.values()) == pytest.approx(by_hand)
    assert found.explained == pytest.approx(1.0)
    assert found.top == "outcome"
    assert 0.5 < found.top_low < found.shares["outcome"]


def test_process_against_outcome_is_a_ratio_of_what_they_add(random):
    parts = random.normal(size=(300, 3))
    rewards = parts @ [0.6, 0.3, 0.9]
    found = components(["outcome", "process", "deviation"], parts, rewards, np.arange(300))
    by_hand = (parts[:, 1:] @ [0.3, 0.9]).var() / (0.6 * parts[:, 0]).var()
    assert found.process_ratio == pytest.approx(by_hand)
    assert found.process_low < by_hand


def test_parts_that_say_the_same_share_what_they_explain(random):
    success = random.integers(0, 2, 200).astype(float)
    found = components(["outcome", "success"], np.column_stack([success, success]), success, np.arange(200))
    assert list(found.shares.values()) == pytest.approx([0.5, 0.5])


def test_a_part_that_makes_all_of_the_reward_does_so_surely(random):
    parts = random.normal(size=(200, 2))
    found = components(["process", "outcome"], parts, parts[:, 0] * 1.0, np.arange(200))
    assert (found.top, found.top_low) == ("process", pytest.approx(1.0))


def test_what_does_not_vary_is_no_component():
    parts = np.column_stack([np.arange(50.0), np.ones(50)])
    only = components(["process", "outcome"], parts, np.arange(50.0), np.arange(50))
    assert only.shares == pytest.approx({"process": 1.0})
    assert components(["process", "outcome"], np.ones((50, 2)), np.arange(50.0), np.arange(50)) is None
    assert components(["a", "b"], np.eye(50)[:, :2], np.ones(50), np.arange(50)) is None
