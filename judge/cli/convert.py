"""`judge convert`: stored trajectories of any format → the native one, to look at, to keep or to edit."""

from __future__ import annotations

import os
import sys
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import click

from judge import pictures
from judge.cli.options import format_option
from judge.cli.written import refuse_overwriting, written_whole
from judge.log import encode_line
from judge.readers import read_trajectories
from judge.schema import Step, Trajectory
from judge.schema.picture import named_file, unpacked

_SHOWN_BAD = 5


@dataclass
class _Count:
    """What was converted, for the summary."""

    runs: int = 0
    steps: int = 0
    without_steps: int = 0
    not_ok: int = 0
    formats: list[str] = field(default_factory=list)
    bad: list[str] = field(default_factory=list)

    def see(self, path: str, format: str) -> None:
        self.formats.append(format)

    def add(self, run: Trajectory) -> None:
        self.runs += 1
        self.steps += len(run.steps)
        self.without_steps += not run.steps
        self.not_ok += run.outcome.status != "ok"

    def told(self) -> str:
        others = {"without a step": self.without_steps, "of a failed environment": self.not_ok}
        said = "".join(f", {count} {what}" for what, count in others.items() if count)
        read_as = f", read as {' and '.join(self.formats)}" if self.formats else ""
        bad = f"; {len(self.bad)} bad records passed over" if self.bad else ""
        return f"{self.runs} trajectories, {self.steps} steps{said}{read_as}{bad}"


@click.command("convert")
@click.argument("source", metavar="INPUT")
@click.argument("out", metavar="OUT", type=click.Path(dir_okay=False, allow_dash=True, path_type=Path))
@click.option(
    "--to", type=click.Choice(["native"]), default="native", show_default=True, help="Format of OUT."
)
@format_option
@click.option("--skip-bad", is_flag=True, help="Count and pass over records that are no trajectories.")
def convert(source: str, out: Path, to: str, format_: str, skip_bad: bool) -> None:
    """Convert stored trajectories to the native format: JSONL, one trajectory a line.

    INPUT is a JSONL file, a JSON document, a Parquet file, or - for standard input. OUT is written whole or
    not at all; - is standard output. Screenshots stay where they are: their paths are written relative to the
    folder of OUT; those that a record holds itself become data URLs.
    """
    refuse_overwriting("OUT", out, [] if source == "-" else [source])
    count = _Count()
    with _opened(out) as file:
        runs = read_trajectories(
            source,
            format_,
            on_bad=count.bad.append if skip_bad else None,
            on_format=count.see,
        )
        for run in runs:
            file.write(encode_line(_native(run, out)))
            count.add(run)
    click.echo(count.told(), err=True)
    for message in count.bad[:_SHOWN_BAD]:
        click.echo(f"  {message}", err=True)


@contextmanager
def _opened(out: Path) -> Iterator[BinaryIO]:
    if str(out) == "-":
        yield sys.stdout.buffer
        return
    with written_whole(out) as file:
        yield file


def _native(run: Trajectory, out: Path) -> dict[str, Any]:
    """A record that reads as the same trajectory again; what it does not hold has its default."""
    return {
        **run.model_dump(exclude_defaults=True, exclude={"steps"}),
        # Said even where there is none: what a native record lacks is looked for in its metadata.
        "context": run.context,
        "group": run.group,
        "steps": [_step(step.with_images(partial(_picture, out))) for step in run.steps],
    }


def _step(step: Step) -> dict[str, Any]:
    return {"index": step.index, **step.model_dump(exclude_defaults=True)}


def _picture(out: Path, screenshot: Any) -> Any:
    held, named = unpacked(screenshot), named_file(screenshot)
    if isinstance(held, bytes):
        known = pictures.mention(held).media_type
        media_type = known if known.startswith("image/") else "application/octet-stream"
        return f"data:{media_type};base64,{b64encode(held).decode('ascii')}"
    if named is None or str(out) == "-":
        return screenshot
    # Links among the folders are followed first: `..` goes up from where they lead.
    path = Path(named)
    return os.path.relpath(path.parent.resolve() / path.name, out.resolve().parent)
