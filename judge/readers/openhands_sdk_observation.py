"""What an observation of OpenHands' SDK says: its text, its images, and whether it is a failure.

- `content` is a text or a list of text and image parts, the latter with data URLs in `image_urls`; older
  observations have `output` and `error`, some only fields of their own, which are shown as their JSON. The
  screenshot of a page is bare base64 in `screenshot_data`. A text of images alone is "(image)".
- An exit code that is not zero stands under the output, and is no failure.
- The result of an ACPToolCallEvent is its `content`, else its `raw_output`; "failed" is its failure too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from judge.errors import InputError
from judge.readers.chat import text_of
from judge.readers.dialogue import joined
from judge.readers.openhands_observation import PLACE, Observed, data_url, exit_code, image_urls

_SAYING = ("content", "output", "error")


def content_of(value: Any, place: str) -> tuple[str, list[str]]:
    """The text and the images of a text, of a part, or of a list of them; null is none at all.

    Raises InputError that begins with `place` for anything else.
    """
    if value is None or isinstance(value, str):
        return text_of(place, value), []
    if isinstance(value, Mapping):
        return _part(value, place)
    if not isinstance(value, list):
        raise InputError(f"{place}: must be text or a list of parts (it is a {type(value).__name__})")
    texts, images = [], list[str]()
    for position, part in enumerate(value):
        at = f"{place}.{position}"
        if not isinstance(part, str | Mapping):
            raise InputError(f"{at}: must be text or an object (it is a {type(part).__name__})")
        text, shown = content_of(part, at)
        texts.append(text)
        images += shown
    return "\n".join(filter(None, texts)), images


def _part(part: Mapping[str, Any], place: str) -> tuple[str, list[str]]:
    if part.get("type") not in ("text", "image", None):
        raise InputError(f"{place}.type: {str(part['type'])[:40]!r} is unknown; known are text, image")
    return text_of(f"{place}.text", part.get("text")), image_urls(part, place)


def result_of(seen: Mapping[str, Any], place: str) -> Observed:
    """What the tool's `observation` says. Raises InputError that begins with `place`."""
    text, images = content_of(seen.get("content"), f"{place}.content")
    images += filter(None, [data_url(seen.get("screenshot_data"))])
    kind, failure = seen.get("kind"), seen.get("error")
    texts = [text, text_of(f"{place}.output", seen.get("output"))]
    texts.append(failure if isinstance(failure, str) else "")
    failed = seen.get("is_error") is True or failure is True or bool(texts[-1].strip())
    if str(kind).endswith("FinishObservation") and not failed:
        texts = []
    elif all(name not in seen for name in _SAYING):
        texts = [text_of(place, {name: seen[name] for name in seen if name not in ("kind", "metadata")})]
    told = joined([*texts, exit_code(seen)]) or (PLACE if images else "")
    return Observed(told, list(dict.fromkeys(images)), {"error": True} if failed else {})


def result_of_call(event: Mapping[str, Any], place: str) -> Observed:
    """What came back to an ACPToolCallEvent. Raises InputError that begins with `place`."""
    blocks = event.get("content")
    if not isinstance(blocks, list) or not blocks:
        texts, images = [text_of(f"{place}.raw_output", event.get("raw_output"))], []
    else:
        parts = [_block(block, f"{place}.content.{at}") for at, block in enumerate(blocks)]
        texts, images = [text for text, _ in parts], [image for _, image in parts if image]
    failed = event.get("is_error") is True or event.get("status") == "failed"
    return Observed("\n".join(filter(None, texts)), images, {"error": True} if failed else {})


def _block(block: Any, place: str) -> tuple[str, str]:
    """The text and the image of a block of content; a diff or a terminal is shown as its JSON."""
    if isinstance(block, Mapping) and isinstance(inner := block.get("content"), Mapping):
        block, place = inner, f"{place}.content"
    kind = block.get("type") if isinstance(block, Mapping) else None
    if kind == "image" and isinstance(block.get("data"), str):
        media_type = block.get("mime_type") or block.get("mimeType") or "image/png"
        return PLACE, f"data:{media_type};base64,{block['data']}"
    return text_of(place, block.get("text") if kind == "text" else block), ""
