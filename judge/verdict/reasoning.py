"""Where a reply's reasoning block ends and its answer begins.

Tags of any case, nested, unopened (the chat template opened it) and unclosed (the reply was cut). Reasoning
that the endpoint already moved to a field of its own never gets here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_NAMES = "think|thinking|thoughts?|reasoning|reflection|analysis|scratchpad"
_OPENING = re.compile(rf"<(?:\w{{1,16}}:)?(?:{_NAMES})(?:\s[^<>]*)?>|\[think\]|◁think▷", re.IGNORECASE)
_CLOSING = re.compile(rf"<\s*/\s*(?:\w{{1,16}}:)?(?:{_NAMES})\s*>|\[/think\]|◁/think▷", re.IGNORECASE)
_JSON_AHEAD = re.compile(r"\s*(?:\{|```)")


def has_reasoning(text: str) -> bool:
    """Whether any reasoning tag, opening or closing, occurs in the text."""
    return bool(_CLOSING.search(text) or _OPENING.search(text))


def answers(text: str) -> Iterator[str]:
    """What may be the answer: first the readings that hold only as one whole JSON, last the cut itself.

    The cut is what follows the last closing tag, up to a tag that is opened there and never closed. It is
    not always right, since a later closing tag may stand inside a string of the answer.
    """
    start = 0
    for closing in _CLOSING.finditer(text):
        start = closing.end()
        if _JSON_AHEAD.match(text, start):
            yield text[start:].strip()
    unclosed = _OPENING.search(text, start)
    yield text[start : unclosed.start() if unclosed else None].strip()
