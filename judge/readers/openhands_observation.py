"""What an observation of OpenHands says: its text, its images, whether it is a failure, and of which page.

- Images are data URLs, the screenshots of older records bare base64: `screenshot`, else `set_of_marks` (that
  page with its elements numbered); `image_urls` and ![image](data:...) of a cell; an image file that was
  read; image parts in the JSON of an MCP result. "(image)" keeps its place in the text.
- A PDF or film that was read is named and not shown.
- Not read: `screenshot_path`, which lies in the sandbox, and `goal_image_urls`, which the user's message has.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from judge.errors import InputError
from judge.readers.chat import text_of
from judge.readers.dialogue import joined

PLACE = "(image)"
"""What keeps the place of an image in a text."""

_BASE64 = {"iVBORw0KGgo": "image/png", "/9j/": "image/jpeg", "UklGR": "image/webp", "R0lGOD": "image/gif"}
"""How base64 text of an image begins → what it is."""

_IN_A_CELL = re.compile(r"!\[image\]\((data:image/[\w.+-]+;base64,[\w+/=\s]+)\)")
_WHOLE_FILE = re.compile(r"data:([\w.+-]+/[\w.+-]+);base64,[\w+/=\s]*")


@dataclass(frozen=True)
class Observed:
    """The text with its images aside, and `signals`: fields of the step besides (error, state)."""

    text: str
    images: list[str]
    signals: dict[str, Any]


def observed(event: Mapping[str, Any], extras: Mapping[str, Any], place: str) -> Observed:
    """Raises InputError that begins with `place`, where a field has another shape than it must have."""
    kind, content = event["observation"], text_of(f"{place}.content", event.get("content"))
    text, images = _apart(kind, content)
    images = [*images, *_screenshot(extras), *image_urls(extras, f"{place}.extras")]
    return Observed(
        joined([text, exit_code(extras)]), list(dict.fromkeys(images)), _signals(kind, text, extras)
    )


def image_urls(fields: Mapping[str, Any], place: str) -> list[str]:
    """The images of a message's `args` or a cell's `extras`; a blank one is none, as it is to OpenHands."""
    name = "image_urls" if fields.get("image_urls") is not None else "images_urls"
    stored = fields.get(name) or []
    if not isinstance(stored, list) or not all(isinstance(each, str | None) for each in stored):
        raise InputError(f"{place}.{name}: must be a list of data URLs")
    return [url for url in stored if url and url.strip()]


def _apart(kind: str, text: str) -> tuple[str, list[str]]:
    """The text of an observation without the images in it, and these."""
    if kind == "run_ipython":
        return _IN_A_CELL.sub(PLACE, text), _IN_A_CELL.findall(text)
    if kind == "read" and (file := _WHOLE_FILE.fullmatch(text)):
        return (PLACE, [text]) if file[1].startswith("image/") else (f"({file[1]}: not shown)", [])
    return _of_mcp(text) if kind == "mcp" else (text, [])


def _of_mcp(text: str) -> tuple[str, list[str]]:
    try:
        result = json.loads(text)
    except (ValueError, RecursionError):
        return text, []
    parts = result.get("content") if isinstance(result, dict) else None
    images = []
    for part in parts if isinstance(parts, list) else ():
        if isinstance(part, dict) and part.get("type") == "image" and isinstance(part.get("data"), str):
            images.append(f"data:{part.get('mimeType') or 'image/png'};base64,{part['data']}")
            part["data"] = PLACE
    return (text_of("content", result), images) if images else (text, [])


def _screenshot(extras: Mapping[str, Any]) -> list[str]:
    shots = (data_url(extras.get(name)) for name in ("screenshot", "set_of_marks"))
    return list(filter(None, shots))[:1]


def data_url(stored: Any) -> str:
    """A screenshot stored as a data URL or as bare base64; "" for anything else."""
    if not isinstance(stored, str):
        return ""
    if stored.startswith("data:image/"):
        return stored
    known = next((media_type for start, media_type in _BASE64.items() if stored.startswith(start)), "")
    return known and f"data:{known};base64,{stored}"


def exit_code(extras: Mapping[str, Any]) -> str:
    """A note of an exit code that is not zero, where there is one."""
    code, metadata = extras.get("exit_code"), extras.get("metadata")
    if code is None and isinstance(metadata, Mapping):
        code = metadata.get("exit_code")
    return f"(exit code {code})" if isinstance(code, int) and code else ""


def _signals(kind: str, text: str, extras: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    refused = kind in ("edit", "read") and text.startswith("ERROR:\n")
    if kind == "error" or extras.get("error") is True or refused:
        found["error"] = True
    if isinstance(url := extras.get("url"), str):
        found["state"] = url
    return found
