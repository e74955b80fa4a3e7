"""`judge demo`: the main job on the packaged examples, without a key and without a network."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import click

from judge import resources
from judge.cli.apart import taken_apart
from judge.cli.progress import ProgressLine, Tally
from judge.config import EMBEDDED_MODEL, Config
from judge.judging import Job, Judge
from judge.log import read_log
from judge.readers import read_trajectories
from judge.schema import Trajectory

_VERSIONS = ("static_v1", "adapt_v1")
_NOTICE = """\
The judge of this demo is embedded-rules-v1: a deterministic stand-in that lets everything run without a
key. It ranks runs about as well as their length does and is near chance on policy-bound dialogues. That
static_v1 and adapt_v1 differ under it shows how a rubric changes a verdict, not that adaptive judging is
better: measure that with your own judge. It is not a training reward."""


@click.command("demo")
@click.option(
    "--log",
    "log_path",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where the reward log goes.  [default: a new temporary folder]",
)
def demo(log_path: Path | None) -> int:
    """Judge the packaged examples under static_v1 and adapt_v1 with the embedded judge.

    Shows the report that compares the two and one trajectory taken apart, and says where the log lies.
    """
    log_path = log_path or Path(tempfile.mkdtemp(prefix="judge-demo-")) / "reward_log.jsonl"
    runs = [run for path in sorted(resources.examples().glob("*.jsonl")) for run in read_trajectories(path)]
    click.echo(f"Judging {len(runs)} example trajectories under {' and '.join(_VERSIONS)} ...\n")
    tally = _judge(runs, log_path)
    _report(log_path)
    rows = list(read_log(log_path))
    click.echo("\nOne trajectory, taken apart:\n")
    click.echo(_example(runs, rows))
    click.echo(f"\n{_NOTICE}\n")
    click.echo(f"The reward log: {log_path} ({len(rows)} lines)")
    click.echo(f"Look closer:    judge report {log_path} --by category")
    click.echo("Your own runs:  judge rejudge RUNS.jsonl --rubrics static_v1,adapt_v1 --log LOG.jsonl")
    return tally.exit_status


def _judge(runs: list[Trajectory], log_path: Path) -> Tally:
    config = Config(judge={"model": EMBEDDED_MODEL}, log={"path": log_path})
    jobs = [Job(run, version) for run in runs for version in _VERSIONS]
    tally = Tally()
    with ProgressLine(tally, len(jobs)) as line, Judge(config) as judge:
        for reward in judge.score_iter(jobs):
            tally.count(reward)
            line.advance()
    return tally


def _report(log_path: Path) -> None:
    from analysis.compare import pair, summarise
    from analysis.frame import load_frame
    from analysis.render.summary import show_summary
    from analysis.render.tables import report_console

    frame = load_frame([log_path])
    show_summary(report_console(), summarise(frame), pair(frame, *_VERSIONS))


def _example(runs: list[Trajectory], rows: list[dict[str, Any]]) -> str:
    """A run on which the versions disagree and the adaptive one is right, with a fine rubric if possible."""
    by_run: dict[str, dict[str, dict[str, Any]]] = {}
    for row in rows:
        by_run.setdefault(row["trajectory_id"], {})[row["rubric_version"]] = row
    telling = [
        pair for pair in by_run.values() if pair["static_v1"]["success"] != pair["adapt_v1"]["success"]
    ]
    chosen = max(telling or list(by_run.values()), key=lambda pair: _interest(pair["adapt_v1"]))
    run = next(run for run in runs if run.trajectory_id == chosen["adapt_v1"]["trajectory_id"])
    parts = [f"Task: {run.instruction}", *(taken_apart(chosen[version]) for version in _VERSIONS)]
    return "\n\n".join(parts)


def _interest(row: dict[str, Any]) -> tuple[bool, int, int]:
    right = row["outcome"] is not None and row["success"] == (row["outcome"] == 1)
    return right, len(row["fine_rubrics"]), len(row["evidence"])
