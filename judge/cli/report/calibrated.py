"""The rollouts that `judge report --view calibration` is made from: a log's, with tiers or labels of steps.

Covers which of them can be used, and what is said of the others; their figures are analysis.calibration's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click

from judge.readers import read_trajectories

if TYPE_CHECKING:
    from analysis.rollouts import Rollout

__all__ = ["labelled_rollouts", "tiered_rollouts"]


def tiered_rollouts(
    logs: Iterable[Path], version: str | None, inputs: Sequence[str], on_bad: Callable[[str], None]
) -> list[Rollout]:
    """Each run of the logs that is among the stored runs, by what its steps did.

    `version` takes only what was judged under it; `on_bad` is told of unreadable lines of the logs. Raises
    click.UsageError where that leaves nothing, InputError for a stored run that cannot be used.
    """
    from analysis.rollouts import with_tiers

    if not inputs:
        raise click.UsageError("--tiers tiers needs the stored runs: --input TRAJECTORIES")
    by_version = _logged(logs, version, on_bad)
    known = dict(chain.from_iterable(each.items() for each in by_version.values()))
    found = with_tiers(known, chain.from_iterable(map(read_trajectories, inputs)))
    if missing := len(known) - len(found):
        click.echo(f"{missing} runs of the log are not among the --input: left out.", err=True)
    return _usable(found, "no run of the log that has an outcome is among the --input")


def labelled_rollouts(
    logs: Iterable[Path], version: str | None, on_bad: Callable[[str], None]
) -> list[Rollout]:
    """Each run of the logs whose steps the judge labelled, by these labels; all of one rubric version.

    Parameters and errors: see `tiered_rollouts`.
    """
    labelled = {
        name: [rollout for rollout in of_version.values() if rollout.tiers]
        for name, of_version in _logged(logs, version, on_bad).items()
    }
    versions = [name for name, rollouts in labelled.items() if rollouts]
    if len(versions) > 1:
        raise click.UsageError(f"name with --candidate whose labels to take: {', '.join(versions)}")
    found = labelled[versions[0]] if versions else []
    return _usable(found, "the log has no step labels: judge with --steps whole, or give --input")


def _logged(
    logs: Iterable[Path], version: str | None, on_bad: Callable[[str], None]
) -> dict[str, dict[str, Rollout]]:
    from analysis.rollouts import logged_rollouts

    found = logged_rollouts(logs, on_bad)
    if version is None:
        return found
    if version not in found:
        raise click.UsageError(f"unknown rubric version {version!r}: there are {', '.join(found) or 'none'}")
    return {version: found[version]}


def _usable(rollouts: list[Rollout], why_none: str) -> list[Rollout]:
    if not rollouts:
        raise click.UsageError(why_none)
    if judged := sum(rollout.is_judged for rollout in rollouts):
        of = f"{judged} of {len(rollouts)} outcomes"
        click.echo(f"{of} are the judge's own success, because no verifier gave one.", err=True)
    return rollouts
