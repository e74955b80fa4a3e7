"""`judge prepare`: what belongs to the instructions of stored trajectories, asked for ahead of judging them.

A later run finds the fine rubrics (and the categories, where a judge routes) in the cache. Nothing is judged
and no log is written. An instruction counts once for each rubric version, and once more for each further
category that its runs fall into: that takes another question.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, ClassVar

import click

from judge.cli.options import base_url_option, config_option, format_option, model_option, rubrics_option
from judge.cli.progress import ProgressLine, Tally
from judge.cli.rejudge import Plan
from judge.client.tokens import estimate_tokens
from judge.config import EMBEDDED_MODEL, Config, JudgeSection, RubricsSection
from judge.errors import ConfigError
from judge.judging import Job, Judge
from judge.pipeline import Answer, Prepared, Version
from judge.pipeline.preparing import foresee
from judge.schema import Request

_REPLY_TOKENS = 120
"""A guess: two items of a sentence and a quote each, as JSON. Thinking comes on top, where a judge thinks."""


@dataclass
class Preparation(Tally):
    """What has become of the instructions, and of the fine items proposed for them."""

    noun: ClassVar[str] = "instructions"

    cached: int = 0
    kept: Counter[int] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)

    def add(self, answer: Answer[Prepared]) -> None:
        costs = [call.cost for call in answer.calls if call.cost is not None]
        if costs:
            self.cost = (self.cost or 0.0) + sum(costs)
        if answer.error is not None:
            self.failed[answer.error.kind] += 1
        elif answer.value is not None:
            self.judged += 1
            self.cached += all(call.cached for call in answer.calls)
            self.kept[len(answer.value.fine.kept)] += 1
            self.dropped.update(item["why"] for item in answer.value.fine.dropped)

    def figures(self) -> str:
        cost = f", cost {self.cost:.4f}" if self.cost is not None else ""
        asked = self.judged - self.cached
        return f"{self.cached} from the cache, {asked} asked, {self.failures} failed{cost}"

    def lines(self) -> Iterator[str]:
        """How many fine items the instructions have, and why others were dropped."""
        if self.judged:
            numbers = [(name, self.kept[count]) for count, name in enumerate(("none", "one", "two"))]
            shares = [f"{name} {times} ({times / self.judged:.0%})" for name, times in numbers]
            yield f"  fine rubrics  {', '.join(shares)}"
        if self.dropped:
            reasons = [f"{why} {times}" for why, times in self.dropped.most_common()]
            yield f"  dropped       {', '.join(reasons)}"


@dataclass
class Estimate:
    """What asking takes at most: how much of it is in the cache already shows only in asking."""

    instructions: int = 0
    calls: Counter[str] = field(default_factory=Counter)
    prompt_tokens: Counter[str] = field(default_factory=Counter)

    def add(self, questions: Sequence[Request]) -> None:
        self.instructions += 1
        for question in questions:
            self.calls[question.purpose] += 1
            self.prompt_tokens[question.purpose] += estimate_tokens(question.messages)

    def cost(self, settings: JudgeSection) -> float | None:
        """In the currency of price_per_million; None where a call has no price."""
        total = 0.0
        for purpose, calls in self.calls.items():
            if (price := settings.endpoint(purpose).price_per_million) is None:
                return None
            total += self.prompt_tokens[purpose] * price.prompt + calls * _REPLY_TOKENS * price.completion
        return total / 1e6

    def told(self, settings: JudgeSection) -> str:
        calls = self.calls.total()
        tokens = f"{self.prompt_tokens.total():,} prompt and {calls * _REPLY_TOKENS:,} completion tokens"
        cost = self.cost(settings)
        priced = "no price set" if cost is None else f"cost about {cost:.4f}"
        return f"{self.instructions} instructions, at most {calls} calls: about {tokens}, {priced}"


@click.command("prepare")
@click.argument("inputs", metavar="INPUT...", nargs=-1, required=True)
@rubrics_option
@format_option
@click.option("--embedded", is_flag=True, help="Ask the embedded stand-in judge, which keeps nothing.")
@model_option
@base_url_option
@click.option("--concurrency", type=click.IntRange(min=1), help="Calls in flight at a time.")
@click.option("--limit", type=click.IntRange(min=1), help="Prepare only the first N trajectories.")
@click.option("--skip-bad", is_flag=True, help="Count and pass over records that are no trajectories.")
@config_option
@click.option("--dry-run", is_flag=True, help="Say what would be asked and what it may cost, and stop.")
def prepare(
    inputs: tuple[str, ...],
    rubrics: str | None,
    format_: str,
    limit: int | None,
    skip_bad: bool,
    config_path: str | None,
    dry_run: bool,
    **settings: Any,
) -> int:
    """Ask for the fine rubrics of all instructions, so that judging finds them in the cache.

    Takes one call for each instruction, rubric version and category, and none for what is in the cache: after
    an outage or Ctrl-C, give the same command again. Exit status: 0 all prepared, 2 bad usage or input,
    3 some failed, 4 all failed, 130 interrupted.
    """
    config = _configured(config_path, **settings)
    judge = Judge(config)
    plan = Plan(inputs, format_, _asking(judge, rubrics), limit=limit, skip_bad=skip_bad)
    if not plan.versions:
        return 0
    if config.cache.dir is None and not config.judge.is_embedded:
        raise ConfigError("cache.dir is null: nothing would be kept for a later run; set it to a folder")
    estimate = None
    # What comes from a pipe can be read once only: for the estimate, or for the asking.
    if dry_run or "-" not in inputs:
        estimate = _estimated(plan, config.rubrics)
        click.echo(estimate.told(config.judge), err=not dry_run)
    if dry_run:
        return 0
    tally, tallies = _prepare_all(judge, plan, estimate.instructions if estimate else None)
    _summarise(plan, tally, tallies, config)
    return tally.exit_status


def _configured(
    path: str | None, embedded: bool, model: str | None, base_url: str | None, concurrency: int | None
) -> Config:
    """The settings of the file and the environment, under what was said on the command line; no log."""
    if embedded and (model or base_url):
        raise click.UsageError("--embedded is a judge of its own: leave out --model and --base-url")
    said = {"model": EMBEDDED_MODEL if embedded else model, "base_url": base_url, "concurrency": concurrency}
    judge = {key: value for key, value in said.items() if value is not None}
    return Config.load(path, judge=judge, log={"path": None})


def _asking(judge: Judge, rubrics: str | None) -> dict[str, Version]:
    """The versions that have something to prepare; the others are named on stderr."""
    chosen = (rubrics or judge.config.rubrics.version).split(",")
    versions = {name: judge.version(name) for name in map(str.strip, chosen) if name}
    for name, version in list(versions.items()):
        if not {"route", "fine"}.intersection(version.asked):
            click.echo(f"{name}: has no fine rubrics, so there is nothing to prepare", err=True)
            del versions[name]
    return versions


def _estimated(plan: Plan, settings: RubricsSection) -> Estimate:
    estimate = Estimate()
    for _, questions in _distinct(plan, settings):
        estimate.add(questions)
    return estimate


def _distinct(plan: Plan, settings: RubricsSection) -> Iterator[tuple[Job, list[Request]]]:
    """One run for all that raise the same questions under a version; none that will take no judge."""
    seen: set[bytes] = set()
    for job in plan.jobs():
        name = job.rubric_version
        if name is None or job.run.verifier_only or job.run.is_empty:
            continue
        questions = foresee(job.run, plan.versions[name], settings)
        text = repr([name, *(question.messages for question in questions)])
        digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).digest()
        if questions and digest not in seen:
            seen.add(digest)
            yield job, questions


def _prepare_all(
    judge: Judge, plan: Plan, total: int | None
) -> tuple[Preparation, dict[str | None, Preparation]]:
    """Ask; what became of it, altogether and by rubric version."""
    tally = Preparation()
    tallies: dict[str | None, Preparation] = {name: Preparation() for name in plan.versions}
    jobs = (job for job, _ in _distinct(plan, judge.config.rubrics))
    try:
        with ProgressLine(tally, total, "preparing") as line, judge:
            for job, answer in judge.prepare_iter(jobs):
                tally.add(answer)
                tallies[job.rubric_version].add(answer)
                line.advance()
    except KeyboardInterrupt:
        click.echo(
            f"judge: interrupted after {tally.figures()}; the same command goes on from there", err=True
        )
        raise
    return tally, tallies


def _summarise(
    plan: Plan, tally: Preparation, tallies: dict[str | None, Preparation], config: Config
) -> None:
    for name, one in tallies.items():
        click.echo(f"{name}: {one.done} instructions, {one.figures()}")
        for line in one.lines():
            click.echo(line)
    if plan.bad:
        click.echo(f"{len(plan.bad)} bad records passed over, the first: {plan.bad[0]}", err=True)
    if config.judge.is_embedded:
        click.echo("The embedded judge keeps nothing: it costs less than a look into the cache.", err=True)
    if warning := tally.warning():
        click.echo(f"judge: {warning}", err=True)
