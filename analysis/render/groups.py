"""The view groups: the advantages within each group, and the groups whose rewards are all equal."""

from __future__ import annotations

from typing import Any

import pandas as pd
from rich.console import Console

from analysis.groups import METHODS, group_records
from analysis.render.tables import print_tables, table
from analysis.stepwise import STEP_METHODS

__all__ = ["show_groups"]

_GROUPS = {
    "groups": "groups",
    **{"dead": "dead", "dead_share": "dead\nshare"},
    **{"single": "of one\nreward", "unrewarded": "without\nreward"},
}
_SHOWN_GROUPS = 20
_SHOWN_ROLLOUTS = 8


def show_groups(
    console: Console,
    versions: pd.DataFrame,
    rollouts: pd.DataFrame,
    groups: pd.DataFrame,
    labelled: int | None = None,
) -> None:
    """Print what `summarise_groups` found, the first groups, and of how many the steps have advantages."""
    if versions.empty:
        console.print("No rows.")
        return
    first = groups.head(_SHOWN_GROUPS)
    title = f"Groups (the first {len(first)} of {len(groups)})" if len(first) < len(groups) else "Groups"
    lists = ["rewards", *METHODS]
    shown = pd.DataFrame([_in_short(group, lists) for group in group_records(rollouts, first)])
    keys = ["rubric_version", "group", *lists, "note"]
    tables = [
        table("Groups by rubric version; dead: all rewards equal", versions, ["rubric_version"], _GROUPS),
        table(title, shown, keys, {"n": "n"}),
    ]
    print_tables(console, tables)
    if labelled is not None:
        where = f"{labelled} of {len(groups)} groups"
        console.print(f"Step advantages ({' and '.join(STEP_METHODS)}), in --json and --csv: {where}.")


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
