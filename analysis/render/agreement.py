"""The tables of `judge agreement`: who agrees with the truth, with 95 % intervals."""

from __future__ import annotations

import pandas as pd
from rich.console import Console

from analysis.render.intervals import with_interval
from analysis.render.tables import plain, print_tables, table
from analysis.statistics import CELLS, RATES

__all__ = ["show_agreement"]

_COUNTS = {"n": "n", **{name: name for name in CELLS}, "left_out": "left out"}
_RATES = {**{name: name for name in RATES}, "base_rate": "base\nrate"}


def show_agreement(
    console: Console,
    figures: pd.DataFrame,
    truth: str,
    *,
    by: str | None = None,
    task: str | None = None,
) -> None:
    """Print what `agree` found; the intervals are over the values of `task`, else over rows."""
    if figures.empty:
        console.print("No rows.")
        return
    keys = [*([by] if by else []), "name"]
    where = "" if by is None else f", by {plain(by)}"
    over = "rows" if task is None else plain(task)
    print_tables(
        console,
        [
            table(f"Against {plain(truth)}: rows with both{where}", figures, keys, _COUNTS),
            table(
                f"Agreement, with 95 % intervals over {over}{where}",
                with_interval(figures, RATES),
                keys,
                _RATES,
            ),
        ],
    )
