"""All that has to be asked about a run once its rubric stands, as requests, and what reads each reply."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from judge import prompt
from judge.config import Config, Endpoint, FramesSection
from judge.pipeline.reading import read_check, read_graded
from judge.pipeline.shown import (
    Shown,
    labelled_in_parts,
    picture_flags,
    run_up_to,
    verified_steps,
    vision_of,
    whole_run,
)
from judge.pipeline.version import Version
from judge.schema import Content, Reply, Request, Rubric, Trajectory

Question = tuple[Request, Callable[[Reply, Content], Any]]
"""A request, and what reads its reply."""


@dataclass(frozen=True)
class Terms:
    """What a run is asked about under: settings, version, the rubric it was given, and its frame budgets.

    `endpoint` gives the endpoint of a purpose.
    """

    config: Config
    endpoint: Callable[[str], Endpoint]
    version: Version
    rubric: Rubric
    limits: FramesSection
    repeat: int = 0

    @property
    def purpose(self) -> str:
        """Of the call that asks for the verdict on the run."""
        return "steps" if self.config.steps.mode == "whole" else "trajectory"

    def vision(self, purpose: str) -> str:
        return vision_of(self.endpoint(purpose))


def questions(run: Trajectory, terms: Terms) -> tuple[list[Question], Shown]:
    """The questions in order, the last of which asks for the verdict, and what its judge is shown.

    Slow where the run has screenshots to be shown: they are opened here. Raises InputError where one that has
    to be shown cannot be.
    """
    request, shown = verdict_question(run, terms)
    if terms.config.steps.mode == "prefix":
        checks, vision = _checks(run, terms), terms.vision("steps")
        flags = chain.from_iterable(picture_flags(check.content, vision) for check, _ in checks)
        return [*checks, (request, read_graded)], replace(shown, check_flags=tuple(dict.fromkeys(flags)))
    parts = labelled_in_parts(request.content)
    if len(parts) == 1:
        return [(request, read_graded)], shown
    asked = [prompt.trajectory_request(terms.version.prompts, part, terms.repeat) for part in parts]
    return [(each, read_graded) for each in asked], shown


def verdict_question(run: Trajectory, terms: Terms) -> tuple[Request, Shown]:
    """The question for the verdict on the run, and what its judge is shown."""
    shown = whole_run(
        run,
        terms.rubric,
        terms.limits,
        terms.vision(terms.purpose),
        every_frame=terms.version.library.settings.frames == "all",
        label_steps=terms.config.steps.mode == "whole",
    )
    return prompt.trajectory_request(terms.version.prompts, shown.content, terms.repeat), shown


def _checks(run: Trajectory, terms: Terms) -> list[Question]:
    """The questions about single steps, in time order (mode prefix)."""
    settings, vision = terms.config.steps, terms.vision("steps")
    contents = [
        run_up_to(index, run, terms.rubric, settings.window, terms.limits, vision)
        for index in verified_steps(settings, run.steps)
    ]
    return [
        (prompt.step_request(terms.version.prompts, content, terms.repeat), read_check)
        for content in contents
    ]
