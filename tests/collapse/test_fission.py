"""The reward of recovery rollouts over the course of training."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.collapse import fission_reward

shares = st.floats(0, 1)


@pytest.mark.parametrize(("t", "value"), [(0, 1.9333), (1, 1.9)])
def test_worked_values(t, value):
    reward = fission_reward(t, fmt=1, is_count_right=True, f1=0.8, length=1)
    assert reward.value == pytest.approx(value, abs=1e-4)


def test_half_of_correctness_is_the_number_of_calls():
    right, wrong = (fission_reward(0.5, fmt=1, is_count_right=each, f1=1, length=0) for each in (True, False))
    assert right.parts["correctness"] == pytest.approx(2 * wrong.parts["correctness"])


@given(shares, shares, st.booleans(), shares, shares)
def test_range_and_parts(t, fmt, is_count_right, f1, length):
    reward = fission_reward(t, fmt=fmt, is_count_right=is_count_right, f1=f1, length=length)
    assert 0 <= reward.value <= 2 + 1e-9
    assert reward.value == pytest.approx(sum(reward.parts.values()))


@pytest.mark.parametrize("name", ["t", "fmt", "f1", "length"])
def test_what_lies_outside_the_unit_interval_is_refused(name):
    given_values = {"t": 0.0, "fmt": 1.0, "f1": 1.0, "length": 1.0, name: 1.1}
    with pytest.raises(ValueError, match=rf"^{name} is 1.1"):
        fission_reward(**given_values, is_count_right=True)
