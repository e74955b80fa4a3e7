"""Figures as tables for a reader: rich on a terminal, plain text of 100 columns elsewhere.

Covers the views summary, groups and calibration of `judge report`, and its tables of fine rubrics. It
computes no figure: undefined ones show as a dash, and a mean stands in the row of its n, or beside its own
where that differs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from analysis.compare import PAIRED, records
from analysis.fine import COMMON_SHARE
from analysis.groups import METHODS, group_records
from analysis.stepwise import STEP_METHODS

__all__ = ["FAILED_SHARE", "report_console", "show_calibration", "show_fine", "show_groups", "show_summary"]

FAILED_SHARE = 0.05
"""The share of failed judgements, skipped rows aside, above which the report says so."""

_PLAIN_WIDTH = 100
_UNBOUNDED = 10_000
_NAME_WIDTH = 7
_HEADINGS = {"rubric_version": "rubric version", "judge_model": "judge model"}
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
_FINE = {
    "instructions": "instructions",
    **{"none": "0 items", "one": "1 item", "two": "2 items"},
    **{"none_share": "share 0", "one_share": "share 1", "two_share": "share 2"},
    "dropped": "dropped",
    "prompt_tokens_mean": "prompt\ntokens",
}
_GROUPS = {
    "groups": "groups",
    **{"dead": "dead", "dead_share": "dead\nshare"},
    **{"single": "of one\nreward", "unrewarded": "without\nreward"},
}
_CALIBRATION = {
    **{"steps": "steps", "rollouts_with": "runs\nwith", "rollouts_without": "runs\nw/o"},
    **{"pass_rate_with": "pass\nwith", "pass_rate_without": "pass\nw/o"},
    **{"rho": "rho", "interval": "95 %", "value": "value", "suggested": "sugg-\nested"},
    **{"advantage_mean": "mean\nadv.", "sign": "sign", "dead_steps": "dead\nsteps"},
}
_SHOWN_GROUPS = 20
_SHOWN_ROLLOUTS = 8
_DECIMALS = {"latency_ms_mean": 0, "tokens_mean": 0, "prompt_tokens_mean": 0, "cost": 4}


def report_console() -> Console:
    """Standard output: as wide as the terminal, and 100 columns where it is none."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=_PLAIN_WIDTH)


def show_summary(
    console: Console, versions: pd.DataFrame, paired: pd.DataFrame | None, groups: pd.DataFrame | None = None
) -> None:
    """Print what `summarise`, `pair` and `breakdown` found, and what a reader should know about it.

    Widens `console` where a table needs it: a long line is a nuisance, a number cut short is wrong.
    """
    if versions.empty:
        console.print("No rows.")
        return
    tables = [_figures(*each) for each in _sections(versions, groups)]
    if paired is not None:
        tables.append(_paired(records(paired, PAIRED)[0]))
    console.width = max(console.width, *(_narrowest(console, each) for each in tables))
    for line in (*_notes(versions), *tables):
        console.print(line)


def show_fine(console: Console, figures: pd.DataFrame, quotes: pd.DataFrame, dropped: pd.DataFrame) -> None:
    """Print what `fine_figures`, `shared_quotes` and `dropped_items` found; widens `console` as needed."""
    if figures.empty:
        return
    title = f"Quotes in more than {COMMON_SHARE:.0%} of the instructions: a sign of empty rubrics"
    common = {"instructions": "instructions", "share": "share"}
    tables = [
        _table("Fine rubrics, by instruction", figures, ["rubric_version"], _FINE),
        _table(title, quotes, ["rubric_version", "quote"], common),
        _table("Fine items dropped", dropped, ["rubric_version", "why"], {"items": "items"}),
    ]
    shown = [table for table in tables if table.row_count]
    console.width = max(console.width, *(_narrowest(console, each) for each in shown))
    for table in shown:
        console.print(table)


def show_groups(
    console: Console, versions: pd.DataFrame, rollouts: pd.DataFrame, groups: pd.DataFrame
) -> None:
    """Print what `summarise_groups` found, and the first groups; widens `console` as needed."""
    if versions.empty:
        console.print("No rows.")
        return
    first = groups.head(_SHOWN_GROUPS)
    title = f"Groups (the first {len(first)} of {len(groups)})" if len(first) < len(groups) else "Groups"
    lists = ["rewards", *METHODS]
    shown = pd.DataFrame([_in_short(group, lists) for group in group_records(rollouts, first)])
    keys = ["rubric_version", "group", *lists, "note"]
    tables = [
        _table("Groups by rubric version; dead: all rewards equal", versions, ["rubric_version"], _GROUPS),
        _table(title, shown, keys, {"n": "n"}),
    ]
    console.width = max(console.width, *(_narrowest(console, table) for table in tables))
    for table in tables:
        console.print(table)
    if STEP_METHODS[0] in rollouts:
        labelled = rollouts.loc[rollouts[STEP_METHODS[0]].notna(), "number"].nunique()
        where = f"{labelled} of {len(groups)} groups"
        console.print(f"Step advantages ({' and '.join(STEP_METHODS)}), in --json and --csv: {where}.")


def show_calibration(console: Console, table: pd.DataFrame, values: str) -> None:
    """Print what `calibrate` found, and its `as_yaml`; widens `console` as needed."""
    rows = records(table, list(table.columns))
    signs = {True: "ok", False: "opposite", None: None}
    intervals: list[Any] = [_interval(row["rho_low"], row["rho_high"]) for row in rows]
    checks: list[Any] = [signs[row["sign_ok"]] for row in rows]
    shown = table.assign(interval=intervals, sign=checks)
    title = "Tiers against outcomes; sign: of the mean advantage, dead: steps with advantage 0"
    printed = _table(title, shown, ["tier"], _CALIBRATION)
    console.width = max(console.width, _narrowest(console, printed))
    console.print(printed)
    console.print(Text(values), end="")


def _interval(low: float | None, high: float | None) -> str | None:
    return None if low is None or high is None else f"{low:.2f} {high:.2f}"


def _in_short(group: dict[str, Any], lists: list[str]) -> dict[str, Any]:
    """A group with its lists as text, and a word about one that teaches nothing."""
    step = f" (step {group['step']})" if group["step"] is not None else ""
    note = "dead" if group["dead"] else "" if group["rewarded"] else "no reward"
    texts = {name: _listed(group[name]) for name in lists}
    return {**group, **texts, "group": f"{group['group']}{step}", "note": note}


def _listed(values: list[float | None]) -> str:
    shown = ["–" if value is None else f"{value:.4g}" for value in values[:_SHOWN_ROLLOUTS]]
    more = len(values) - len(shown)
    return " ".join([*shown, *([f"… {more} more"] if more else [])])


def _narrowest(console: Console, table: Table) -> int:
    """The width in columns below which numbers would be cut; names may fold."""
    for column in table.columns:
        column.max_width = column.min_width
    least = Measurement.get(console, console.options.update(max_width=_UNBOUNDED), table).minimum
    for column in table.columns:
        column.max_width = None
    return least


def _sections(
    versions: pd.DataFrame, groups: pd.DataFrame | None
) -> Iterator[tuple[str, pd.DataFrame, dict[str, str]]]:
    yield "Judged", versions, _JUDGED
    yield "Verdict against stored outcome", versions, _AGREED
    if groups is not None:
        by = _plain(groups.columns[0])
        yield f"Judged, by {by}", groups, _JUDGED
        yield f"Verdict against stored outcome, by {by}", groups, _AGREED


def _figures(title: str, figures: pd.DataFrame, headings: dict[str, str]) -> Table:
    keys = list(figures.columns[: list(figures.columns).index("n")])
    if figures["judge_model"].nunique() == 1 and keys[0] != "judge_model":
        keys.remove("judge_model")
        title += f" (judge: {_plain(figures['judge_model'].iat[0])})"
    return _table(title, figures, keys, headings)


def _table(title: str, figures: pd.DataFrame, keys: list[str], headings: dict[str, str]) -> Table:
    """The columns of `keys` as names that may fold, and those of `headings` as numbers under their heads."""
    table = Table(title=Text(title), box=SIMPLE_HEAD, title_justify="left", padding=(0, 1, 0, 0))
    for key in keys:
        table.add_column(Text(_HEADINGS.get(key, _plain(key))), overflow="fold", min_width=_NAME_WIDTH)
    for heading in headings.values():
        table.add_column(heading, justify="right", no_wrap=True)
    for row in records(figures, list(figures.columns)):
        names = [Text(_plain(row[key])) for key in keys]
        table.add_row(*names, *(_cell(name, row) for name in headings))
    return table


def _paired(counts: dict[str, Any]) -> Table:
    baseline, candidate = _plain(counts["baseline"]), _plain(counts["candidate"])
    title = f"Pairs judged under both {baseline} (baseline) and {candidate} (candidate)"
    table = Table(title=Text(title), box=SIMPLE_HEAD, title_justify="left")
    for name in PAIRED[2:]:
        table.add_column(name.replace("_", " "), justify="right")
    table.add_row(*(str(counts[name]) for name in PAIRED[2:]))
    return table


def _notes(versions: pd.DataFrame) -> Iterator[Text]:
    for row in records(versions, list(versions.columns)):
        who = f"{_plain(row['rubric_version'])}, {_plain(row['judge_model'])}"
        tried = row["rows"] - row["skipped"]
        if row["failed"] > FAILED_SHARE * tried:
            share = row["failed"] / tried
            kind = _plain(row["commonest_error"])
            failed = f"{row['failed']} of {tried} judgements failed ({share:.1%}), most often {kind}"
            yield Text(f"{who}: {failed}.", style="yellow")
        if silent := tried - row["failed"] - row["n"]:
            yield Text(f"{who}: {silent} rows hold neither a verdict nor an error.", style="yellow")


def _cell(name: str, row: dict[str, Any]) -> str:
    value = row[name]
    shown = (
        "–"
        if value is None
        else str(value)
        if isinstance(value, int | str)
        else f"{value:.{_DECIMALS.get(name, 3)}f}"
    )
    other_n = name == "reward_mean" and row["rewarded"] != row["n"]
    return f"{shown} (n={row['rewarded']})" if other_n else shown


def _plain(value: object) -> str:
    """A name from the log on one line, without what a terminal would obey."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in str(value))
