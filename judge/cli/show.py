"""`judge show`: one trajectory, as it would be judged or as a log says it was.

Covers finding it in a file and printing what is known of it. What would be asked is the pipeline's own answer
(Pipeline.preview), so it cannot differ from what is asked; a log's row is taken apart in judge.cli.apart.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from typing import Any

import click

from judge import loops
from judge.cache import ReplyCache
from judge.cli.apart import taken_apart
from judge.cli.inputs import format_teller
from judge.cli.laid_out import as_json, laid_out, printable
from judge.cli.options import config_option, format_option
from judge.cli.side_by_side import side_by_side
from judge.config import EMBEDDED_MODEL, Config
from judge.embedded import EmbeddedJudge
from judge.errors import InputError
from judge.judging import Judge
from judge.log import encode_line, read_log
from judge.pipeline import Nobody, Pipeline, Preview
from judge.readers import read_trajectories
from judge.readers.records import read_records
from judge.schema import Trajectory

_LOG_KEYS = {"schema", "rubric_version"}
_MOST_NEAR = 5
_LEAST_ALIKE = 0.3


@click.command("show")
@click.argument("source", metavar="INPUT|LOG")
@click.option("--trajectory", "wanted", metavar="ID", required=True, help="Which trajectory to show.")
@click.option(
    "--rubrics",
    metavar="V",
    help="Rubric version, or the path of your own folder; on a log, only its rows.  [default: as configured]",
)
@format_option
@click.option("--embedded", is_flag=True, help="As the embedded stand-in judge would be asked.")
@click.option("--steps", type=click.Choice(["none", "whole"]), help="As if single steps were judged too.")
@click.option(
    "--messages/--no-messages", default=True, show_default=True, help="The exact messages, at the end."
)
@click.option("--fine", is_flag=True, help="Also the question for fine rubrics, where it would be asked.")
@config_option
@click.option("--json", "as_json_", is_flag=True, help="One JSON object; on a log, its rows, one a line.")
def show(
    source: str,
    wanted: str,
    rubrics: str | None,
    format_: str,
    embedded: bool,
    steps: str | None,
    messages: bool,
    fine: bool,
    config_path: str | None,
    as_json_: bool,
) -> None:
    """Show one trajectory: everything about its judgement but the call.

    Of stored trajectories: category and cues, rubric, key frames kept and left out with the reasons, size,
    and the exact messages that would be sent. Nothing is sent; fine rubrics are shown where the cache holds
    them. Of a reward log: every row of the trajectory, taken apart.
    """
    if _is_log(source):
        _show_rows(_rows(source, wanted, rubrics), as_json_)
        return
    run = _find(source, format_, wanted)
    said = {"judge": {"model": EMBEDDED_MODEL} if embedded else {}, "steps": {"mode": steps} if steps else {}}
    config = Config.load(config_path, **{section: values for section, values in said.items() if values})
    preview = loops.run(_preview(config, run, rubrics or config.rubrics.version))
    if as_json_:
        click.echo(json.dumps(as_json(preview, messages, fine), ensure_ascii=False, indent=2))
    else:
        click.echo("\n".join(map(printable, laid_out(preview, messages, fine))))


async def _preview(config: Config, run: Trajectory, version: str) -> Preview:
    """Without a call: the cache is only looked into, the embedded judge asked for fine rubrics alone."""
    client = EmbeddedJudge() if config.judge.is_embedded else Nobody()
    Judge(config, client)  # Refuses what is not built yet.
    stored = config.cache.dir
    keeps_none = config.judge.is_embedded or stored is None or not stored.is_dir()
    cache = ReplyCache(None if keeps_none else stored, config.cache.size_limit_gb)
    try:
        return await Pipeline(config, client, cache).preview(run, version)
    finally:
        cache.close()


def _is_log(source: str) -> bool:
    """Whether the first object of a file is a row of a reward log; standard input is never one."""
    if source == "-":
        return False
    _, first = next(read_records(source, on_bad=lambda _: None), ("", {}))
    return first.keys() >= _LOG_KEYS


def _find(source: str, format_: str, wanted: str) -> Trajectory:
    seen = []
    for run in read_trajectories(source, format_, on_format=format_teller()):
        if run.trajectory_id == wanted:
            return run
        seen.append(run.trajectory_id)
    raise _unknown(source, wanted, seen)


def _rows(source: str, wanted: str, version: str | None) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    others: dict[str, None] = {}
    for row in read_log(source, on_bad=lambda message: click.echo(f"Passed over {message}", err=True)):
        if row.get("trajectory_id") == wanted:
            found.append(row)
        else:
            others[str(row.get("trajectory_id"))] = None
    if not found:
        raise _unknown(source, wanted, others)
    rows = [row for row in found if version in (None, row.get("rubric_version"))]
    if not rows:
        judged = ", ".join(sorted({str(row.get("rubric_version")) for row in found}))
        raise InputError(f"{source}: {wanted!r} was not judged under {version}, only under {judged}")
    return rows


def _show_rows(rows: Iterable[dict[str, Any]], as_json_: bool) -> None:
    for row in rows:
        if as_json_:
            click.echo(encode_line(row).decode(), nl=False)
        else:
            click.echo("\n".join(map(printable, _row(row))))


def _row(row: dict[str, Any]) -> Iterator[str]:
    try:
        yield taken_apart(row)
        if schemes := [f"  {line}" for line in side_by_side(row)]:
            yield "\n".join(["  from the same verdict, by scheme:", *schemes])
        yield f"  judged by   {row['judge_model']}, repeat {row['repeat']}, at {row['timestamp']}\n"
    except (KeyError, TypeError) as error:
        what = f"has no {error}" if isinstance(error, KeyError) else f"cannot be read: {error}"
        raise InputError(f"a row of {row.get('trajectory_id')!r} {what}; --json prints it as it is") from None


def _unknown(source: str, wanted: str, seen: Iterable[str]) -> InputError:
    known = list(seen)
    near = get_close_matches(wanted, known, n=_MOST_NEAR, cutoff=_LEAST_ALIKE)
    # Some formats name no runs: their ids are hashes, which nobody can guess.
    others = f"; there are {', '.join(map(repr, known[:_MOST_NEAR]))}" if known else ""
    hint = f"; near it: {', '.join(map(repr, near))}" if near else others
    return InputError(f"{source}: none of its {len(known)} trajectories is {wanted!r}{hint}")
