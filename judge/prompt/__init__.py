"""What to ask, in which words: content → messages and a reply schema.

Text that never changes comes first (endpoints cache prefixes), the verdict_id last. All data stands in the
user message between tags derived from the data itself, which it therefore cannot close.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace

from judge.prompt.illustrated import illustrated, marks_of
from judge.prompt.record import render_run, step_lines
from judge.prompt.schemas import FINE_SCHEMA, route_schema, step_schema, verdict_schema
from judge.prompt.templates import PromptSet
from judge.schema import Content, Purpose, Request, Rubric, RubricItem

__all__ = [
    "PromptSet",
    "fine_request",
    "repair_request",
    "route_request",
    "step_lines",
    "step_request",
    "trajectory_request",
]

_LABELS_A_BUDGET = 16
"""Labels, each with a reason, that fit into one max_tokens beside the verdict on the run."""

_PROBLEM_CHARS = 400
"""A fault may quote a few words of the reply; more of it than this has no place outside the tags."""


def trajectory_request(prompts: PromptSet, content: Content, repeat: int = 0) -> Request:
    """The question for a verdict on a whole run; in mode whole with labels for the steps to verify.

    Raises ValueError where the content has no rubric.
    """
    rubric, whole = content.rubric, content.mode == "whole"
    if rubric is None:
        raise ValueError("a verdict on a run needs a rubric to judge by")
    data = _blocks(
        context=_context(content),
        task=content.instruction,
        hints=_hints(rubric.fine),
        run=render_run(content, marks := marks_of(content)),
    )
    steps, labels = prompts.fill("steps_whole", {"verify": _spans(content.verify)}) if whole else ("", "")
    values = {
        "steps": steps,
        "labels": f"{labels} " if labels else "",
        "category": rubric.category,
        "rubric": _items(rubric.coarse),
        "output": rubric.output,
        "context": data["context"],
        "instruction": data["task"],
        "hints": data["hints"],
        "extent": _extent(content),
        "run": data["run"],
    }
    ids = [tuple(item.id for item in items) for items in (rubric.coarse, rubric.fine)]
    schema = verdict_schema(*ids, whole)
    budget = 1 + (len(content.verify) - 1) // _LABELS_A_BUDGET if whole else 1
    purpose: Purpose = "steps" if whole else "trajectory"
    messages = illustrated(prompts.messages("judge", values), content, marks)
    return Request(purpose, messages, schema, content, repeat=repeat, budget=max(1, budget))


def step_request(prompts: PromptSet, content: Content, repeat: int = 0) -> Request:
    """The question for a verdict on the last step of a run's beginning, the one step to verify.

    Raises ValueError where the content has no rubric, or names more or fewer steps than one.
    """
    if content.rubric is None or len(content.verify) != 1:
        raise ValueError("a verdict on a step needs a rubric to go by and exactly one step")
    record = render_run(content, marks := marks_of(content))
    data = _blocks(context=_context(content), task=content.instruction, run=record)
    values = {
        "category": content.rubric.category,
        "rubric": _items(content.rubric.coarse),
        "context": data["context"],
        "instruction": data["task"],
        "index": str(content.verify[0]),
        "run": data["run"],
    }
    messages = illustrated(prompts.messages("steps_prefix", values), content, marks)
    return Request("steps", messages, step_schema(content.verify[0]), content, repeat=repeat)


def fine_request(prompts: PromptSet, instruction: str, rubric: Rubric, *, forced: bool = False) -> Request:
    """The question for fine rubrics: it depends on the instruction and the coarse rubric, not on a run.

    `forced` asks for exactly two items instead of at most two.
    """
    values = {
        "category": rubric.category,
        "rubric": _items(rubric.coarse),
        "instruction": _blocks(task=instruction)["task"],
    }
    messages = prompts.messages("fine_forced" if forced else "fine", values)
    return Request("fine", messages, FINE_SCHEMA, Content(instruction, rubric=rubric, forced=forced))


def route_request(
    prompts: PromptSet, instruction: str, categories: Mapping[str, str], *, refine: bool = False
) -> Request:
    """The question which of `categories` (name → what is checked in it) an instruction belongs to.

    `refine` asks for fine rubrics in the same call.
    """
    values = {
        "categories": "\n".join(f"- {name}: {checked}" for name, checked in categories.items()),
        "instruction": _blocks(task=instruction)["task"],
    }
    messages = prompts.messages("route_fine" if refine else "route", values)
    content = Content(instruction, categories=tuple(categories))
    return Request("route", messages, route_schema(tuple(categories), refine), content)


def repair_request(prompts: PromptSet, request: Request, problem: str, *, more: int = 1) -> Request:
    """The same question with what was wrong with its first answer at the end.

    `more` multiplies the tokens it may take. The faulty reply itself is not repeated: it may quote the run.
    """
    *before, last = request.messages
    [tail] = prompts.fill("repair", {"problem": " ".join(problem.split())[:_PROBLEM_CHARS]})
    text = last["content"]
    content = text + tail if isinstance(text, str) else [*text, {"type": "text", "text": tail}]
    messages = (*before, {**last, "content": content})
    return replace(request, messages=messages, budget=request.budget * more, verdict_id=None)


def _blocks(**texts: str) -> dict[str, str]:
    """Each text between tags whose code is a hash of the text.

    Whoever knows one text, as an agent knows its task, can compute its code: a code that stands in any of
    the texts is hashed again, so that no text can hold a tag of its own or of another block.
    """
    everything = "\n".join(texts.values())
    return {name: _block(name, text, everything) for name, text in texts.items()}


def _block(name: str, text: str, everything: str) -> str:
    code = _code(text)
    while code in everything:
        code = _code(code)
    return f"<{name}-{code}>\n{text or '(none)'}\n</{name}-{code}>"


def _code(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _items(items: Sequence[RubricItem]) -> str:
    return "\n".join(f"- [{item.id}] {item.kind}: {item.text}" for item in items)


def _hints(items: Sequence[RubricItem]) -> str:
    """One line each, whatever line ends the judge that proposed them or the instruction put in."""
    return "\n".join(" ".join(f"- [{item.id}] {item.text}{_said(item)}".split()) for item in items)


def _said(item: RubricItem) -> str:
    return f' (the task says: "{item.quote}")' if item.quote else ""


def _extent(content: Content) -> str:
    shown = sum(1 + frame.repeats for frame in content.frames)
    if shown >= content.total_steps:
        return f"all of its {content.total_steps} steps"
    return f"{shown} of its {content.total_steps} steps; the others are left out"


def _spans(indices: Sequence[int]) -> str:
    """[0, 1, 2, 5] as "0 to 2, 5"."""
    runs: list[list[int]] = []
    for index in indices:
        if runs and index == runs[-1][1] + 1:
            runs[-1][1] = index
        else:
            runs.append([index, index])
    return ", ".join(str(a) if a == b else f"{a} to {b}" for a, b in runs) or "(none)"


def _context(content: Content) -> str:
    return "\n\n".join(f"{_title(name)}:\n{text}" for name, text in content.context.items())


def _title(name: str) -> str:
    return name.replace("_", " ").capitalize()
