"""The view noise: figures by version and category, what they mean, and the rows to look at first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd
from rich.console import Console
from rich.table import Table
from rich.text import Text

from analysis.compare import records
from analysis.render.tables import interval, plain, print_tables, table
from analysis.suspects import WHY, Examined

__all__ = ["show_noise"]

_REPEATS = {
    **{"runs": "runs", "repeated": "judged\n> once", "flip_rate": "flip\nrate"},
    **{"disagreement": "disagree-\nment", "disagreement_range": "95 %", "score_sd": "score\nsd"},
}
_ERRORS = {
    **{"successes": "succ-\nesses", "fnr": "fnr", "fnr_settled": "fnr\nsettled", "fnr_range": "95 %"},
    **{"failures": "fail-\nures", "fpr": "fpr", "fpr_settled": "fpr\nsettled", "fpr_range": "95 %"},
}
_SHOWN_ROWS = 20


def show_noise(
    console: Console,
    versions: pd.DataFrame,
    categories: pd.DataFrame,
    examined: Examined,
    notes: Sequence[str],
) -> None:
    """Print what `noise_figures`, `look_first` and `notes` found."""
    if versions.empty:
        console.print("No rows with a verdict.")
        return
    for line in [*_readings(versions), *map(Text, notes)]:
        console.print(line)
    print_tables(console, list(_figures(versions, categories)))
    _print_first(console, examined)


def _readings(versions: pd.DataFrame) -> Iterator[Text]:
    for row in records(versions, ["rubric_version", "judge_model", "reading", "advice"]):
        who = f"{plain(row['rubric_version'])}, {plain(row['judge_model'])}"
        yield Text(f"{who}: {row['advice']}", style="" if row["reading"] == "fine" else "yellow")


def _figures(versions: pd.DataFrame, categories: pd.DataFrame) -> Iterator[Table]:
    judge = ["rubric_version", *(["judge_model"] if versions["judge_model"].nunique() > 1 else [])]
    shown = [(versions, judge, "")]
    if len(categories) > len(versions):
        shown.append((categories, [*judge, "category"], ", by category"))
    for figures, keys, by in shown:
        ranged = _with_ranges(figures)
        yield table(f"Repeats of one run{by}", ranged, [*keys, "reading"], _REPEATS)
        yield table(f"Wrong in one verdict, and with the noise taken out{by}", ranged, keys, _ERRORS)


def _with_ranges(figures: pd.DataFrame) -> pd.DataFrame:
    rows = records(figures, list(figures.columns))
    ranges: dict[str, Any] = {
        f"{name}_range": [interval(row[f"{name}_low"], row[f"{name}_high"]) for row in rows]
        for name in ("disagreement", "fnr", "fpr")
    }
    return figures.assign(**ranges)


def _print_first(console: Console, examined: Examined) -> None:
    found = examined.rows
    if found.empty:
        return
    first = found.head(_SHOWN_ROWS)
    of = f" (the first {len(first)} of {len(found)})" if len(first) < len(found) else ""
    console.print(f"Failures to look at first{of}; take one apart with: judge show LOG --trajectory ID")
    for why in dict.fromkeys(first["why"]):
        console.print(Text(f"  {why}: {WHY[why]}"))
    for row in records(first, list(first.columns)):
        console.print(Text(_suspect(row), overflow="fold"))
    if not examined.is_all:
        console.print(f"From the first {examined.failures} failures of the log.")


def _suspect(row: dict[str, Any]) -> str:
    """One row in two lines: which run and why, and the reason that the judge gave."""
    outcome = "unknown" if row["outcome"] is None else f"{row['outcome']:g}"
    which = f"{plain(row['trajectory_id'])} ({plain(row['rubric_version'])}, {plain(row['category'])})"
    met = f"{row['met']}/{row['items']} met, quotes: {row['quotes']}"
    judged = f"outcome {outcome}, run passed by {row['success_share']:.0%} of its verdicts"
    return f"{which}: {row['why']}, {met}, {judged}\n    {plain(row['reason']) or '(no reason given)'}"
