"""Single values of a reply: closed lists of spellings, explicit scales, and nothing guessed.

Every reader raises JudgeError invalid_verdict for what is not on its list, and appends "coerced" to `flags`
where the value was understood but not given in the form that was asked for.
"""

from __future__ import annotations

import re
import reprlib
import unicodedata
from typing import Any

from judge.errors import JudgeError
from judge.schema import as_text, clean_text

COERCED = "coerced"

_TRUE = (
    *("true", "yes", "1", "pass", "passed", "success", "successful", "succeeded", "correct"),
    *("真", "是", "成功", "通过", "正确"),
)
_FALSE = (
    *("false", "no", "0", "fail", "failed", "failure", "unsuccessful", "incorrect", "wrong"),
    *("假", "否", "失败", "未成功", "不成功", "未通过", "不通过", "错误", "不正确"),
)
_BOOLEANS = {**dict.fromkeys(_TRUE, True), **dict.fromkeys(_FALSE, False)}
_WHOLE: dict[float, str] = {-1: "-1", 0: "0", 1: "1"}
_MINUS = str.maketrans("−–", "--")
_NUMBER = r"[+-]?(?:\d{1,15}\.?\d*|\.\d+)"
_SCORE = re.compile(rf"({_NUMBER}(?:e[+-]?\d{{1,3}})?)(?:\s*(%)|\s*/\s*({_NUMBER}))?", re.ASCII)
_TOLERANCE = 1e-6
_MAX_INDEX = 2**31


def invalid(name: str, value: object, wanted: str) -> JudgeError:
    """The error for a value that is on no list; the value is shown shortened."""
    return JudgeError("invalid_verdict", f"{name} is {reprlib.repr(value)}, not {wanted}")


def fold(value: object) -> str | None:
    """The spelling that is looked up: a string without case, width or outer space, or -1, 0, 1 as digits.

    None for a boolean and for every other value.
    """
    if isinstance(value, str):
        return unicodedata.normalize("NFKC", value).strip().casefold().translate(_MINUS)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return _WHOLE.get(value)


def read_boolean(value: object, name: str, flags: list[str]) -> bool:
    """A boolean, or one of the spellings of true and false in English and Chinese, or 1 and 0."""
    if isinstance(value, bool):
        return value
    spelled = boolean_spelling(value)
    if spelled is None:
        raise invalid(name, value, "true or false")
    flags.append(COERCED)
    return spelled


def boolean_spelling(value: object) -> bool | None:
    """What `value` says as a boolean, None where it says neither."""
    return value if isinstance(value, bool) else _BOOLEANS.get(fold(value) or "")


def read_unit(value: object, name: str, flags: list[str]) -> float:
    """A number in [0, 1]: a JSON number, a numeric string, or one with its own scale ("8/10", "85%").

    Never a boolean, and never divided by a guessed scale. Beyond the range by 1e-6 at most is float dust
    and is snapped.
    """
    if type(value) is float or type(value) is int:
        number: float = value
    else:
        number = _spelled_number(value, name)
        flags.append(COERCED)
    if not -_TOLERANCE <= number <= 1 + _TOLERANCE:
        raise invalid(name, value, "in the range from 0 to 1")
    if not 0 <= number <= 1:
        flags.append(COERCED)
    return float(min(1.0, max(0.0, number)))


def _spelled_number(value: object, name: str) -> float:
    spelled = _SCORE.fullmatch(fold(value) or "") if isinstance(value, str) else None
    if not spelled:
        raise invalid(name, value, "a number from 0 to 1")
    number, percent, denominator = spelled.groups()
    scale = 100.0 if percent else float(denominator or 1)
    if scale <= 0:
        raise invalid(name, value, "a share of a positive number")
    return float(number) / scale


def read_index(value: object) -> int | None:
    """A 0-based step index as an integer, None where `value` is none (a range, a name, below zero)."""
    if type(value) is int:
        return value if 0 <= value < _MAX_INDEX else None
    if isinstance(value, str):
        digits = fold(value) or ""
        value = int(digits) if digits.isascii() and digits.isdecimal() and len(digits) < 10 else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if 0 <= value < _MAX_INDEX and value == int(value) else None


def read_text(value: Any, flags: list[str]) -> str:
    """Free text; null is "", and what is no string is kept as its JSON."""
    if isinstance(value, str):
        return clean_text(value)
    if value is not None:
        flags.append(COERCED)
    return as_text(value)
