"""What stands in for a failed judgement where a host takes neither "none" nor an exception.

The mean of the latest good rewards of the same prompt, else of all prompts: the closest to saying nothing
that a number can come. Kept per Judge, and so per process and configuration; nothing is shared between
processes, and rewards of different scales are never mixed.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict, deque
from collections.abc import Iterable
from weakref import WeakKeyDictionary

from judge.integrations.telling import tell
from judge.judging import Judge
from judge.schema import Reward

__all__ = ["NEUTRAL", "settled", "typical"]

NEUTRAL = 0.5
"""The middle of [0, 1]; used only until a Judge has given its first good reward."""

_PER_PROMPT, _PROMPTS, _OVERALL = 64, 4096, 1024
"""How many rewards are kept of a prompt, of how many prompts, and of all: old ones are another policy's."""


class _Recent:
    """What one Judge has given."""

    def __init__(self) -> None:
        self._overall: deque[float] = deque(maxlen=_OVERALL)
        self._by_prompt: OrderedDict[int, deque[float]] = OrderedDict()

    def note(self, values: Iterable[float]) -> None:
        self._overall.extend(values)

    def add(self, prompt: int, value: float) -> None:
        self.note([value])
        self._by_prompt.setdefault(prompt, deque(maxlen=_PER_PROMPT)).append(value)
        self._by_prompt.move_to_end(prompt)
        if len(self._by_prompt) > _PROMPTS:
            self._by_prompt.popitem(last=False)

    def mean(self, prompt: int | None = None) -> float | None:
        latest = self._by_prompt.get(prompt, ()) if prompt is not None else ()
        latest = latest or self._overall
        return sum(latest) / len(latest) if latest else None


_recent: WeakKeyDictionary[Judge, _Recent] = WeakKeyDictionary()
_lock = threading.Lock()


def settled(judge: Judge, prompt: str, reward: Reward, neutral: float = NEUTRAL) -> float:
    """The value of a reward that `judge` gave for `prompt`; of a failed one what stands in, else `neutral`.

    Failures are told of as judge.integrations.telling says.
    """
    with _lock:
        recent = _recent.setdefault(judge, _Recent())
        if reward.value is not None:
            recent.add(hash(prompt), reward.value)
        mean = recent.mean(hash(prompt))
    tell(judge, [reward], "a neutral value" if mean is None else "a mean")
    if reward.value is not None:
        return reward.value
    return neutral if mean is None else mean


def typical(judge: Judge, values: Iterable[float | None], neutral: float = NEUTRAL) -> float:
    """The mean of the latest good rewards of `judge`, those of this batch among them; else `neutral`."""
    with _lock:
        recent = _recent.setdefault(judge, _Recent())
        recent.note(value for value in values if value is not None)
        mean = recent.mean()
    return neutral if mean is None else mean


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
