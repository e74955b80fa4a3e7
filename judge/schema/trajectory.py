"""What is judged: a Trajectory of Steps, and the Outcome its environment recorded."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from judge.schema.picture import is_absent, is_image, named_file, pixel_digest

_SURROGATES = re.compile("[\ud800-\udfff]")


def clean_text(text: str) -> str:
    """`text` with lone surrogates, which no UTF-8 request or log can carry, replaced by U+FFFD."""
    return text if text.isascii() else _SURROGATES.sub("�", text)


def as_text(value: Any) -> str:
    """Any stored value as text: None is "", a string itself, everything else its JSON (or repr)."""
    if value is None:
        return ""
    if isinstance(value, str):
        return clean_text(value)
    try:
        return clean_text(json.dumps(value, ensure_ascii=False))
    except (TypeError, ValueError):
        return clean_text(repr(value))


def _as_id(value: Any) -> Any:
    """Integers become their digits; a float or a boolean is no id and is left for pydantic to refuse."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return clean_text(value) if isinstance(value, str) else value


def _as_error(value: Any) -> bool | str:
    return value if isinstance(value, bool) else as_text(value) or False


Text = Annotated[str, BeforeValidator(as_text)]
Id = Annotated[str, BeforeValidator(_as_id)]
StepError = Annotated[bool | str, BeforeValidator(_as_error)]


class ToolCall(BaseModel):
    """One tool call of a step; `arguments` is kept as stored, because a broken string is evidence.

    Where it is absent, `args`, `input` or `parameters` are the arguments, as other records name them.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    name: Text = ""
    arguments: Any = None
    id: Id | None = None

    @model_validator(mode="before")
    @classmethod
    def _flat(cls, call: Any) -> Any:
        """Chat completions nest name and arguments under `function`."""
        if not isinstance(call, Mapping):
            return call
        nested = call.get("function")
        flat = {**call, **nested} if isinstance(nested, Mapping) else call
        if flat.get("arguments") is not None:
            return flat
        given = (flat[name] for name in ("args", "input", "parameters") if flat.get(name) is not None)
        return {**flat, "arguments": next(given, None)}

    @property
    def spelled(self) -> str:
        """The call as `name(arguments)`; arguments stored as a string appear verbatim, broken or not."""
        return f"{self.name or '(no name)'}({as_text(self.arguments)})"


class Step(BaseModel):
    """One step of the agent: what it thought or said, what it did, and what came back afterwards.

    Unknown fields (step rewards, human labels) are kept as stored and never shown to a judge.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    index: int = Field(default=0, ge=0)
    role: Text = "assistant"
    action: Text = ""
    action_type: Text = ""
    text: Text = ""
    observation: Text = ""
    state: Text = ""
    error: StepError = False
    screenshot: Any = Field(default=None, repr=False)
    tool_calls: tuple[ToolCall, ...] = ()

    @field_validator("tool_calls", mode="before")
    @classmethod
    def _no_calls(cls, value: Any) -> Any:
        return () if value is None else value

    @field_validator("screenshot", mode="before")
    @classmethod
    def _no_screenshot(cls, value: Any) -> Any:
        return None if is_absent(value) else value

    @property
    def deed(self) -> str:
        """What was done, as one text: the action, and every tool call that it does not already spell out."""
        if not self.tool_calls:
            return self.action
        calls = [call.spelled for call in self.tool_calls]
        # An action may spell its arguments in a way of its own, such as without quotes or spaces.
        if self.action.startswith(f"{self.tool_calls[0].name}("):
            calls = calls[1:]
        missing = [call for call in calls if call not in self.action]
        return "\n".join([self.action, *missing] if self.action.strip() else missing)

    @property
    def screenshot_path(self) -> str | None:
        """The file that the screenshot is in; None where there is none, as for a URL or the image itself."""
        return named_file(self.screenshot)

    def with_images(self, change: Callable[[Any], Any]) -> Step:
        """The step with its screenshot, and others that a reader kept as `earlier_images`, made anew."""
        if self.screenshot is None:
            return self
        changed: dict[str, Any] = {"screenshot": change(self.screenshot)}
        earlier = (self.model_extra or {}).get("earlier_images")
        if isinstance(earlier, list | tuple):
            changed["earlier_images"] = [change(image) for image in earlier]
        return self.model_copy(update=changed)

    @property
    def is_blank(self) -> bool:
        """Whether the agent neither acted, spoke nor called a tool in this step."""
        return not (self.action.strip() or self.text.strip() or self.tool_calls)

    @property
    def is_view(self) -> bool:
        """Whether it only shows how the environment stood: nothing of the agent's, and nothing to label."""
        return self.role == "environment" and self.is_blank


class Outcome(BaseModel):
    """What the environment said. `status` other than "ok" means `reward` says nothing about the agent."""

    model_config = ConfigDict(frozen=True, extra="allow", allow_inf_nan=False)

    reward: float | None = None
    verifier: str | None = None
    status: str = "ok"

    @property
    def known(self) -> float | None:
        """The stored reward where the environment was sound and gave one, else None."""
        return self.reward if self.status == "ok" else None


class Trajectory(BaseModel):
    """One run of an agent on one task.

    `context` is what the agent was given besides the instruction (policy, tools, first_observation) and is
    shown to the judge; `metadata` and `outcome` never are. Unknown fields of a stored record move to
    `metadata`. A missing trajectory_id is a hash of the content, a missing task_id one of the instruction,
    so that a rerun finds both again. `step` is the training step that produced the run.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    trajectory_id: Id
    task_id: Id
    instruction: Text = Field(min_length=1)
    context: dict[str, Text] = Field(default_factory=dict)
    steps: tuple[Step, ...] = ()
    outcome: Outcome = Field(default_factory=Outcome)
    group: Id | None = None
    step: int | None = None
    category: str | None = None
    verifier_only: bool = False
    metadata: dict[str, Any] = Field(default_factory=dict, repr=False)

    @model_validator(mode="before")
    @classmethod
    def _complete(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return data
        known = {key: value for key, value in data.items() if key in cls.model_fields and value is not None}
        unknown = {key: value for key, value in data.items() if key not in cls.model_fields}
        if unknown and isinstance(metadata := known.get("metadata", {}), Mapping):
            known["metadata"] = {**metadata, **unknown}
        if isinstance(context := known.get("context"), str):
            known["context"] = {"context": context}
        known["steps"] = _numbered(known.get("steps", ()))
        if not known.get("trajectory_id") and known.get("trajectory_id") != 0:
            known["trajectory_id"] = "sha256:" + _digest([known.get("instruction"), known["steps"]])
        if not known.get("task_id") and known.get("task_id") != 0:
            known["task_id"] = "sha256:" + _digest(as_text(known.get("instruction")))
        return known

    @field_validator("instruction")
    @classmethod
    def _not_blank(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("is blank: the judge must know what was asked")
        return value

    @field_validator("steps")
    @classmethod
    def _counted(cls, steps: tuple[Step, ...]) -> tuple[Step, ...]:
        for position, step in enumerate(steps):
            if step.index != position:
                raise ValueError(
                    f"step {position} has index {step.index}; indices are 0-based and count every step"
                )
        return steps

    @cached_property
    def instruction_hash(self) -> str:
        """First 16 hex digits of the instruction's SHA-256: groups the rows of one prompt."""
        return _digest(self.instruction)

    def beside(self, folder: Path) -> Trajectory:
        """The run with the relative paths of its screenshots taken from `folder`."""
        if all(step.screenshot is None for step in self.steps):
            return self
        steps = tuple(step.with_images(partial(_beside, folder)) for step in self.steps)
        return self.model_copy(update={"steps": steps})

    @property
    def is_empty(self) -> bool:
        """Whether the agent did nothing at all: no steps, or none with an action, text or tool call."""
        return all(step.is_blank for step in self.steps)


def _beside(folder: Path, screenshot: Any) -> Any:
    path = named_file(screenshot)
    return screenshot if path is None else str(folder / path)


def _numbered(steps: Any) -> Any:
    """Steps stored without an index are counted from 0; anything that is no list is left to pydantic."""
    if not isinstance(steps, Sequence) or isinstance(steps, str | bytes):
        return steps
    return [
        {**step, "index": position} if isinstance(step, Mapping) and step.get("index") is None else step
        for position, step in enumerate(steps)
    ]


def _spelled(value: Any) -> Any:
    """What JSON has no word for, the same in every process: images by their content."""
    if isinstance(value, BaseModel):
        return dict(value)
    if is_image(value):
        try:
            return pixel_digest(value)
        # Everything, because Pillow's plugins raise all kinds of errors on a damaged file.
        except Exception:
            return "(an image that cannot be read)"
    data = value.tobytes() if hasattr(value, "tobytes") else value
    return hashlib.sha256(data).hexdigest() if isinstance(data, bytes | bytearray) else repr(value)


def _digest(value: Any) -> str:
    try:
        text = value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=_spelled)
    except TypeError:  # Keys that JSON cannot hold, or not beside each other.
        text = repr(value)
    return hashlib.sha256(clean_text(text).encode()).hexdigest()[:16]
