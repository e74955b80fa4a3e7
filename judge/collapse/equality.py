"""Verifiers that compare with a reference: the end state of a database, and a golden tool call.

Values are what JSON can hold. Two of them are equal where their canonical texts are: key order is free, list
order counts. Not covered: which step's call belongs to which golden call.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from typing import Any

from judge.collapse.collapsed import Collapsed
from judge.schema import ToolCall

# What JSON would write as a number. "007" is a name, and so are "1_000" and "inf".
_NUMERAL = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,9})?")
_EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)

_MOST_WITH_EXTRAS = 0.99


def database_state(actual: Any, expected: Any, *, coerce: bool = False) -> Collapsed:
    """1.0 where two database states have the same `state_hash`, else 0.0.

    Raises TypeError for a value that JSON cannot hold.
    """
    value = float(state_hash(actual, coerce=coerce) == state_hash(expected, coerce=coerce))
    return Collapsed(value, {"database_state": value})


def state_hash(state: Any, *, coerce: bool = False) -> str:
    """SHA-256 of the canonical text of `state`, 64 hex digits.

    Key order is free and list order counts. 3, 3.0 and "3" differ, unless `coerce` reads every numeral as
    its number; True is never 1.

    Raises TypeError for a value that JSON cannot hold.
    """
    return hashlib.sha256(_canonical(state, coerce).encode()).hexdigest()


def golden_call(call: ToolCall | None, golden: ToolCall) -> Collapsed:
    """How far a tool call is the golden one, in [0, 1]; None is a step that called nothing.

    1.0 for the same name and arguments, 0.0 for another name, else 0.5 + 0.5 x (golden arguments that the
    call has too / golden arguments), at most 0.99 where it has arguments besides. Arguments (a mapping, or
    its JSON) are compared after normalising at every depth: numerals are their numbers, None and empty are
    missing, lists of objects are sorted. Arguments of the call that are no mapping count as none.

    Raises ValueError for golden arguments that are no mapping, TypeError for what JSON cannot hold.
    """
    parts = {"golden_name": 0.0, "golden_arguments": 0.0}
    wanted = _arguments(golden)
    if wanted is None:
        raise ValueError(f"the arguments of the golden call to {golden.name} are no mapping")
    if call is not None and call.name == golden.name:
        parts = {"golden_name": 0.5, "golden_arguments": 0.5 * _overlap(_arguments(call), wanted)}
    return Collapsed(sum(parts.values()), parts)


def _overlap(given: dict[str, str] | None, wanted: dict[str, str]) -> float:
    """The share of the wanted arguments that are given."""
    if given is None:
        return 0.0
    share = len(given.items() & wanted.items()) / len(wanted) if wanted else 1.0
    return min(share, 2 * _MOST_WITH_EXTRAS - 1) if given.keys() - wanted.keys() else share


def _arguments(call: ToolCall) -> dict[str, str] | None:
    """Name → canonical text of each argument that is not empty; None where they are no mapping."""
    arguments = call.arguments
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments) if arguments.strip() else None
        except ValueError:
            return None
    arguments = _without_empty({} if _is_empty(arguments) else arguments)
    if not isinstance(arguments, Mapping):
        return None
    return {str(name): _canonical(value, coerce=True) for name, value in arguments.items()}


def _without_empty(value: Any) -> Any:
    if isinstance(value, Mapping):
        kept = {name: _without_empty(inner) for name, inner in value.items()}
        return {name: inner for name, inner in kept.items() if not _is_empty(inner)}
    if not isinstance(value, list | tuple):
        return value
    items = [_without_empty(item) for item in value]
    if all(isinstance(item, Mapping) for item in items):
        items.sort(key=lambda item: _canonical(item, coerce=True))
    return items


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, str | list | Mapping) and not value)


def _canonical(value: Any, coerce: bool) -> str:
    """The one text that equal values share."""
    if isinstance(value, Mapping):
        pairs = sorted((_canonical(key, coerce), _canonical(inner, coerce)) for key, inner in value.items())
        return "{" + ",".join(f"{key}:{inner}" for key, inner in pairs) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(_canonical(item, coerce) for item in value) + "]"
    text = value if isinstance(value, str) else json.dumps(value)
    if coerce and _NUMERAL.fullmatch(text):
        # Decimal and not float: long order numbers must not collapse into one another. Plus turns -0 into 0.
        return str(_EXACT.normalize(_EXACT.plus(Decimal(text))))
    return json.dumps(value)
