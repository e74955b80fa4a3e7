"""Objects in prose: which of them is the judge's own verdict, if any.

A judge that quotes the run may quote a verdict which the policy wrote to be found, so neither the first nor
the last object is taken on trust. Linear in the text: an object nested beyond `_MAX_DEPTH` is not looked at.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from judge.errors import JudgeError
from judge.verdict.strict import NOT_JSON, decode_or_fault

_MAX_DEPTH = 6
_START = re.compile(r'\{(?=\s*")')
# An unterminated string runs to the end of the text, so that no quote is searched from twice.
_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|[{}]', re.DOTALL)

_LABEL = (
    r"(?:(?:my|the|final|overall)\s+){0,3}"
    r"(?:verdict|judge?ment|assessment|evaluation|decision|ruling|conclusion)(?:\s+(?:json|object))?"
    r"|(?:我的|最终|最后|总体)?(?:判决|判定|裁决|裁定|结论|评判|评价|评估|评定)(?:结果|结论)?"
)
_DECLARED = re.compile(
    rf"(?:^|[.!?;。！？；])[\s#*_]*(?:{_LABEL})[*_]*\s*[:：][\s*_]*(?:```\w*\s*)?\Z", re.IGNORECASE
)
_AT_START = re.compile(r"\s*(?:```\w*\s*)?\Z")
_LOOK_BACK = 80


@dataclass(frozen=True, slots=True)
class Candidate:
    """One object of the text. `fault` says why strict JSON refuses it; `enclosed`, that a brace is open."""

    fields: dict[str, Any]
    fault: str | None
    start: int
    enclosed: bool


def find_candidates(text: str, keys: Collection[str]) -> list[Candidate]:
    """The outermost objects of `text` that hold one of `keys` at their top level, in text order."""
    found: list[Candidate] = []
    unclosed = counted = position = 0
    while start := _START.search(text, position):
        position = start.start() + 1
        end = _end_of_object(text, start.start())
        fields, fault = decode_or_fault(text[start.start() : end]) if end else (NOT_JSON, None)
        if fields is NOT_JSON:
            continue
        braces = text.count("{", counted, start.start()) - text.count("}", counted, start.start())
        unclosed = max(0, unclosed + braces)
        counted = position = end
        if any(key in fields for key in keys):
            found.append(Candidate(fields, fault, start.start(), unclosed > 0))
    return found


def _end_of_object(text: str, start: int) -> int:
    """Where the brace opened at `start` closes, 0 where it does not or nests too deeply."""
    depth = 0
    for token in _TOKEN.finditer(text, start):
        if token[0] == "{":
            depth += 1
            if depth > _MAX_DEPTH:
                return 0
        elif token[0] == "}":
            depth -= 1
            if not depth:
                return token.end()
    return 0


def check_agreement(candidates: list[Candidate], outcome: Callable[[dict[str, Any]], Any]) -> None:
    """Raise JudgeError ambiguous_verdict unless all candidates have the same outcome."""
    first = outcome(candidates[0].fields)
    if any(outcome(other.fields) != first for other in candidates[1:]):
        raise JudgeError("ambiguous_verdict", f"{len(candidates)} objects in the reply disagree")


def declared_verdict(text: str, candidates: list[Candidate]) -> Candidate:
    """The fullest candidate that starts a line or follows a label such as "Verdict:".

    Raises JudgeError ambiguous_verdict where there is none.
    """
    declared = [candidate for candidate in candidates if _is_declared(text, candidate)]
    if not declared:
        raise JudgeError(
            "ambiguous_verdict", "the only verdict stands inside a sentence, as a quotation would"
        )
    return max(declared, key=lambda candidate: len(candidate.fields))


def _is_declared(text: str, candidate: Candidate) -> bool:
    if candidate.enclosed:
        return False
    earliest = max(0, candidate.start - _LOOK_BACK)
    line = text.rfind("\n", earliest, candidate.start) + 1
    if line or not earliest:
        before = text[line : candidate.start]
        return bool(_AT_START.match(before) or _DECLARED.search(before))
    # The line began further back, so the cut in front of the label is no start of a line.
    return bool(_DECLARED.search("…" + text[earliest : candidate.start]))
