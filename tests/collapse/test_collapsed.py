"""The blend of parts by weight."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.collapse import weighted


class TestWeighted:
    def test_parts_that_are_missing_do_not_count_as_zero(self):
        parts = {"score": 0.5, "verifier": None, "unused": 9.0}
        collapsed = weighted(parts, {"score": 1, "verifier": 3})
        assert collapsed.value == 0.5
        assert collapsed.parts == {"score": 0.5}

    def test_it_is_the_weighted_mean(self):
        assert weighted({"score": 0.5, "verifier": 1.0}, {"score": 1, "verifier": 3}).value == 0.875

    @given(st.dictionaries(st.sampled_from("abc"), st.floats(0, 1), min_size=1))
    def test_it_lies_between_its_parts(self, parts):
        value = weighted(parts, {"a": 1, "b": 2, "c": 0.5}).value
        assert min(parts.values()) - 1e-9 <= value <= max(parts.values()) + 1e-9

    @pytest.mark.parametrize(
        ("parts", "weights"), [({}, {"score": 1}), ({"score": 0.5}, {}), ({"score": 0.5}, {"score": 0})]
    )
    def test_nothing_to_weigh_is_refused(self, parts, weights):
        with pytest.raises(ValueError, match="is present"):
            weighted(parts, weights)
