"""The embedded judge's fine rubrics: what an instruction spells out, quoted."""

from __future__ import annotations

import re

_WORTH_QUOTING = (
    r"[\"“「《`][^\"”」》`\n]{2,60}[\"”」》`]|(?<!\w)'[^'\n]{2,60}'(?!\w)",
    r"\b[\w.+-]{1,64}@[\w-]+\.\w+|#\w+|\b[A-Z]+[-_]?\d[\w-]*|\b\w+_\d+\b|(?<![\w./-])[\w/]+\.[a-z]{2,4}\b"
    r"|[$€£¥] ?\d[\d.,]*\d|\b\d{4}-\d\d-\d\d|\d\d?月\d\d?日|\b\d[\d.,]{,9}?(?:\.\d\d\b| ?[%元])|\b\d\d?:\d\d"
    r"|\b[A-Z][a-z]+ \d\d?\b|\b\d+(?: [A-Z][a-z]+)+(?: \d{4})?\b|\b\d\d? ?[ap]m\b|(?<![\w.])\d{3,}\b(?!\.\d)",
    r"(?<![Yy]ou )(?<!I )(?i:\b(?:do not|don't|without|never) \w)[^.,;!?()\n]{3,60}"
    r"|(?:不要|不得|请勿)[^，。；！、\n]{1,30}",
)


def propose(instruction: str, forced: bool = False) -> list[dict[str, str]]:
    """At most two of: strings in quotation marks, then ids, amounts and dates, then prohibitions.

    Where two are `forced` and fewer found, the instruction's first and last words make up for them.
    """
    quotes: list[str] = []
    for match in (match for pattern in _WORTH_QUOTING for match in re.finditer(pattern, instruction)):
        quote = match[0].strip()
        if not any(quote in other or other in quote for other in quotes):
            quotes.append(quote)
    quotes += [instruction[:40].strip(), instruction[-40:].strip()] * forced
    return [{"quote": quote, "text": f"Heeds: {quote}."} for quote in quotes[:2]]
