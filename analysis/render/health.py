"""The view health: the findings about each judge, the worst first."""

from __future__ import annotations

from typing import Any

import pandas as pd
from rich.console import Console
from rich.text import Text

from analysis.compare import records
from analysis.render.tables import plain, print_tables, table

__all__ = ["show_health"]

_STYLES = {"warn": "bold red", "note": "yellow", "unknown": "dim", "ok": ""}
_STEPS = {"n": "n", "failed": "failed", "reward_mean": "reward", "pass_rate": "pass\nrate", "cost": "cost"}
_SHOWN_STEPS = 20


def show_health(console: Console, health: pd.DataFrame, failures: pd.DataFrame, steps: pd.DataFrame) -> None:
    """Print what `health`, `failure_kinds` and `training_steps` found."""
    if health.empty:
        console.print("No rows.")
        return
    for judge, findings in health.groupby(["rubric_version", "judge_model"], sort=False):
        _print_findings(console, f"{plain(judge[0])}, {plain(judge[1])}", findings)
    tables = []
    if len(failures):
        tables.append(table("Failures", failures, ["rubric_version", "judge_model", "kind"], {"n": "n"}))
    if len(steps):
        last = steps.tail(_SHOWN_STEPS).assign(step=steps["step"].map("{:g}".format))
        of = f" (the last {len(last)} of {len(steps)})" if len(last) < len(steps) else ""
        tables.append(table(f"By training step{of}", last, ["rubric_version", "step"], _STEPS))
    print_tables(console, tables)


def _print_findings(console: Console, judge: str, findings: pd.DataFrame) -> None:
    counts = findings["severity"].value_counts()
    said = ", ".join(f"{counts[each]} {each}" for each in _STYLES if each in counts)
    console.print(Text(f"{judge}: {said}", style="bold"))
    for severity in ("warn", "note", "unknown"):
        for row in records(findings[findings["severity"] == severity], ["finding", "n", "meaning"]):
            line = f"  {severity}: {row['finding']} (n = {row['n']}). {plain(row['meaning'])}"
            console.print(Text(line, style=_STYLES[severity], overflow="fold"))
    sound = records(findings[findings["severity"] == "ok"], ["finding", "figure"])
    console.print(Text(f"  ok: {', '.join(map(_in_short, sound))}", overflow="fold"))


def _in_short(row: dict[str, Any]) -> str:
    return row["finding"] if row["figure"] is None else f"{row['finding']} {row['figure']:.3g}"
