"""What all views share: the console, tables of figures, and names that cannot harm a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from analysis.compare import records

__all__ = ["interval", "plain", "print_tables", "report_console", "table"]

_PLAIN_WIDTH = 100
_UNBOUNDED = 10_000
_NAME_WIDTH = 7
_HEADINGS = {"rubric_version": "rubric version", "judge_model": "judge model"}
_DECIMALS = {"latency_ms_mean": 0, "tokens_mean": 0, "prompt_tokens_mean": 0, "cost": 4}


def report_console() -> Console:
    """Standard output: as wide as the terminal, and 100 columns where it is none."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=_PLAIN_WIDTH)


def table(title: str, figures: pd.DataFrame, keys: Sequence[str], headings: Mapping[str, str]) -> Table:
    """The columns of `keys` as names that may fold, and those of `headings` as numbers under their heads."""
    made = Table(title=Text(title), box=SIMPLE_HEAD, title_justify="left", padding=(0, 1, 0, 0))
    for key in keys:
        made.add_column(Text(_HEADINGS.get(key, plain(key))), overflow="fold", min_width=_NAME_WIDTH)
    for heading in headings.values():
        made.add_column(heading, justify="right", no_wrap=True)
    for row in records(figures, list(figures.columns)):
        names = [Text(plain(row[key])) for key in keys]
        made.add_row(*names, *(_cell(name, row) for name in headings))
    return made


def print_tables(console: Console, tables: Sequence[Table]) -> None:
    """Print them one after the other.

    Widens `console` where one of them needs it: a long line is a nuisance, a number cut short is wrong.
    """
    console.width = max([console.width, *(_narrowest(console, each) for each in tables)])
    for each in tables:
        console.print(each)


def interval(low: float | None, high: float | None) -> str | None:
    return None if low is None or high is None else f"{low:.2f}\n{high:.2f}"


def plain(value: object) -> str:
    """A name from the log on one line, without what a terminal would obey."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in str(value))


def _narrowest(console: Console, table: Table) -> int:
    """The width in columns below which numbers would be cut; names may fold."""
    for column in table.columns:
        column.max_width = column.min_width
    least = Measurement.get(console, console.options.update(max_width=_UNBOUNDED), table).minimum
    for column in table.columns:
        column.max_width = None
    return least


def _cell(name: str, row: dict[str, Any]) -> str:
    value = row[name]
    shown = (
        "–"
        if value is None
        else str(value)
        if isinstance(value, int | str)
        else f"{value:.{_DECIMALS.get(name, 3)}f}"
    )
    other_n = name == "reward_mean" and "rewarded" in row and row["rewarded"] != row["n"]
    return f"{shown} (n={row['rewarded']})" if other_n else shown
