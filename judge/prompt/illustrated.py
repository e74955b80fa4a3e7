"""Pictures in their places: a user message in parts, each picture where the record of its step ends."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

from judge.prompt.record import render_run
from judge.schema import Content, Picture

Message = dict[str, Any]


def marks_of(content: Content) -> dict[int, str]:
    """For each step whose picture is shown, the line of text that keeps its place.

    The mark holds a hash of the record, hashed again while it stands in it: no step can place a picture.
    """
    pictured = [frame for frame in content.frames if frame.screenshot is not None]
    shown = [frame.index for frame in pictured if _is_shown(frame.screenshot)]
    if not shown:
        return {}
    record = "\n".join([render_run(content), content.instruction, *content.context.values()])
    code = _code(record)
    while code in record:
        code = _code(code)
    return {index: f"[picture {code} of step {index}]" for index in shown}


def illustrated(
    messages: Sequence[Mapping[str, Any]], content: Content, marks: Mapping[int, str]
) -> tuple[Message, ...]:
    """The messages with the last one split at the marks, and the pictures in between; as they are without."""
    if not marks:
        return tuple(map(dict, messages))
    *before, last = map(dict, messages)
    pictures = {marks[frame.index]: frame.screenshot for frame in content.frames if frame.index in marks}
    pieces = re.split(f"({'|'.join(map(re.escape, pictures))})", last["content"])
    parts = [_part(piece, pictures) for piece in pieces]
    return (*before, {**last, "content": parts})


def _part(piece: str, pictures: Mapping[str, Any]) -> Message:
    if piece in pictures:
        return {"type": "image_url", "image_url": {"url": pictures[piece]}}
    return {"type": "text", "text": piece}


def _is_shown(screenshot: Any) -> bool:
    return isinstance(screenshot, Picture) and screenshot.is_shown


def _code(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]
