"""Reward logs as one DataFrame: one row per judgement that counts, columns of known types.

Covers the coercion of foreign spellings and the folding of reruns. Replies, evidence and other long fields
are not kept, so that a log of a million rows fits in memory; figures over the frame are `compare`'s.
"""

from __future__ import annotations

import json
import math
import re
from array import array
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd

from judge.log import LONG_FIELDS, read_log
from judge.schema import as_text

__all__ = ["FINE", "FINE_COLUMNS", "NONE", "load_frame"]

FINE = "fine"
"""No key of a log: the breakdown that needs FINE_COLUMNS in the frame."""

FINE_COLUMNS = ("instruction_hash", "fine_quotes", "fine_dropped")

NONE = "(none)"
"""Stands for a missing rubric version, judge model or group, so that every row is in some table row."""

_BATCH = 64
_JUDGEMENT = ["trajectory_id", "rubric_version", "judge_model", "repeat"]
_LABELS = (*_JUDGEMENT, "task_id", "category", "outcome_status")
_NUMBERS = ("reward", "score", "outcome", "latency_ms", "cost")
_KEYS = {"error_kind": "error", "tokens": "usage", "fine_quotes": "fine_rubrics", "prompt_tokens": "calls"}
_DEFAULTS = {"rubric_version": NONE, "judge_model": NONE, "repeat": "0", "outcome_status": "ok"}
_JUDGING = ("steps", "trajectory")

_SPELLINGS = {"true": 1.0, "yes": 1.0, "1": 1.0, "false": 0.0, "no": 0.0, "0": 0.0}
_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def load_frame(
    paths: Iterable[str | Path],
    *,
    by: str | None = None,
    also: Sequence[str] = (),
    whole: bool = False,
    on_bad: Callable[[str], None] | None = None,
) -> pd.DataFrame:
    """The judgements of one or more logs, in log order, index 0 to len - 1.

    Of several rows of one (trajectory_id, rubric_version, judge_model, repeat) the last settled one is kept,
    else the last failed one; `frame.attrs["superseded"]` counts the others. Rows without a trajectory_id are
    all kept.

    Columns: trajectory_id, rubric_version, judge_model, repeat, task_id, category, outcome_status,
    error_kind and, where they are none of the columns here, `by` and `also` are categoricals of str in order
    of first appearance, whatever JSON held; reward, score, outcome, latency_ms (milliseconds), cost, tokens
    and success (1.0 or 0.0) are floats. What is missing, not finite or not spelled like its column is null.
    An absent version or model is "(none)", an absent repeat "0", an absent outcome_status "ok".

    `whole` adds the integers position, the row's among those that `read_log` finds, from 0: lines are then
    read to their end, so that both find the same rows, in twice the time.

    `by` FINE adds the categoricals FINE_COLUMNS: instruction_hash ("(none)" where absent), and for each fine
    item kept its quote, for each one dropped the reason, as JSON lists of strings; and the float
    prompt_tokens, the mean of the calls that judged (of purpose steps or trajectory).

    `on_bad` is told of each unreadable line as "path:line: reason". Raises FileNotFoundError.
    """
    columns = _columns(by, also)
    keys = [_KEYS.get(name, name) for name in columns]
    is_brief = not whole and by not in (FINE, *LONG_FIELDS)
    rows = read_log(*paths, on_bad=on_bad, brief=is_brief)
    cells = (tuple(map(row.get, keys)) for row in rows)
    while batch := list(islice(cells, _BATCH)):
        for column, values in zip(columns.values(), zip(*batch, strict=True), strict=True):
            column.extend(values)
    frame = pd.DataFrame({name: column.series() for name, column in columns.items()})
    kept = _last_that_counts(frame).reset_index(drop=not whole, names="position")
    kept.attrs["superseded"] = len(frame) - len(kept)
    return kept


class _Labels:
    """A column of strings, each kept once: a log of a million rows repeats most of them."""

    def __init__(self, missing: str | None = None, read: Callable[[Any], str | None] | None = None) -> None:
        self._missing = missing
        self._read = read or _text
        self._seen: dict[str, int] = {}
        self._codes = array("i")

    def extend(self, values: Iterable[Any]) -> None:
        seen = self._seen
        self._codes.extend([seen[v] if type(v) is str and v in seen else self._code(v) for v in values])

    def series(self) -> pd.Series[Any]:
        # Object, because an Arrow-backed index cannot hold every string that JSON can.
        categories = pd.Index(list(self._seen), dtype=object)
        return pd.Series(pd.Categorical.from_codes(self._codes, categories=categories))

    def _code(self, value: Any) -> int:
        label = self._missing if value is None else self._read(value)
        return -1 if label is None else self._seen.setdefault(label, len(self._seen))


class _Numbers:
    """A column of floats; what `read` cannot make one of is NaN."""

    def __init__(self, read: Callable[[Any], float]) -> None:
        self._read = read
        self._column = array("d")

    def extend(self, values: Iterable[Any]) -> None:
        self._column.extend(map(self._read, values))

    def series(self) -> pd.Series[Any]:
        return pd.Series(self._column, dtype="float64").replace([math.inf, -math.inf], math.nan)


def _columns(by: str | None, also: Sequence[str]) -> dict[str, _Labels | _Numbers]:
    """The columns of the frame, empty; `by` and `also` are added where they are not among them."""
    columns: dict[str, _Labels | _Numbers] = {name: _Labels(_DEFAULTS.get(name)) for name in _LABELS}
    columns["error_kind"] = _Labels(read=_error_kind)
    columns |= {name: _Numbers(_number) for name in _NUMBERS}
    columns["success"] = _Numbers(_truth)
    columns["tokens"] = _Numbers(_total_tokens)
    if by == FINE:
        columns["instruction_hash"] = _Labels(NONE)
        columns["fine_quotes"] = _Labels("[]", lambda items: _named(items, "quote"))
        columns["fine_dropped"] = _Labels("[]", lambda items: _named(items, "why"))
        columns["prompt_tokens"] = _Numbers(_judging_tokens)
    elif by is not None:
        columns.setdefault(by, _Labels())
    for name in also:
        columns.setdefault(name, _Labels())
    return columns


def _last_that_counts(frame: pd.DataFrame) -> pd.DataFrame:
    settled = frame["error_kind"].isna() | (frame["error_kind"] == "unusable_input")
    worst_first = settled.sort_values(kind="stable").index
    superseded = frame.loc[worst_first, _JUDGEMENT].duplicated(keep="last").sort_index()
    return frame[~(superseded & frame["trajectory_id"].notna())]


def _text(value: Any) -> str:
    # Most labels that are no strings are small integers, and JSON would write those the same way.
    return str(value) if type(value) is int else as_text(value)


def _number(value: Any) -> float:
    """A JSON number, a boolean or a decimal in a string; all else is NaN."""
    if type(value) is float:
        return value
    if isinstance(value, str):
        return float(value) if _DECIMAL.fullmatch(value.strip()) else math.nan
    try:
        return float(value) if isinstance(value, int | float) else math.nan
    except OverflowError:
        return math.nan


def _truth(value: Any) -> float:
    """1.0 or 0.0 for a boolean, 1, 0 or one of the listed spellings; all else is NaN."""
    if isinstance(value, str):
        return _SPELLINGS.get(value.strip().lower(), math.nan)
    return float(value) if isinstance(value, int | float) and value in (0, 1) else math.nan


def _total_tokens(usage: Any) -> float:
    return _number(usage.get("total_tokens")) if isinstance(usage, dict) else math.nan


def _judging_tokens(calls: Any) -> float:
    """The mean prompt tokens of the calls that judged; NaN where none of them was counted."""
    judging = [each for each in _objects(calls) if each.get("purpose") in _JUDGING]
    usages = [each["usage"] for each in judging if isinstance(each.get("usage"), dict)]
    counted = [tokens for usage in usages if (tokens := _number(usage.get("prompt_tokens"))) >= 0]
    return sum(counted) / len(counted) if counted else math.nan


def _named(items: Any, key: str) -> str:
    """The text under `key` of each object in a list, "(none)" where it has none, as a JSON list."""
    return json.dumps([as_text(each.get(key)) or NONE for each in _objects(items)])


def _objects(value: Any) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _error_kind(error: Any) -> str | None:
    """The kind of {kind, message} or, in foreign logs, of a bare string; an empty one is no error."""
    if not error:
        return None
    if isinstance(error, dict):
        return as_text(error.get("kind")) or "unknown"
    return as_text(error)
