"""Strict JSON: what the standard allows, minus what two careful readers could read differently.

Refused are NaN, Infinity, numbers that overflow, and a key given twice in one object, at any depth. Repair
is not here.
"""

from __future__ import annotations

import json
import math
from typing import Any

from judge.errors import JudgeError

NOT_JSON: Any = object()
"""What `decode` gives for text that is no JSON; None would be the JSON null."""


class _Refused(ValueError):
    pass


def _refuse_constant(name: str) -> Any:
    raise _Refused(f"{name} is not a JSON number")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise _Refused(f"the number {digits[:20]} overflows")
    return number


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in fields if keys.count(key) > 1)
        raise _Refused(f"the key {twice[:40]!r} is given twice")
    return fields


def _decoder(strict: bool) -> json.JSONDecoder:
    return json.JSONDecoder(
        object_pairs_hook=_unique, parse_float=_finite, parse_constant=_refuse_constant, strict=strict
    )


_STRICT = _decoder(strict=True)
_RAW_CONTROLS = _decoder(strict=False)
# Only asks "is it JSON at all?"; as floats, integers of any length are read in linear time.
_LOOSE = json.JSONDecoder(parse_int=float, strict=False)


def decode(text: str, *, raw_controls: bool = False) -> Any:
    """The value of `text`, or NOT_JSON where it is not JSON or is nested beyond Python's recursion limit.

    With `raw_controls`, strings may hold raw newlines and tabs. Raises JudgeError invalid_verdict for JSON
    that is refused: such a reply was read in full, and repairing it would be choosing.
    """
    value, fault = decode_or_fault(text, raw_controls=raw_controls)
    if fault:
        raise JudgeError("invalid_verdict", fault)
    return value


def decode_or_fault(text: str, *, raw_controls: bool = False) -> tuple[Any, str | None]:
    """Like `decode`, but a refusal comes back as (the loosely read value, why it was refused)."""
    try:
        return (_RAW_CONTROLS if raw_controls else _STRICT).decode(text), None
    except (json.JSONDecodeError, RecursionError):
        return NOT_JSON, None
    except ValueError as refusal:
        # Also an integer of more digits than Python converts, which is no _Refused.
        fault = str(refusal) if isinstance(refusal, _Refused) else "a number overflows"
    try:
        return _LOOSE.decode(text), fault
    except (ValueError, RecursionError):
        return NOT_JSON, None
