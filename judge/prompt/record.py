"""The record of a run as text: key frames with their gaps, and steps as single lines.

Every line of data is indented under its name, absence is written as absence, and nothing is cut here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from judge.schema import Content, Frame, Picture, Step

_LINE_CHARS = 200


def render_run(content: Content, marks: Mapping[int, str] | None = None) -> str:
    """The record as text: lines for all steps where steps are judged, then the key frames with their gaps.

    `marks` are put, by step, where its picture is to be shown.
    """
    if not content.frames:
        return "(the record holds no step)"
    parts = [f"step {index}: {line}" for index, line in content.lines]
    beginning = content.mode == "prefix"
    if parts:
        parts.append("\nThe latest steps in full:" if beginning else "\nKey steps in full:")
    # In a run's beginning the earlier steps are the lines: none of them is left out.
    expected = content.frames[0].index if beginning else 0
    for frame in content.frames:
        if frame.index > expected:
            parts.append(_gap(expected, frame.index - 1))
        parts.append(render_frame(frame))
        if marks and frame.index in marks:
            parts.append(marks[frame.index])
        expected = frame.index + frame.repeats + 1
    if expected < content.total_steps:
        parts.append(_gap(expected, content.total_steps - 1))
    return "\n".join(parts)


def render_frame(frame: Frame) -> str:
    """One step in full. Absence is written as absence; every line of data is indented under its name."""
    kind = " ".join(frame.action_type[:80].split())
    parts = [f"step {frame.index}" + (f" ({kind})" if kind else "")]
    if frame.text and frame.text != frame.action:
        parts.append(_field("text", frame.text))
    parts.append(_field("action", frame.action if frame.action.strip() else "(none)"))
    if frame.error:
        parts.append(_field("error", "yes" if frame.error is True else frame.error))
    parts.append(_field("observation", frame.observation if frame.observation.strip() else "(empty)"))
    if frame.state:
        parts.append(_field("state", frame.state))
    if isinstance(frame.screenshot, Picture):
        shown = "" if frame.screenshot.is_shown else " (not shown)"
        parts.append(f"  screenshot: {frame.screenshot.words}{shown}")
    elif frame.screenshot is not None:
        parts.append("  screenshot: (there was one; it is not shown)")
    if frame.repeats:
        first, last = frame.index + 1, frame.index + frame.repeats
        parts.append(f"  (repeated unchanged in steps {first} to {last}: {frame.repeats} more times)")
    return "\n".join(parts)


def step_lines(steps: Sequence[Step]) -> tuple[tuple[int, str], ...]:
    """Every step as one line of at most about 200 characters, with its index."""
    return tuple((step.index, _line(step)) for step in steps)


def _gap(first: int, last: int) -> str:
    where = f"step {first} is" if first == last else f"steps {first} to {last} are"
    return f"({where} left out here: {last - first + 1})"


def _field(name: str, text: str) -> str:
    # Every kind of line end counts, or a text could start a line of its own at the margin.
    lines = text.splitlines()
    if len(lines) < 2:
        return f"  {name}: {''.join(lines)}"
    return "\n    ".join([f"  {name}:", *lines])


def _line(step: Step) -> str:
    deed = step.deed or step.text or "(none)"
    seen = f" -> {step.observation}" if step.observation.strip() else ""
    line = " ".join(f"{'ERROR ' if step.error else ''}{deed[:_LINE_CHARS]}{seen[:_LINE_CHARS]}".split())
    return line if len(line) <= _LINE_CHARS else f"{line[: _LINE_CHARS - 4]} ..."
