"""`judge recollapse`: new rewards from the verdicts that a log holds, without a call.

The arithmetic is that of the pipeline (judge.pipeline.rewarded), so a row gets the reward that judging under
the scheme would have given it. Reading the verdicts back is judge.cli.stored's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click
from pydantic import ValidationError

from judge.cli.options import SCHEMES, config_option, logs_argument
from judge.cli.stored import Gaps, Stored, flags_of
from judge.cli.written import refuse_overwriting, written_whole
from judge.config import STEPS_MODE, Config, RewardSection, explain
from judge.errors import ConfigError, InputError
from judge.log import encode_line, read_log
from judge.pipeline.rewarded import failed, reward_of, verifier_reward
from judge.schema import Reward


@click.command("recollapse")
@logs_argument
@click.option(
    "--scheme",
    type=click.Choice(SCHEMES),
    required=True,
    help="How verdicts become a reward; weighted needs reward.weights in the settings.",
)
@click.option(
    "--log",
    "out",
    metavar="OUT",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="The new log; it must not exist yet.",
)
@click.option(
    "--process",
    type=click.Choice(["mean_all", "mean_valid", "sum", "ten_mean"]),
    help="The process term of scheme tarl.  [default: as configured]",
)
@config_option
def recollapse(
    logs: tuple[Path, ...], scheme: str, out: Path, process: str | None, config_path: str | None
) -> None:
    """Compute new rewards from stored verdicts; no judge is called.

    Every row is written to OUT with the new scheme, reward and parts, and else as it is. A failed row stays
    failed. Where rows lack what the scheme needs, nothing is written and the exit status is 2.
    """
    refuse_overwriting("--log", out, logs)
    if out.is_file() and out.stat().st_size:
        raise click.UsageError(f"--log {out}: exists already; the rewards of a scheme go into a new log")
    if process is not None and scheme != "tarl":
        raise click.UsageError(f"--process {process}: only scheme tarl has a process term")
    settings = _configured(config_path, scheme, process)
    _refuse_gaps(logs, settings)
    counts: Counter[str] = Counter()
    with written_whole(out) as file:
        for row in _recollapsed(logs, settings, counts):
            file.write(encode_line(row))
    _summarise(counts, scheme, out)


def _configured(path: str | None, scheme: str, process: str | None) -> RewardSection:
    """The reward section alone: how steps are to be judged says nothing about steps that were."""
    stored = Config.load(path).reward.model_dump(exclude_unset=True)
    tarl = {**stored.get("tarl", {}), **({"process": process} if process else {})}
    try:
        return RewardSection(**{**stored, "scheme": scheme, "tarl": tarl})
    except ValidationError as error:
        raise ConfigError(f"{path or 'settings'}: reward: {explain(error)}") from None


def _refuse_gaps(logs: Sequence[Path], settings: RewardSection) -> None:
    """Raise InputError that says which rows lack what `settings` need, before anything is written."""
    weighed = settings.weights if settings.scheme == "weighted" else {}
    gaps = Gaps([name for name in STEPS_MODE if name == settings.scheme or name in weighed])
    for name, row in _rows(logs, on_bad=lambda line: click.echo(f"Passed over {line}", err=True)):
        if not row.get("error"):
            gaps.see(row, Stored.read(row, name), name)
    if lacking := gaps.explain(settings.scheme):
        raise InputError(lacking)


def _recollapsed(
    logs: Sequence[Path], settings: RewardSection, counts: Counter[str]
) -> Iterator[dict[str, Any]]:
    """Every row under the new scheme; `counts` says what has become of them."""
    for name, row in _rows(logs, on_bad=lambda _: None):
        if row.get("error"):
            counts["failed"] += 1
            yield {**row, "scheme": settings.scheme}
            continue
        reward = _reward(Stored.read(row, name), settings)
        counts["unusable" if reward.error_kind else "rewarded"] += 1
        yield _under(row, reward, settings.scheme)


def _reward(stored: Stored, settings: RewardSection) -> Reward:
    try:
        if stored.verdict is None:
            return verifier_reward(stored.outcome)
        return reward_of(stored.outcome, stored.verdict, stored.steps, settings)
    except InputError as error:
        return failed(error)


def _under(row: dict[str, Any], reward: Reward, scheme: str) -> dict[str, Any]:
    """The row with what depends on the scheme put in its place."""
    flags = flags_of(row)
    place = next((at for at, flag in enumerate(flags) if _is_source(flag)), len(flags))
    flags[place:] = [*filter(_is_source, reward.flags), *(f for f in flags[place:] if not _is_source(f))]
    error = {"kind": reward.error_kind, "message": reward.error} if reward.error_kind else None
    new = {"scheme": scheme, "reward": reward.value, "parts": reward.parts, "error": error}
    return {**row, **new, "flags": flags}


def _is_source(flag: str) -> bool:
    """Whether a flag says where the outcome of the reward came from."""
    return flag.startswith("outcome_from_")


def _rows(logs: Sequence[Path], on_bad: Callable[[str], None]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every row with the name by which a message can point at it."""
    for path in logs:
        for row in read_log(path, on_bad=on_bad):
            yield f"{row.get('trajectory_id')} under {row.get('rubric_version')} ({path})", row


def _summarise(counts: Counter[str], scheme: str, out: Path) -> None:
    unusable = f", {counts['unusable']} with an outcome it cannot use" if counts["unusable"] else ""
    failures = f", {counts['failed']} failed as before" if counts["failed"] else ""
    click.echo(f"{counts['rewarded']} rewards under {scheme}{unusable}{failures}; log: {out}", err=True)
