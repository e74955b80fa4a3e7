"""The one object a reply is about, in the fixed order of stages, and what is flagged on the way.

Covered: every reply that is asked to be one JSON object, verdict or not. What its fields mean is not
(judge.verdict.trajectory, judge.verdict.steps).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, TypeVar

from judge.errors import JudgeError
from judge.verdict.reasoning import answers, has_reasoning
from judge.verdict.refusal import is_refusal
from judge.verdict.repair import is_one_object, repair
from judge.verdict.scan import Candidate, check_agreement, declared_verdict, find_candidates
from judge.verdict.strict import NOT_JSON, decode

T = TypeVar("T")

_INFO_WORD = re.compile(r"[ \t]*[A-Za-z][\w+-]*(?=[\s{\[])")
_UNSEEN = "\ufeff\u200b"


def _without_token(fields: dict[str, Any]) -> Any:
    """Two objects agree when they are equal but for the token."""
    return {key: value for key, value in fields.items() if key != "verdict_id"}


@dataclass(frozen=True, slots=True)
class Reading:
    """One reply and what is looked for in it.

    Attributes:
        text: the reply as received.
        keys: an object in prose is a candidate where it holds one of them.
        finish_reason: as the endpoint gave it; "length" is a reply that was cut.
        verdict_id: the token of the call, None where none was given.
        outcome: what two candidates must have in common not to contradict each other.
    """

    text: str
    keys: Collection[str]
    finish_reason: str | None = "stop"
    verdict_id: str | None = None
    outcome: Callable[[dict[str, Any]], Any] = _without_token

    @property
    def is_cut(self) -> bool:
        return self.finish_reason == "length"


@dataclass(frozen=True, slots=True)
class Found:
    """The object of a reply, as decoded, and the flags of how it was come by."""

    fields: dict[str, Any]
    flags: tuple[str, ...] = ()

    def plus(self, flag: str) -> Found:
        return Found(self.fields, (*self.flags, flag))


def parse_object(
    text: str, *, keys: Collection[str], finish_reason: str | None = "stop", verdict_id: str | None = None
) -> dict[str, Any]:
    """The JSON object of a reply that is no verdict: fine rubrics, a category.

    `keys` are the keys that make an object one; an object without any of them is invalid_verdict. Field
    values are returned as decoded. Raises JudgeError like `parse_verdict`.
    """
    reading = Reading(text, keys, finish_reason, verdict_id)
    return read(reading, lambda found: _holding(found.fields, keys))


def _holding(fields: dict[str, Any], keys: Collection[str]) -> dict[str, Any]:
    if not any(key in fields for key in keys):
        raise JudgeError("invalid_verdict", f"the object holds none of {', '.join(keys)}")
    return fields


def read(reading: Reading, validate: Callable[[Found], T]) -> T:
    """Extract, then validate; every JudgeError leaves with the raw text and the finish_reason."""
    try:
        return _validated(extract(reading), validate)
    except RecursionError:
        failure = JudgeError("invalid_verdict", "nested too deeply to be a verdict")
    except JudgeError as error:
        failure = error
    failure.raw, failure.finish_reason = reading.text, reading.finish_reason
    raise failure


def _validated(found: Found, validate: Callable[[Found], T]) -> T:
    try:
        return validate(found)
    except JudgeError as error:
        if "repaired" not in found.flags:
            raise
        # The fault may be the repair's and not the judge's, so it is not laid at the judge's door.
        raise JudgeError("parse_error", f"broken JSON; as repaired: {error.message}") from None


def extract(reading: Reading) -> Found:
    """The object of the reply: strict, behind the reasoning, in prose, and repaired, in this order."""
    text = reading.text.strip().strip(_UNSEEN).strip()
    if not text:
        raise JudgeError("empty_response", "the reply is blank")
    if found := _strictly(text):
        return found
    if not has_reasoning(text):
        return _leniently(text, reading)
    for answer in answers(text):
        if found := _strictly(answer):
            return found.plus("reasoning_cut")
    return _leniently(answer, reading).plus("reasoning_cut")


def _strictly(text: str) -> Found | None:
    """The object where `text`, or one fence around all of it, is strict JSON."""
    value = decode(text)
    if value is not NOT_JSON:
        return _as_object(value)
    inside = _unfenced(text)
    if inside is None or (value := decode(inside)) is NOT_JSON:
        return None
    return _as_object(value).plus("fenced")


def _as_object(value: Any) -> Found:
    """A decoded reply as its object; a list of one and an object encoded twice are unwrapped, once."""
    flags: tuple[str, ...] = ()
    if isinstance(value, str) and isinstance(inner := decode(value), dict):
        value, flags = inner, ("double_encoded",)
    elif isinstance(value, list):
        if sum(isinstance(item, dict) for item in value) > 1:
            raise JudgeError("ambiguous_verdict", f"the reply is a list of {len(value)}, not one object")
        if len(value) == 1:
            value, flags = value[0], ("unwrapped_list",)
    if not isinstance(value, dict):
        raise JudgeError("invalid_verdict", f"the reply is a JSON {type(value).__name__}, not an object")
    return Found(value, flags)


def _unfenced(text: str) -> str | None:
    mark = text[:3]
    if mark not in ("```", "~~~") or not text.endswith(mark):
        return None
    inside = text.strip(mark[0])
    word = _INFO_WORD.match(inside)
    return inside[word.end() if word else 0 :].strip()


def _leniently(text: str, reading: Reading) -> Found:
    candidates = find_candidates(text, reading.keys)
    own = [candidate for candidate in candidates if _carries(candidate, reading.verdict_id)]
    if own or any(not candidate.enclosed for candidate in candidates):
        return _extracted(text, candidates, own, reading)
    if reading.is_cut:
        raise JudgeError("truncated", "the reply was cut before it held a verdict")
    inside = _unfenced(text)
    if is_one_object(inside or text):
        found = Found(repair(inside or text, reading.keys), ("repaired",))
        return found.plus("fenced") if inside else found
    if candidates:
        raise JudgeError("ambiguous_verdict", "the only verdict stands inside an object that is not closed")
    if is_refusal(text):
        raise JudgeError("refusal", "the judge declined in words")
    raise JudgeError("parse_error", "the reply holds no JSON object of the asked form")


def _carries(candidate: Candidate, verdict_id: str | None) -> bool:
    return verdict_id is not None and token_of(candidate.fields) == verdict_id


def token_of(fields: dict[str, Any]) -> str | None:
    """The verdict_id an object carries, None where it has none."""
    token = fields.get("verdict_id")
    if isinstance(token, str):
        return token.strip() or None
    return str(token) if isinstance(token, int) and not isinstance(token, bool) else None


def _extracted(text: str, candidates: list[Candidate], own: list[Candidate], reading: Reading) -> Found:
    if reading.is_cut and reading.verdict_id is not None and not own:
        # What is missing may be the judge's own verdict, and what is there a quotation.
        raise JudgeError("truncated", "the reply was cut before it held an object with the call's verdict_id")
    check_agreement(own or candidates, reading.outcome)
    chosen = own[-1] if own else declared_verdict(text, candidates)
    if chosen.fault:
        raise JudgeError("invalid_verdict", chosen.fault)
    return Found(chosen.fields, ("extracted",))
