"""Everything about a judgement but the call: what would be asked, and why it reads as it does.

A pipeline whose client is `Nobody` makes no call: what neither the cache nor a rule knows stays unasked, and
the preview says so. Printing one is the command line's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from judge.config import FramesSection, RubricsSection
from judge.frames import select_key_frames
from judge.pipeline.version import Version
from judge.schema import Frame, Reply, Request, Reward, Rubric, Trajectory


class Unasked(Exception):
    """A question that no stored reply answers."""

    def __init__(self, request: Request) -> None:
        super().__init__(request.purpose)
        self.request = request


class Nobody:
    """A client that is never there: `call` raises Unasked."""

    async def call(self, request: Request) -> Reply:
        raise Unasked(request)


@dataclass(frozen=True)
class Preview:
    """One run as it would be judged.

    Attributes:
        limits: the budgets that the key frames are chosen within.
        rubric: coarse items, and fine ones where they are known without a call.
        request: the question for the verdict, without a verdict_id; None where the run needs no call.
        reward: what such a run gets without one; None where there is a request.
        unasked: the first question (purpose route or fine) that would be put before `request`, whose answer
            would change it; None where every answer is known.
        fine_dropped: proposed fine items that are not used, and why.
        suspicions: the kinds of judge-directed text found in what is shown.
    """

    run: Trajectory
    version: Version
    category: str
    limits: FramesSection
    routing: dict[str, Any] | None = None
    rubric: Rubric | None = None
    request: Request | None = None
    reward: Reward | None = None
    unasked: Request | None = None
    fine_dropped: tuple[dict[str, str], ...] = ()
    suspicions: tuple[str, ...] = ()

    @property
    def frames(self) -> tuple[Frame, ...]:
        """The steps shown in full, in time order."""
        return self.request.content.frames if self.request else ()

    @cached_property
    def omitted(self) -> tuple[Frame, ...]:
        """The steps left out, in time order, each with what speaks for it; identical neighbours as one."""
        if self.request is None:
            return ()
        shown = {frame.index for frame in self.frames}
        every = select_key_frames(self.run.steps, self.category, None)
        return tuple(frame for frame in every if frame.index not in shown)

    @property
    def bound(self) -> str | None:
        """The setting that leaves steps out, with its value; None where none is left out."""
        if not self.omitted:
            return None
        by_count = (
            self.version.library.settings.frames != "all" and len(self.frames) == self.limits.max_frames
        )
        name = "max_frames" if by_count else "max_chars"
        return f"frames.{name} {getattr(self.limits, name)}"

    @property
    def characters(self) -> dict[str, int]:
        """Characters of each part of the question as stored, and of each message as it goes out."""
        if self.request is None:
            return {}
        content, rubric = self.request.content, self.rubric
        parts = {
            "instruction": [content.instruction],
            "context": content.context.values(),
            "rubric": [item.text for item in rubric.coarse] if rubric else [],
            "hints": [f"{item.text}{item.quote}" for item in rubric.fine] if rubric else [],
            "lines": [line for _, line in content.lines],
            "frames": [text for frame in content.frames for text in _texts(frame)],
        }
        messages = {f"{each['role']} message": [message_text(each)] for each in self.request.messages}
        return {name: sum(map(len, texts)) for name, texts in {**parts, **messages}.items()}


def message_text(message: Mapping[str, Any]) -> str:
    """The text of a message; images are left out."""
    content = message["content"]
    if isinstance(content, str):
        return content
    return "".join(part["text"] for part in content if part["type"] == "text")


def asking_less(version: Version, settings: RubricsSection) -> Iterator[tuple[Version, RubricsSection]]:
    """As configured; then without fine rubrics; then routed by rules as well, which takes no answer."""
    yield version, settings
    coarse = replace(version, fine="off")
    yield coarse, settings
    yield coarse, settings.model_copy(update={"router": "rules"})


def _texts(frame: Frame) -> Iterator[str]:
    yield from (frame.text, frame.action, frame.observation, frame.state)
    if isinstance(frame.error, str):
        yield frame.error
