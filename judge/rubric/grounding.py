"""Fine items: which of those a judge proposed for one instruction may stand beside the coarse rubric.

A fine item points at something the instruction says, in the instruction's own words. It never raises the bar:
when in doubt it is dropped, because a missing hint costs little and an invented requirement fails right runs.
The examination is by pattern and knows English and Chinese; it cannot see a requirement that is added in
words found in neither list.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from judge.rubric.wording import ADDRESS, IDENTIFIER, NAME, fold, holds_value, plain, tokens
from judge.schema import RubricItem, clean_text

LIMIT = 2
"""How many fine items an instruction can have."""

_REPEAT_SHARE = 0.8

_QUOTED_VALUE = re.compile(r'"([^"]+)"|`([^`]+)`|(?<!\w)\'([^\']+)\'(?!\w)')
_NUMBER = re.compile(r"(?<![A-Za-z_])\d+(?:[.,:]\d+)*")
_NUMBER_WORDS = {
    **{
        "one": "1",
        "two": "2",
        "three": "3",
        "four": "4",
        "five": "5",
        "six": "6",
        "seven": "7",
        "eight": "8",
    },
    **{"nine": "9", "ten": "10", "eleven": "11", "twelve": "12", "dozen": "12", "once": "1", "twice": "2"},
    **{digit: str(number) for number, digit in enumerate("一二三四五六七八九十", 1)},
    "两": "2",
}
_NUMBER_WORD = re.compile(
    rf"\b(?:{'|'.join(word for word in _NUMBER_WORDS if word.isascii())})\b|[一二两三四五六七八九十]"
)

# What judges like to ask for and users seldom do.
_DEMAND = re.compile(
    r"\b(polite|courte|friendl|professional|empath|tone\b|apolog|thank|greet|confirm|clarif|explain|explan|justif"
    r"|summar|elaborat|detailed|comprehensive|thorough|concise|efficien|promptly|double-check|re-?check|verif"
    r"|screenshot|notif|acknowledg|permission|consent|backup|back up|best practice|well-format"
    r"|properly format|grammar|spelling)"
    "|(礼貌|友好|友善|专业|语气|道歉|感谢|问候|确认|澄清|解释|说明|理由|总结|详细|全面|简洁|高效|及时|核实|核对"
    "|截图|通知|告知|许可|备份|规范)"
)


def sift(
    items: Iterable[Any], instruction: str, coarse: Sequence[RubricItem] = ()
) -> list[tuple[Any, str | None]]:
    """Examine proposed fine items, `{"text", "quote"}` mappings, in order.

    Returns one pair per proposal: the RubricItem (ids fine_1, fine_2) and None where it is kept, else the
    proposal as given and the reason it was dropped: malformed, no_quote, quote_not_in_instruction,
    quote_holds_no_value, repeats_coarse (or a fine item kept before), adds_requirement, over_two.
    Never raises on account of what a proposal holds.
    """
    known = [tokens(item.text) for item in coarse]
    source = plain(instruction)
    kept: list[RubricItem] = []
    result: list[tuple[Any, str | None]] = []
    for proposal in items:
        reason = _fault(proposal, source, known, kept)
        if reason is None:
            kept.append(_fine_item(proposal, len(kept) + 1))
        result.append((kept[-1] if reason is None else proposal, reason))
    return result


def ground(items: Iterable[Any], instruction: str, coarse: Sequence[RubricItem] = ()) -> list[RubricItem]:
    """The proposed fine items that may be used: 0, 1 or 2, of kind "fine", with their quotes. See `sift`."""
    return [item for item, reason in sift(items, instruction, coarse) if reason is None]


def force(items: Iterable[Any]) -> list[RubricItem]:
    """The first two proposals that hold a text, grounded or not: for versions that forbid abstention."""
    proposals = (
        item
        for item in items
        if isinstance(item, Mapping) and isinstance(item.get("text"), str) and item["text"].strip()
    )
    return [
        _fine_item(proposal, position)
        for position, proposal in zip(range(1, LIMIT + 1), proposals, strict=False)
    ]


def _fault(proposal: Any, source: str, known: list[frozenset[str]], kept: list[RubricItem]) -> str | None:
    if not isinstance(proposal, Mapping):
        return "malformed"
    text, quote = proposal.get("text"), proposal.get("quote")
    if not isinstance(text, str) or not text.strip() or not isinstance(quote, str | None):
        return "malformed"
    if not quote or not fold(quote):
        return "no_quote"
    return (
        _quote_fault(quote, source)
        or _repeats(text, known, kept)
        or ("adds_requirement" if _adds(text, source) else None)
        or ("over_two" if len(kept) == LIMIT else None)
    )


def _quote_fault(quote: str, source: str) -> str | None:
    folded, wanted = source.casefold(), fold(quote)
    start = folded.find(wanted)
    if start < 0:
        return "quote_not_in_instruction"
    # A few letters (ß, İ) fold to two, and then positions in the two texts differ.
    text = source if len(folded) == len(source) else folded
    return None if holds_value(text, start, start + len(wanted)) else "quote_holds_no_value"


def _repeats(text: str, known: list[frozenset[str]], kept: list[RubricItem]) -> str | None:
    words = tokens(text)
    twice = any(fold(text) == fold(item.text) for item in kept)
    if twice or any(len(words & coarse) >= _REPEAT_SHARE * len(words) for coarse in known):
        return "repeats_coarse"
    return None


def _adds(text: str, source: str) -> bool:
    folded = source.casefold()
    if any(value not in folded for value in _values(plain(text))):
        return True
    if not _numbers(plain(text)) <= _numbers(source) | _numbers_in_words(folded):
        return True
    return any((match[1] or match[2]) not in folded for match in _DEMAND.finditer(fold(text)))


def _values(text: str) -> Iterator[str]:
    """Quoted strings, addresses, identifiers and names in a text, folded; an item must not bring its own."""
    for match in _QUOTED_VALUE.finditer(text):
        yield (match[1] or match[2] or match[3]).strip(" .,;:!?").casefold()
    for pattern in (ADDRESS, IDENTIFIER, NAME):
        for match in pattern.finditer(text):
            yield match[0].casefold()


def _numbers(text: str) -> set[str]:
    return {_canonical(match) for match in _NUMBER.findall(text)}


def _numbers_in_words(folded: str) -> set[str]:
    return {_NUMBER_WORDS[word] for word in _NUMBER_WORD.findall(folded)}


def _canonical(number: str) -> str:
    """One spelling for one number: 1,000 and 1000, 85.50 and 85.5; clock times and versions as they are."""
    digits = number.replace(",", "")
    if ":" in digits or digits.count(".") > 1:
        return digits
    return format(Decimal(digits).normalize(), "f")


def _fine_item(proposal: Mapping[str, Any], position: int) -> RubricItem:
    return RubricItem(
        id=f"fine_{position}",
        text=clean_text(proposal["text"].strip()),
        kind="fine",
        quote=clean_text(str(proposal.get("quote") or "").strip()) or None,
    )
