"""What the tests of the prompts share: a rubric, content to ask about, and the blocks of a question."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from judge.frames import select_key_frames
from judge.prompt import PromptSet, step_lines
from judge.schema import Content, Request, Rubric, RubricItem, Step

PROMPTS = PromptSet.load("v1")
RUBRIC = Rubric(
    version="own",
    category="general",
    items=(
        RubricItem(id="done", text="The task was done.", kind="step"),
        RubricItem(id="no_harm", text="Nothing else was changed.", kind="pitfall"),
    ),
    output="Name the step that shows it.",
)
BLOCK = re.compile(r"<(context|task|hints|run)-([0-9a-f]{12})>\n(.*?)\n</\1-\2>", re.DOTALL)


def content(steps: Sequence[Step] = (), mode: Any = "none", **fields: Any) -> Content:
    steps = steps or [Step(index=i, action=f"click('{i}')", observation=f"page {i}") for i in range(3)]
    common: dict[str, Any] = {
        "instruction": "Cancel order 17",
        "rubric": RUBRIC,
        "frames": tuple(select_key_frames(steps, max_frames=fields.pop("max_frames", 10))),
        "total_steps": len(steps),
        "lines": step_lines(steps) if mode == "whole" else (),
        "verify": tuple(step.index for step in steps) if mode == "whole" else (),
        "mode": mode,
    }
    return Content(**{**common, **fields})


def texts(request: Request) -> tuple[str, str]:
    system, user = request.messages
    return system["content"], user["content"]


def blocks(user: str) -> dict[str, str]:
    return {match[1]: match[3] for match in BLOCK.finditer(user)}


def skeleton(request: Request) -> tuple[str, str]:
    """The question with its data taken out: what is left is ours alone."""
    system, user = texts(request)
    return system, BLOCK.sub(lambda match: f"<{match[1]}/>", user)
