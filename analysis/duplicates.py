"""Instructions that ask the same thing: repeats among tasks, and tasks that leak from an evaluation.

Covers three kinds, each wider than the one before. exact: equal texts (or instruction hashes) after Unicode
NFKC, case and white-space folding. template: equal word for word once numbers, quoted values and names are
masked. near: the Jaccard similarity of their masked shingles is at least a threshold. A name is a capitalised
word within a sentence, so that German nouns are masked as well, and names in lower case are not. Not covered:
paraphrases and translations, which share no words.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import pandas as pd

__all__ = ["KINDS", "SIMILARITY", "Instruction", "find_duplicates", "find_leaks"]

KINDS = ("exact", "template", "near")
"""How two instructions are alike, the closest first."""

SIMILARITY = 0.7
"""The least Jaccard similarity, in (0, 1], at which two instructions count as near."""

_MASK = "*"
_SHINGLE = 2
_ROUNDING = 1e-9

# Scripts written without spaces: each character is a word of its own.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_TOKEN = re.compile(
    r"(?P<quoted>\"[^\"\n]+\"|“[^”\n]+”|«[^»\n]+»|「[^」\n]+」)"
    rf"|(?P<char>[{_UNSPACED}])|(?P<word>(?:(?![{_UNSPACED}])\w)+)|(?P<stop>[.!?:;。\n])"
)
_DIGIT = re.compile(r"\d")


class Instruction(NamedTuple):
    """What a task asks: its text where that is known, and else the instruction_hash of the log."""

    name: str
    text: str | None = None
    hash: str | None = None


class _Match(NamedTuple):
    name: str
    kind: str
    similarity: float


class _Document(NamedTuple):
    """An instruction made ready: what it equals exactly, its masked text, and the shingles of that."""

    name: str
    keys: tuple[str, ...]
    masked: str = ""
    shingles: frozenset[str] = frozenset()


def find_duplicates(tasks: Iterable[Instruction], similarity: float = SIMILARITY) -> pd.DataFrame:
    """One row for each task that repeats an earlier one, in the order of the tasks.

    Columns: task_id, duplicate_of (the first task of this kind), kind (one of KINDS, the closest that holds)
    and similarity (Jaccard, in [0, 1]; 1 for the kinds exact and template). Leaving out the rows of a kind
    and of the closer ones leaves no two tasks that are alike in it. Near ones are compared with the tasks
    that repeat none. A task without a text is known by its hash alone, and without either is no duplicate.

    Raises ValueError for a similarity outside (0, 1].

    Source: shingles and resemblance as in Broder (1997); that sets this similar share one of their rarest
    members, so that few are compared and none is missed, is prefix filtering (Chaudhuri, Ganti and Kaushik
    2006; Bayardo, Ma and Srikant 2007).
    """
    documents = [_document(task) for task in tasks]
    seen, rows = _Seen(similarity, documents), []
    for document in documents:
        found = seen.match(document)
        seen.add(document, found.kind if found else None)
        if found:
            rows.append((document.name, *found))
    return _table(rows, "duplicate_of")


def find_leaks(
    tasks: Iterable[Instruction], evaluation: Iterable[Instruction], similarity: float = SIMILARITY
) -> pd.DataFrame:
    """One row for each task that is like one of the evaluation's, with the closest of them.

    Columns as in `find_duplicates`, with evaluation_task for duplicate_of; of equally similar ones the first.
    Raises ValueError for a similarity outside (0, 1].
    """
    kept_out = [_document(task) for task in evaluation]
    training = [_document(task) for task in tasks] if kept_out else []
    seen = _Seen(similarity, [*training, *kept_out])
    for document in kept_out:
        seen.add(document)
    matches = ((document.name, seen.match(document)) for document in training)
    return _table([(name, *found) for name, found in matches if found], "evaluation_task")


def _table(rows: Sequence[tuple[str, str, str, float]], other: str) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["task_id", other, "kind", "similarity"])


class _Seen:
    """Instructions by all that others can be like them in."""

    def __init__(self, similarity: float, documents: Iterable[_Document]) -> None:
        self._exact: dict[str, str] = {}
        self._templates: dict[str, str] = {}
        self._near = _Near(similarity, documents)

    def match(self, document: _Document) -> _Match | None:
        for key in document.keys:
            if key in self._exact:
                return _Match(self._exact[key], "exact", 1.0)
        if not document.masked:
            return None
        if document.masked in self._templates:
            return _Match(self._templates[document.masked], "template", 1.0)
        return self._near.match(document)

    def add(self, document: _Document, like: str | None = None) -> None:
        """`like` is the kind of its match: one that is there stands for it in this and the wider kinds."""
        for key in document.keys:
            self._exact.setdefault(key, document.name)
        if not document.masked or like in ("exact", "template"):
            return
        is_new = self._templates.setdefault(document.masked, document.name) == document.name
        if is_new and like is None:
            self._near.add(document)


class _Near:
    """An inverted index of the rarest shingles of each set: as many as a similar set cannot all lack."""

    def __init__(self, similarity: float, documents: Iterable[_Document]) -> None:
        if not 0 < similarity <= 1:
            raise ValueError(f"similarity is {similarity}; it must lie in (0, 1]")
        self._least = similarity
        distinct = {document.masked: document.shingles for document in documents}
        self._frequency = Counter(chain.from_iterable(distinct.values()))
        self._prefixes = {masked: self._rarest(shingles) for masked, shingles in distinct.items()}
        self._added: list[_Document] = []
        # Shingle → size of a set → its place among those added, and how many of its shingles follow.
        self._postings: dict[str, dict[int, list[tuple[int, int]]]] = {}

    def add(self, document: _Document) -> None:
        size = len(document.shingles)
        for rank, shingle in enumerate(self._prefixes[document.masked]):
            of_size = self._postings.setdefault(shingle, {}).setdefault(size, [])
            of_size.append((len(self._added), size - rank))
        self._added.append(document)

    def match(self, document: _Document) -> _Match | None:
        """The most similar of those added, of equals the first."""
        compared = ((self._similarity(at, document), -at) for at in self._candidates(document))
        similarity, at = max(compared, default=(0.0, 0))
        return _Match(self._added[-at].name, "near", similarity) if similarity >= self._least else None

    def _candidates(self, document: _Document) -> set[int]:
        """Those that share a shingle after which both have enough others left to be similar."""
        size, found = len(document.shingles), set[int]()
        for left, shingle in zip(range(size, 0, -1), self._prefixes[document.masked], strict=False):
            for other_size, added in self._postings.get(shingle, {}).items():
                needed = self._least / (1 + self._least) * (size + other_size) - _ROUNDING
                if left >= needed:
                    found.update(at for at, other_left in added if other_left >= needed)
        return found

    def _similarity(self, at: int, document: _Document) -> float:
        ours, others = document.shingles, self._added[at].shingles
        shared = len(ours & others)
        return shared / (len(ours) + len(others) - shared)

    def _rarest(self, shingles: frozenset[str]) -> list[str]:
        enough = len(shingles) - math.ceil(self._least * len(shingles) - _ROUNDING) + 1
        return sorted(shingles, key=lambda shingle: (self._frequency[shingle], shingle))[:enough]


def _document(task: Instruction) -> _Document:
    hashes = () if task.hash is None else (f"hash {task.hash}",)
    if task.text is None:
        return _Document(task.name, hashes)
    text = unicodedata.normalize("NFKC", task.text)
    folded = " ".join(unicodedata.normalize("NFKC", text.casefold()).split())
    words = list(_masked(text)) or [folded]
    shingles = frozenset(
        " ".join(words[at : at + _SHINGLE]) for at in range(max(len(words) - _SHINGLE, 0) + 1)
    )
    return _Document(task.name, (*hashes, f"text {folded}"), " ".join(words), shingles)


def _masked(text: str) -> Iterator[str]:
    """The words in lower case; numbers, names and quoted values, several together too, as one mask."""
    starts, before = True, ""
    for token in _TOKEN.finditer(text):
        kind, word = token.lastgroup, token[0]
        if kind != "stop":
            is_name = word[0].isupper() and not starts and word != "I"
            masked = kind == "quoted" or is_name or _DIGIT.search(word)
            now = _MASK if masked else word.casefold()
            if now != _MASK or before != _MASK:
                yield now
            before = now
        starts = kind == "stop"
