"""A dialogue → steps: what the formats `messages` and `tau` share, beyond the single message (`chat`).

- A step is one message of the agent; what came back is all that follows until its next one, but for results
  whose `tool_call_id` names an earlier step's call, and belong to that step. One message back is the
  observation as it is; where several came back or were called for, each is headed by its speaker, a tool's by
  its name and the number of the call: by `tool_call_id`, else in order.
- Blocks of calls and results in the content are taken apart first, as `blocks` says.
- Before the first step: system messages are the policy, user messages the request; what user and tools said
  is the opening. An agent that speaks first begins with a step, and the first answer is then the request.
- `action` is the calls, one a line, or without calls what was said (a refusal too). `text` is the reasoning
  (`reasoning_content`, `reasoning`, `thinking`) and what was said; without calls, the reasoning alone if any.
- An empty message is a step that did nothing; an empty answer is an empty observation.
- An image that came back belongs to the step that saw it: it is the next step's `screenshot` (of several the
  last; the others are `earlier_images`). One that no step saw shows how the run ended: it is a step of its
  own at the end, of the role environment, without an action and without a `source_index`, and never judged.
- `error` is set where a tool's message says so: `is_error` true, `error` (true or text), `status` "error".
- Of a message's other fields a step keeps `label` and `reward`, which no judge sees.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from judge.errors import InputError
from judge.readers.blocks import unblocked
from judge.readers.chat import Message, calls_of, read_message, text_of
from judge.readers.checked import object_or_none
from judge.readers.step_labels import StepNumbers, renumbered

_REASONING = ("reasoning_content", "reasoning", "thinking")
_Calls = Sequence[tuple[dict[str, Any], str]]
"""The calls of a step, each as keyword arguments of ToolCall and as it is spelled."""


@dataclass(frozen=True)
class Dialogue:
    """Messages taken apart; each of `steps` is keyword arguments of Step, `length` counts the messages."""

    policy: str
    request: str
    opening: str
    steps: list[dict[str, Any]]
    length: int

    @property
    def numbers(self) -> StepNumbers:
        known = [step["source_index"] for step in self.steps if "source_index" in step]
        return StepNumbers(known, self.length)


def read(
    stored: Iterable[tuple[str, Mapping[str, Any]]],
    is_error: Callable[[Message], bool] = lambda answer: False,
) -> Dialogue:
    """Pairs of place ("messages.3") and stored message → Dialogue.

    `is_error` tells a message back that reports a failed call in the words of the format's own tools.
    Raises InputError that names the place.
    """
    placed = list(stored)
    messages = [
        read_message(index, *each) for index, found in enumerate(placed) for each in unblocked(*found)
    ]
    starts = [at for at, message in enumerate(messages) if message.speaker == "agent"]
    before = messages[: starts[0]] if starts else messages
    calls = [calls_of(messages[start]) for start in starts]
    followers = [messages[start + 1 : end] for start, end in pairwise([*starts, len(messages)])]
    steps: list[dict[str, Any]] = []
    images = _images(before)
    for start, made, answers, seen in zip(starts, calls, _answers(calls, followers), followers, strict=True):
        steps.append(_step(messages[start], made, answers, is_error) | _shown(images))
        images = _images(seen)
    if steps and images:
        steps.append({"role": "environment", "action_type": "end"} | _shown(images))
    asked = [message.text for message in before if message.speaker == "user"]
    later = [message.text for message in messages[len(before) :] if message.speaker == "user"]
    return Dialogue(
        policy=joined(message.text for message in before if message.speaker == "system"),
        request=joined(asked) or joined(later[:1]),
        opening=joined(message.seen for message in before if message.speaker != "system"),
        steps=steps,
        length=len(placed),
    )


def joined(texts: Iterable[str]) -> str:
    return "\n\n".join(text for text in texts if text.strip())


def leftover(record: Mapping[str, Any], used: Container[str], dialogue: Dialogue) -> dict[str, Any]:
    """The fields of `record` that are neither null nor in `used`, with step labels renumbered."""
    object_or_none(record.get("metadata"), "metadata")
    rest = {name: value for name, value in record.items() if name not in used and value is not None}
    known: dict[str, Any] = {name: rest[name] for name in ("failures", "mistake_step") if name in rest}
    rest |= renumbered(known, dialogue.numbers)
    if isinstance(labels := rest.get("labels"), Mapping):
        rest["labels"] = renumbered(labels, dialogue.numbers)
    return rest


def object_at(place: str, value: Any) -> dict[str, Any]:
    """An object without its nulls; null is an empty one. Raises InputError for anything else."""
    stored = object_or_none(value, place) or {}
    return {name: inner for name, inner in stored.items() if inner is not None}


def number_at(place: str, value: Any) -> float:
    """A finite number; true is 1 and false 0. Raises InputError for anything else."""
    if isinstance(value, int | float):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if math.isfinite(number):
            return number
    raise InputError(
        f"{place}: must be a finite number or true/false; leave it out where no verifier gave one"
    )


def _answers(calls: Sequence[_Calls], followers: Sequence[Sequence[Message]]) -> list[list[Message]]:
    """What came back to each step: the messages that follow it, but for results of an earlier step's call."""
    found: list[list[Message]] = [[] for _ in calls]
    callers: dict[str, int] = {}
    for position, (made, seen) in enumerate(zip(calls, followers, strict=True)):
        callers |= {call["id"]: position for call, _ in made if call["id"] is not None}
        for answer in seen:
            number = _number(answer) if answer.speaker == "tool" else None
            found[position if number is None else callers.get(number, position)].append(answer)
    return found


def _images(messages: Iterable[Message]) -> list[Any]:
    return [image for message in messages for image in message.images]


def _shown(images: Sequence[Any]) -> dict[str, Any]:
    shown: dict[str, Any] = {"screenshot": images[-1]} if images else {}
    return shown | ({"earlier_images": list(images[:-1])} if len(images) > 1 else {})


def _step(
    message: Message, calls: _Calls, answers: Sequence[Message], is_error: Callable[[Message], bool]
) -> dict[str, Any]:
    said = joined([message.text, text_of(f"{message.place}.refusal", message.fields.get("refusal"))])
    thoughts = (message.fields.get(name) for name in _REASONING)
    thought = next((text for text in thoughts if isinstance(text, str) and text.strip()), "")
    kept = {name: message.fields[name] for name in ("label", "reward") if name in message.fields}
    step: dict[str, Any] = {
        **kept,
        "source_index": message.index,
        "action": "\n".join(spelled for _, spelled in calls) or said,
        "action_type": "tool_call" if calls else "message",
        "text": joined([thought, said]) if calls else thought or said,
        "observation": _observation(answers, [call for call, _ in calls]),
        "error": next(filter(None, (_error(answer, is_error) for answer in answers)), False),
    }
    return step | ({"tool_calls": [call for call, _ in calls]} if calls else {})


def _observation(answers: Sequence[Message], calls: Sequence[Mapping[str, Any]]) -> str:
    if len(answers) < 2 and len(calls) < 2:
        return answers[0].seen if answers else ""
    waiting = list(range(len(calls)))
    parts = []
    for answer in answers:
        heading = answer.speaker
        if answer.speaker == "tool":
            heading = text_of(f"{answer.place}.name", answer.fields.get("name")) or heading
            if (answered := _answered(answer, calls, waiting)) is not None:
                waiting.remove(answered)
                name = calls[answered]["name"] or heading
                heading = f"{name} (call {answered + 1})" if len(calls) > 1 else name
        parts.append(f"{heading}: {answer.seen.strip() or '(empty)'}")
    return "\n".join(parts)


def _answered(answer: Message, calls: Sequence[Mapping[str, Any]], waiting: Sequence[int]) -> int | None:
    """Which waiting call is answered: the one of that id, else the first of that name or of any."""
    number, name = _number(answer), answer.fields.get("name")
    by_id = [at for at in waiting if number is not None and calls[at]["id"] == number]
    unnumbered = [at for at in waiting if number is None or calls[at]["id"] is None]
    in_order = [at for at in unnumbered if name in (None, calls[at]["name"])]
    return next(iter(by_id or in_order), None)


def _number(answer: Message) -> str | None:
    given = answer.fields.get("tool_call_id")
    return None if given is None else text_of(f"{answer.place}.tool_call_id", given)


def _error(answer: Message, is_error: Callable[[Message], bool]) -> bool | str:
    if answer.speaker == "tool":
        told = answer.fields.get("error")
        if told is True or (isinstance(told, str) and told.strip()):
            return told
        if answer.fields.get("is_error") is True or answer.fields.get("status") == "error":
            return True
    return answer.text if is_error(answer) else False
