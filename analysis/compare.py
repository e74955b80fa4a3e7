"""Figures of rubric versions: each one against the stored outcomes, and two of them pair by pair.

Covers the summary view's tables. Only verdicts are compared with outcomes: a failed judgement is counted as
failed and enters no mean, and a row whose outcome is unknown counts neither for nor against the judge.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.frame import NONE
from analysis.marks import mark, task_codes
from analysis.pairing import COUNTED, pair_rows, right_counts
from analysis.statistics import CELLS, RATES, SHARES, bootstrap, rates, ratio
from judge.errors import InputError

__all__ = [
    *("FIGURES", "PAIRED", "WITH_INTERVAL"),
    *("breakdown", "choose_pair", "group_values", "pair", "records", "summarise"),
]

FIGURES = [
    *("n", "failed", "skipped", "reward_mean", "success_rate", "tp", "fp", "fn", "tn", "precision", "recall"),
    *("f1", "fpr", "accuracy", "base_rate", "latency_ms_mean", "tokens_mean", "cost"),
]
"""The figures of one judge under one rubric version, as `judge report --json` names them."""

PAIRED = ["baseline", "candidate", *COUNTED]

WITH_INTERVAL = [*SHARES, "success_rate", "kappa", "reward_mean"]

_JUDGE = ["rubric_version", "judge_model"]
_COUNTS = ["rows", "n", "failed", "skipped", "rewarded", "compared", *CELLS]
_MEANS = ["reward_mean", "score_mean", "success_rate", "latency_ms_mean", "tokens_mean"]
_ASIDE = ["rows", "rewarded", "score_mean", "compared", "outcome_unknown", "commonest_error", "kappa"]
_SUMS = [*CELLS, "n", "success_rate", "rewarded", "reward_mean"]


def summarise(frame: pd.DataFrame, *, intervals: bool = False) -> pd.DataFrame:
    """The figures of each (rubric_version, judge_model) of a `load_frame` frame, in order of appearance.

    Counts: `n` rows with a verdict, `failed`, `skipped` (unusable_input), and `rows`, which also holds those
    with neither a verdict nor an error. `compared` of the n have a known outcome (1 is success, all else is
    not), `outcome_unknown` have none; tp to base_rate, in [0, 1], and kappa are over the compared ones.
    reward_mean is over the `rewarded` rows, score_mean and success_rate over rows with a verdict.
    latency_ms_mean (milliseconds), tokens_mean and cost (a sum) are over all rows that give one, failed ones
    included because they were billed, skipped ones not. An undefined figure is NaN; commonest_error is None
    without failures.

    `intervals` adds to each of WITH_INTERVAL its 95 % interval over tasks, as <name>_low and <name>_high
    (see `statistics.bootstrap`).
    """
    return _figures(frame, [frame[key] for key in _JUDGE], intervals)


def breakdown(frame: pd.DataFrame, by: str, *, intervals: bool = False) -> pd.DataFrame:
    """The figures of `summarise` for each value of the column `by`, missing values as "(none)".

    Numbers come first and rise, then text in order of appearance, then "(none)".
    Raises InputError where `by` bears the name of a figure.
    """
    if by in {*FIGURES, *_ASIDE}:
        raise InputError(f"cannot group by {by!r}: a figure of the table has this name")
    first = group_values(frame, by)
    return _figures(frame, [first, *(frame[key] for key in _JUDGE if key != by)], intervals)


def group_values(frame: pd.DataFrame, by: str) -> pd.Series[Any]:
    """The column `by` as a categorical in the order of `breakdown`, missing values as "(none)"."""
    groups = frame[by].astype(object).where(frame[by].notna(), NONE)
    order = sorted(groups.unique(), key=_rank)
    return pd.Series(pd.Categorical(groups, categories=order), index=frame.index, name=by)


def choose_pair(
    frame: pd.DataFrame, baseline: str | None = None, candidate: str | None = None
) -> tuple[str, str] | None:
    """The versions to compare: those named, the rest from a log of exactly two, the first seen as baseline.

    None where there is nothing to choose. Raises InputError, listing the versions there are, for an unknown
    name, for one name among more than two versions, and for a version against itself.
    """
    versions = frame["rubric_version"].cat.remove_unused_categories().cat.categories.to_list()
    there_are = f"there are {', '.join(versions)}" if versions else "the log holds none"
    named = [version for version in (baseline, candidate) if version is not None]
    for version in named:
        if version not in versions:
            raise InputError(f"unknown rubric version {version!r}: {there_are}")
    if len(named) == 2 and baseline == candidate:
        raise InputError(f"baseline and candidate are both {baseline!r}: {there_are}")
    if len(named) == 1 and len(versions) > 2:
        raise InputError(f"name both the baseline and the candidate: {there_are}")
    if len(named) < 2 and len(versions) != 2:
        return None
    rest = iter([version for version in versions if version not in named])
    return next(rest) if baseline is None else baseline, next(rest) if candidate is None else candidate


def pair(frame: pd.DataFrame, baseline: str, candidate: str) -> pd.DataFrame:
    """One row with the columns PAIRED: who was right where both versions judged.

    Pairs are the (trajectory_id, repeat) with a verdict and a known outcome under both versions. Judges are
    compared with themselves where a model judged under both; else the last row of each version is taken.
    """
    marks = mark(frame)
    of_judge = [
        np.flatnonzero(marks["compared"] & (frame["rubric_version"] == version))
        for version in (baseline, candidate)
    ]
    models = [set(frame["judge_model"].iloc[rows]) for rows in of_judge]
    ours, theirs = pair_rows(frame, *of_judge, of_one_model=bool(set.intersection(*models)))
    right = (marks["tp"] | marks["tn"]).to_numpy()
    table = pd.DataFrame([right_counts(right[ours], right[theirs])])
    return table.assign(baseline=baseline, candidate=candidate)[PAIRED]


def records(table: pd.DataFrame, columns: Sequence[str]) -> list[dict[str, Any]]:
    """The rows of a table as dicts of plain values, undefined figures as None: ready for JSON."""
    cells = [table[name].astype(object).where(table[name].notna(), None).tolist() for name in columns]
    return [dict(zip(columns, row, strict=True)) for row in zip(*cells, strict=True)]


def _figures(frame: pd.DataFrame, keyed: list[pd.Series[Any]], intervals: bool) -> pd.DataFrame:
    marks = mark(frame)
    groups = marks.groupby(keyed, observed=True)
    table = groups[_COUNTS].sum().astype("int64").join(groups[_MEANS].mean())
    table["cost"] = groups["cost"].sum(min_count=1)
    table["outcome_unknown"] = table["n"] - table["compared"]
    table["commonest_error"] = _commonest(frame["error_kind"].where(marks["failed"]), keyed)
    table[RATES] = rates(table[CELLS].to_numpy())
    table = table[[*FIGURES, *_ASIDE]]
    if intervals:
        table = table.join(_intervals(marks, task_codes(frame), table.index, groups.indices))
    return table.reset_index()


def _intervals(
    marks: pd.DataFrame, tasks: NDArray[np.int64], index: pd.Index[Any], rows: Mapping[Any, Any]
) -> pd.DataFrame:
    moments = marks[_SUMS].fillna(0.0).to_numpy(np.float64)
    found = [
        bootstrap(moments[rows[key]], tasks[rows[key]], _with_interval, shares=len(SHARES) + 1).T.ravel()
        for key in index
    ]
    names = [f"{name}_{end}" for name in WITH_INTERVAL for end in ("low", "high")]
    return pd.DataFrame(np.reshape(found, (-1, len(names))), index=index, columns=names)


def _with_interval(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """The figures WITH_INTERVAL of sums of the columns _SUMS."""
    n, success, rewarded, reward = np.moveaxis(sums[..., len(CELLS) :], -1, 0)
    of_cells = rates(sums[..., : len(CELLS)])
    means = np.stack([ratio(success, n), ratio(reward, rewarded)], axis=-1)
    return np.concatenate(
        [of_cells[..., : len(SHARES)], means[..., :1], of_cells[..., len(SHARES) :], means[..., 1:]], axis=-1
    )


def _commonest(kinds: pd.Series[Any], keyed: list[pd.Series[Any]]) -> pd.Series[Any]:
    """The most frequent kind of each group, of equals the one seen first; groups without any are left out."""
    counts = kinds.groupby([*keyed, kinds.rename("kind")], observed=True).size()
    ranked = counts.sort_values(ascending=False, kind="stable").reset_index("kind")["kind"].astype(object)
    return ranked[~ranked.index.duplicated()]


def _rank(group: object) -> tuple[int, float]:
    """Sorts numbers, also those in text, before text, and rows without a group last."""
    if group == NONE:
        return 2, 0.0
    try:
        number = float(str(group))
    except ValueError:
        number = math.nan
    return (1, 0.0) if math.isnan(number) else (0, number)
