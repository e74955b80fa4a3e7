"""Stored verdicts of any judges side by side: a CSV table, one column the truth, others the predictors.

Covers reading the table and the figures of `judge agreement`. A cell is a success (1, true, yes), a failure
(any other number, false, no) or empty; a pair with an empty cell is left out and counted.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.compare import group_values
from analysis.statistics import CELLS, RATES, SHARES, bootstrap, rates
from judge.errors import InputError

__all__ = ["AGREEMENT", "agree", "choose_predictors", "nearly_predictors", "read_table", "truths"]

AGREEMENT = ["name", "n", *CELLS, *RATES]
"""The figures of one predictor, as `judge agreement --json` names them."""

_ENDS = [f"{name}_{end}" for name in RATES for end in ("low", "high")]
_EMPTY = frozenset({"", "nan", "none", "null", "na", "n/a"})
_WORDS = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0}
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_HEADER_ROW = 1


def read_table(path: Path) -> pd.DataFrame:
    """The rows of a CSV file with a header, every cell the text that it is; the index counts rows from 2.

    Cells are separated by what the header has of comma, semicolon and tab, in this order. Rows without any
    text are passed over. Raises InputError where the file is empty, no UTF-8 (with or without a byte order
    mark), no CSV, or has an unnamed or a repeated column; OSError where it cannot be read.
    """
    try:
        rows = pd.read_csv(
            path,
            sep=_separator(path),
            header=None,
            dtype=object,
            encoding="utf-8-sig",
            na_filter=False,
            skip_blank_lines=False,
        )
    except pd.errors.EmptyDataError:
        raise InputError("the file is empty: a table with a header is needed") from None
    except UnicodeDecodeError as error:
        raise InputError(f"no UTF-8 text ({error.reason} at byte {error.start})") from None
    except pd.errors.ParserError as error:
        raise InputError(f"no CSV table: {str(error).strip()}") from None
    rows = rows.fillna("").set_axis(rows.index + _HEADER_ROW)
    names = rows.iloc[0].to_list()
    for place, name in enumerate(names, start=1):
        if not name or name in names[: place - 1]:
            what = f"is called {name!r} like one before it" if name else "has no name"
            raise InputError(f"column {place} {what}: name each column once in the header")
    table = rows.iloc[1:].set_axis(names, axis="columns")
    return table[(table != "").any(axis="columns")]


def truths(table: pd.DataFrame, name: str) -> NDArray[np.float64]:
    """The column as 1.0 for success, 0.0 for failure and NaN for empty.

    1, 1.0, true and yes are success; any other number, false and no are failure; blank, nan, none, null, na
    and n/a are empty; case and white space around do not matter. Raises InputError, naming row and column,
    for any other text and for a column that is not there.
    """
    column = _column(table, name)
    read = {text: _truth(text) for text in column.unique()}
    unreadable = [text for text, value in read.items() if value is None]
    if unreadable:
        row = column.index[column.isin(unreadable)][0]
        raise InputError(
            f"row {row}, column {name!r}: {column[row]!r} is no verdict: "
            "write 1, true or yes, 0, false or no, another number, or nothing"
        )
    return column.map(read).to_numpy(np.float64)


def choose_predictors(table: pd.DataFrame, aside: Sequence[str | None]) -> list[str]:
    """The columns but `aside` that hold verdicts: numbers or booleans, at least one, and else nothing."""
    return [name for name in map(str, table.columns) if name not in aside and _holds_verdicts(table[name])]


def nearly_predictors(table: pd.DataFrame, aside: Sequence[str | None]) -> dict[str, str]:
    """The columns but `aside` that hold verdicts in most cells that hold anything, but not in all.

    With each, the first text that is no verdict: one such cell is enough for `choose_predictors` to leave the
    column out, and that should not go unnoticed.
    """
    found = {}
    for name in [each for each in map(str, table.columns) if each not in aside]:
        counts = table[name].value_counts(sort=False)
        read = [_truth(text) for text in counts.index]
        unreadable = counts[[value is None for value in read]]
        verdicts = counts[[value in (0.0, 1.0) for value in read]]
        if 0 < unreadable.sum() < verdicts.sum():
            found[name] = str(unreadable.index[0])
    return found


def agree(
    table: pd.DataFrame, truth: str, names: Sequence[str], *, by: str | None = None, task: str | None = None
) -> pd.DataFrame:
    """One row for each of `names`, or for each value of `by` and name: AGREEMENT, left_out, and intervals.

    `n` rows have both a prediction and a truth, `left_out` have not; the figures are those of
    `statistics.rates`, with the truth as outcome, and each has a 95 % interval as <name>_low and <name>_high:
    by rows, or by the values of `task` where rows of one task are not independent (`statistics.bootstrap`).
    Undefined figures are NaN. Raises InputError as `truths` does, and for a `by` with the name of a figure.
    """
    if by in {*AGREEMENT, "left_out", *_ENDS}:
        raise InputError(f"cannot group by {by!r}: a figure of the table has this name")
    was = truths(table, truth)
    said = {name: truths(table, name) for name in names}
    tasks = np.arange(len(table)) if task is None else _tasks(_column(table, task))
    found = [
        {**group, "name": name, **_figures(said[name][rows], was[rows], tasks[rows])}
        for group, rows in _groups(table, by)
        for name in names
    ]
    return pd.DataFrame(found, columns=[*([by] if by else []), *AGREEMENT, "left_out", *_ENDS])


def _separator(path: Path) -> str:
    with path.open(encoding="utf-8-sig", errors="replace") as lines:
        header = lines.readline()
    return next((mark for mark in ",;\t" if mark in header), ",")


def _column(table: pd.DataFrame, name: str) -> pd.Series[Any]:
    if name not in table:
        raise InputError(f"no column {name!r}: there are {', '.join(map(repr, table.columns))}")
    return table[name]


def _groups(table: pd.DataFrame, by: str | None) -> Iterator[tuple[dict[str, str], NDArray[np.intp]]]:
    """Each value of `by`, as the cell of a table of figures, and the positions of its rows."""
    if by is None:
        yield {}, np.arange(len(table))
        return
    column = _column(table, by)
    values = group_values(column.where(column != "").to_frame(), by)
    for value in values.cat.categories:
        yield {by: value}, np.flatnonzero(values == value)


def _tasks(column: pd.Series[Any]) -> NDArray[np.int64]:
    """A code for each row, equal where the cells are; an empty cell stands for itself."""
    codes, names = pd.factorize(column.to_numpy())
    alone = len(names) + np.arange(len(column))
    return np.where(column.to_numpy() == "", alone, codes).astype(np.int64)


def _holds_verdicts(column: pd.Series[Any]) -> bool:
    read = [_truth(text) for text in column.unique()]
    return None not in read and any(value == value for value in read)


def _figures(said: NDArray[np.float64], was: NDArray[np.float64], tasks: NDArray[np.int64]) -> dict[str, Any]:
    both = ~np.isnan(said) & ~np.isnan(was)
    yes, true = said[both] == 1, was[both] == 1
    cells = np.column_stack([yes & true, yes & ~true, ~yes & true, ~yes & ~true]).astype(np.int64)
    counts = cells.sum(axis=0)
    ends = bootstrap(cells, tasks[both], rates, shares=len(SHARES))
    return {
        "n": len(cells),
        **dict(zip(CELLS, counts.tolist(), strict=True)),
        **dict(zip(RATES, rates(counts).tolist(), strict=True)),
        "left_out": len(said) - len(cells),
        **dict(zip(_ENDS, ends.T.ravel().tolist(), strict=True)),
    }


def _truth(text: str) -> float | None:
    """What a cell says; None for text that is no verdict."""
    word = text.strip().lower()
    if word in _EMPTY:
        return math.nan
    return float(float(word) == 1) if _NUMBER.fullmatch(word) else _WORDS.get(word)
