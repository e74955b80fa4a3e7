"""Which tasks to train on: what is left of them after filters, an evaluation's own tasks, and repeats.

Covers the choice of `judge report --view tasks` and why each task was left out. The figures that filters go
by are `tasks`', and what counts as asking the same is `duplicates`'.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pandas as pd

from analysis.duplicates import KINDS, SIMILARITY, Instruction, find_duplicates, find_leaks

__all__ = ["EXCLUDED", "REPEATED", "Choice", "Compared", "choose", "instructions_of"]

EXCLUDED = "exclude"
REPEATED = "drop_duplicates"


class Compared(NamedTuple):
    """How many tasks were held against those of an evaluation, and how: by a hash only equal texts show."""

    evaluation_tasks: int
    by_text: int
    by_hash_alone: int


@dataclass(frozen=True)
class Choice:
    """The tasks kept, in order of appearance, and how the others were lost.

    `table`: the figures with `kept` and `left_out` (the reasons, ", " between them; "" for none). `left_out`:
    reason → number of tasks; of several reasons each counts. `duplicates` and `leaks` are those of
    `find_duplicates`, among the tasks that are left by then, and `find_leaks`; `compared` is None without an
    evaluation.
    """

    table: pd.DataFrame
    kept: list[str]
    left_out: dict[str, int]
    duplicates: pd.DataFrame
    leaks: pd.DataFrame
    compared: Compared | None


def choose(
    table: pd.DataFrame,
    missed: pd.DataFrame,
    instructions: Mapping[str, Instruction],
    evaluation: Iterable[Instruction] = (),
    *,
    drop: str | None = None,
    similarity: float = SIMILARITY,
) -> Choice:
    """Choose among the tasks of `task_figures`, whose `misses` are `missed`.

    A task is left out where any version or judge misses a filter, where it is like one of the `evaluation`,
    and where it repeats a task that is kept, in a kind as close as `drop` (one of KINDS; None keeps repeats).
    Raises ValueError for a similarity outside (0, 1].
    """
    tasks = list(dict.fromkeys(table["task_id"]))
    reasons = {name: set(table.loc[missed[name], "task_id"]) for name in map(str, missed)}
    asked, kept_out = [instructions[task] for task in tasks], list(evaluation)
    leaks = find_leaks(asked, kept_out, similarity)
    if kept_out:
        reasons[EXCLUDED] = set(leaks["task_id"])
    left = [task for task in tasks if not any(task in lost for lost in reasons.values())]
    duplicates = find_duplicates((instructions[task] for task in left), similarity)
    if drop is not None:
        kinds = KINDS[: KINDS.index(drop) + 1]
        reasons[REPEATED] = set(duplicates.loc[duplicates["kind"].isin(kinds), "task_id"])
        left = [task for task in left if task not in reasons[REPEATED]]
    why = {task: ", ".join(name for name, lost in reasons.items() if task in lost) for task in tasks}
    shown = table.assign(left_out=table["task_id"].astype(object).map(why))
    counts = {name: len(lost) for name, lost in reasons.items()}
    shown = shown.assign(kept=shown["left_out"] == "")
    return Choice(shown, left, counts, duplicates, leaks, _compared(asked, kept_out))


def instructions_of(frame: pd.DataFrame, texts: Mapping[str, str]) -> dict[str, Instruction]:
    """The instruction of each task of the frame: its text in `texts`, and the first hash in the log."""
    known = frame.loc[frame["task_id"].notna(), ["task_id", "instruction_hash"]]
    first = known.drop_duplicates().astype(object).groupby("task_id", sort=False)["instruction_hash"].first()
    hashes = first.where(first.notna(), None)
    return {str(task): Instruction(str(task), texts.get(str(task)), its) for task, its in hashes.items()}


def _compared(tasks: Sequence[Instruction], evaluation: Sequence[Instruction]) -> Compared | None:
    if not evaluation:
        return None
    by_text = sum(task.text is not None for task in tasks)
    by_hash_alone = sum(task.text is None and task.hash is not None for task in tasks)
    return Compared(len(evaluation), by_text, by_hash_alone)
