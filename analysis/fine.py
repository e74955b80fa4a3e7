"""Fine rubrics as the logs show them: how many an instruction has, which say too little, what was dropped.

Covers `judge report --by fine`. Fine rubrics belong to an instruction, so each one counts once in a version,
however many rollouts it has. Whether fine rubrics make a judge right more often is `compare`'s to say.
"""

from __future__ import annotations

import json
from typing import Any

import pandas as pd

from analysis.frame import FINE_COLUMNS, NONE

__all__ = ["COMMON_SHARE", "dropped_items", "fine_figures", "shared_quotes"]

COMMON_SHARE = 0.2
"""A quote that more than this share of the instructions have in common says nothing about any one of them."""

_COUNTS = ("none", "one", "two")


def fine_figures(frame: pd.DataFrame) -> pd.DataFrame:
    """One row for each rubric version of a `load_frame(by=FINE)` frame, in order of appearance.

    `instructions` is how many there are, by instruction_hash; `none`, `one` and `two` (or more) are how many
    of them have that many fine items, and none_share, one_share and two_share the same in [0, 1]. `dropped`
    counts proposed items that were not used. prompt_tokens_mean, over rows, is what the endpoint counted in
    a call that judged, routing and fine-rubric calls left out; NaN where it counted nothing.
    """
    told = _told(frame)
    kept = told["fine_quotes"].str.len().clip(upper=len(_COUNTS) - 1)
    found = pd.DataFrame({"rubric_version": told["rubric_version"], "instructions": 1})
    found = found.assign(**{name: (kept == count).astype(int) for count, name in enumerate(_COUNTS)})
    found["dropped"] = told["fine_dropped"].str.len()
    table = found.groupby("rubric_version", observed=True).sum().astype("int64")
    for name in _COUNTS:
        table[f"{name}_share"] = table[name] / table["instructions"]
    tokens = frame["prompt_tokens"].groupby(frame["rubric_version"], observed=True).mean()
    return table.join(tokens.rename("prompt_tokens_mean")).reset_index()


def shared_quotes(frame: pd.DataFrame) -> pd.DataFrame:
    """The quotes that more than COMMON_SHARE of a version's instructions, and at least two, have in common.

    Columns rubric_version, quote, instructions and share (of the version's, in [0, 1]), the commonest first.
    Quotes that differ in letter case or white space are one.
    """
    told = _told(frame)
    folded = told["fine_quotes"].map(_distinct)
    table = _counted(told["rubric_version"], folded, "quote", "instructions")
    all_of = told.groupby("rubric_version", observed=True).size()
    table["share"] = table["instructions"] / table["rubric_version"].map(all_of).astype(float)
    common = (table["share"] > COMMON_SHARE) & (table["instructions"] > 1)
    return table[common].reset_index(drop=True)


def dropped_items(frame: pd.DataFrame) -> pd.DataFrame:
    """Why proposed fine items were not used: columns rubric_version, why and items, the commonest first."""
    told = _told(frame)
    return _counted(told["rubric_version"], told["fine_dropped"], "why", "items")


def _told(frame: pd.DataFrame) -> pd.DataFrame:
    """One row for each version and instruction, with its quotes and the reasons for drops as lists.

    Of rollouts that differ, the last that names items speaks: one that failed before them, or took no call,
    names none. An instruction of which no rollout has a verdict, nor names an item, is left out.
    """
    lists = frame[[*FINE_COLUMNS, "rubric_version"]].copy()
    for name in ("fine_quotes", "fine_dropped"):
        lists[name] = lists[name].astype(object).map(json.loads)
    names_items = (lists["fine_quotes"].str.len() + lists["fine_dropped"].str.len()) > 0
    judged = frame["error_kind"].isna() & frame["success"].notna()
    speaking = lists[names_items | judged]
    order = names_items[speaking.index].sort_values(kind="stable").index
    last = speaking.loc[order].drop_duplicates(["rubric_version", "instruction_hash"], keep="last")
    return last.sort_index()


def _distinct(quotes: list[str]) -> list[str]:
    return sorted({" ".join(quote.lower().split()) for quote in quotes if quote != NONE})


def _counted(versions: pd.Series[Any], values: pd.Series[Any], name: str, count: str) -> pd.DataFrame:
    """How often each value stands in the lists of each version, the commonest first."""
    long = pd.DataFrame({"rubric_version": versions, name: values}).explode(name).dropna()
    sizes = long.groupby(["rubric_version", name], observed=True, sort=False).size()
    table = sizes.rename(count).reset_index()
    return table.sort_values(["rubric_version", count], ascending=[True, False], kind="stable")
