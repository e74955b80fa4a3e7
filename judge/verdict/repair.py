"""Near-JSON to an object, as the last resort and only for a reply that is one object in intent.

Covered: full-width punctuation, raw control characters, and whatever json_repair mends, as long as no key of
the text is lost on the way. A reply that is not enclosed in braces, or is too large, is left alone.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Collection
from typing import Any

from judge.errors import JudgeError
from judge.verdict.strict import NOT_JSON, decode

# json_repair is quadratic in nesting: within these bounds hostile text costs milliseconds.
_MAX_CHARS = 32_768
_MAX_OPENINGS = 1_000

_STRINGS = re.compile(r'("[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|“[^“”]*”)', re.DOTALL)


def is_one_object(text: str) -> bool:
    """Whether the reply, by its first and last character, is one object and complete."""
    return text[:1] in ("{", "｛") and text[-1:] in ("}", "｝")


def repair(text: str, keys: Collection[str]) -> dict[str, Any]:
    """The object that broken `text` was meant to be.

    Raises JudgeError: parse_error where there is none; ambiguous_verdict where one of `keys` occurs more
    often in the text than in the result, so that mending would choose between two values.
    """
    text = _halfwidth(text)
    fields = decode(text, raw_controls=True)
    if fields is NOT_JSON:
        fields = _mended(text)
        for key in keys:
            if _written(text, key) > _held(fields, key):
                raise JudgeError("ambiguous_verdict", f"broken JSON that may give {key!r} twice")
    if not isinstance(fields, dict):
        raise JudgeError("parse_error", "broken JSON that cannot be read as one object")
    return fields


def _halfwidth(text: str) -> str:
    """`text` with full-width signs outside of strings made ASCII, and “…” strings put in plain quotes."""
    if text.isascii():
        return text
    pieces = _STRINGS.split(text)
    pieces[0::2] = [unicodedata.normalize("NFKC", piece) for piece in pieces[0::2]]
    pieces[1::2] = [_plain_quotes(piece) for piece in pieces[1::2]]
    return "".join(pieces)


def _plain_quotes(string: str) -> str:
    return string if string.startswith('"') else json.dumps(string[1:-1], ensure_ascii=False)


def _mended(text: str) -> Any:
    if len(text) > _MAX_CHARS or sum(map(text.count, "{[(")) > _MAX_OPENINGS:
        raise JudgeError("parse_error", "broken JSON, and too large to be repaired")
    # Slow to load, and a judge with structured output never needs it.
    import json_repair

    try:
        return json_repair.loads(text, skip_json_loads=True)
    except (ValueError, LookupError, RecursionError) as error:
        raise JudgeError("parse_error", f"broken JSON that cannot be repaired: {error}") from None


def _written(text: str, key: str) -> int:
    pattern = rf"""(?<!\w){re.escape(key)}\\?["'”’]?\s{{0,9}}[:：]"""
    return len(re.findall(pattern, text, re.IGNORECASE))


def _held(value: Any, key: str) -> int:
    count, pending = 0, [value]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            count += key in value
            pending.extend(value.values())
        elif isinstance(value, list):
            pending.extend(value)
    return count
