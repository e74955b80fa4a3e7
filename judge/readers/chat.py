"""One chat message as stored: who speaks, its text and images, and the tools it calls.

- Speakers: the agent is `assistant`, `ai`, `gpt` or `model`; `user` or `human`; `system` or `developer`;
  `tool`, `function` or `observation`; `exit`, with which mini-swe-agent closes a run, comes back as a tool's
  message does. Case does not matter; any other role is an error.
- Null is absent. Content is text or a list of parts: text, refusal and image parts; sound, film, files and
  images stored elsewhere are named and not shown; any other part is an error. Content of a tool that is
  neither is shown as its JSON.
- An image part holds its image as `image_url`, `image`, `url` or `path`, as base64 text in `base64` or
  `data`, or as Anthropic's `source`.
- Calls are `tool_calls`, a list or its JSON, or the older `function_call`, nested under `function` or flat,
  with or without an id. Their `arguments` (or `input`, `args`, `parameters`) that are a mapping, its JSON or
  its Python repr are kept as that mapping, all else verbatim.
"""

from __future__ import annotations

import ast
import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from judge.errors import InputError
from judge.schema import ToolCall, as_text

_SPEAKERS = {
    **dict.fromkeys(("assistant", "ai", "gpt", "model"), "agent"),
    **dict.fromkeys(("user", "human"), "user"),
    **dict.fromkeys(("system", "developer"), "system"),
    **dict.fromkeys(("tool", "function", "observation"), "tool"),
    "exit": "exit",
}
_TEXTS = {"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal"}
_IMAGES = frozenset({"image_url", "input_image", "image"})
_ARGUMENTS = ("arguments", "input", "args", "parameters")
_NOT_SHOWN = frozenset({"input_audio", "audio", "audio_url", "video", "video_url", "file", "input_file"})


@dataclass(frozen=True)
class Message:
    """One stored message; `fields` are those that are not null."""

    place: str
    index: int
    speaker: str
    text: str
    images: tuple[Any, ...]
    fields: Mapping[str, Any]

    @property
    def seen(self) -> str:
        return self.text or ("(image)" if self.images else "")


def text_of(place: str, value: Any) -> str:
    """Any stored value as text. Raises InputError where it is nested too deeply to be written."""
    try:
        return as_text(value)
    except RecursionError:
        raise InputError(f"{place}: nested too deeply; store it as text") from None


def read_message(index: int, place: str, stored: Mapping[str, Any]) -> Message:
    """Raises InputError for a role or a content part that is unknown; it begins with `place`."""
    fields = {name: value for name, value in stored.items() if value is not None}
    speaker = _speaker(place, fields.get("role"))
    text, images = _content(f"{place}.content", fields.get("content"), speaker)
    return Message(place, index, speaker, text, images, fields)


def _speaker(place: str, role: Any) -> str:
    if not isinstance(role, str):
        state = "missing" if role is None else f"must be text (it is a {type(role).__name__})"
        raise InputError(f"{place}.role: {state}; known are {', '.join(_SPEAKERS)}")
    if (speaker := _SPEAKERS.get(role.strip().lower())) is None:
        raise InputError(f"{place}.role: {role[:40]!r} is unknown; known are {', '.join(_SPEAKERS)}")
    return speaker


def _content(place: str, value: Any, speaker: str) -> tuple[str, tuple[Any, ...]]:
    if value is None or isinstance(value, str):
        return value or "", ()
    if speaker == "tool" and not _is_parts(value):
        return text_of(place, value), ()
    if not isinstance(value, list | tuple):
        raise InputError(f"{place}: must be text or a list of parts (it is a {type(value).__name__})")
    parts = [_part(f"{place}.{position}", part) for position, part in enumerate(value)]
    images = tuple(image for _, image in parts if image is not None)
    texts = [text for text, _ in parts if text]
    if not images and any(map(is_placeholder, value)):
        texts.append("(image: not shown)")
    return "\n".join(texts), images


def _is_parts(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(
        isinstance(part, Mapping) and isinstance(part.get("type"), str) for part in value
    )


def _part(place: str, part: Any) -> tuple[str, Any]:
    if isinstance(part, str):
        return part, None
    if not isinstance(part, Mapping):
        raise InputError(f"{place}: must be text or an object (it is a {type(part).__name__})")
    kind = part.get("type") or "text"
    if not isinstance(kind, str):
        raise InputError(f"{place}.type: must be text (it is a {type(kind).__name__})")
    if kind in _IMAGES:
        image = _image(place, part)
        is_told = image is None and not is_placeholder(part)
        return f"({kind}: not shown)" if is_told else "", image
    if kind in _NOT_SHOWN:
        return f"({kind}: not shown)", None
    if kind not in _TEXTS:
        known = ", ".join([*_TEXTS, *sorted(_IMAGES)])
        raise InputError(f"{place}.type: {kind[:40]!r} is unknown; known are {known}")
    return text_of(f"{place}.{_TEXTS[kind]}", part.get(_TEXTS[kind])), None


def is_placeholder(part: Any) -> bool:
    """Whether a part only keeps the place of an image that is stored elsewhere."""
    if not isinstance(part, Mapping) or part.get("type") not in ("image", "image_url"):
        return False
    return all(value is None for name, value in part.items() if name != "type")


def _image(place: str, part: Mapping[str, Any]) -> Any:
    """The image of a part, in a shape that Step.screenshot takes; None where the part does not hold it."""
    part = {**part, **source} if isinstance(source := part.get("source"), Mapping) else part
    held = next((part[name] for name in ("image_url", "image", "url", "path") if part.get(name)), None)
    if held is None and isinstance(data := part.get("base64") or part.get("data"), str):
        return data if data.startswith("data:") else f"data:{_media_type(part)};base64,{data}"
    if isinstance(held, Mapping):
        return held.get("url") or (held if held.get("bytes") or held.get("path") else None)
    if isinstance(held, int | float | list | tuple):
        raise InputError(f"{place}: an image is a data URL or a path (it is a {type(held).__name__})")
    return held


def _media_type(part: Mapping[str, Any]) -> str:
    named = part.get("media_type") or part.get("mimeType")
    return named if isinstance(named, str) else "image/png"


def calls_of(message: Message) -> list[tuple[dict[str, Any], str]]:
    stored = _listed(message.fields.get("tool_calls") or [])
    if not isinstance(stored, list | tuple):
        raise InputError(f"{message.place}.tool_calls: must be a list (it is a {type(stored).__name__})")
    if not stored and "function_call" in message.fields:
        return [_call(f"{message.place}.function_call", message.fields["function_call"])]
    return [_call(f"{message.place}.tool_calls.{position}", call) for position, call in enumerate(stored)]


def _call(place: str, stored: Any) -> tuple[dict[str, Any], str]:
    """One call as keyword arguments of ToolCall, and as it is spelled."""
    if not isinstance(stored, Mapping):
        raise InputError(f"{place}: must be an object (it is a {type(stored).__name__})")
    nested = stored.get("function") or stored.get("custom")
    inner = nested if isinstance(nested, Mapping) else stored
    given = (inner[name] for name in _ARGUMENTS if inner.get(name) is not None)
    arguments = _mapping(next(given, None))
    name = text_of(f"{place}.name", inner.get("name"))
    number = None if stored.get("id") is None else text_of(f"{place}.id", stored["id"])
    spelled = ToolCall(name=name, arguments=text_of(f"{place}.arguments", arguments)).spelled
    return {"name": name, "arguments": arguments, "id": number}, spelled


def _listed(calls: Any) -> Any:
    """The list that a text of calls spells, as tables store it; anything else as it is."""
    if not isinstance(calls, str):
        return calls
    try:
        found = json.loads(calls)
    except (ValueError, RecursionError):
        return calls
    return found if isinstance(found, list) else [] if found is None else calls


def _mapping(arguments: Any) -> Any:
    """The mapping that a text of arguments spells; anything else as it is."""
    if not isinstance(arguments, str) or not arguments.strip().startswith("{"):
        return arguments
    for decode in (json.loads, _literal):
        try:
            found = decode(arguments)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            continue
        if isinstance(found, dict):
            return found
    return arguments


def _literal(text: str) -> Any:
    # An escape that Python does not know is a warning to its parser, and of no interest here.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value = ast.literal_eval(text.strip())
    # Sets, bytes and keys that are no text have no place in a record: what JSON cannot hold stays verbatim.
    return json.loads(json.dumps(value))
