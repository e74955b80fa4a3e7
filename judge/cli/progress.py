"""How far a long run has come: a bar on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import math
import time
from collections import Counter
from dataclasses import dataclass, field
from types import TracebackType
from typing import ClassVar

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from judge.schema import Reward

_PLAIN_EVERY_S = 10.0
WARN_SHARE = 0.05
"""A run that fails more often than this says so."""


@dataclass
class Tally:
    """What has become of the judgements of one run."""

    noun: ClassVar[str] = "judgements"

    judged: int = 0
    skipped: int = 0
    failed: Counter[str] = field(default_factory=Counter)
    cost: float | None = None
    flags: Counter[tuple[str, ...]] = field(default_factory=Counter)
    """How many judgements, skipped ones aside, bear exactly these flags."""
    rewarded: int = 0
    zeros: int = 0
    ones: int = 0
    low: float = math.inf
    high: float = -math.inf
    """The greatest reward, as `low` is the least; `zeros` and `ones` count those that are 0 and 1."""

    def count(self, reward: Reward) -> None:
        if reward.error_kind == "unusable_input":
            self.skipped += 1
        elif reward.error_kind:
            self.failed[reward.error_kind] += 1
        else:
            self.judged += 1
        if reward.cost is not None:
            self.cost = (self.cost or 0.0) + reward.cost
        if reward.flags and reward.error_kind != "unusable_input":
            self.flags[reward.flags] += 1
        if reward.value is not None:
            self._count_value(reward.value)

    def _count_value(self, value: float) -> None:
        self.rewarded += 1
        self.zeros += value == 0
        self.ones += value == 1
        self.low, self.high = min(self.low, value), max(self.high, value)

    @property
    def failures(self) -> int:
        return self.failed.total()

    @property
    def done(self) -> int:
        return self.judged + self.skipped + self.failures

    @property
    def exit_status(self) -> int:
        """0 all judged, 3 some failed, 4 all failed; skipped runs are no failures."""
        if not self.failures:
            return 0
        return 3 if self.judged else 4

    def warning(self) -> str | None:
        """A sentence about the failures where there are too many to pass over, else None."""
        tried = self.judged + self.failures
        if not tried or self.failures / tried <= WARN_SHARE:
            return None
        kind, times = self.failed.most_common(1)[0]
        share = f"{self.failures} of {tried} {self.noun} failed ({self.failures / tried:.0%})"
        return f"{share}, most often {kind} ({times})"

    def figures(self) -> str:
        """Counts and cost in one phrase."""
        parts = [f"{self.judged} judged", f"{self.failures} failed"]
        if self.skipped:
            parts.append(f"{self.skipped} unusable")
        if self.cost is not None:
            parts.append(f"cost {self.cost:.4f}")
        return ", ".join(parts)


class ProgressLine:
    """Shows a Tally on stderr while it grows; `total` None where the input cannot be counted."""

    def __init__(self, tally: Tally, total: int | None, doing: str = "judging") -> None:
        self._tally = tally
        self._total = total
        self._doing = doing
        self._started = self._spoken = time.monotonic()
        self._bar: Progress | None = None
        self._task = TaskID(0)

    def __enter__(self) -> ProgressLine:
        console = Console(stderr=True)
        if console.is_terminal:
            self._bar = Progress(
                TextColumn(self._doing),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[rate]:.0f}/s"),
                TimeRemainingColumn(),
                TextColumn("{task.fields[figures]}"),
                console=console,
            )
            self._task = self._bar.add_task(self._doing, total=self._total, rate=0.0, figures="")
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def advance(self) -> None:
        """Show the tally as it stands."""
        now = time.monotonic()
        rate = self._tally.done / max(now - self._started, 1e-9)
        if self._bar is not None:
            self._bar.update(self._task, completed=self._tally.done, rate=rate, figures=self._tally.figures())
        elif now - self._spoken >= _PLAIN_EVERY_S:
            self._spoken = now
            of = f" of {self._total}" if self._total is not None else ""
            click.echo(f"{self._tally.done}{of} done, {rate:.1f}/s: {self._tally.figures()}", err=True)
