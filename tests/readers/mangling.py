"""A record with some of its nodes deleted, replaced, doubled or shuffled: what a reader may be handed."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import strategies as st

ANYTHING: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.just(10**400)
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["assistant", "tool", "{'a': 1}", "{[]: 1}", "{1: {2}}", '{"a": 1e999}', "\ud800"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


@st.composite
def mangled(draw: st.DrawFn, record: dict[str, Any]) -> dict[str, Any]:
    """`record` with one to three of its nodes deleted, replaced by anything or each other, or shuffled."""
    found = copy.deepcopy(record)
    for _ in range(draw(st.integers(1, 3))):
        holders = list(_holders(found))
        if not holders:
            break
        holder, key = draw(st.sampled_from(holders))
        match draw(st.sampled_from(["delete", "replace", "swap", "shuffle"])):
            case "delete":
                del holder[key]
            case "shuffle" if isinstance(holder[key], list):
                holder[key] = draw(st.permutations(holder[key]))
            case "replace":
                holder[key] = draw(ANYTHING)
            case _:
                other, at = draw(st.sampled_from(holders))
                holder[key] = copy.deepcopy(other[at])
    return found


def _holders(node: Any) -> Any:
    """Every (container, key) of a record, in order."""
    pairs = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, inner in list(pairs):
        yield node, key
        yield from _holders(inner)
