"""Arguments and options that several commands share, so that they read and behave alike."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import click

from judge.cli.inputs import check_logs
from judge.config import Scheme
from judge.readers import FORMATS

SCHEMES = get_args(Scheme)


def _checked(context: click.Context, parameter: click.Parameter, logs: tuple[Path, ...]) -> tuple[Path, ...]:
    check_logs(logs)
    return logs


logs_argument = click.argument(
    "logs",
    metavar="LOG...",
    nargs=-1,
    required=True,
    callback=_checked,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
)
rubrics_option = click.option(
    "--rubrics",
    metavar="V[,V2]",
    help="Rubric versions, or paths of your own folders.  [default: as configured]",
)
format_option = click.option(
    "--format",
    "format_",
    type=click.Choice(FORMATS),
    default="auto",
    show_default=True,
    help="Format of the input.",
)
model_option = click.option("--model", metavar="NAME", help="Judge model.  [default: JUDGE_MODEL]")
base_url_option = click.option(
    "--base-url", metavar="URL", help="OpenAI-compatible endpoint.  [default: JUDGE_BASE_URL]"
)
config_option = click.option(
    "--config", "config_path", type=click.Path(), help="YAML file of settings.  [default: JUDGE_CONFIG]"
)
