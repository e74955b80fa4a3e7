"""Columns of a frame as they grow, row by row, and how each reads what JSON held.

Covers labels, numbers and the named parts of a reward, each in a few bytes a row. Which column is read from
which key is `frame`'s to say.
"""

from __future__ import annotations

import json
import math
import re
from array import array
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judge.schema import as_text

__all__ = [
    "NONE",
    "Labels",
    "Numbers",
    "Parts",
    "error_kind",
    "finite",
    "flag_lines",
    "flagged",
    "judging_tokens",
    "label_line",
    "named",
    "number",
    "truth",
]

NONE = "(none)"
"""Stands for a missing rubric version, judge model or group, so that every row is in some table row."""

_LARGEST = 1e100
"""No reward, cost or latency is larger; of numbers that are, no sum or variance could be told."""

_JUDGING = ("steps", "trajectory")
_MOST_PARTS = 32
_SPELLINGS = {"true": 1.0, "yes": 1.0, "1": 1.0, "false": 0.0, "no": 0.0, "0": 0.0}
_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


class Labels:
    """A column of strings, each kept once: a log of a million rows repeats most of them."""

    def __init__(self, missing: str | None = None, read: Callable[[Any], str | None] | None = None) -> None:
        self._missing = missing
        self._read = read or _text
        self._seen: dict[str, int] = {}
        self._codes = array("i")

    def extend(self, values: Iterable[Any]) -> None:
        seen = self._seen
        self._codes.extend([seen[v] if type(v) is str and v in seen else self._code(v) for v in values])

    def series(self, name: str) -> dict[str, pd.Series[Any]]:
        # Object, because an Arrow-backed index cannot hold every string that JSON can.
        categories = pd.Index(list(self._seen), dtype=object)
        return {name: pd.Series(pd.Categorical.from_codes(self._codes, categories=categories))}

    def _code(self, value: Any) -> int:
        label = self._missing if value is None else self._read(value)
        return -1 if label is None else self._seen.setdefault(label, len(self._seen))


class Numbers:
    """A column of floats; what `read` cannot make one of is NaN.

    `of` takes the numbers from under this key of objects.
    """

    def __init__(self, read: Callable[[Any], float], of: str | None = None) -> None:
        self._read = read
        self._of = of
        self._column = array("d")

    def extend(self, values: Iterable[Any]) -> None:
        if (key := self._of) is not None:
            values = [value.get(key) if isinstance(value, dict) else None for value in values]
        self._column.extend(self._floats(values))

    def series(self, name: str) -> dict[str, pd.Series[Any]]:
        return {name: _finite(self._column)}

    def _floats(self, values: Iterable[Any]) -> Iterable[float]:
        if self._read is number:
            # Nearly all are numbers or null, and an array takes those without a call for each.
            with suppress(TypeError, OverflowError):
                return array("d", [math.nan if value is None else value for value in values])
        return map(self._read, values)


class Parts:
    """A column of floats for each name in objects of numbers: `name.part`, NaN where a row has none.

    At most 32 names: whoever writes a new one in each row gets no table of a million columns.
    """

    def __init__(self) -> None:
        self._columns: dict[str, array[float]] = {}
        self._rows = 0

    def extend(self, values: Iterable[Any]) -> None:
        for parts in values:
            if isinstance(parts, dict):
                for name, value in parts.items():
                    self._append(name, value)
            self._rows += 1

    def series(self, name: str) -> dict[str, pd.Series[Any]]:
        for column in self._columns.values():
            self._pad(column)
        return {f"{name}.{part}": _finite(column) for part, column in self._columns.items()}

    def _append(self, name: str, value: Any) -> None:
        if name not in self._columns and len(self._columns) == _MOST_PARTS:
            return
        column = self._columns.setdefault(name, array("d"))
        self._pad(column)
        column.append(number(value))

    def _pad(self, column: array[float]) -> None:
        if missing := self._rows - len(column):
            column.extend([math.nan] * missing)


def number(value: Any) -> float:
    """A JSON number, a boolean or a decimal in a string; all else is NaN."""
    if type(value) is float:
        return value
    if isinstance(value, str):
        return float(value) if _DECIMAL.fullmatch(value.strip()) else math.nan
    try:
        return float(value) if isinstance(value, int | float) else math.nan
    except OverflowError:
        return math.nan


def finite(value: float) -> float:
    """The number, or NaN where it is infinite or beyond 1e100."""
    return value if abs(value) <= _LARGEST else math.nan


def truth(value: Any) -> float:
    """1.0 or 0.0 for a boolean, 1, 0 or one of the listed spellings; all else is NaN."""
    if isinstance(value, str):
        return _SPELLINGS.get(value.strip().lower(), math.nan)
    return float(value) if isinstance(value, int | float) and value in (0, 1) else math.nan


def judging_tokens(calls: Any) -> float:
    """The mean prompt tokens of the calls that judged; NaN where none of them was counted."""
    judging = [each for each in _objects(calls) if each.get("purpose") in _JUDGING]
    usages = [each["usage"] for each in judging if isinstance(each.get("usage"), dict)]
    counted = [tokens for usage in usages if (tokens := number(usage.get("prompt_tokens"))) >= 0]
    return sum(counted) / len(counted) if counted else math.nan


def named(items: Any, key: str) -> str:
    """The text under `key` of each object in a list, "(none)" where it has none, as a JSON list."""
    return json.dumps([as_text(each.get(key)) or NONE for each in _objects(items)])


def flag_lines(flags: Any) -> str:
    """The flags of a row, one on each line."""
    if not isinstance(flags, list):
        return as_text(flags) or ""
    return "\n".join([flag if type(flag) is str else as_text(flag) or "" for flag in flags])


def label_line(steps: Any) -> str:
    """The judge's labels of the steps of a row, between spaces; steps without one are passed over."""
    labels = [each.get("label") for each in _objects(steps)]
    return " ".join([str(int(label)) for label in labels if label in (-1, 0, 1)])


def flagged(frame: pd.DataFrame, *flags: str) -> NDArray[np.bool_]:
    """Whether each row of a frame with the column flags bears one of these."""
    names = frame["flags"].cat.categories
    bears = np.array([not set(flags).isdisjoint(lines.split("\n")) for lines in names], dtype=bool)
    return bears[frame["flags"].cat.codes] if len(names) else np.zeros(len(frame), dtype=bool)


def error_kind(error: Any) -> str | None:
    """The kind of {kind, message} or, in foreign logs, of a bare string; an empty one is no error."""
    if not error:
        return None
    if isinstance(error, dict):
        return as_text(error.get("kind")) or "unknown"
    return as_text(error)


def _text(value: Any) -> str:
    # Most labels that are no strings are small integers, and JSON would write those the same way.
    return str(value) if type(value) is int else as_text(value)


def _objects(value: Any) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _finite(column: array[float]) -> pd.Series[Any]:
    found = pd.Series(column, dtype="float64")
    return found.where(found.abs() <= _LARGEST)
