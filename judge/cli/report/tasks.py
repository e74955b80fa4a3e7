"""`--view tasks`: which tasks to train on, by how often they are solved and what they teach a trainer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from judge.cli.report.asked import Asked, print_json
from judge.cli.report.instructions import evaluation_tasks, stored_tasks
from judge.cli.written import refuse_overwriting, written_whole
from judge.config import Config

if TYPE_CHECKING:
    from pandas import DataFrame

    from analysis.choosing import Choice


def show(asked: Asked) -> None:
    from analysis.render.tables import report_console
    from analysis.render.tasks import show_tasks

    _check(asked)
    choice = _chosen(asked)
    _write_ids(asked, choice.kept)
    found = {"tasks": choice.table, "duplicates": choice.duplicates, "leaks": choice.leaks}
    asked.write_csv(found)
    if asked.as_json:
        _print(choice, found)
    else:
        show_tasks(report_console(), choice)


def _check(asked: Asked) -> None:
    if asked.min_tools is not None and not asked.inputs:
        raise click.UsageError("--min-tools needs the stored runs: --input TRAJECTORIES")
    if asked.drop_duplicates in ("template", "near") and not asked.inputs:
        needed = "needs the texts of the instructions: --input TRAJECTORIES"
        raise click.UsageError(f"--drop-duplicates {asked.drop_duplicates} {needed}")
    if asked.ids is not None:
        refuse_overwriting("--ids", asked.ids, [*asked.logs, *asked.inputs, *asked.exclude])


def _chosen(asked: Asked) -> Choice:
    from analysis.choosing import choose, instructions_of
    from analysis.duplicates import SIMILARITY
    from analysis.stepwise import STEP_COLUMNS, STEP_METHODS
    from analysis.tasks import LIMITS, TASK_COLUMNS, misses, task_figures

    columns = (*TASK_COLUMNS, *STEP_COLUMNS) if asked.alive in STEP_METHODS else TASK_COLUMNS
    frame = _of_version(asked.frame(also=columns), asked.candidate)
    if unnamed := int(frame["task_id"].isna().sum()):
        click.echo(f"{unnamed} rows without a task_id left out.", err=True)
    runs, texts = stored_tasks(asked.inputs)
    instructions = instructions_of(frame, texts)
    _say_untold(asked, sum(each.text is None for each in instructions.values()), len(instructions))
    table = task_figures(frame, _rollouts(asked, frame), runs if asked.inputs else None, asked.k or None)
    if judged := int(table["by_judge"].sum()):
        click.echo(
            f"{judged} of {int(table['rollouts'].sum())} rollouts pass or fail by the judge's own success, "
            "because no verifier gave an outcome.",
            err=True,
        )
    limits = {name: value for name in LIMITS if (value := getattr(asked, name)) is not None}
    return choose(
        table,
        misses(table, limits, asked.alive),
        instructions,
        evaluation_tasks(asked.exclude),
        drop=asked.drop_duplicates,
        similarity=asked.similarity or SIMILARITY,
    )


def _say_untold(asked: Asked, untold: int, tasks: int) -> None:
    if untold and (asked.inputs or asked.exclude or asked.drop_duplicates):
        of = f"The texts of {untold} of {tasks} tasks are not in the --input"
        click.echo(f"{of}: that others ask the same shows there only where the texts are equal.", err=True)


def _of_version(frame: DataFrame, version: str | None) -> DataFrame:
    if version is None:
        return frame
    there = list(frame["rubric_version"].astype(object).unique())
    if version not in there:
        raise click.UsageError(f"unknown rubric version {version!r}: there are {', '.join(there) or 'none'}")
    return frame[frame["rubric_version"] == version]


def _rollouts(asked: Asked, frame: DataFrame) -> DataFrame:
    """The frame's rows in their groups; with the advantages of steps only where these are asked for."""
    from analysis.groups import group_rollouts
    from analysis.stepwise import STEP_METHODS, step_advantages

    rollouts = group_rollouts(frame)
    if asked.alive not in STEP_METHODS:
        return rollouts
    tiers = Config.load(asked.config_path).reward.tiers
    return step_advantages(rollouts, frame, tiers)


def _write_ids(asked: Asked, kept: list[str]) -> None:
    if asked.ids is None:
        return
    with written_whole(asked.ids) as file:
        file.writelines(f"{line}\n".encode() for line in _lines(asked, kept))


def _lines(asked: Asked, kept: list[str]) -> Iterator[str]:
    as_objects = asked.ids is not None and asked.ids.suffix == ".jsonl"
    for task in kept:
        if not as_objects and task.splitlines() != [task]:
            raise click.UsageError(f"--ids {asked.ids}: {task!r} is not one line; name a .jsonl file")
        yield json.dumps({"task_id": task}, ensure_ascii=False) if as_objects else task


def _print(choice: Choice, found: dict[str, DataFrame]) -> None:
    from analysis.compare import records

    tables = {name: records(table, list(table.columns)) for name, table in found.items()}
    chosen = {
        "tasks": choice.table["task_id"].nunique(),
        "kept": len(choice.kept),
        "left_out": choice.left_out,
        "compared": choice.compared and choice.compared._asdict(),
    }
    print_json({**tables, "chosen": chosen})
