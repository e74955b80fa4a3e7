"""Figures of rubric versions: each one against the stored outcomes, and two of them pair by pair.

Covers the summary view's tables. Only verdicts are compared with outcomes: a failed judgement is counted as
failed and enters no mean, and a row whose outcome is unknown counts neither for nor against the judge.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd

from analysis.frame import NONE
from judge.errors import InputError

__all__ = ["FIGURES", "PAIRED", "breakdown", "choose_pair", "pair", "records", "summarise"]

FIGURES = [
    *("n", "failed", "skipped", "reward_mean", "success_rate", "tp", "fp", "fn", "tn", "precision", "recall"),
    *("f1", "fpr", "accuracy", "base_rate", "latency_ms_mean", "tokens_mean", "cost"),
]
"""The figures of one judge under one rubric version, as `judge report --json` names them."""

PAIRED = ["baseline", "candidate", "n", "both_right", "only_baseline", "only_candidate", "both_wrong"]

_JUDGE = ["rubric_version", "judge_model"]
_COUNTS = ["rows", "n", "failed", "skipped", "rewarded", "compared", "tp", "fp", "fn", "tn"]
_MEANS = ["reward_mean", "score_mean", "success_rate", "latency_ms_mean", "tokens_mean"]
_ASIDE = ["rows", "rewarded", "score_mean", "compared", "outcome_unknown", "commonest_error"]


def summarise(frame: pd.DataFrame) -> pd.DataFrame:
    """The figures of each (rubric_version, judge_model) of a `load_frame` frame, in order of appearance.

    Counts: `n` rows with a verdict, `failed`, `skipped` (unusable_input), and `rows`, which also holds those
    with neither a verdict nor an error. `compared` of the n have a known outcome (1 is success, all else is
    not), `outcome_unknown` have none; tp to base_rate, all in [0, 1], are over the compared ones. reward_mean
    is over the `rewarded` rows, score_mean and success_rate over rows with a verdict. latency_ms_mean
    (milliseconds), tokens_mean and cost (a sum) are over all rows that give one, failed ones included because
    they were billed, skipped ones not. An undefined figure is NaN; commonest_error is None without failures.
    """
    return _figures(frame, [frame[key] for key in _JUDGE])


def breakdown(frame: pd.DataFrame, by: str) -> pd.DataFrame:
    """The figures of `summarise` for each value of the column `by`, missing values as "(none)".

    Numbers come first and rise, then text in order of appearance, then "(none)".
    Raises InputError where `by` bears the name of a figure.
    """
    if by in {*FIGURES, *_ASIDE}:
        raise InputError(f"cannot group by {by!r}: a figure of the table has this name")
    groups = frame[by].astype(object).where(frame[by].notna(), NONE)
    order = sorted(groups.unique(), key=_rank)
    first = pd.Series(pd.Categorical(groups, categories=order), index=frame.index, name=by)
    return _figures(frame, [first, *(frame[key] for key in _JUDGE if key != by)])


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
    marks = _marks(frame)
    verdicts = frame.assign(right=marks["tp"] | marks["tn"])[
        marks["compared"] & frame["trajectory_id"].notna()
    ]
    left, right = (verdicts[verdicts["rubric_version"] == version] for version in (baseline, candidate))
    key = ["trajectory_id", "repeat"]
    if set(left["judge_model"]) & set(right["judge_model"]):
        key.append("judge_model")
    sides = [side.drop_duplicates(key, keep="last")[[*key, "right"]] for side in (left, right)]
    both = sides[0].merge(sides[1], on=key, suffixes=("_baseline", "_candidate"))
    ours, theirs = both["right_baseline"], both["right_candidate"]
    cells = (ours & theirs, ours & ~theirs, ~ours & theirs, ~ours & ~theirs)
    counts = [len(both), *(int(cell.sum()) for cell in cells)]
    return pd.DataFrame([[baseline, candidate, *counts]], columns=PAIRED)


def records(table: pd.DataFrame, columns: Sequence[str]) -> list[dict[str, Any]]:
    """The rows of a table as dicts of plain values, undefined figures as None: ready for JSON."""
    values = table[list(columns)].astype(object)
    return values.where(values.notna(), None).to_dict("records")  # type: ignore[return-value]


def _figures(frame: pd.DataFrame, keyed: list[pd.Series[Any]]) -> pd.DataFrame:
    marks = _marks(frame)
    groups = marks.groupby(keyed, observed=True)
    table = groups[_COUNTS].sum().astype("int64").join(groups[_MEANS].mean())
    table["cost"] = groups["cost"].sum(min_count=1)
    table["outcome_unknown"] = table["n"] - table["compared"]
    table["commonest_error"] = _commonest(frame["error_kind"].where(marks["failed"]), keyed)
    table = table.assign(**_rates(table))[[*FIGURES, *_ASIDE]]
    return table.reset_index()


def _marks(frame: pd.DataFrame) -> pd.DataFrame:
    """One column for each count and mean, so that grouping only has to add them up."""
    sound = frame["error_kind"].isna()
    skipped = frame["error_kind"] == "unusable_input"
    judged = sound & frame["success"].notna()
    compared = judged & (frame["outcome_status"] == "ok") & frame["outcome"].notna()
    said, was = frame["success"] == 1, frame["outcome"] == 1
    return pd.DataFrame(
        {
            "rows": True,
            "n": judged,
            "failed": ~sound & ~skipped,
            "skipped": skipped,
            "rewarded": sound & frame["reward"].notna(),
            "compared": compared,
            "tp": compared & said & was,
            "fp": compared & said & ~was,
            "fn": compared & ~said & was,
            "tn": compared & ~said & ~was,
            "reward_mean": frame["reward"].where(sound),
            "score_mean": frame["score"].where(judged),
            "success_rate": frame["success"].where(judged),
            "latency_ms_mean": frame["latency_ms"].where(~skipped),
            "tokens_mean": frame["tokens"].where(~skipped),
            "cost": frame["cost"].where(~skipped),
        }
    )


def _rates(table: pd.DataFrame) -> dict[str, pd.Series[Any]]:
    tp, fp, fn, tn = (table[name] for name in ("tp", "fp", "fn", "tn"))
    return {
        "precision": _ratio(tp, tp + fp),
        "recall": _ratio(tp, tp + fn),
        "f1": _ratio(2 * tp, 2 * tp + fp + fn),
        "fpr": _ratio(fp, fp + tn),
        "accuracy": _ratio(tp + tn, table["compared"]),
        "base_rate": _ratio(tp + fn, table["compared"]),
    }


def _ratio(part: pd.Series[Any], whole: pd.Series[Any]) -> pd.Series[Any]:
    return part / whole.where(whole > 0)


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
