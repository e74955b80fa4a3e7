"""A screenshot as a judge is told of it and shown it: what it is, with its bytes read when they go out."""

from __future__ import annotations

import hashlib
import os
import re
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any
from urllib.parse import unquote

_NO_PATH = re.compile(r"data:|(?!file://)\w+://|(?=.{256})(?:iVBORw0KGgo|/9j/|R0lGOD|UklGR)", re.DOTALL)
"""How a URL begins, or base64 text of a PNG, JPEG, GIF or WebP image."""

_LONGEST_PATH = 4096

_reading: dict[int, Lock] = {}
"""By process, because a lock that was held at a fork stays held in the child."""


def unpacked(screenshot: Any) -> Any:
    """What {"bytes", "path"} of a dataset or {"url"} of a chat message holds; anything else as it is."""
    if not isinstance(screenshot, Mapping):
        return screenshot
    held = (screenshot.get(key) for key in ("bytes", "url", "path"))
    return next((each for each in held if not is_absent(each)), None)


def is_absent(screenshot: Any) -> bool:
    """Whether a stored screenshot is none: null, blank, or a record without a value, as tables hold them."""
    if isinstance(screenshot, Mapping):
        return all(map(is_absent, screenshot.values()))
    return screenshot is None or (isinstance(screenshot, str | bytes) and not screenshot)


def named_file(screenshot: Any) -> str | None:
    """The path that a stored screenshot names; None where it holds the image itself, or is an address."""
    named = unpacked(screenshot)
    if isinstance(named, os.PathLike):
        return str(named)
    is_path = isinstance(named, str) and 0 < len(named) <= _LONGEST_PATH and not _NO_PATH.match(named)
    if not is_path:
        return None
    return unquote(named.removeprefix("file://")) if named.startswith("file://") else named


def is_image(screenshot: Any) -> bool:
    """A PIL image, known by what it can do: it may come where we have not imported Pillow."""
    return all(hasattr(screenshot, name) for name in ("tobytes", "getbands", "thumbnail"))


def pixel_digest(image: Any) -> str:
    """SHA-256 of what a PIL image shows, in hex. Raises all kinds of errors where it cannot be read."""
    # Pillow reads an image at its first use; two threads that do so at once spoil it for good.
    with _reading.setdefault(os.getpid(), Lock()):
        image.load()
    if image.mode in ("P", "PA"):
        # Its bytes are places in a palette.
        image = image.convert("RGBA")
    return hashlib.sha256(f"{image.mode} {image.size}".encode() + image.tobytes()).hexdigest()


@dataclass(frozen=True, slots=True)
class Picture:
    """What is known of one image. The bytes are not held here: `load` reads and scales them, each time.

    Attributes:
        media_type: such as "image/png"; "" where it could not be told.
        size: bytes as stored; None where nobody knows without encoding it.
        width, height: pixels as stored; None where the image was not opened.
        sha256: of the stored bytes, in hex; "" where they were not read.
        max_px: the longest side, in pixels, that it goes out with.
        load: what goes out, as (media type, bytes), or ValueError; None where the judge is told of it and
            not shown it.
        fault: why it cannot be shown; None where it can.
    """

    media_type: str = ""
    size: int | None = None
    width: int | None = None
    height: int | None = None
    sha256: str = ""
    max_px: int = 0
    load: Callable[[], tuple[str, bytes]] | None = field(default=None, repr=False, compare=False)
    fault: str | None = None

    @property
    def is_shown(self) -> bool:
        return self.load is not None

    @property
    def key(self) -> str:
        """What the image is to a cache: its stored bytes, and how large it goes out."""
        return f"sha256:{self.sha256} at most {self.max_px} px"

    @property
    def words(self) -> str:
        """Type, size in pixels and in bytes, as far as they are known; or what is wrong with it."""
        if self.fault is not None:
            return f"cannot be read: {self.fault}"
        pixels = f"{self.width} x {self.height} px" if self.width else ""
        size = "" if self.size is None else f"{self.size} bytes"
        return ", ".join(filter(None, (self.media_type or "image", pixels, size)))

    def data_url(self) -> str:
        """The image as it goes out. Reads and scales it: slow, and to be done where the URL is needed.

        Raises ValueError where it is not to be shown, or can no longer be read.
        """
        if self.load is None:
            raise ValueError("this picture is not to be shown")
        media_type, data = self.load()
        return f"data:{media_type};base64,{b64encode(data).decode('ascii')}"

    def logged(self) -> dict[str, Any]:
        """What a log keeps of an image that was shown."""
        names = ("sha256", "media_type", "size", "width", "height")
        return {name: getattr(self, name) for name in names}
