"""`judge agreement`: any stored verdicts beside the truth, from one CSV table. Makes no call."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judge.cli.report.asked import print_json
from judge.errors import InputError

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["agreement"]


@click.command("agreement")
@click.argument("table", metavar="TABLE.csv", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--truth", metavar="COL", required=True, help="The column that is right.")
@click.option(
    "--pred",
    "predictors",
    metavar="COL",
    multiple=True,
    help="A column to hold against it; give it again for each further one.  "
    "[default: every other column of numbers or booleans]",
)
@click.option("--by", metavar="COL", help="Also break the figures down by a column.")
@click.option(
    "--task",
    metavar="COL",
    help="The column that says which task a row is of: intervals are then over tasks.  [default: over rows]",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print the figures as one JSON object and nothing else."
)
def agreement(
    table: Path, truth: str, predictors: tuple[str, ...], by: str | None, task: str | None, as_json: bool
) -> None:
    """How far stored verdicts agree with the truth, each predictor on the rows where both have a value.

    Commas, semicolons or tabs separate the columns. 1, true and yes are success, other numbers, false and no
    failure; empty cells are left out and counted.
    """
    try:
        tables = _tables(table, truth, predictors, by, task)
    except InputError as error:
        raise click.UsageError(f"{table}: {error.message}") from None
    if as_json:
        print_json(_as_json(tables, truth, by))
    else:
        _print(tables, truth, by, task)


def _tables(
    path: Path, truth: str, predictors: tuple[str, ...], by: str | None, task: str | None
) -> dict[str, DataFrame]:
    """The rows with a truth as `judged`, `figures` of each predictor, and `by` where asked for."""
    from analysis.agreement import agree, read_table, truths

    table = read_table(path)
    known = truths(table, truth) >= 0
    names = list(dict.fromkeys(predictors)) or _chosen(table, (truth, by, task))
    if not names:
        raise InputError(f"no column of verdicts beside {truth!r}: name one with --pred")
    tables = {"judged": table[known], "figures": agree(table, truth, names, task=task)}
    if by is not None:
        tables["by"] = agree(table, truth, names, by=by, task=task)
    return tables


def _chosen(table: DataFrame, aside: tuple[str | None, ...]) -> list[str]:
    """The columns that hold verdicts; those that nearly do are said."""
    from analysis.agreement import choose_predictors, nearly_predictors

    for name, text in nearly_predictors(table, aside).items():
        click.echo(f"Column {name!r} left out: it holds {text!r}, which is no verdict.", err=True)
    return choose_predictors(table, aside)


def _as_json(tables: dict[str, DataFrame], truth: str, by: str | None) -> dict[str, Any]:
    from analysis.agreement import AGREEMENT
    from analysis.compare import records

    predictors = records(tables["figures"], AGREEMENT)
    found: dict[str, Any] = {"truth": truth, "n": len(tables["judged"]), "predictors": predictors}
    if by is None:
        return found
    return {**found, "by": {"column": by, "predictors": records(tables["by"], [by, *AGREEMENT])}}


def _print(tables: dict[str, DataFrame], truth: str, by: str | None, task: str | None) -> None:
    from analysis.render.agreement import show_agreement
    from analysis.render.tables import report_console

    console = report_console()
    show_agreement(console, tables["figures"], truth, task=task)
    if by is not None:
        show_agreement(console, tables["by"], truth, by=by, task=task)
