"""What is asked and what came back: the types between prompt, client, embedded judge and log."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

from judge.schema.deadline import Deadline
from judge.schema.picture import Picture
from judge.schema.trajectory import Step
from judge.schema.verdict import Rubric

Purpose = Literal["route", "fine", "steps", "trajectory"]
Message = dict[str, Any]

_NO_IMAGE = "[image not shown]"


@dataclass(frozen=True, slots=True)
class Frame:
    """One step as the judge is shown it: the stored step without labels, rewards or other extras.

    `action` is the step's whole deed, tool calls spelled out. `reasons` say why it was kept; `repeats`
    counts the identical steps after it that were folded into it, `cut` the characters its texts lost.
    `screenshot` is as stored until it is made a Picture.
    """

    index: int
    role: str = "assistant"
    action: str = ""
    action_type: str = ""
    text: str = ""
    observation: str = ""
    state: str = ""
    error: bool | str = False
    screenshot: Any = field(default=None, repr=False)
    reasons: tuple[str, ...] = ()
    repeats: int = 0
    cut: int = 0

    @classmethod
    def of(cls, step: Step, reasons: tuple[str, ...] = (), repeats: int = 0) -> Frame:
        return cls(
            step.index,
            step.role,
            step.deed,
            step.action_type,
            step.text,
            step.observation,
            step.state,
            step.error,
            step.screenshot,
            reasons,
            repeats,
        )


@dataclass(frozen=True, slots=True)
class Content:
    """What was rendered into the messages of a request, and nothing else: never an outcome or a label.

    Attributes:
        instruction: the task.
        context: policy, tools, first observation, by name.
        rubric: what to grade by; for a fine-rubric request the coarse rubric it must not repeat.
        frames: the steps shown in full, in time order.
        total_steps: how many steps the run has; those not among `frames` were left out.
        lines: the steps shown as one line each (step judging), in time order, as (index, line).
        verify: indices of the steps whose verdict is asked for.
        mode: how steps are judged.
        categories: what a routing request may choose from.
        forced: whether exactly two fine rubrics are asked for, and not at most two.
    """

    instruction: str
    context: dict[str, str] = field(default_factory=dict)
    rubric: Rubric | None = None
    frames: tuple[Frame, ...] = ()
    total_steps: int = 0
    lines: tuple[tuple[int, str], ...] = ()
    verify: tuple[int, ...] = ()
    mode: Literal["none", "whole", "prefix"] = "none"
    categories: tuple[str, ...] = ()
    forced: bool = False


@dataclass(frozen=True, slots=True)
class Request:
    """One question to a judge.

    A message's content is a text, or a list of chat completion parts; the `url` of an image part may be a
    Picture, which becomes a data URL in `wire_messages` only, so that waiting requests hold no images.
    `verdict_id` is the random token of this call. It stands at the very end of the last message, so that
    `messages` without it (the cache key) are equal for equal questions. `repeat` numbers independent
    judgements of the same trajectory. `budget` multiplies the configured max_tokens: more than 1 where many
    steps are to be labelled, and doubled after a reply that was cut by it. `deadline` is the time that is
    left for it and for other calls of its trajectory; None leaves it to the endpoint's deadline_s.
    """

    purpose: Purpose
    messages: tuple[Message, ...]
    schema: dict[str, Any]
    content: Content
    verdict_id: str | None = None
    repeat: int = 0
    budget: int = 1
    deadline: Deadline | None = field(default=None, compare=False)

    def with_verdict_id(self, verdict_id: str) -> Request:
        """The same question under a new token, appended to (or replaced in) the last message."""
        return replace(self, verdict_id=verdict_id)

    def wire_messages(self, *, images: bool = True) -> list[Message]:
        """The messages as they go out: the token joined to the end of the last one, pictures as data URLs.

        Without `images` each is replaced by the words "[image not shown]", and lists of parts by plain text:
        a server without images often takes no list either. With them, pictures are read and scaled here.
        """
        render = _with_data if images else _without_images
        return [
            message if isinstance(message["content"], str) else render(message)
            for message in self._with_token()
        ]

    def _with_token(self) -> list[Message]:
        if self.verdict_id is None:
            return list(self.messages)
        last = self.messages[-1]
        tail = f"\nverdict_id: {self.verdict_id}"
        content = last["content"]
        joined = content + tail if isinstance(content, str) else [*content, {"type": "text", "text": tail}]
        return [*self.messages[:-1], {**last, "content": joined}]


def _with_data(message: Message) -> Message:
    return {**message, "content": [_part_with_data(part) for part in message["content"]]}


def _part_with_data(part: Message) -> Message:
    image = part.get("image_url")
    if not isinstance(image, dict) or not isinstance(image.get("url"), Picture):
        return part
    return {**part, "image_url": {**image, "url": image["url"].data_url()}}


def _without_images(message: Message) -> Message:
    parts = (part["text"] if part.get("type") == "text" else _NO_IMAGE for part in message["content"])
    return {**message, "content": "\n".join(parts)}


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the endpoint counted them; a figure it did not give is None, never 0."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None
    cached_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer whose envelope is settled: text to be read, and how it was come by.

    `attempts` counts the HTTP requests behind it (0 for an embedded or cached reply), `latency_ms` their
    wall time. `verdict_id` is the token of the call that produced the text, which for a cached reply is
    not the one just asked with.
    """

    text: str
    model: str
    finish_reason: str | None = "stop"
    usage: Usage | None = None
    attempts: int = 0
    latency_ms: float = 0.0
    cached: bool = False
    response_format: str = "plain"
    verdict_id: str | None = None
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Call:
    """One judge call as the log keeps it, successful or not; `raw` is the reply text as received."""

    purpose: Purpose
    model: str
    attempts: int = 0
    cached: bool = False
    latency_ms: float = 0.0
    usage: Usage | None = None
    cost: float | None = None
    finish_reason: str | None = None
    response_format: str | None = None
    verdict_id: str | None = None
    raw: str | None = None
    error: dict[str, str] | None = None
