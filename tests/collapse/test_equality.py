"""When two database states, and two tool calls, are the same, and what a call is worth that is nearly so."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.collapse import database_state, golden_call, state_hash
from judge.schema import ToolCall

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
states = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=12,
)
GOLDEN = {"user": "u1", "flight": "HAT030", "bags": 2, "cabin": "economy"}


def call(name: str, arguments: object) -> ToolCall:
    return ToolCall(name=name, arguments=arguments)


def worth(given_arguments: object, golden_arguments: object = GOLDEN) -> float:
    return golden_call(call("book", given_arguments), call("book", golden_arguments)).value


def reversed_keys(state: object) -> object:
    if isinstance(state, dict):
        return {key: reversed_keys(state[key]) for key in reversed(state)}
    return [reversed_keys(item) for item in state] if isinstance(state, list) else state


class TestDatabaseState:
    def test_equal_states_earn_one(self):
        reward = database_state({"a": 1, "b": [1, {"c": None}]}, {"b": [1, {"c": None}], "a": 1})
        assert (reward.value, reward.parts) == (1.0, {"database_state": 1.0})

    @pytest.mark.parametrize(
        ("actual", "expected"),
        [
            ([1, 2], [2, 1]),
            (3, 3.0),
            (3, "3"),
            (3.0, "3"),
            (1, True),
            (None, ""),
            ({}, []),
            ({"a": None}, {}),
        ],
    )
    def test_different_states_earn_nothing(self, actual, expected):
        assert database_state({"x": actual}, {"x": expected}).value == 0.0

    @pytest.mark.parametrize(
        ("actual", "expected"),
        [(3, 3.0), (3, "3"), (3.0, "3"), ("3.0", 3), ("-0", 0), (1e16, "10000000000000000"), (0.1, "0.10")],
    )
    def test_coerced_numerals_are_their_numbers(self, actual, expected):
        assert database_state([actual], [expected], coerce=True).value == 1.0

    @pytest.mark.parametrize(
        ("actual", "expected"),
        [
            ("007", 7),
            ("1_000", 1000),
            ("3 ", 3),
            ("٣", 3),
            (True, 1),
            ("inf", float("inf")),
            (12345678901234567890123456789012345678901, "12345678901234567890123456789012345678902"),
            ("1e999999999", "1e999999998"),
        ],
    )
    def test_coercion_takes_no_names_for_numbers(self, actual, expected):
        assert database_state([actual], [expected], coerce=True).value == 0.0

    @given(states, st.booleans())
    def test_key_order_and_storage_do_not_matter(self, state, coerce):
        assert state_hash(reversed_keys(state), coerce=coerce) == state_hash(state, coerce=coerce)
        assert state_hash(json.loads(json.dumps(state)), coerce=coerce) == state_hash(state, coerce=coerce)

    def test_what_json_cannot_hold_is_refused(self):
        with pytest.raises(TypeError):
            database_state({"seen": {1, 2}}, {})


class TestGoldenCall:
    @pytest.mark.parametrize(
        ("right", "of", "value"), [(4, 4, 1.0), (1, 4, 0.625), (2, 3, 0.8333), (3, 4, 0.875), (0, 4, 0.5)]
    )
    def test_worked_values(self, right, of, value):
        golden = dict.fromkeys("abcd"[:of], 1)
        assert worth({**golden, **dict.fromkeys("abcd"[right:of], 9)}, golden) == pytest.approx(
            value, abs=1e-4
        )

    def test_another_name_or_no_call_earns_nothing(self):
        golden = call("book", GOLDEN)
        assert golden_call(call("cancel", GOLDEN), golden).value == 0.0
        assert golden_call(None, golden).parts == {"golden_name": 0.0, "golden_arguments": 0.0}

    def test_extra_arguments_keep_it_below_one(self):
        assert worth({**GOLDEN, "insurance": True}) == pytest.approx(0.99)
        assert worth({"force": True}, {}) == pytest.approx(0.99)
        assert worth({"user": "u1", "insurance": True}) == pytest.approx(0.625)

    @pytest.mark.parametrize(
        ("given_arguments", "golden_arguments"),
        [
            ({"n": "3"}, {"n": 3}),
            ({"n": 3.0}, {"n": 3}),
            ({"a": 1, "b": None, "c": "", "d": [], "e": {"f": ""}}, {"a": 1}),
            ({"a": 1}, {"a": 1, "b": None}),
            ({"pay": [{"id": 2}, {"id": "1"}]}, {"pay": [{"id": 1}, {"id": 2, "note": None}]}),
            ({"deep": {"list": [[{"x": 2}, {"x": 1}]]}}, {"deep": {"list": [[{"x": "1"}, {"x": "2"}]]}}),
            ('{"a": 1}', {"a": 1}),
            (None, {}),
            ("null", "{}"),
            (" ", {}),
        ],
    )
    def test_normalised_arguments_are_equal(self, given_arguments, golden_arguments):
        assert worth(given_arguments, golden_arguments) == 1.0

    @pytest.mark.parametrize(
        ("given_argument", "golden_argument"),
        [("007", 7), ([2, 1], [1, 2]), (0, None), (False, ""), (True, 1), ("a", "A"), ([{"x": 1}], {"x": 1})],
    )
    def test_what_normalising_leaves_apart(self, given_argument, golden_argument):
        assert worth({"a": given_argument, "b": 1}, {"a": golden_argument, "b": 1}) < 1.0

    @pytest.mark.parametrize("broken", ['{"user": "u1"', "user=u1", "[1]", 5])
    def test_broken_arguments_earn_the_name_alone(self, broken):
        assert worth(broken) == 0.5

    def test_a_golden_call_that_is_broken_is_refused(self):
        with pytest.raises(ValueError, match="golden call to book"):
            worth({}, '{"user"')

    @given(
        st.dictionaries(st.text(max_size=3), states, max_size=4), st.dictionaries(st.text(max_size=3), states)
    )
    def test_range_and_self(self, arguments, golden):
        assert 0.5 <= worth(arguments, golden) <= 1.0
        assert worth(arguments, arguments) == 1.0
