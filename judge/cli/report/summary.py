"""`--view summary`: each version's figures, and two of them pair by pair."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from judge.cli.report.asked import Asked, print_json
from judge.errors import InputError

if TYPE_CHECKING:
    from pandas import DataFrame


def show(asked: Asked) -> None:
    from analysis.compare import FIGURES, PAIRED, records

    tables = _tables(asked)
    asked.write_csv(tables)
    if not asked.as_json:
        _print(tables)
        return
    paired = records(tables["paired"], PAIRED)[0] if "paired" in tables else None
    versions = records(tables["versions"], ["rubric_version", "judge_model", *FIGURES])
    print_json({"versions": versions, "paired": paired})


def _tables(asked: Asked) -> dict[str, DataFrame]:
    """The report's tables by name: versions, paired where there are two, by or fine* where asked for."""
    from analysis.compare import breakdown, choose_pair, pair, summarise
    from analysis.fine import dropped_items, fine_figures, shared_quotes
    from analysis.frame import FINE

    frame = asked.frame(by=asked.by)
    try:
        tables = {"versions": summarise(frame)}
        if chosen := choose_pair(frame, asked.baseline, asked.candidate):
            tables["paired"] = pair(frame, *chosen)
        if asked.by == FINE:
            tables["fine"] = fine_figures(frame)
            tables["fine_quotes"] = shared_quotes(frame)
            tables["fine_dropped"] = dropped_items(frame)
        elif asked.by is not None:
            tables["by"] = breakdown(frame, asked.by)
            if len(frame) and frame[asked.by].isna().all():
                click.echo(f"No row has a value for {asked.by!r}.", err=True)
    except InputError as error:
        raise click.UsageError(error.message) from None
    return tables


def _print(tables: dict[str, DataFrame]) -> None:
    from analysis.render.fine import show_fine
    from analysis.render.summary import show_summary
    from analysis.render.tables import report_console

    console = report_console()
    show_summary(console, tables["versions"], tables.get("paired"), tables.get("by"))
    if "fine" in tables:
        show_fine(console, tables["fine"], tables["fine_quotes"], tables["fine_dropped"])
