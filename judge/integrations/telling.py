"""What is said, while a training runs, of judgements that failed: rewards look like any others without it.

Said are, per Judge of a process and as warnings of the logger judge.integrations, the first failure of each
kind, and then whenever twice as many more have failed as were told of, or a thousand; after a thousand that
did not fail it begins anew. A failure now and then is soon hardly heard of; a judge that is down is, for as
long as it is.
"""

from __future__ import annotations

import logging
import os
import threading
from collections import Counter
from collections.abc import Sequence
from weakref import WeakKeyDictionary

from judge.judging import Judge
from judge.schema import Reward

__all__ = ["tell", "why"]

_log = logging.getLogger("judge.integrations")

_MOST = 1024
"""After so many failures at most, another one is told of; after so many good judgements, the first."""


class _Tally:
    """The judgements of one Judge since it was last spoken of, and the kinds of failure it has had."""

    def __init__(self) -> None:
        self._judged = self._failed = 0
        self._due, self._good = 1, 0
        self._kinds: set[str | None] = set()

    def count(self, judged: int, kinds: Sequence[str | None]) -> tuple[int, int] | None:
        """How many failed, of how many, if that is to be said now."""
        self._judged, self._failed = self._judged + judged, self._failed + len(kinds)
        if self._good >= _MOST:
            self._due = 1
        self._good = 0 if kinds else self._good + judged
        is_news = not self._kinds.issuperset(kinds)
        if not kinds or not (is_news or self._failed >= self._due):
            return None
        self._kinds.update(kinds)
        if self._failed >= self._due:
            self._due = min(2 * self._failed, _MOST)
        told = self._failed, self._judged
        self._judged = self._failed = 0
        return told


_tallies: WeakKeyDictionary[Judge, _Tally] = WeakKeyDictionary()
_lock = threading.Lock()


def tell(judge: Judge, rewards: Sequence[Reward], instead: str) -> None:
    """Count what `judge` gave, and warn if it is time to; `instead` is what a trainer gets for a failure."""
    failed = [reward for reward in rewards if reward.value is None]
    with _lock:
        tally = _tallies.setdefault(judge, _Tally())
        told = tally.count(len(rewards), [reward.error_kind for reward in failed])
    if told:
        [(commonest, _)] = Counter(map(why, failed)).most_common(1)
        _log.warning("%d of the last %d judgements failed (%s instead): %s", *told, instead, commonest)


def why(reward: Reward) -> str:
    """What a judgement failed of, "" where it did not."""
    return "" if reward.error_kind is None else f"{reward.error_kind}: {reward.error}"


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
