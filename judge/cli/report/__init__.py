"""`judge report`: what one or more reward logs say about rubric versions.

Covers reading the command line, and which option belongs to which view; each view is a module here, and the
figures are analysis/'s, which is loaded only when a view runs.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from judge.cli.options import logs_argument
from judge.cli.report.asked import Asked
from judge.cli.report.choosing import CHOOSING, choosing_options

__all__ = ["report"]

VIEWS = {
    "summary": "each version's figures, and two of them pair by pair",
    "compare": "each judge's figures with intervals, and each candidate against a baseline, pair by pair",
    "noise": "is the judge strict or noisy, from a log made with --repeat; the failures to look at first",
    "health": "what can go wrong in a run: failures, dead groups, reward hacking, truncation, cost",
    "groups": "advantages within each group, and the groups whose rewards are all equal",
    "tasks": "which tasks to train on: pass rates, rewards, dead or alive, the same task twice",
    "calibration": "what the steps of each tier are worth by the outcomes",
}
"""View → what it shows. Each is a module of this folder with a function `show(asked)`."""

_BELONGS = {
    **dict.fromkeys(("baseline", "by"), ("summary", "compare")),
    "candidate": ("summary", "compare", "calibration", "tasks"),
    **dict.fromkeys(("tiers", "alpha", "delta"), ("calibration",)),
    "inputs": ("calibration", "tasks"),
    "config_path": ("calibration", "groups", "tasks"),
    **dict.fromkeys(CHOOSING, ("tasks",)),
}
"""Option → the views that take it; what is not here belongs to all."""


@click.command("report")
@logs_argument
@click.option(
    "--view",
    type=click.Choice(list(VIEWS)),
    default="summary",
    show_default=True,
    help="What to show; " + "; ".join(f"{name}: {what}" for name, what in VIEWS.items()) + ".",
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
    help="Also write each table of the view as a CSV file into DIR.",
)
@click.option(
    "--sqlite",
    "sqlite_file",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Also write the rows that count into the table reward_log of an SQLite database, new or old.",
)
@click.option(
    "--input",
    "inputs",
    metavar="TRAJECTORIES",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False),
    help="Calibration and tasks: the stored runs of the log; give it again for each further file.",
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
    help="Calibration, groups and tasks: YAML file whose reward.tiers are in force.  [default: JUDGE_CONFIG]",
)
@choosing_options
@click.option(
    "--json", "as_json", is_flag=True, help="Print the figures as one JSON object and nothing else."
)
def report(view: str, **options: Any) -> None:
    """Compare rubric versions by their rewards, failures and agreement with the stored outcomes."""
    _check(view)
    asked = Asked(**options)
    asked.check_sqlite()
    import_module(f"judge.cli.report.{view}").show(asked)
    asked.write_sqlite()


def _check(view: str) -> None:
    """Raises click.UsageError for an option that the view would ignore."""
    context = click.get_current_context()
    for param in context.command.params:
        views = _BELONGS.get(param.name or "", (view,))
        is_given = context.get_parameter_source(param.name or "") is ParameterSource.COMMANDLINE
        if is_given and view not in views:
            raise click.UsageError(f"{param.opts[0]} is for --view {' and '.join(views)}, not for {view}")
