"""Chat messages with tool calls, as chat completions take them, one run a record.

    {"messages": [...], "instruction"?, "tools"?, "reward"?, "outcome"?, "labels"?, "metadata"?, ids}
    {"prompt": [...], "completion": [...], ...}        the same dialogue in two lists

- Messages become steps as `dialogue` says; `source_index` counts messages from 0, prompt and completion
  together. An agent's message in the prompt is a step like any other; no agent's message at all, no steps.
- `images` beside the messages, as data sets for vision models have it, fills the parts {"type": "image"} in
  their order where there are as many; else it is metadata, and the images are told of and not shown.
- instruction: the text in `instruction`, `question`, `task` or `prompt`, in this order; else the request.
- context: `policy` (without a system message the record's `system`), `tools` (`tools` or `functions`), and,
  beside an instruction of the record's own, `first_observation`, the opening. An entry of the record's own
  context wins.
- outcome: `outcome`, with `reward` where it holds none. A run without steps is an infra_error where the
  record, its metadata or info, or the `extra` of a message "exit" holds a traceback, error or exception.
  After steps nothing says who broke, so that the run counts.
- `id` names the task, or the run where task_id is there too: two runs of one task may share it.
- Step labels are renumbered as `step_labels` says. All else (gold answers, errors) goes to metadata.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from judge.errors import InputError
from judge.readers import native
from judge.readers.chat import is_placeholder, text_of
from judge.readers.checked import objects
from judge.readers.dialogue import Dialogue, joined, leftover, number_at, object_at, read

_OTHER_FORMATS = ("steps", "frames", "traj", "trajectory", "history")
_INSTRUCTIONS = ("instruction", "question", "task", "prompt")
_Placed = tuple[str, Mapping[str, Any]]
"""A message and its place in the record."""

_USED = frozenset({"messages", "instruction", "tools", "functions", "reward", "outcome", "context"})


def matches(record: Mapping[str, Any]) -> bool:
    if any(_is_list(record.get(name)) for name in _OTHER_FORMATS):
        return False
    return _is_list(record.get("messages")) or _is_in_two_lists(record)


def fields(record: Mapping[str, Any], stem: str) -> dict[str, Any]:
    """The record as keyword arguments of Trajectory. Raises InputError that names the field."""
    messages = _messages(record)
    is_illustrated = _is_illustrated(record, messages)
    dialogue = read(_illustrated(messages, record["images"]) if is_illustrated else messages)
    own = next((name for name in _INSTRUCTIONS if _is_told(record.get(name))), None)
    instruction = record[own] if own else dialogue.request
    if not instruction:
        raise InputError("instruction: missing, and no user's message says what was asked; add the field")
    ids = _ids(record)
    used = {*_USED, own, *(("prompt", "completion") if _is_in_two_lists(record) else ())}
    used |= {"id"} if ids else set()
    used |= {"images"} if is_illustrated else set()
    return {
        **leftover(record, used, dialogue),
        **ids,
        "instruction": instruction,
        "context": _context(record, dialogue, instruction),
        "steps": dialogue.steps,
        "outcome": _outcome(record, dialogue, messages),
    }


def _messages(record: Mapping[str, Any]) -> list[_Placed]:
    names = ("prompt", "completion") if _is_in_two_lists(record) else ("messages",)
    lists = [(name, objects(record.get(name), name)) for name in names]
    return [(f"{name}.{at}", message) for name, stored in lists for at, message in enumerate(stored)]


def _is_illustrated(record: Mapping[str, Any], messages: Sequence[_Placed]) -> bool:
    """Whether `images` holds one for each part that only keeps the place of one."""
    images = record.get("images")
    places = sum(is_placeholder(part) for _, message in messages for part in _parts(message))
    return _is_list(images) and places == len(images or ()) > 0


def _illustrated(messages: Sequence[_Placed], images: Sequence[Any]) -> Iterator[_Placed]:
    left = iter(images)
    for place, message in messages:
        if any(map(is_placeholder, _parts(message))):
            filled = [
                {**part, "image": next(left)} if is_placeholder(part) else part for part in message["content"]
            ]
            yield place, {**message, "content": filled}
        else:
            yield place, message


def _parts(message: Mapping[str, Any]) -> Sequence[Any]:
    content = message.get("content")
    return content if isinstance(content, list | tuple) else ()


def _context(record: Mapping[str, Any], dialogue: Dialogue, instruction: str) -> dict[str, str]:
    stored = record.get("context")
    own = {"context": stored} if isinstance(stored, str) else object_at("context", stored)
    found = {
        "policy": dialogue.policy or _system(record),
        "tools": record.get("tools") or record.get("functions"),
        "first_observation": "" if dialogue.opening == instruction else dialogue.opening,
        **own,
    }
    return {name: text for name in found if (text := text_of(f"context.{name}", found[name] or ""))}


def _system(record: Mapping[str, Any]) -> str:
    """The text of `system`, where Anthropic's requests have what others say in a first message."""
    told = record.get("system")
    parts = told if isinstance(told, list | tuple) else (told,)
    texts = (part.get("text") if isinstance(part, Mapping) else part for part in parts)
    return joined(text for text in texts if isinstance(text, str))


def _outcome(record: Mapping[str, Any], dialogue: Dialogue, messages: Sequence[_Placed]) -> dict[str, Any]:
    found = object_at("outcome", record.get("outcome"))
    if "reward" in found:
        found["reward"] = number_at("outcome.reward", found["reward"])
    elif record.get("reward") is not None:
        found["reward"] = number_at("reward", record["reward"])
    ends = [{"info": message.get("extra")} for _, message in messages if message.get("role") == "exit"]
    if not dialogue.steps and any(map(native.is_traced, [record, *ends])):
        found.setdefault("status", "infra_error")
    return found


def _ids(record: Mapping[str, Any]) -> dict[str, Any]:
    own = record.get("id")
    if isinstance(own, bool) or not isinstance(own, int | str) or own == "":
        return {}
    free = [name for name in ("task_id", "trajectory_id") if record.get(name) in (None, "")]
    return {free[0]: own} if free else {}


def _is_in_two_lists(record: Mapping[str, Any]) -> bool:
    two = _is_list(record.get("prompt")) and _is_list(record.get("completion"))
    return two and record.get("messages") is None


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)


def _is_told(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())
