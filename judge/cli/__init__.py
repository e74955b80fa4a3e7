"""The command `judge`. Every subcommand is a module here, imported only when it is called.

Exit status: 0 all judged, 2 bad usage or input, 3 some failed, 4 all failed, 130 interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version

import click

from judge.errors import JudgeError

_COMMANDS = {
    "demo": "Judge the packaged examples under two rubric versions; needs no key and no network.",
    "rejudge": "Judge stored trajectories and append the rewards to a log.",
    "prepare": "Ask for the fine rubrics of stored trajectories ahead of judging them.",
    "report": "Figures and comparisons from reward logs.",
    "agreement": "Any stored verdicts beside the truth, from a CSV table.",
    "show": "Show one trajectory: what would be asked about it, or what a log says of it.",
    "recollapse": "New rewards from the verdicts of a log, under another scheme, without a call.",
    "export": "Rows of a log by reward, with advantages, for training or fine-tuning.",
    "doctor": "Ask the configured endpoint a few tiny questions and say what is wrong, and what to do.",
    "convert": "Stored trajectories of any format as native ones.",
    "rubrics": "List, show and check rubric versions.",
}


class _Commands(click.Group):
    """Knows its commands by name and one line, and imports one only to run it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in _COMMANDS:
            return None
        found: click.Command = getattr(import_module(f"judge.cli.{name}"), name)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


def _version() -> str:
    try:
        return version("adaptive-judge")
    except PackageNotFoundError:
        return "not installed"


@click.group(
    cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(_version(), prog_name="judge")
def cli() -> None:
    """Rewards for reinforcement learning from the trajectories of AI agents.

    \b
    Start with:  judge demo
    Then:        judge rejudge runs.jsonl --rubrics static_v1,adapt_v1 --log log.jsonl
                 judge report log.jsonl

    The judge's endpoint comes from JUDGE_BASE_URL, JUDGE_API_KEY and JUDGE_MODEL, or from --config FILE.
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its status."""
    sys.exit(run(arguments))


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status; errors are one message on stderr."""
    try:
        result = cli.main(
            None if arguments is None else list(arguments), prog_name="judge", standalone_mode=False
        )
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("judge: interrupted", err=True)
        return 130
    except JudgeError as error:
        click.echo(f"judge: {error}", err=True)
        return 2
    except SystemExit:
        # Whoever read our output has gone: click has silenced stdout and leaves with a status of its own.
        return 0
    except OSError as error:
        click.echo(f"judge: {error.filename or 'a file'}: {error.strerror or error}", err=True)
        return 2
    return result if isinstance(result, int) else 0
