"""A rough count of the tokens a prompt takes, for rate limits and for noticing a prompt cut by the server.

Four ASCII characters, or one and a half others, to a token: right within a factor of two for English and
Chinese, which is all that either use needs. Images count as nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

_ASCII_CHARS = 4.0
_OTHER_CHARS = 1.5


def estimate_tokens(messages: Iterable[Mapping[str, Any]]) -> int:
    """The tokens in the text of `messages`, roughly."""
    return int(sum(_tokens(text) for message in messages for text in _texts(message["content"])))


def _texts(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    return [part["text"] for part in content if part.get("type") == "text"]


def _tokens(text: str) -> float:
    plain = len(text) if text.isascii() else len(text.encode("ascii", "ignore"))
    return plain / _ASCII_CHARS + (len(text) - plain) / _OTHER_CHARS
