"""What the integrations share: samples judged within a host's own limit, each one a Reward whatever happens.

Nothing here runs an event loop of its own: judging is on the process's background loop (judge.loops), so that
it works in threads, running loops, forked and spawned workers, and for two trainers in one process.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from judge import loops
from judge.errors import InputError
from judge.judging import Job, Judge
from judge.readers import trajectory_from
from judge.schema import Reward

__all__ = ["ajudged", "judged"]


async def ajudged(
    judge: Judge,
    samples: Sequence[Mapping[str, Any]],
    format: str = "messages",
    within_s: float | None = None,
) -> list[Reward]:
    """The rewards of `samples`, records of a format that judge.readers knows, in their order.

    Never raises for a sample: one that is no trajectory has a Reward of kind unusable_input, and one that has
    none `within_s` seconds from now, by the clock on the wall, of kind timeout. Raises ConfigError for a
    `within_s` that is no time.
    """
    return list(await asyncio.gather(*(_one(judge, sample, format, within_s) for sample in samples)))


def judged(
    judge: Judge,
    samples: Sequence[Mapping[str, Any]],
    format: str = "messages",
    within_s: float | None = None,
) -> list[Reward]:
    """As ajudged, for a caller that waits; not for use on an event loop that has other work to do."""
    return loops.run(ajudged(judge, samples, format, within_s))


async def _one(judge: Judge, sample: Mapping[str, Any], format: str, within_s: float | None) -> Reward:
    try:
        run = trajectory_from(sample, format)
    except InputError as error:
        return Reward(value=None, error_kind=error.kind, error=error.message)
    return await judge.ascore(Job(run, within_s=within_s))
