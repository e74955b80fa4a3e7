"""`judge rejudge`: stored trajectories → rewards in a log, under one or more rubric versions."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import click

from judge.cli.inputs import format_teller
from judge.cli.options import (
    SCHEMES,
    base_url_option,
    config_option,
    format_option,
    model_option,
    rubrics_option,
)
from judge.cli.progress import ProgressLine, Tally
from judge.cli.short_health import short_health
from judge.config import EMBEDDED_MODEL, STEPS_MODE, Config
from judge.errors import InputError
from judge.judging import Job, Judge
from judge.log import settled_keys
from judge.pipeline import Version
from judge.readers import read_trajectories
from judge.schema import Trajectory

Key = tuple[str, str, int, str]


@dataclass
class Plan:
    """The judgements a run has to make: read from the inputs as a stream, as often as asked."""

    inputs: Sequence[str]
    format: str
    versions: Mapping[str, Version]
    repeats: int = 1
    limit: int | None = None
    shard: tuple[int, int] = (1, 1)
    skip_bad: bool = False
    settled: set[Key] = field(default_factory=set)
    bad: list[str] = field(default_factory=list)
    already: int = 0
    on_format: Callable[[str, str], None] = field(default_factory=format_teller)

    def jobs(self) -> Iterator[Job]:
        """Every judgement without a settled row yet. Raises InputError for a record that is no trajectory."""
        self.bad, self.already = [], 0
        for run in self._runs():
            for version, known in self.versions.items():
                for repeat in range(self.repeats):
                    if (run.trajectory_id, known.library.version, repeat, known.fingerprint) in self.settled:
                        self.already += 1
                    else:
                        yield Job(run, version, repeat)

    def _runs(self) -> Iterator[Trajectory]:
        seen: set[bytes] = set()
        taken = 0
        for path in self.inputs:
            on_bad = self.bad.append if self.skip_bad else None
            for run in read_trajectories(path, self.format, on_bad=on_bad, on_format=self.on_format):
                if self.limit is not None and taken >= self.limit:
                    return
                if not self._in_shard(run) or self._is_duplicate(run, path, seen):
                    continue
                taken += 1
                yield run

    def _in_shard(self, run: Trajectory) -> bool:
        part, parts = self.shard
        return parts == 1 or int(hashlib.sha256(run.task_id.encode()).hexdigest(), 16) % parts == part - 1

    def _is_duplicate(self, run: Trajectory, path: str, seen: set[bytes]) -> bool:
        digest = hashlib.blake2b(run.trajectory_id.encode(), digest_size=12).digest()
        if digest not in seen:
            seen.add(digest)
            return False
        message = f"{path}: trajectory_id {run.trajectory_id!r} occurs twice; a log tells runs apart by it"
        if not self.skip_bad:
            raise InputError(message)
        self.bad.append(message)
        return True


def _shard(context: click.Context, option: click.Parameter, value: str) -> tuple[int, int]:
    """`I/N`, 1-based: the I-th of N disjoint parts."""
    part, _, parts = value.partition("/")
    if not (part.isdigit() and parts.isdigit() and 1 <= int(part) <= int(parts)):
        raise click.BadParameter(f"{value!r} is not I/N with 1 <= I <= N, such as 1/4", context, option)
    return int(part), int(parts)


@click.command("rejudge")
@click.argument("inputs", metavar="INPUT...", nargs=-1, required=True)
@rubrics_option
@click.option(
    "--log",
    "log_path",
    metavar="FILE",
    help="Reward log to append to; what it holds already is not judged again.",
)
@format_option
@click.option(
    "--embedded",
    is_flag=True,
    help="Use the embedded stand-in judge: no key, no network, no training reward.",
)
@model_option
@base_url_option
@click.option("--steps", type=click.Choice(["none", "whole", "prefix"]), help="Judge single steps too.")
@click.option(
    "--scheme",
    type=click.Choice(SCHEMES),
    help="How verdicts become a reward; weighted needs reward.weights in the settings.",
)
@click.option(
    "--repeat",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Independent judgements of each run.",
)
@click.option("--concurrency", type=click.IntRange(min=1), help="Judgements in flight at a time.")
@click.option("--limit", type=click.IntRange(min=1), help="Judge only the first N trajectories.")
@click.option(
    "--shard", metavar="I/N", callback=_shard, default="1/1", help="Judge only part I of N, split by task."
)
@click.option("--skip-bad", is_flag=True, help="Count and pass over records that are no trajectories.")
@click.option("--max-cost", type=click.FloatRange(min=0), help="Stop once the calls have cost this much.")
@click.option("--max-failures", type=click.IntRange(min=1), help="Stop after this many failed judgements.")
@config_option
@click.option("--dry-run", is_flag=True, help="Say what would be judged, and stop.")
def rejudge(
    inputs: tuple[str, ...],
    rubrics: str | None,
    log_path: str | None,
    repeat: int,
    limit: int | None,
    shard: tuple[int, int],
    skip_bad: bool,
    format_: str,
    max_cost: float | None,
    max_failures: int | None,
    config_path: str | None,
    dry_run: bool,
    **settings: Any,
) -> int:
    """Judge stored trajectories under one or more rubric versions.

    One line per (trajectory, rubric version, repeat) is appended to the log. A rerun judges only what has
    no settled line yet: after a crash, an outage or Ctrl-C, give the same command again. Exit status: 0 all
    judged, 2 bad usage or input, 3 some failed, 4 all failed, 130 interrupted.
    """
    config = _configured(config_path, log_path, **settings)
    versions = [name.strip() for name in (rubrics or config.rubrics.version).split(",") if name.strip()]
    judge = Judge(config)
    plan = Plan(
        inputs, format_, {name: judge.version(name) for name in versions}, repeat, limit, shard, skip_bad
    )
    path = config.log.path
    # A device or a pipe is written to and never read: it holds nothing, or has no end.
    if path is not None and (path.is_file() or path.is_dir()):
        plan.settled = settled_keys([path], on_bad=lambda message: click.echo(f"judge: {message}", err=True))
    total = None if "-" in inputs else sum(1 for _ in plan.jobs())
    if dry_run:
        count = "an unknown number of" if total is None else total
        click.echo(f"{count} judgements to make, {plan.already} in the log already")
        return 0
    tally = Tally()
    stopped = _judge_all(judge, plan, tally, total, max_cost, max_failures)
    _summarise(plan, tally, config, stopped)
    return tally.exit_status


def _configured(
    path: str | None,
    log_path: str | None,
    embedded: bool,
    model: str | None,
    base_url: str | None,
    steps: str | None,
    scheme: str | None,
    concurrency: int | None,
) -> Config:
    """The settings of the file and the environment, under what was said on the command line."""
    if embedded and (model or base_url):
        raise click.UsageError("--embedded is a judge of its own: leave out --model and --base-url")
    judge = {"model": EMBEDDED_MODEL if embedded else model, "base_url": base_url, "concurrency": concurrency}
    steps = steps or STEPS_MODE.get(scheme or "")
    said: dict[str, dict[str, Any]] = {
        "judge": {key: value for key, value in judge.items() if value is not None},
        "steps": {"mode": steps} if steps else {},
        "reward": {"scheme": scheme} if scheme else {},
        "log": {"path": log_path} if log_path else {},
    }
    return Config.load(path, **{section: values for section, values in said.items() if values})


def _judge_all(
    judge: Judge,
    plan: Plan,
    tally: Tally,
    total: int | None,
    max_cost: float | None,
    max_failures: int | None,
) -> str | None:
    """Judge what the plan holds; the reason for stopping early, if any."""
    try:
        with ProgressLine(tally, total) as line, judge:
            for reward in judge.score_iter(plan.jobs()):
                tally.count(reward)
                line.advance()
                if max_cost is not None and (tally.cost or 0.0) >= max_cost:
                    return f"--max-cost {max_cost:g} is reached"
                if max_failures is not None and tally.failures >= max_failures:
                    return f"--max-failures {max_failures} is reached, last with {list(tally.failed)[-1]}"
    except KeyboardInterrupt:
        click.echo(
            f"judge: interrupted after {tally.figures()}; the same command goes on from there", err=True
        )
        raise
    return None


def _summarise(plan: Plan, tally: Tally, config: Config, stopped: str | None) -> None:
    already = f", {plan.already} in the log already" if plan.already else ""
    bad = f", {len(plan.bad)} bad records passed over" if plan.bad else ""
    click.echo(f"{tally.figures()}{already}{bad}; log: {config.log.path or 'none'}", err=True)
    for message in plan.bad[:5]:
        click.echo(f"  {message}", err=True)
    for note in (stopped and f"stopped early: {stopped}", tally.warning()):
        if note:
            click.echo(f"judge: {note}", err=True)
    for line in short_health(tally):
        click.echo(line, err=True)
    if tally.judged and config.log.path is not None:
        click.echo(f"health: all of it: judge report {config.log.path} --view health", err=True)
