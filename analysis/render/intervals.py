"""Figures with their 95 % intervals in one cell of a table: the figure, and below it the two ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from analysis.compare import records

__all__ = ["with_interval"]


def with_interval(figures: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """The table with each of `names` as text that also holds <name>_low and <name>_high."""
    rows = records(figures, list(figures.columns))
    cells = {
        name: pd.Series([_cell(row, name) for row in rows], figures.index, dtype=object) for name in names
    }
    return figures.assign(**cells)


def _cell(row: Mapping[str, Any], name: str) -> str | None:
    value, low, high = (row[f"{name}{end}"] for end in ("", "_low", "_high"))
    if value is None:
        return None
    # No blank between the ends: rich takes a column to be as narrow as its longest word.
    return f"{value:.3f}" if low is None else f"{value:.3f}\n{low:.2f}…{high:.2f}"
