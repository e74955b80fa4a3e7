"""The view tasks: the first tasks with their figures, those that ask the same, and what was chosen."""

from __future__ import annotations

from typing import Any

import pandas as pd
from rich.console import Console
from rich.table import Table
from rich.text import Text

from analysis.choosing import Choice, Compared
from analysis.compare import records
from analysis.render.tables import plain, print_tables, table

__all__ = ["show_tasks"]

_FIGURES = {
    **{"rollouts": "runs", "pass_rate": "pass\nrate"},
    **{"reward_mean": "reward", "reward_var": "var", "steps": "steps", "tools": "tools"},
}
_SHOWN = 20


def show_tasks(console: Console, choice: Choice) -> None:
    """Print the first tasks kept, the first of those that ask the same, and how many there are."""
    if choice.table.empty:
        console.print("No rows.")
        return
    tables = [_tasks(choice.table[choice.table["kept"]])]
    titled = {"Tasks that ask the same": choice.duplicates, "Tasks to be kept out": choice.leaks}
    for title, found in titled.items():
        names = [name for name in map(str, found) if name != "similarity"]
        tables.append(table(_title(title, found), found.head(_SHOWN), names, {"similarity": "similarity"}))
    print_tables(console, [each for each in tables if each.row_count])
    if choice.compared is not None:
        console.print(Text(_leaks(choice.compared, len(choice.leaks))))
    console.print(Text(_summary(choice)))


def _tasks(figures: pd.DataFrame) -> Table:
    judge = ["rubric_version", "judge_model"]
    keys = [key for key in judge if figures[key].nunique() > 1]
    of = [plain(figures[key].iat[0]) for key in judge if key not in keys and len(figures)]
    first = figures.head(_SHOWN)
    alive = [_alive(row) for row in records(first, _starting(first, "alive_"))]
    tools = [None if pd.isna(count) else int(count) for count in first["tools"]]
    # As objects, so that a count is printed as one.
    shown = first.assign(alive=alive, tools=pd.Series(tools, first.index, dtype=object))
    most = [name for prefix in ("pass@", "pass^") for name in _starting(first, prefix)[-1:]]
    headings = {**_FIGURES, **{name: name for name in most}}
    return table(_title(", ".join(["Tasks", *of]), figures), shown, [*keys, "task_id", "alive"], headings)


def _starting(figures: pd.DataFrame, prefix: str) -> list[str]:
    return [name for name in map(str, figures) if name.startswith(prefix)]


def _title(title: str, rows: pd.DataFrame) -> str:
    return f"{title} (the first {_SHOWN} of {len(rows)})" if len(rows) > _SHOWN else title


def _alive(row: dict[str, Any]) -> str:
    """In one word where all methods agree, else the methods under which the task is alive."""
    said = set(row.values())
    if len(said) == 1:
        return {True: "alive", False: "dead", None: "–"}[said.pop()]
    return " ".join(name.removeprefix("alive_") for name, alive in row.items() if alive)


def _leaks(compared: Compared, leaks: int) -> str:
    """That nothing leaks is said too: silence could mean that nothing was compared."""
    tasks = compared.by_text + compared.by_hash_alone
    how = f", {compared.by_hash_alone} only for equal texts" if compared.by_hash_alone else ""
    found = f"{leaks} to be kept out" if leaks else "none to be kept out"
    return f"{tasks} tasks compared with {compared.evaluation_tasks} of the evaluation{how}: {found}."


def _summary(choice: Choice) -> str:
    total = choice.table["task_id"].nunique()
    lost = [f"{name.replace('_', '-')} {count}" for name, count in choice.left_out.items()]
    return f"{len(choice.kept)} of {total} tasks kept" + (
        f"; left out by {', '.join(lost)}." if lost else "."
    )
