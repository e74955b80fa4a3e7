"""Rewards of code: each rule's numbers and caps, and what limits their total."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.collapse import Collapsed, execution, forbidden, is_hollow, length_penalty, step_bonus, total

numbers = st.floats(-10, 10)


class TestExecution:
    @pytest.mark.parametrize(
        ("passed", "tests", "rate"), [(3, 4, 0.75), (4, 4, 1.0), (0, 4, 0.0), (0, 0, 0.0)]
    )
    def test_code_that_ran_earns_its_pass_rate(self, passed, tests, rate):
        assert execution("ran", passed, tests) == Collapsed(rate, {"tests": rate})

    @pytest.mark.parametrize(
        ("ending", "value"), [("compile_error", -0.5), ("execution_error", -0.5), ("timeout", 0.0)]
    )
    def test_any_other_ending_has_a_value_of_its_own(self, ending, value):
        assert execution(ending, 2, 4) == Collapsed(value, {ending: value})

    def test_what_cannot_have_happened_is_refused(self):
        with pytest.raises(ValueError, match="5 of 4 tests"):
            execution("ran", 5, 4)
        with pytest.raises(ValueError, match="'crash'; there are ran"):
            execution("crash")


class TestRules:
    @pytest.mark.parametrize(("bonus", "value"), [(0.1, 0.1), (0.2, 0.2), (3.0, 0.2), (-1.0, 0.0)])
    def test_the_step_bonus_is_capped(self, bonus, value):
        assert step_bonus(bonus).value == value

    @pytest.mark.parametrize(
        ("length", "value"), [(0, 0), (200, 0), (300, -0.025), (400, -0.05), (1000, -0.2)]
    )
    def test_only_what_exceeds_the_free_length_costs(self, length, value):
        assert length_penalty(length).value == pytest.approx(value, abs=1e-4)
        assert math.copysign(1, length_penalty(0).value) == 1

    def test_forbidden_patterns_cost_once(self):
        assert forbidden("os.system('x'); eval(y)", [r"\beval\(", r"os\.system"]).value == -1.0
        assert forbidden("evaluate(y)", [r"\beval\("]) == Collapsed(0.0, {"forbidden": 0.0})

    def test_what_cannot_be_reckoned_with_is_refused(self):
        with pytest.raises(ValueError, match="is NaN"):
            step_bonus(math.nan)
        for length, free in ((-1, 200), (math.inf, 200), (10, 0)):
            with pytest.raises(ValueError, match="length must be"):
                length_penalty(length, free=free)
        with pytest.raises(re.error):
            forbidden("text", ["("])


class TestTotal:
    def test_it_is_the_sum_of_named_parts(self):
        reward = total([execution("ran", 3, 4), step_bonus(0.1), length_penalty(400), forbidden("x", ["y"])])
        assert reward.value == pytest.approx(0.8)
        assert reward.parts == {
            "tests": 0.75,
            "step_bonus": 0.1,
            "length": -0.05,
            "forbidden": 0.0,
            "hollow": 0.0,
            "floor": 0.0,
        }

    def test_it_never_falls_below_the_floor(self):
        reward = total([execution("compile_error"), length_penalty(10_000), forbidden("x", ["x"])])
        assert reward.value == -2.0
        assert reward.parts["floor"] == pytest.approx(1.95)

    def test_hollow_code_never_earns(self):
        hollow = total([execution("ran", 4, 4), step_bonus(0.2)], is_hollow=True)
        assert hollow.value == 0.0
        assert hollow.parts["hollow"] == pytest.approx(-1.2)
        assert total([execution("compile_error")], is_hollow=True).value == -0.5

    @given(st.dictionaries(st.sampled_from("abcdef"), numbers), st.booleans())
    def test_bounds_and_parts(self, parts, hollow):
        reward = total([Collapsed(value, {name: value}) for name, value in parts.items()], is_hollow=hollow)
        assert -2 <= reward.value <= (0 if hollow else 60)
        assert reward.value == pytest.approx(sum(reward.parts.values()), abs=1e-9)

    def test_parts_of_one_name_would_hide_one_another(self):
        with pytest.raises(ValueError, match="two parts are named tests"):
            total([execution("ran", 1, 1), execution("ran", 0, 1)])


class TestIsHollow:
    @pytest.mark.parametrize(
        "source",
        [
            "",
            "# nothing but a comment",
            "import os\n\ndef f(x):\n    '''Solves it.'''",
            "def f(x): ...",
            "async def f(x):\n    return None",
            "class Solver:\n    def f(self):\n        pass\n    def g(self):\n        return",
            "def f(x):\n    raise NotImplementedError",
            "def f(x):\n    raise NotImplementedError('later')",
            "def f(x:\n    return x",
            "def f():\n    return '\0'",
        ],
    )
    def test_code_that_does_nothing(self, source):
        assert is_hollow(source, tests=3)

    @pytest.mark.parametrize(
        "source",
        [
            "def f(x):\n    return x",
            "def f(x):\n    raise ValueError(x)",
            "def f(x):\n    pass\n\ndef g(x):\n    return 0",
            "limit = 3",
            "def f(x):\n    return '\\d'",
        ],
    )
    def test_code_that_does_something(self, source):
        assert not is_hollow(source, tests=3)

    def test_code_without_tests_is_hollow_whatever_it_does(self):
        assert is_hollow("def f(x):\n    return x", tests=0)
