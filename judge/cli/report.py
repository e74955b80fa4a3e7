"""`judge report`: what one or more reward logs say about rubric versions.

Covers reading the command line, where things are written and what is said on standard error; the figures
are analysis/'s, which is loaded only when the command runs.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from judge.errors import InputError

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["report"]

_SHOWN_BAD_LINES = 5


@click.command("report")
@click.argument(
    "logs",
    metavar="LOG...",
    nargs=-1,
    required=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
)
@click.option(
    "--view", type=click.Choice(["summary"]), default="summary", expose_value=False, help="What to show."
)
@click.option(
    "--baseline", metavar="V", help="Rubric version to compare with [of two: the first in the log]."
)
@click.option("--candidate", metavar="V", help="Rubric version to compare [of two: the other].")
@click.option(
    "--by",
    metavar="COL",
    help="Also break the figures down by a column of the log (tables and --csv); fine: the fine rubrics.",
)
@click.option(
    "--csv",
    "csv_folder",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Also write versions.csv, paired.csv and, with --by, by.csv (or fine*.csv) into DIR.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print the figures as one JSON object and nothing else."
)
def report(
    logs: tuple[Path, ...],
    baseline: str | None,
    candidate: str | None,
    by: str | None,
    csv_folder: Path | None,
    as_json: bool,
) -> None:
    """Compare rubric versions by their rewards, failures and agreement with the stored outcomes."""
    tables = _tables(logs, baseline, candidate, by)
    if csv_folder is not None:
        _write_csv(csv_folder, tables)
    if as_json:
        _print_json(tables)
    else:
        _show(tables)


def _tables(
    logs: tuple[Path, ...], baseline: str | None, candidate: str | None, by: str | None
) -> dict[str, DataFrame]:
    """The report's tables by name: versions, paired where there are two, by or fine* where asked for."""
    from analysis.compare import breakdown, choose_pair, pair, summarise
    from analysis.fine import dropped_items, fine_figures, shared_quotes
    from analysis.frame import FINE, load_frame

    bad: list[str] = []
    frame = load_frame(logs, by=by, on_bad=bad.append)
    _say_what_is_missing(bad, frame.attrs["superseded"])
    try:
        tables = {"versions": summarise(frame)}
        if chosen := choose_pair(frame, baseline, candidate):
            tables["paired"] = pair(frame, *chosen)
        if by == FINE:
            tables["fine"] = fine_figures(frame)
            tables["fine_quotes"] = shared_quotes(frame)
            tables["fine_dropped"] = dropped_items(frame)
        elif by is not None:
            tables["by"] = breakdown(frame, by)
            if len(frame) and frame[by].isna().all():
                click.echo(f"No row has a value for {by!r}.", err=True)
    except InputError as error:
        raise click.UsageError(error.message) from None
    return tables


def _show(tables: dict[str, DataFrame]) -> None:
    from analysis.render import report_console, show_fine, show_summary

    console = report_console()
    show_summary(console, tables["versions"], tables.get("paired"), tables.get("by"))
    if "fine" in tables:
        show_fine(console, tables["fine"], tables["fine_quotes"], tables["fine_dropped"])


def _say_what_is_missing(bad: list[str], superseded: int) -> None:
    for line in bad[:_SHOWN_BAD_LINES]:
        click.echo(f"Passed over {line}", err=True)
    if bad:
        click.echo(f"{len(bad)} unreadable lines passed over.", err=True)
    if superseded:
        click.echo(
            f"{superseded} rows not counted: a later judgement of the same run stands for them.", err=True
        )


def _write_csv(folder: Path, tables: dict[str, DataFrame]) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, table in tables.items():
            table.to_csv(folder / f"{name}.csv", index=False, encoding="utf-8", lineterminator="\n")
    except OSError as error:
        raise click.UsageError(f"--csv {folder}: cannot be written: {error.strerror or error}") from None


def _print_json(tables: dict[str, DataFrame]) -> None:
    from analysis.compare import FIGURES, PAIRED, records

    paired = records(tables["paired"], PAIRED)[0] if "paired" in tables else None
    versions = records(tables["versions"], ["rubric_version", "judge_model", *FIGURES])
    click.echo(json.dumps({"versions": versions, "paired": paired}, indent=2, allow_nan=False))
