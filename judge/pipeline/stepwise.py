"""Mode prefix: which steps are verified, and what the judge of one of them is shown.

The judge of a step sees the run up to it and nothing later: neither what came of it nor how long the run is.
"""

from __future__ import annotations

from judge import frames, prompt
from judge.config import FramesSection, StepsSection
from judge.schema import Content, Rubric, Trajectory


def verified(settings: StepsSection, count: int) -> list[int]:
    """The steps to verify in a run of `count` steps, rising; indices beyond its end are left out."""
    if settings.at == "all":
        return list(range(count))
    return sorted({index for index in settings.at if 0 <= index < count})


def content_up_to(
    index: int, run: Trajectory, rubric: Rubric, settings: StepsSection, limits: FramesSection
) -> Content:
    """The latest `window` steps in full, the earlier ones as lines."""
    shown = frames.latest(run.steps, index, settings.window, limits.max_chars)
    return Content(
        instruction=run.instruction,
        context=run.context,
        rubric=rubric,
        frames=tuple(shown),
        total_steps=index + 1,
        lines=prompt.step_lines(run.steps[: shown[0].index]),
        verify=(index,),
        mode="prefix",
    )
