"""`judge export`: judged runs as training data, picked by reward, each with its advantage in its group.

Covers the choice of rows and the joining in of the trajectories they judge. Advantages are over the whole
group, before anything is left out, and come from analysis.groups, as `judge report --view groups` shows them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from importlib.util import find_spec
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judge.cli.options import logs_argument
from judge.cli.written import refuse_overwriting, written_whole
from judge.errors import InputError
from judge.log import encode_line, read_log
from judge.readers import read_trajectories

if TYPE_CHECKING:
    from pandas import DataFrame

_KEPT = (
    *("trajectory_id", "task_id", "group", "step", "source", "dataset_version", "agent", "instruction_hash"),
    *("category", "rubric_version", "judge_model", "repeat", "fingerprint", "scheme"),
)
_VERDICT = (
    "parts",
    "outcome",
    "outcome_status",
    "success",
    "score",
    "reason",
    "evidence",
    "criteria",
    "flags",
)


@click.command("export")
@logs_argument
@click.option(
    "--out",
    metavar="FILE",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where the rows go; an older file of this name is replaced.",
)
@click.option("--min-reward", type=float, metavar="X", help="Only rewards of at least X.")
@click.option("--max-reward", type=float, metavar="X", help="Only rewards of at most X.")
@click.option("--rubric-version", metavar="V", help="Only rows judged under V.")
@click.option(
    "--input",
    "inputs",
    metavar="TRAJECTORIES",
    multiple=True,
    help="File of the judged trajectories: adds instruction, context and steps. Can be given again.",
)
@click.option(
    "--advantage",
    "method",
    type=click.Choice(["grpo", "dr_grpo"]),
    default="grpo",
    show_default=True,
    help="How the advantage is computed.",
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["jsonl", "parquet"]),
    help="[default: parquet where FILE ends in .parquet, else jsonl]",
)
def export(
    logs: tuple[Path, ...],
    out: Path,
    min_reward: float | None,
    max_reward: float | None,
    rubric_version: str | None,
    inputs: tuple[str, ...],
    method: str,
    format_: str | None,
) -> None:
    """Write judged runs with their rewards and advantages, for training or fine-tuning.

    Rows without a reward, and rows that a later judgement stands for, are left out. The verdicts of single
    steps become step_verdicts; with --input, steps are the trajectory's own, and rows come in its order. In
    Parquet, lists and objects are JSON text.
    """
    refuse_overwriting("--out", out, [*logs, *inputs])
    format_ = format_ or ("parquet" if out.suffix == ".parquet" else "jsonl")
    if format_ == "parquet" and find_spec("pyarrow") is None:
        raise click.UsageError("Parquet needs pyarrow: pip install 'adaptive-judge[parquet]'")
    picked = _picked(logs, min_reward, max_reward, rubric_version, method)
    rows = _rows(logs, picked)
    if inputs:
        rows = _joined(list(rows), inputs)
    count = _write(rows, out, format_)
    click.echo(f"{count} rows in {out}", err=True)


def _picked(
    logs: Sequence[Path], least: float | None, most: float | None, version: str | None, method: str
) -> dict[int, tuple[float, float]]:
    """Position of a row in the logs → its reward and advantage, for the rows that are wanted.

    Raises InputError for a rubric version that no row has.
    """
    rollouts = _rollouts(logs)
    # A reward that is missing lies between no bounds.
    wanted = rollouts["reward"].between(-inf if least is None else least, inf if most is None else most)
    if version is not None:
        versions = list(rollouts["rubric_version"].astype(object).unique())
        if version not in versions:
            raise InputError(f"unknown rubric version {version!r}: there are {', '.join(versions) or 'none'}")
        wanted &= rollouts["rubric_version"] == version
    found = rollouts.loc[wanted, ["reward", method]]
    return dict(zip(found.index, found.itertuples(index=False, name=None), strict=True))


def _rollouts(logs: Sequence[Path]) -> DataFrame:
    """The rows that count, with their advantages, by position in the logs."""
    from analysis.frame import load_frame
    from analysis.groups import GROUP_COLUMNS, group_rollouts

    def say(line: str) -> None:
        click.echo(f"Passed over {line}", err=True)

    return group_rollouts(load_frame(logs, also=GROUP_COLUMNS, whole=True, on_bad=say).set_index("position"))


def _rows(logs: Sequence[Path], picked: dict[int, tuple[float, float]]) -> Iterator[dict[str, Any]]:
    for position, row in enumerate(read_log(*logs, on_bad=lambda _: None)):
        if position in picked:
            reward, advantage = picked[position]
            yield {
                **{name: row.get(name) for name in _KEPT},
                "reward": reward,
                "advantage": advantage,
                **{name: row.get(name) for name in _VERDICT},
                "step_verdicts": row.get("steps"),
            }


def _joined(rows: Iterable[dict[str, Any]], inputs: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The rows with instruction, context and steps of their trajectories, in the order of the inputs.

    Rows whose trajectory is not there are left out, and said to be. Raises InputError where a trajectory is
    there twice, or none is there at all.
    """
    waiting: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        waiting.setdefault(str(row["trajectory_id"]), []).append(row)
    total, found = len(waiting), set[str]()
    for path in inputs:
        for run in read_trajectories(path):
            if run.trajectory_id in found:
                raise InputError(f"{path}: trajectory_id {run.trajectory_id!r} occurs twice")
            if run.trajectory_id in waiting:
                found.add(run.trajectory_id)
                stored = run.model_dump(include={"instruction", "context", "steps"})
                for row in waiting.pop(run.trajectory_id):
                    yield {**row, **stored}
    if waiting:
        missing = f"{len(waiting)} of {total} judged trajectories are not in {', '.join(inputs)}"
        message = f"{missing}, such as {next(iter(waiting))!r}"
        if not found:
            raise InputError(message)
        click.echo(f"judge: left out: {message}", err=True)


def _write(rows: Iterable[dict[str, Any]], out: Path, format_: str) -> int:
    """Write the rows, JSONL as they come; how many there were."""
    count = 0
    with written_whole(out) as file:
        if format_ == "parquet":
            from analysis.parquet import write_parquet

            return write_parquet(file, rows)
        for count, row in enumerate(rows, 1):  # noqa: B007 - the last is the number of rows
            file.write(encode_line(row))
    return count
