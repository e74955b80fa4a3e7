"""`--view compare`: each judge's figures with intervals, and candidates against a baseline, pair by pair."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from judge.cli.report.asked import Asked, print_json
from judge.errors import InputError

if TYPE_CHECKING:
    from pandas import DataFrame


def show(asked: Asked) -> None:
    from analysis.frame import FINE

    if asked.by == FINE:
        raise click.UsageError("--by fine is for --view summary")
    tables = _tables(asked)
    asked.write_csv(tables)
    if asked.as_json:
        print_json(_as_json(tables, asked.by))
    else:
        _print(tables, asked.by)


def _tables(asked: Asked) -> dict[str, DataFrame]:
    """compare_versions and compare_pairs, and the same by_ a column where asked for."""
    from analysis.paired import compare_judges
    from analysis.versions import BASIS_COLUMNS, choose_judges, compared_versions

    frame = asked.frame(by=asked.by, also=BASIS_COLUMNS)
    try:
        versus = choose_judges(frame, asked.baseline, asked.candidate)
        tables = {
            "compare_versions": compared_versions(frame, versus),
            "compare_pairs": compare_judges(frame, versus),
        }
        if asked.by is not None:
            tables["compare_versions_by"] = compared_versions(frame, versus, asked.by)
            tables["compare_pairs_by"] = compare_judges(frame, versus, asked.by)
    except InputError as error:
        raise click.UsageError(error.message) from None
    _say_what_cannot_be_paired(asked, frame)
    return tables


def _say_what_cannot_be_paired(asked: Asked, frame: DataFrame) -> None:
    for name, what in (("trajectory_id", "cannot be paired"), ("task_id", "stand for tasks of their own")):
        if missing := int(frame[name].isna().sum()):
            click.echo(f"{missing} rows have no {name} and {what}.", err=True)
    if asked.by is not None and (missing := int(frame[asked.by].isna().sum())):
        click.echo(f"{missing} of {len(frame)} rows have no {asked.by!r}: they stand under (none).", err=True)


def _as_json(tables: dict[str, DataFrame], by: str | None) -> dict[str, Any]:
    from analysis.compare import records

    rows = {name: records(table, list(table.columns)) for name, table in tables.items()}
    found: dict[str, Any] = {"versions": rows["compare_versions"], "comparisons": rows["compare_pairs"]}
    if by is None:
        return {**found, "by": None}
    of_groups = {"versions": rows["compare_versions_by"], "comparisons": rows["compare_pairs_by"]}
    return {**found, "by": {"column": by, **of_groups}}


def _print(tables: dict[str, DataFrame], by: str | None) -> None:
    from analysis.render.compare import show_compare
    from analysis.render.tables import report_console

    console = report_console()
    show_compare(console, tables["compare_versions"], tables["compare_pairs"])
    if by is not None and len(tables["compare_versions_by"]):
        show_compare(console, tables["compare_versions_by"], tables["compare_pairs_by"], by)
