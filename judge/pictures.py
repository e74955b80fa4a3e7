"""Screenshots in all the shapes they are stored in → Pictures: checked, described, scaled when they go out.

A screenshot is a path, a data URL, base64 text, bytes, a PIL image, {"bytes", "path"} of a dataset or {"url"}
of a chat message. Nothing is fetched: an http address is a fault of the record. Pillow (extra `vision`)
opens them; without it a picture can be told of by type and size, and not shown.
"""

from __future__ import annotations

import hashlib
import os
from base64 import b64decode
from collections.abc import Callable
from functools import cache, lru_cache, partial
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import unquote, unquote_to_bytes

from judge.schema import Picture
from judge.schema.picture import is_image, named_file, pixel_digest, unpacked

__all__ = ["can_show", "mention", "same", "show"]

_SIGNATURES = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF8": "image/gif",
    b"BM": "image/bmp",
    b"II*\x00": "image/tiff",
    b"MM\x00*": "image/tiff",
}
_SIGNATURE_BYTES = 16
_SENT_AS = {"image/png": "PNG", "image/jpeg": "JPEG", "image/webp": "WEBP"}
"""What endpoints commonly take; anything else goes out as PNG."""

_JPEG_QUALITY = 85
_MOST_PIXELS = 50_000_000
"""A small file can claim any number of them, and opening it would take the memory for all."""


@cache
def can_show() -> bool:
    """Whether pictures can be opened here, which takes Pillow."""
    return find_spec("PIL") is not None


def mention(screenshot: Any) -> Picture:
    """A picture the judge is told of by type and size; of a file, only its first bytes are read."""
    try:
        if path := _path(screenshot):
            with path.open("rb") as file:
                head = file.read(_SIGNATURE_BYTES)
                return Picture(_media_type(head), os.fstat(file.fileno()).st_size)
        if is_image(screenshot):
            return Picture("image", width=screenshot.width, height=screenshot.height)
        data = _bytes(screenshot)
    except (OSError, ValueError) as error:
        return Picture(fault=_why(error))
    return Picture(_media_type(data[:_SIGNATURE_BYTES]), len(data))


def show(screenshot: Any, max_px: int) -> Picture:
    """A picture the judge is shown, scaled so that no side is longer than `max_px` pixels.

    It is opened once to see that it is whole, and again whenever it goes out: `load` raises ValueError where
    that is no longer possible, or the content is no longer the same. One that cannot be read, or is cut
    short, has a `fault` and is not shown.
    """
    if path := _path(screenshot):
        try:
            seen = path.stat()
        except (OSError, ValueError) as error:
            return Picture(fault=_why(error))
        return _of_file(path, seen.st_mtime_ns, seen.st_size, max_px)
    if is_image(screenshot):
        return _of_image(screenshot, max_px)
    return _of_bytes(lambda: _bytes(screenshot), max_px)


def same(one: Any, other: Any) -> bool:
    """Whether two screenshots show the same, byte for byte; what cannot be read is like nothing else."""
    if one is None or other is None:
        return one is other
    if one is other or (type(one) is type(other) is str and one == other):
        return True
    try:
        return _content(one) == _content(other)
    # Everything, because Pillow's plugins raise all kinds of errors on a damaged image.
    except Exception:
        return False


@lru_cache(maxsize=4096)
def _of_file(path: Path, changed_ns: int, size: int, max_px: int) -> Picture:
    """Once for each state of a file: one run is shown to several judges, or several times."""
    return _of_bytes(path.read_bytes, max_px)


def _of_bytes(read: Callable[[], bytes], max_px: int) -> Picture:
    from PIL import Image

    try:
        data = read()
        with Image.open(BytesIO(data)) as image:
            media_type = image.get_format_mimetype() or "image"
            width, height = image.size
            if width * height > _MOST_PIXELS:
                raise ValueError(f"{width} x {height} px is more than any screenshot has")
            # Reads all of the file, at an eighth of the pixels where the format can.
            image.draft("L", (width // 8 or 1, height // 8 or 1))
            image.load()
    # Everything, as in `same`.
    except Exception as error:
        return Picture(fault=_why(error))
    is_sent_as_stored = media_type in _SENT_AS and max(width, height) <= max_px
    digest = hashlib.sha256(data).hexdigest()
    again = partial(_unchanged, read, digest)
    encode = partial(_stored, again, media_type) if is_sent_as_stored else partial(_scaled, again, max_px)
    return Picture(media_type, len(data), width, height, digest, max_px, partial(_going_out, encode))


def _of_image(image: Any, max_px: int) -> Picture:
    try:
        if not image.width * image.height:
            raise ValueError("an image without pixels")
        digest = pixel_digest(image)
    # Everything: an image that was opened and not yet loaded is only read here.
    except Exception as error:
        return Picture(fault=_why(error))
    load = partial(_going_out, partial(_encoded, image, max_px, "image/png"))
    return Picture("image/png", None, image.width, image.height, digest, max_px, load)


def _going_out(encode: Callable[[], tuple[str, bytes]]) -> tuple[str, bytes]:
    try:
        return encode()
    # Everything, as in `same`.
    except Exception as error:
        raise ValueError(_why(error)) from None


def _unchanged(read: Callable[[], bytes], digest: str) -> bytes:
    """The stored bytes again. A file written over since is not what the cache and the log know it as."""
    data = read()
    if hashlib.sha256(data).hexdigest() != digest:
        raise ValueError("its content has changed")
    return data


def _stored(read: Callable[[], bytes], media_type: str) -> tuple[str, bytes]:
    return media_type, read()


def _scaled(read: Callable[[], bytes], max_px: int) -> tuple[str, bytes]:
    from PIL import Image

    with Image.open(BytesIO(read())) as image:
        media_type = image.get_format_mimetype() or ""
        return _encoded(image, max_px, media_type if media_type in _SENT_AS else "image/png")


def _encoded(image: Any, max_px: int, media_type: str) -> tuple[str, bytes]:
    kept = image.mode if image.mode in ("L", "RGB", "RGBA") else "RGBA" if "A" in image.getbands() else "RGB"
    if media_type == "image/jpeg" and kept == "RGBA":
        kept = "RGB"
    image = image.convert(kept)
    image.thumbnail((max_px, max_px))
    out = BytesIO()
    image.save(out, _SENT_AS[media_type], **({"quality": _JPEG_QUALITY} if media_type != "image/png" else {}))
    return media_type, out.getvalue()


def _content(screenshot: Any) -> str:
    if is_image(screenshot):
        return pixel_digest(screenshot)
    path = _path(screenshot)
    return hashlib.sha256(path.read_bytes() if path else _bytes(screenshot)).hexdigest()


def _path(screenshot: Any) -> Path | None:
    named = named_file(screenshot)
    return None if named is None else Path(named)


def _bytes(screenshot: Any) -> bytes:
    """The image a screenshot holds. Raises ValueError that says why it holds none."""
    screenshot = unpacked(screenshot)
    if isinstance(screenshot, bytes | bytearray | memoryview):
        return bytes(screenshot)
    if not isinstance(screenshot, str):
        raise ValueError(f"a {type(screenshot).__name__} is no image, path, data URL or bytes")
    if screenshot.startswith("data:"):
        head, comma, data = screenshot.partition(",")
        if not comma:
            raise ValueError("a data URL without data")
        return _decoded(data) if head.endswith(";base64") else unquote_to_bytes(data)
    if "://" in screenshot[:_SIGNATURE_BYTES]:
        raise ValueError("images are not fetched from the network: store a path or the image itself")
    return _decoded(screenshot)


def _decoded(text: str) -> bytes:
    """Base64 as browsers take it: encoders break its lines and leave out its padding, URLs spell = as %3D."""
    packed = "".join((unquote(text) if "%" in text else text).split())
    return b64decode(packed + "=" * (-len(packed) % 4), validate=True)


def _media_type(head: bytes) -> str:
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    return next((name for start, name in _SIGNATURES.items() if head.startswith(start)), "unknown type")


def _why(error: Exception) -> str:
    """The reason without the path: a judge has no use for it, and a log none either."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    name = type(error).__name__
    return "no image that Pillow knows" if name == "UnidentifiedImageError" else str(error) or name
