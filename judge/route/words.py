"""Routing by the words of an instruction.

The words are data (`cues` in the rubric files), English and Chinese; what negates them, joins them in a
sequence or makes them a mere means is grammar and stands here. No parsing: a cue is found as it is written.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

Cues = dict[str, dict[str, tuple[str, ...]]]
_Frozen = tuple[tuple[str, tuple[tuple[str, tuple[str, ...]], ...]], ...]

FALLBACK = "general"

# These describe a run as a whole and are no part of a sequence themselves.
_WHOLE = frozenset({FALLBACK, "composite_workflow", "tool_dialogue", "code_change"})


@dataclass(frozen=True, slots=True)
class Route:
    """A category, the cues that spoke for any category as (category, cue) in text order, and why it won."""

    category: str
    hits: tuple[tuple[str, str], ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class _Hit:
    position: int
    category: str
    cue: str
    is_means: bool


# Looking and going are a task of their own only where nothing is to be done with what is found there.
_MEANS = re.compile(
    r"(?:find|search|look|locate|check|open(?! an?\b)|go|navigate|visit|browse|view|sort|filter"
    r"|create a filter)\b(?! out)|查|搜索|找|打开|进入|前往|访问|浏览|排序|筛选"
)
# "the order", "in order to": a noun, and nothing that is asked for.
_DETERMINER = re.compile(
    r"\b(?:an?|the|my|your|his|her|its|our|their|this|that|these|those|each|every|any|in|of) $"
)
# "entries which ...", "would like": only what opens a clause asks something.
_OPENING = re.compile(
    r"(?:what|which|who|whose|where|how|does|did|(?:is|are|was|were) (?:the|it|this|that|my)|like)\b"
)
# "桌面上的截图": after 的 a verb is a noun. A question, or a thing that stands for its deed, is meant anyway.
_NOUN = re.compile("的$")
_MEANT = re.compile("哪|什么|谁|多少|几|是否|有没有|怎么|如何|闹钟|外卖")
_CLAUSE_START = re.compile(r"(?:^|[.,;:!?()] |\b(?:and|but|so|also) )(?:(?:in|at|on|from|to|by|for|of) )?$")
# What stands in quotation marks is content, not a request.
_QUOTED = re.compile(
    r'"[^"\n]{1,300}"|“[^”\n]{1,300}”|「[^」\n]{1,300}」|《[^》\n]{1,100}》|`[^`\n]{1,300}`'
    r"|(?<!\w)'[^'\n]{1,300}'(?!\w)"
)
_NEGATED = re.compile(
    r"(?:(?:\b(?:not|never|without|avoid|no need to|instead of|rather than)|n't)\b"
    # "Do not forget to" asks; and after "and" or "but", unlike "or", a new thing is asked for.
    r"(?! (?:forget|fail|hesitate|only)\b)"
    r"(?: (?!(?:and|but|just|then|instead|only)\b)[\w'-]+){0,4} ?"
    r"|(?:不要|不用|不必|不得|不能|无需|勿|禁止|避免|(?<![类分特级识区性个])别(?![人名的]))"
    r"(?!忘)[^，。；！？,.;!?\n而但然]{0,6})$"
)
# "not move, edit or delete": the commas of a list end no clause.
_NEGATED_LIST = re.compile(r"(?:\b(?:not|never)|n't)(?: \w+,)+(?: \w+)? (?:or|nor) \w+")
_SEQUENCE = re.compile(
    r"\b(?:then|afterwards?|after (?:that|which)|once (?:that|this|it) is done|followed by|finally|lastly)\b"
    r"|(?:^|\s)(?:step ?)?\d{1,2}[.):] |[①②③④⑤⑥]|然后|接着|随后|之后|最后|再把|再将|第[一二三四五六]步|\d、"
)
_WINDOW = 60


@dataclass(frozen=True, slots=True)
class _Lexicon:
    pattern: re.Pattern[str]
    owners: Mapping[str, tuple[str, ...]]


def by_words(instruction: str, cues: Cues) -> Route:
    """The category with the most distinct cues, "composite_workflow" for a sequence, else "general"."""
    return _by_words(instruction, tuple((category, tuple(words.items())) for category, words in cues.items()))


@lru_cache(maxsize=2048)
def _by_words(instruction: str, cues: _Frozen) -> Route:
    """The rollouts of a group share their instruction, so that most of them are answered from memory."""
    text = " ".join(_QUOTED.sub('""', instruction.lower().replace("’", "'")).split())
    found = list(_find_hits(text, _lexicon(cues)))
    hits = tuple(dict.fromkeys((hit.category, hit.cue) for hit in found))
    deeds = [hit for hit in found if not hit.is_means]
    if not found:
        return Route(FALLBACK, reason="no cue")
    if any(category == "composite_workflow" for category, _ in cues) and _in_sequence(text, deeds):
        return Route("composite_workflow", hits, "several kinds of action in sequence")
    strength = _strength(found)
    best = max(strength.values())
    leaders = [category for category, value in strength.items() if value == best]
    tie = "first of equal cues" if deeds else "where equal cues lead"
    return Route(leaders[0], hits, "most cues" if len(leaders) == 1 else tie)


def _find_hits(text: str, lexicon: _Lexicon) -> Iterator[_Hit]:
    denied = [match.span() for match in _NEGATED_LIST.finditer(text)]
    for match in lexicon.pattern.finditer(text):
        start, cue = match.start(), match[0]
        before = text[max(0, start - _WINDOW) : start]
        if _NEGATED.search(before) or any(left < start < right for left, right in denied):
            continue
        for category in lexicon.owners[cue]:
            if category in _WHOLE or _is_asked(cue, before):
                yield _Hit(start, category, cue, _MEANS.match(cue) is not None)


def _is_asked(cue: str, before: str) -> bool:
    """Whether a cue after the words `before` asks for something: a verb, or a question of its own."""
    if _OPENING.match(cue):
        return _CLAUSE_START.search(before) is not None
    if _NOUN.search(before):
        return _MEANT.match(cue) is not None
    return " " in cue or _DETERMINER.search(before) is None


def _strength(hits: Iterable[_Hit]) -> dict[str, tuple[int, int]]:
    """Per category: distinct cues of doing, and of any kind. First come those of doing in text order, then
    the means from the last to the first."""
    doing: dict[str, set[str]] = defaultdict(set)
    any_kind: dict[str, set[str]] = defaultdict(set)
    for hit in sorted(hits, key=lambda hit: (hit.is_means, hit.position * (-1 if hit.is_means else 1))):
        any_kind[hit.category].add(hit.cue)
        if not hit.is_means:
            doing[hit.category].add(hit.cue)
    return {category: (len(doing[category]), len(words)) for category, words in any_kind.items()}


def _in_sequence(text: str, deeds: list[_Hit]) -> bool:
    """Whether a word of sequence has actions of one kind before it and of another after it, or clauses of
    their own ask for three kinds."""
    actions = [hit for hit in deeds if hit.category not in _WHOLE]
    positions = [hit.position for hit in actions]
    if len({hit.category for hit in actions}) < 2:
        return False
    if len({hit.category for hit in actions if _CLAUSE_START.search(text[: hit.position])}) > 2:
        return True
    for joint in _SEQUENCE.finditer(text):
        middle = bisect_left(positions, joint.start())
        before = {hit.category for hit in actions[:middle]}
        after = {hit.category for hit in actions[middle:]}
        if before and after and before != after:
            return True
    return False


@lru_cache(maxsize=8)
def _lexicon(cues: _Frozen) -> _Lexicon:
    owners: dict[str, tuple[str, ...]] = {}
    languages: dict[str, set[str]] = {"en": set(), "zh": set()}
    for category, by_language in cues:
        for language, words in by_language:
            for word in words:
                cue = " ".join(word.lower().replace("’", "'").split())
                owners[cue] = tuple(dict.fromkeys((*owners.get(cue, ()), category)))
                languages[language].add(cue)
    whole_word = rf"(?<![a-z0-9_])(?<![a-z]-){_alternation(languages['en'])}(?![a-z0-9_]|[-.][a-z])"
    patterns = [whole_word] if languages["en"] else []
    patterns += [_alternation(languages["zh"])] if languages["zh"] else []
    return _Lexicon(re.compile("|".join(patterns) or r"(?!)"), owners)


def _alternation(words: Iterable[str]) -> str:
    """A pattern for any of `words`, the longest first.

    Factored letter by letter: a scan then tries one branch a letter where a flat list would try every word.
    """
    tails: dict[str, set[str]] = defaultdict(set)
    for word in words:
        if word:
            tails[word[0]].add(word[1:])
    if not tails:
        return ""
    branches = "|".join(re.escape(letter) + _alternation(rest) for letter, rest in sorted(tails.items()))
    return f"(?:{branches})" + ("?" if "" in words else "")
