"""Reward logs as one DataFrame: one row per judgement that counts, columns of known types.

Covers the coercion of foreign spellings and the folding of reruns. Replies, evidence and other long fields
are not kept, so that a log of a million rows fits in memory; figures over the frame are `compare`'s.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Any

import pandas as pd

from analysis.columns import (
    NONE,
    Labels,
    Numbers,
    Parts,
    error_kind,
    flag_lines,
    judging_tokens,
    label_line,
    named,
    number,
    truth,
)
from judge.log import read_log

__all__ = ["FINE", "FINE_COLUMNS", "NONE", "load_frame"]

FINE = "fine"
"""No key of a log: the breakdown that needs FINE_COLUMNS in the frame."""

FINE_COLUMNS = ("instruction_hash", "fine_quotes", "fine_dropped")

Column = Labels | Numbers | Parts

_BATCH = 64
_JUDGEMENT = ["trajectory_id", "rubric_version", "judge_model", "repeat"]
_LABELS = (*_JUDGEMENT, "task_id", "category", "outcome_status")
_NUMBERS = ("reward", "score", "outcome", "latency_ms", "cost")
_KEYS = {"error_kind": "error", "tokens": "usage", "fine_quotes": "fine_rubrics"}
_KEYS |= {"prompt_tokens": "calls", "omitted_steps": "omitted"}
_DEFAULTS = {"rubric_version": NONE, "judge_model": NONE, "repeat": "0", "outcome_status": "ok"}
_ALSO: dict[str, Callable[[], Column]] = {
    "flags": lambda: Labels("", flag_lines),
    "steps": lambda: Labels("", label_line),
    "parts": Parts,
    "omitted_steps": lambda: Numbers(number, of="steps"),
    **dict.fromkeys(("frame_count", "attempts"), lambda: Numbers(number)),
    "cached": lambda: Numbers(truth),
}
"""Name in `also` → its column, where that is not one of labels."""


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
    and success (1.0 or 0.0) are floats. What is missing, not finite, beyond 1e100 or not spelled like its
    column is null. An absent version or model is "(none)", an absent repeat "0", an absent outcome_status
    "ok".

    Not labels in `also`: flags (one on each line of a categorical, "" for none), steps (the judge's labels of
    them, between spaces, in a categorical, "" for none), the floats omitted_steps (omitted.steps),
    frame_count, attempts and cached (1.0 or 0.0), and parts, which becomes a float `parts.NAME` for each part
    of a reward.

    `whole` adds the integers position, the row's among those that `read_log` finds, from 0: lines are then
    read to their end, so that both find the same rows, in twice the time.

    `by` FINE adds the categoricals FINE_COLUMNS: instruction_hash ("(none)" where absent), and for each fine
    item kept its quote, for each one dropped the reason, as JSON lists of strings; and the float
    prompt_tokens, the mean of the calls that judged (of purpose steps or trajectory).

    `on_bad` is told of each unreadable line as "path:line: reason". Raises FileNotFoundError.
    """
    columns = _columns(by, also)
    keys = [_KEYS.get(name, name) for name in columns]
    rows = read_log(*paths, on_bad=on_bad, fields=None if whole else keys)
    cells = _cells(rows, keys)
    while batch := list(islice(cells, _BATCH)):
        for column, values in zip(columns.values(), zip(*batch, strict=True), strict=True):
            column.extend(values)
    series = [column.series(name) for name, column in columns.items()]
    frame = pd.DataFrame({name: each for found in series for name, each in found.items()})
    kept = _last_that_counts(frame).reset_index(drop=not whole, names="position")
    kept.attrs["superseded"] = len(frame) - len(kept)
    return kept


def _columns(by: str | None, also: Sequence[str]) -> dict[str, Column]:
    """The columns of the frame, empty; `by` and `also` are added where they are not among them."""
    columns: dict[str, Column] = {name: Labels(_DEFAULTS.get(name)) for name in _LABELS}
    columns["error_kind"] = Labels(read=error_kind)
    columns |= {name: Numbers(number) for name in _NUMBERS}
    columns["success"] = Numbers(truth)
    columns["tokens"] = Numbers(number, of="total_tokens")
    if by == FINE:
        columns["instruction_hash"] = Labels(NONE)
        columns["fine_quotes"] = Labels("[]", lambda items: named(items, "quote"))
        columns["fine_dropped"] = Labels("[]", lambda items: named(items, "why"))
        columns["prompt_tokens"] = Numbers(judging_tokens)
    elif by is not None:
        columns.setdefault(by, Labels())
    for name in also:
        if name not in columns:
            columns[name] = _ALSO.get(name, Labels)()
    return columns


def _cells(rows: Iterable[dict[str, Any]], keys: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """What each row has under these keys, two or more; None for a key that it lacks."""
    pick = itemgetter(*keys)
    for row in rows:
        try:
            yield pick(row)
        except KeyError:
            yield tuple(map(row.get, keys))


def _last_that_counts(frame: pd.DataFrame) -> pd.DataFrame:
    settled = frame["error_kind"].isna() | (frame["error_kind"] == "unusable_input")
    worst_first = settled.sort_values(kind="stable").index
    superseded = frame.loc[worst_first, _JUDGEMENT].duplicated(keep="last").sort_index()
    return frame[~(superseded & frame["trajectory_id"].notna())]
