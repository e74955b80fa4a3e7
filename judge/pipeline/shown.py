"""What the judge of a run, or of one of its steps, is shown; and what it is not.

The judge of a step (mode prefix) sees the run up to it and nothing later: neither what came of it nor how
long the run is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from judge import frames, injection, pictures, prompt
from judge.config import Endpoint, FramesSection, StepsSection
from judge.errors import InputError
from judge.schema import Content, Frame, Picture, Rubric, Step, Trajectory

MOST_LABELS = 48
"""Labels asked for in one call; more than these and a judge begins to miscount."""


@dataclass(frozen=True)
class Shown:
    """A whole run as content of a request, how much of it is missing, and what in it addresses the judge.

    `vision` is that of its judge; `check_flags` say what became of the screenshots that the judges of its
    single steps are shown.
    """

    content: Content
    omitted_steps: int
    omitted_chars: int
    suspicions: tuple[str, ...]
    vision: str = "off"
    check_flags: tuple[str, ...] = ()

    @property
    def logged_images(self) -> tuple[dict[str, Any], ...]:
        """The pictures that are shown, as a log keeps them, with their steps."""
        found = _pictures(self.content)
        return tuple({"step": index, **each.logged()} for index, each in found if each.is_shown)

    @property
    def flags(self) -> list[str]:
        found = {
            "trajectory_truncated": self.omitted_steps or self.omitted_chars,
            "injection_suspected": self.suspicions,
        }
        told = [flag for flag, holds in found.items() if holds]
        return [*told, *picture_flags(self.content, self.vision), *self.check_flags]


def picture_flags(content: Content, vision: str) -> list[str]:
    """What became of the screenshots in `content` that should have been shown."""
    found = _pictures(content)
    flags = {
        "screenshot_unreadable": vision != "off" and any(each.fault for _, each in found),
        "images_not_sent": vision == "blind" and found,
    }
    return [flag for flag, holds in flags.items() if holds]


def whole_run(
    run: Trajectory,
    rubric: Rubric,
    limits: FramesSection,
    vision: str,
    *,
    every_frame: bool,
    label_steps: bool,
) -> Shown:
    """The key frames of a run; with `label_steps` every step as a line too, and a label asked for each.

    `vision` says what becomes of screenshots: see `vision_of`. Raises InputError where it is on and one of
    them cannot be read.
    """
    max_frames = None if every_frame else limits.max_frames
    selected = frames.select_key_frames(
        run.steps, rubric.category, max_frames, limits.max_chars, same_picture=pictures.same
    )
    kept = _pictured(selected, vision, limits.max_image_px)
    content = Content(
        instruction=run.instruction,
        context=run.context,
        rubric=rubric,
        frames=tuple(kept),
        total_steps=len(run.steps),
        lines=prompt.step_lines(run.steps) if label_steps else (),
        verify=tuple(step.index for step in run.steps if not step.is_view) if label_steps else (),
        mode="whole" if label_steps else "none",
    )
    return Shown(
        content,
        omitted_steps=len(run.steps) - sum(1 + frame.repeats for frame in kept),
        omitted_chars=sum(frame.cut for frame in kept),
        suspicions=tuple(injection.suspicions([run.instruction, *_texts(kept)])),
        vision=vision,
    )


def labelled_in_parts(content: Content) -> list[Content]:
    """The same record for each part of a long run's labels, in time order; short runs are one part."""
    starts = range(0, len(content.verify), MOST_LABELS)
    return [replace(content, verify=content.verify[at : at + MOST_LABELS]) for at in starts] or [content]


def verified_steps(settings: StepsSection, steps: Sequence[Step]) -> list[int]:
    """The steps of a run to verify, rising; indices beyond its end are left out, and what is no deed."""
    wanted = range(len(steps)) if settings.at == "all" else settings.at
    return sorted({index for index in wanted if 0 <= index < len(steps) and not steps[index].is_view})


def run_up_to(
    index: int, run: Trajectory, rubric: Rubric, window: int, limits: FramesSection, vision: str
) -> Content:
    """The latest `window` steps in full, the earlier ones as lines; for `vision` see `whole_run`."""
    latest = frames.latest(run.steps, index, window, limits.max_chars)
    kept = _pictured(latest, vision, limits.max_image_px)
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


def vision_of(endpoint: Endpoint) -> str:
    """Whether a judge is shown pictures: off, auto (until it refuses them) or on (a failure if it does).

    Off as well for the embedded judge, and blind where auto lacks Pillow: then it is only told of them.
    """
    if endpoint.is_embedded:
        return "off"
    return "blind" if endpoint.vision == "auto" and not pictures.can_show() else endpoint.vision


def _pictures(content: Content) -> list[tuple[int, Picture]]:
    """Those that are shown or told of, with their steps."""
    stored = [(frame.index, frame.screenshot) for frame in content.frames if frame.screenshot is not None]
    return [(index, each) for index, each in stored if isinstance(each, Picture)]


def _pictured(kept: Sequence[Frame], vision: str, max_px: int) -> list[Frame]:
    return [frame if frame.screenshot is None else _opened(frame, vision, max_px) for frame in kept]


def _opened(frame: Frame, vision: str, max_px: int) -> Frame:
    if vision in ("off", "blind"):
        return replace(frame, screenshot=pictures.mention(frame.screenshot))
    picture = pictures.show(frame.screenshot, max_px)
    if vision == "on" and picture.fault is not None:
        raise InputError(f"steps.{frame.index}.screenshot: {picture.words}")
    return replace(frame, screenshot=picture)


def _texts(kept: Sequence[Frame]) -> Iterator[str]:
    for frame in kept:
        yield from (frame.text, frame.action, frame.observation, frame.state)
        if isinstance(frame.error, str):
            yield frame.error
