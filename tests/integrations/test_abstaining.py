"""What stands in for a reward that is missing."""

from __future__ import annotations

import pytest

from judge.advantage import grpo
from judge.integrations.abstaining import group_mean


def test_a_missing_reward_is_the_mean_of_its_group():
    assert group_mean([1.0, None, 0.5, 0.0, None, 0.25], "aaabbb") == [1.0, 0.75, 0.5, 0.0, 0.125, 0.25]
    assert group_mean([1.0, 0.0, None, None], "abba") == [1.0, 0.0, 0.0, 1.0]


def test_and_so_its_advantage_is_zero_alone_and_beside_another_reward():
    filled = group_mean([0.1, 0.7, None, 0.2], "aaaa")
    assert grpo(filled)[2] == 0
    bonus = [1.0, 1.0, 1.0, 1.0]
    assert grpo([one + other for one, other in zip(filled, bonus, strict=True)])[2] == 0


def test_a_group_without_rewards_gets_the_mean_of_all_and_none_of_it_is_preferred():
    assert group_mean([None, None, 1.0, 0.5], "aabb") == [0.75, 0.75, 1.0, 0.5]
    assert group_mean([None, None], "ab") == [0.0, 0.0]


def test_equal_rewards_stay_equal():
    # The mean of these, rounded as sum / 3 is, differs from each of them.
    assert group_mean([0.1, 0.1, 0.1, None], "aaaa") == [0.1] * 4


def test_the_others_are_as_given_and_there_is_a_group_for_each():
    assert group_mean([], []) == []
    assert group_mean([-5.0, 11.0], "ab") == [-5.0, 11.0]
    with pytest.raises(ValueError, match="shorter"):
        group_mean([None, 1.0], "a")


def test_what_filling_does_to_the_spread():
    filled, left_out = grpo(group_mean([1.0, 0.0, None, 0.5], "aaaa")), grpo([1.0, 0.0, None, 0.5])
    assert filled[0] / left_out[0] == pytest.approx((3 / 2) ** 0.5, rel=1e-4)
