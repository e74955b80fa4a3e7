"""The tables of fine rubrics: `judge report --by fine`."""

from __future__ import annotations

import pandas as pd
from rich.console import Console

from analysis.fine import COMMON_SHARE
from analysis.render.tables import print_tables, table

__all__ = ["show_fine"]

_FINE = {
    "instructions": "instructions",
    **{"none": "0 items", "one": "1 item", "two": "2 items"},
    **{"none_share": "share 0", "one_share": "share 1", "two_share": "share 2"},
    "dropped": "dropped",
    "prompt_tokens_mean": "prompt\ntokens",
}


def show_fine(console: Console, figures: pd.DataFrame, quotes: pd.DataFrame, dropped: pd.DataFrame) -> None:
    """Print what `fine_figures`, `shared_quotes` and `dropped_items` found."""
    if figures.empty:
        return
    title = f"Quotes in more than {COMMON_SHARE:.0%} of the instructions: a sign of empty rubrics"
    common = {"instructions": "instructions", "share": "share"}
    tables = [
        table("Fine rubrics, by instruction", figures, ["rubric_version"], _FINE),
        table(title, quotes, ["rubric_version", "quote"], common),
        table("Fine items dropped", dropped, ["rubric_version", "why"], {"items": "items"}),
    ]
    print_tables(console, [each for each in tables if each.row_count])
