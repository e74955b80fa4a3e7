"""The view calibration: what the steps of each tier are worth by the outcomes."""

from __future__ import annotations

from typing import Any

import pandas as pd
from rich.console import Console
from rich.text import Text

from analysis.compare import records
from analysis.render.tables import interval, print_tables, table

__all__ = ["show_calibration"]

_CALIBRATION = {
    **{"steps": "steps", "rollouts_with": "runs\nwith", "rollouts_without": "runs\nw/o"},
    **{"pass_rate_with": "pass\nwith", "pass_rate_without": "pass\nw/o"},
    **{"rho": "rho", "interval": "95 %", "value": "value", "suggested": "sugg-\nested"},
    **{"advantage_mean": "mean\nadv.", "sign": "sign", "dead_steps": "dead\nsteps"},
}


def show_calibration(console: Console, tiers: pd.DataFrame, values: str) -> None:
    """Print what `calibrate` found, and its `as_yaml`."""
    rows = records(tiers, list(tiers.columns))
    signs = {True: "ok", False: "opposite", None: None}
    intervals: list[Any] = [interval(row["rho_low"], row["rho_high"]) for row in rows]
    checks: list[Any] = [signs[row["sign_ok"]] for row in rows]
    shown = tiers.assign(interval=intervals, sign=checks)
    title = "Tiers against outcomes; sign: of the mean advantage, dead: steps with advantage 0"
    print_tables(console, [table(title, shown, ["tier"], _CALIBRATION)])
    console.print(Text(values), end="")
