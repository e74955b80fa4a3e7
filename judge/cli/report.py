"""`judge report`: what one or more reward logs say about rubric versions.

Covers reading the command line, where things are written and what is said on standard error; the figures
are analysis/'s, which is loaded only when the command runs.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judge.cli.calibrated import labelled_rollouts, tiered_rollouts
from judge.cli.options import logs_argument
from judge.config import Config
from judge.errors import InputError

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["report"]

_SHOWN_BAD_LINES = 5


@click.command("report")
@logs_argument
@click.option(
    "--view",
    type=click.Choice(["summary", "groups", "calibration"]),
    default="summary",
    show_default=True,
    help="What to show; groups: advantages within each group, and the groups whose rewards are all equal; "
    "calibration: what the steps of each tier are worth by the outcomes.",
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
    help="Also write versions.csv, paired.csv and, with --by, by.csv (or fine*.csv), "
    "groups.csv, or calibration.csv, into DIR.",
)
@click.option(
    "--input",
    "inputs",
    metavar="TRAJECTORIES",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False),
    help="Calibration: the stored runs of the log; give it again for each further file.",
)
@click.option(
    "--tiers",
    type=click.Choice(["tiers", "labels"]),
    help="Calibration: by what the steps did (needs --input), or by the judge's labels of them.  "
    "[default: tiers with --input, else labels]",
)
@click.option(
    "--alpha",
    type=click.FloatRange(min=0, min_open=True),
    help="Calibration, required: a tier is worth alpha times its correlation with the outcome ...",
)
@click.option(
    "--delta",
    type=click.FloatRange(0, 1),
    help="Calibration, required: ... where that is more than delta or less than -delta, else 0.",
)
@click.option(
    "--config",
    "config_path",
    type=click.Path(),
    help="Calibration and groups: YAML file whose reward.tiers are in force.  [default: JUDGE_CONFIG]",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print the figures as one JSON object and nothing else."
)
def report(
    logs: tuple[Path, ...],
    view: str,
    baseline: str | None,
    candidate: str | None,
    by: str | None,
    csv_folder: Path | None,
    as_json: bool,
    **calibrating: Any,
) -> None:
    """Compare rubric versions by their rewards, failures and agreement with the stored outcomes."""
    if view == "calibration":
        if baseline or by:
            raise click.UsageError("--baseline and --by are for --view summary only")
        _report_calibration(logs, candidate, csv_folder, as_json, **calibrating)
        return
    config_path = calibrating.pop("config_path") if view == "groups" else None
    if any(given not in (None, ()) for given in calibrating.values()):
        raise click.UsageError("--input, --tiers, --alpha, --delta and --config are for --view calibration")
    if view == "groups":
        if baseline or candidate or by:
            raise click.UsageError("--baseline, --candidate and --by are for --view summary only")
        _report_groups(logs, csv_folder, as_json, config_path)
        return
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


def _report_groups(
    logs: tuple[Path, ...], csv_folder: Path | None, as_json: bool, config_path: str | None
) -> None:
    from analysis.compare import records
    from analysis.frame import load_frame
    from analysis.groups import (
        GROUP_COLUMNS,
        VERSION_FIGURES,
        dead_groups,
        group_records,
        group_rollouts,
        summarise_groups,
    )
    from analysis.render import report_console, show_groups
    from analysis.rollouts import logged_rollouts
    from analysis.stepwise import step_advantages

    bad: list[str] = []
    frame = load_frame(logs, also=GROUP_COLUMNS, on_bad=bad.append)
    _say_what_is_missing(bad, frame.attrs["superseded"])
    labelled = logged_rollouts(logs, on_bad=lambda _: None)
    rollouts = step_advantages(group_rollouts(frame), labelled, Config.load(config_path).reward.tiers)
    groups = dead_groups(rollouts)
    versions = summarise_groups(groups)
    if csv_folder is not None:
        dead = rollouts["number"].map(groups["dead"])
        _write_csv(csv_folder, {"groups": rollouts.drop(columns="number").assign(dead=dead)})
    if as_json:
        found = {"groups": group_records(rollouts, groups), "versions": records(versions, VERSION_FIGURES)}
        click.echo(json.dumps(found, indent=2, allow_nan=False))
    else:
        show_groups(report_console(), versions, rollouts, groups)


def _report_calibration(
    logs: tuple[Path, ...],
    version: str | None,
    csv_folder: Path | None,
    as_json: bool,
    *,
    inputs: tuple[str, ...],
    tiers: str | None,
    alpha: float | None,
    delta: float | None,
    config_path: str | None,
) -> None:
    from analysis.calibration import as_yaml, calibrate
    from analysis.compare import records
    from analysis.render import report_console, show_calibration
    from analysis.rollouts import LABEL_VALUES, TIER_VALUES

    if alpha is None or delta is None:
        raise click.UsageError("--view calibration needs --alpha and --delta: there are no good defaults")
    by_label = tiers == "labels" or not (tiers or inputs)
    in_force = Config.load(config_path).reward.tiers
    start = LABEL_VALUES if by_label else TIER_VALUES
    values = {tier: in_force.get(tier, value) for tier, value in start.items()}
    bad: list[str] = []
    rollouts = (
        labelled_rollouts(logs, version, bad.append)
        if by_label
        else tiered_rollouts(logs, version, inputs, bad.append)
    )
    _say_what_is_missing(bad, 0)
    table = calibrate(rollouts, alpha=alpha, delta=delta, values=values)
    if csv_folder is not None:
        _write_csv(csv_folder, {"calibration": table})
    if as_json:
        found = {"alpha": alpha, "delta": delta, "tiers": records(table, list(table.columns))}
        click.echo(json.dumps(found, indent=2, allow_nan=False))
    else:
        show_calibration(report_console(), table, as_yaml(table))


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
