"""The view summary: each version's figures, the pairs of two, and what a reader should know about them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from analysis.compare import PAIRED, records
from analysis.finding import FAILED_SHARE
from analysis.render.tables import plain, print_tables, table

__all__ = ["show_summary"]

_JUDGED = {
    "n": "n",
    "failed": "failed",
    "skipped": "skipped",
    "reward_mean": "reward",
    "score_mean": "score",
    "success_rate": "success",
    "latency_ms_mean": "ms",
    "tokens_mean": "tokens",
    "cost": "cost",
}
_AGREED = {
    "compared": "n",
    "tp": "tp",
    "fp": "fp",
    "fn": "fn",
    "tn": "tn",
    "precision": "prec",
    "recall": "recall",
    "f1": "f1",
    "fpr": "fpr",
    "accuracy": "acc",
    "base_rate": "base",
    "outcome_unknown": "outcome\nunknown",
}


def show_summary(
    console: Console, versions: pd.DataFrame, paired: pd.DataFrame | None, groups: pd.DataFrame | None = None
) -> None:
    """Print what `summarise`, `pair` and `breakdown` found, and what a reader should know about it."""
    if versions.empty:
        console.print("No rows.")
        return
    for line in _notes(versions):
        console.print(line)
    tables = [_figures(*each) for each in _sections(versions, groups)]
    if paired is not None:
        tables.append(_paired(records(paired, PAIRED)[0]))
    print_tables(console, tables)


def _sections(
    versions: pd.DataFrame, groups: pd.DataFrame | None
) -> Iterator[tuple[str, pd.DataFrame, dict[str, str]]]:
    yield "Judged", versions, _JUDGED
    yield "Verdict against stored outcome", versions, _AGREED
    if groups is not None:
        by = plain(groups.columns[0])
        yield f"Judged, by {by}", groups, _JUDGED
        yield f"Verdict against stored outcome, by {by}", groups, _AGREED


def _figures(title: str, figures: pd.DataFrame, headings: dict[str, str]) -> Table:
    keys = list(figures.columns[: list(figures.columns).index("n")])
    if figures["judge_model"].nunique() == 1 and keys[0] != "judge_model":
        keys.remove("judge_model")
        title += f" (judge: {plain(figures['judge_model'].iat[0])})"
    return table(title, figures, keys, headings)


def _paired(counts: dict[str, Any]) -> Table:
    baseline, candidate = plain(counts["baseline"]), plain(counts["candidate"])
    title = f"Pairs judged under both {baseline} (baseline) and {candidate} (candidate)"
    made = Table(title=Text(title), box=SIMPLE_HEAD, title_justify="left")
    for name in PAIRED[2:]:
        made.add_column(name.replace("_", " "), justify="right")
    made.add_row(*(str(counts[name]) for name in PAIRED[2:]))
    return made


def _notes(versions: pd.DataFrame) -> Iterator[Text]:
    for row in records(versions, list(versions.columns)):
        who = f"{plain(row['rubric_version'])}, {plain(row['judge_model'])}"
        tried = row["rows"] - row["skipped"]
        if row["failed"] > FAILED_SHARE * tried:
            share = row["failed"] / tried
            kind = plain(row["commonest_error"])
            failed = f"{row['failed']} of {tried} judgements failed ({share:.1%}), most often {kind}"
            yield Text(f"{who}: {failed}.", style="yellow")
        if silent := tried - row["failed"] - row["n"]:
            yield Text(f"{who}: {silent} rows hold neither a verdict nor an error.", style="yellow")
