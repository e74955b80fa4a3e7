"""What the judge of a run, or of one of its steps, is shown; and what it is not.

The judge of a step (mode prefix) sees the run up to it and nothing later: neither what came of it nor how
long the run is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from judge import frames, injection, prompt
from judge.config import FramesSection, StepsSection
from judge.schema import Content, Frame, Rubric, Trajectory

MOST_LABELS = 48
"""Labels asked for in one call; more than these and a judge begins to miscount."""


@dataclass(frozen=True)
class Shown:
    """A whole run as content of a request, how much of it is missing, and what in it addresses the judge."""

    content: Content
    omitted_steps: int
    omitted_chars: int
    suspicions: tuple[str, ...]

    @property
    def flags(self) -> list[str]:
        truncated = ["trajectory_truncated"] if self.omitted_steps or self.omitted_chars else []
        return truncated + (["injection_suspected"] if self.suspicions else [])


def whole_run(
    run: Trajectory, rubric: Rubric, limits: FramesSection, *, every_frame: bool, label_steps: bool
) -> Shown:
    """The key frames of a run; with `label_steps` every step as a line too, and a label asked for each."""
    max_frames = None if every_frame else limits.max_frames
    kept = frames.select_key_frames(run.steps, rubric.category, max_frames, limits.max_chars)
    content = Content(
        instruction=run.instruction,
        context=run.context,
        rubric=rubric,
        frames=tuple(kept),
        total_steps=len(run.steps),
        lines=prompt.step_lines(run.steps) if label_steps else (),
        verify=tuple(step.index for step in run.steps) if label_steps else (),
        mode="whole" if label_steps else "none",
    )
    return Shown(
        content,
        omitted_steps=len(run.steps) - sum(1 + frame.repeats for frame in kept),
        omitted_chars=sum(frame.cut for frame in kept),
        suspicions=tuple(injection.suspicions([run.instruction, *_texts(kept)])),
    )


def labelled_in_parts(content: Content) -> list[Content]:
    """The same record for each part of a long run's labels, in time order; short runs are one part."""
    starts = range(0, len(content.verify), MOST_LABELS)
    return [replace(content, verify=content.verify[at : at + MOST_LABELS]) for at in starts] or [content]


def verified_steps(settings: StepsSection, count: int) -> list[int]:
    """The steps to verify in a run of `count` steps, rising; indices beyond its end are left out."""
    if settings.at == "all":
        return list(range(count))
    return sorted({index for index in settings.at if 0 <= index < count})


def run_up_to(index: int, run: Trajectory, rubric: Rubric, window: int, limits: FramesSection) -> Content:
    """The latest `window` steps in full, the earlier ones as lines."""
    kept = frames.latest(run.steps, index, window, limits.max_chars)
    return Content(
        instruction=run.instruction,
        context=run.context,
        rubric=rubric,
        frames=tuple(kept),
        total_steps=index + 1,
        lines=prompt.step_lines(run.steps[: kept[0].index]),
        verify=(index,),
        mode="prefix",
    )


def _texts(kept: Sequence[Frame]) -> Iterator[str]:
    for frame in kept:
        yield from (frame.text, frame.action, frame.observation, frame.state)
        if isinstance(frame.error, str):
            yield frame.error
