"""The verdicts on single steps, matched by the step numbers of the reply and never by their position.

Mode whole reads {"steps": [{step, reason, label}]} out of the same reply that holds the trajectory verdict;
mode prefix reads {step, reason, correct, error_type, confidence}, alone or in such a list.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from judge.errors import JudgeError
from judge.schema import StepVerdict
from judge.verdict.extract import Found, Reading, read
from judge.verdict.fields import fold, invalid, read_boolean, read_index, read_text, read_unit

Mode = Literal["whole", "prefix"]

_KEYS: dict[Mode, tuple[str, ...]] = {"whole": ("steps", "success", "score"), "prefix": ("steps", "correct")}
_LABELS: dict[str, Literal[-1, 0, 1]] = {"-1": -1, "0": 0, "1": 1, "+1": 1, "-1.0": -1, "0.0": 0, "1.0": 1}
_ERROR_TYPES = ("logic", "syntax", "tool", "policy", "none")


def parse_steps(
    text: str,
    steps: Sequence[int],
    *,
    mode: Mode = "whole",
    finish_reason: str | None = "stop",
    verdict_id: str | None = None,
) -> list[StepVerdict]:
    """Read a judge's reply as its verdicts on the asked `steps` (0-based indices), in their order.

    Raises JudgeError with `.raw`, like `parse_verdict`, and: incomplete_steps that names the steps without a
    verdict; invalid_verdict for a step that was not asked for or is given twice, and for a label, a
    correctness, an error type or a confidence outside its closed list or range; inconsistent_verdict (mode
    prefix) for a correct step with an error type.
    """
    reading = Reading(text, _KEYS[mode], finish_reason, verdict_id)
    return read(reading, lambda found: _verdicts(found, steps, mode))


def _verdicts(found: Found, steps: Sequence[int], mode: Mode) -> list[StepVerdict]:
    verdicts: dict[int, StepVerdict] = {}
    for entry in _entries(found.fields, mode):
        verdict = _step_verdict(entry, mode)
        if verdict.step not in steps:
            raise JudgeError("invalid_verdict", f"step {verdict.step} was not asked for")
        if verdict.step in verdicts:
            raise JudgeError("invalid_verdict", f"step {verdict.step} is judged twice")
        verdicts[verdict.step] = verdict
    if missing := [step for step in steps if step not in verdicts]:
        raise JudgeError("incomplete_steps", f"no verdict on step {', '.join(map(str, missing))}")
    return [verdicts[step] for step in steps]


def _entries(fields: dict[str, Any], mode: Mode) -> list[Any]:
    if mode == "prefix" and "steps" not in fields and "correct" in fields:
        return [fields]
    entries = fields.get("steps")
    if entries is None:
        return []
    if not isinstance(entries, list):
        raise invalid("steps", entries, "a list")
    return entries


def _step_verdict(entry: Any, mode: Mode) -> StepVerdict:
    if not isinstance(entry, dict):
        raise invalid("an entry of steps", entry, "an object")
    step = read_index(entry.get("step"))
    if step is None:
        raise invalid("step", entry.get("step"), "the 0-based index of a step")
    reason = read_text(entry.get("reason"), [])
    if mode == "whole":
        return StepVerdict(step=step, reason=reason, label=_label(entry.get("label"), step))
    return _checked(entry, step, reason)


def _label(value: object, step: int) -> Literal[-1, 0, 1]:
    label = _LABELS.get(fold(value) or "")
    if label is None:
        raise invalid(f"the label of step {step}", value, "-1, 0 or 1")
    return label


def _checked(entry: dict[str, Any], step: int, reason: str) -> StepVerdict:
    of_step = f"of step {step}"
    correct = read_boolean(entry.get("correct"), f"correct {of_step}", [])
    error_type = "none" if entry.get("error_type", "") is None else fold(entry.get("error_type"))
    if error_type not in _ERROR_TYPES:
        raise invalid(f"error_type {of_step}", entry.get("error_type"), f"one of {', '.join(_ERROR_TYPES)}")
    if correct and error_type != "none":
        raise JudgeError("inconsistent_verdict", f"step {step} is correct and has a {error_type} error")
    return StepVerdict(
        step=step,
        reason=reason,
        correct=correct,
        error_type=error_type,  # type: ignore[arg-type]
        confidence=read_unit(entry.get("confidence"), f"confidence {of_step}", []),
    )
