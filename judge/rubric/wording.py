"""What a few words hold: values, names, formats, negations; and when two wordings are the same.

English and Chinese only, by pattern; in any other language a quote still counts where it holds digits, quoted
text, an address or an identifier.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_QUOTE_MARKS = str.maketrans({**dict.fromkeys("“”„‟«»「」『』《》〈〉", '"'), **dict.fromkeys("‘’‚‛‹›", "'")})

_STOP = re.compile(
    "a|an|the|this|that|these|those|it|its|i|me|my|we|our|you|your|he|she|they|his|her|their|them|is|are|was|were"
    "|be|been|being|am|do|does|did|done|have|has|had|will|would|shall|should|can|could|may|might|must|to|of|in|on"
    "|at|by|for|from|with|about|into|as|and|or|but|if|then|than|so|not|no|never|without|only|just|also|please"
    "|there|here|what|which|who|when|where|how|all|any|each|don't|doesn't|didn't|can't|cannot|shouldn't|won't"
)
_STOP_ZH = re.compile("(?:不要|不用|不得|不能|不可|不必|无需|没有|禁止|除了|[请别勿不只仅的了在和与是把将])+")
_CJK = re.compile("[\u3400-\u9fff]+")
_WORD = re.compile(r"[^\W_\u3400-\u9fff]+(?:'[^\W\d_]+)?")

_QUOTED = re.compile(r'"[^"]+"|`[^`]+`|(?<!\w)\'[^\']+\'(?!\w)')
ADDRESS = re.compile(
    r"[\w.+-]+@[\w-]+\.[\w.-]*\w|(?:https?://|www\.)[^\s\"'<>]*[\w/]|(?<![\w/])(?:~|\.{1,2})?/[\w.-]+[\w./-]*"
    r"|(?<![\w/])(?!(?:and/or|or/and|either/or|yes/no|he/she|his/her)\b)[a-z][\w.-]*/[\w./-]*\w",
    re.I | re.A,
)
IDENTIFIER = re.compile(
    r"#\w+|\b[a-z0-9]+(?:_[a-z0-9]+)+\b|\b[a-z]+[A-Z]\w*|\b[\w-]+\.[a-z][a-z0-9]{1,4}\b|\b[A-Z]+\d\w*|\b\d+[A-Z]\w*",
    re.A,
)
# Sentence starts are capitalised whatever stands there; "I" always is.
NAME = re.compile(r"(?<!^)(?<![.!?:;] )(?<![A-Za-z\"'])(?!I\b)[A-Z][A-Za-z]*|(?<![A-Za-z])[A-Z]{2,}(?![a-z])")
_NUMBER_WORD = (
    r"\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|hundred|thousand|once|twice|half)\b"
    r"|[二两三四五六七八九十百千万]+[个天次条份页张人元块点月日年周件封行列步篇名位段句字遍项]"
)
_FORMAT = (
    r"\b(?:json|csv|tsv|xml|ya?ml|pdf|html|latex|markdown|xlsx?|docx?|excel|png|jpe?g|format(?:ted)?|title|titled"
    r"|subject|heading|headline|bullet(?:ed|s)?|numbered|tables?|column|uppercase|lowercase|capital(?:s|ized)?|bold"
    r"|italics?|alphabetical(?:ly)?|ascending|descending|plain text|in english|in chinese)\b"
    "|标题|主题|格式|表格|列表|加粗|斜体|大写|小写|升序|降序|中文|英文|编号"
)
_NEGATION = (
    r"\b(?:not|never|without|no|none|nothing|nobody|neither|nor|except|excluding|unless|avoid|cannot|only)\b"
    r"|n't\b|\b(?:instead of|rather than)\b"
    "|不[要用得能可许必准含是]|(?<![类分特级识区性个])别(?![人名的])|勿|禁止|无需|没有|除了|除外|[只仅]"
)
_PLAIN_VALUE = re.compile(f"\\d|{_NUMBER_WORD}|{_FORMAT}|{_NEGATION}", re.I)


def plain(text: str) -> str:
    """`text` with compatibility forms (NFKC), quotation marks and white space made uniform; case is kept."""
    return " ".join(unicodedata.normalize("NFKC", text.translate(_QUOTE_MARKS)).split())


def fold(text: str) -> str:
    """`plain` without case: two texts that differ only in how they were typed are equal."""
    return plain(text).casefold()


@lru_cache(maxsize=4096)
def tokens(text: str) -> frozenset[str]:
    """The content words of a text, folded; Chinese as its character pairs. Coarse items recur, hence kept."""
    folded = fold(text)
    words = {word for word in _WORD.findall(folded) if not _STOP.fullmatch(word)}
    pairs = {run[i : i + 2] for run in _CJK.findall(folded) for i in range(max(1, len(run) - 1))}
    return frozenset(words | pairs)


def holds_value(text: str, start: int, end: int) -> bool:
    """Whether `text[start:end]`, of a `plain` text, is more than stop-words and holds something checkable.

    The words around are looked at too: a capital says nothing at the start of a sentence, and quotation marks
    may stand just outside.
    """
    quote = text[start:end]
    if _is_bare(quote):
        return False
    return bool(
        _PLAIN_VALUE.search(quote)
        or ADDRESS.search(quote)
        or IDENTIFIER.search(quote)
        or NAME.search(text, start, end)
        or _QUOTED.search(text, max(0, start - 1), end + 1)
    )


def _is_bare(quote: str) -> bool:
    words = _WORD.findall(quote.casefold())
    chinese = _STOP_ZH.sub("", "".join(_CJK.findall(quote)))
    return not chinese and all(_STOP.fullmatch(word) for word in words)
