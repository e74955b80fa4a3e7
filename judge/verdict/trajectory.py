"""The verdict on a whole run: fields, criteria against the rubric, and contradictions.

Where the object came from is judge.verdict.extract's; what it is worth is judge.collapse's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar

from judge.errors import JudgeError
from judge.schema import Criterion, Evidence, Rubric, TrajectoryVerdict
from judge.verdict.extract import Found, Reading, read, token_of
from judge.verdict.fields import (
    COERCED,
    boolean_spelling,
    fold,
    invalid,
    read_boolean,
    read_index,
    read_text,
    read_unit,
)

T = TypeVar("T")
Met = Literal["yes", "no", "unclear"]

_KEYS = ("success", "score")
_MET: dict[str, Met] = {
    **dict.fromkeys(("yes", "met", "satisfied", "avoided", "满足", "已满足", "符合"), "yes"),
    **dict.fromkeys(("no", "not met", "unmet", "not satisfied", "不满足", "未满足", "不符合"), "no"),
    **dict.fromkeys(
        (
            *("", "unclear", "unknown", "uncertain", "unsure", "not sure", "n/a", "na", "none", "null"),
            *("not applicable", "insufficient evidence", "insufficient", "cannot tell", "cannot determine"),
            *("不确定", "不清楚", "不明确", "未知", "无法判断", "无法确定", "证据不足", "不适用", "无"),
        ),
        "unclear",
    ),
}


def parse_verdict(
    text: str,
    *,
    finish_reason: str | None = "stop",
    rubric: Rubric | Sequence[str] | None = None,
    verdict_id: str | None = None,
) -> TrajectoryVerdict:
    """Read a judge's reply as its verdict on a whole trajectory.

    Args:
        text: the reply as received.
        finish_reason: as the endpoint gave it; "length" is a reply that was cut.
        rubric: the Rubric judged by, or the ids that criteria must answer; None checks no ids.
        verdict_id: the token of the call. Among several objects the one that carries it wins; a reply that
            does not carry it is flagged `verdict_id_mismatch`.

    Raises JudgeError with `.raw`: empty_response, truncated, refusal, parse_error (no object),
    ambiguous_verdict (more than one outcome, or only a quoted one), invalid_verdict (a field or a criterion
    is missing, unknown, given twice or out of range), inconsistent_verdict, judge_abstained.
    """
    reading = Reading(text, _KEYS, finish_reason, verdict_id, _outcome)
    return read(reading, lambda found: _verdict(found, rubric, verdict_id))


def _outcome(fields: dict[str, Any]) -> Any:
    return _or_as_given(read_boolean, fields.get("success")), _or_as_given(read_unit, fields.get("score"))


def _or_as_given(reader: Callable[[object, str, list[str]], T], value: object) -> T | object:
    try:
        return reader(value, "", [])
    except JudgeError:
        return value


def _verdict(
    found: Found, rubric: Rubric | Sequence[str] | None, verdict_id: str | None
) -> TrajectoryVerdict:
    fields, flags = found.fields, list(found.flags)
    criteria = _criteria(fields.get("criteria"), rubric, flags)
    for key in _KEYS:
        if key not in fields:
            raise JudgeError("invalid_verdict", f"{key} is missing")
    success = read_boolean(fields["success"], "success", flags)
    score = read_unit(fields["score"], "score", flags)
    _check_consistent(success, score, criteria, flags)
    token = token_of(fields)
    if verdict_id is not None and token != verdict_id:
        flags.append("verdict_id_mismatch")
    return TrajectoryVerdict(
        reason=read_text(fields.get("reason"), flags),
        evidence=_evidence(fields.get("evidence"), flags),
        criteria=criteria,
        success=success,
        score=score,
        verdict_id=token,
        flags=tuple(dict.fromkeys(flags)),
    )


def _check_consistent(success: bool, score: float, criteria: tuple[Criterion, ...], flags: list[str]) -> None:
    if (score < 0.5) if success else (score > 0.5):
        raise JudgeError(
            "inconsistent_verdict", f"success is {str(success).lower()} with a score of {score:g}"
        )
    if not criteria:
        return
    met = sum(criterion.met == "yes" for criterion in criteria)
    if success and not met:
        raise JudgeError("inconsistent_verdict", "success is true although no criterion is met")
    if not success and met == len(criteria):
        # The judge has added a requirement that no item states.
        flags.append("strict_suspect")


def _criteria(value: Any, rubric: Rubric | Sequence[str] | None, flags: list[str]) -> tuple[Criterion, ...]:
    if value is None:
        flags.append("criteria_missing")
        return ()
    if not isinstance(value, list):
        raise invalid("criteria", value, "a list")
    criteria = tuple(_criterion(entry, flags) for entry in value)
    _check_ids([criterion.id for criterion in criteria], rubric)
    if not criteria:
        flags.append("criteria_missing")
    elif all(criterion.met == "unclear" for criterion in criteria):
        raise JudgeError("judge_abstained", "no criterion was answered with yes or no")
    return criteria


def _check_ids(given: list[str], rubric: Rubric | Sequence[str] | None) -> None:
    answered = set(given)
    if len(answered) != len(given):
        twice = next(id_ for id_ in given if given.count(id_) > 1)
        raise JudgeError("invalid_verdict", f"criterion {twice[:40]!r} is answered twice")
    if rubric is None:
        return
    required, optional = _ids(rubric)
    if missing := [id_ for id_ in required if id_ not in answered]:
        raise JudgeError("invalid_verdict", f"criteria without an answer: {', '.join(missing)}")
    if unknown := answered.difference(required, optional):
        raise JudgeError("invalid_verdict", f"no criterion of the rubric: {min(unknown)[:40]!r}")


def _ids(rubric: Rubric | Sequence[str]) -> tuple[list[str], list[str]]:
    """The ids that must be answered, and those that may be."""
    if isinstance(rubric, Rubric):
        return [item.id for item in rubric.coarse], [item.id for item in rubric.fine]
    return list(rubric), []


def _criterion(entry: Any, flags: list[str]) -> Criterion:
    if not isinstance(entry, dict) or entry.get("id") in (None, "") or "met" not in entry:
        raise invalid("an entry of criteria", entry, "an object with id and met")
    return Criterion(
        id=read_text(entry["id"], flags).strip(),
        met=_met(entry["met"], flags),
        step=_step(entry.get("step"), flags),
    )


def _met(value: object, flags: list[str]) -> Met:
    if value in ("yes", "no", "unclear"):
        return value
    flags.append(COERCED)
    if value is None:
        return "unclear"
    said = boolean_spelling(value)
    if said is not None:
        return "yes" if said else "no"
    spelled = fold(value)
    met = None if spelled is None else _MET.get(spelled.replace("_", " ").replace("-", " "))
    if met is None:
        raise invalid("met", value, "yes, no or unclear")
    return met


def _step(value: object, flags: list[str]) -> int | None:
    """The step a judge points at. A pointer that leads nowhere is dropped: it decides nothing."""
    index = read_index(value)
    if value is not None and index is not value:
        flags.append(COERCED)
    return index


def _evidence(value: Any, flags: list[str]) -> tuple[Evidence, ...]:
    if value is None or value == "":
        return ()
    if not isinstance(value, list):
        value = [value]
        flags.append(COERCED)
    return tuple(_quotation(entry, flags) for entry in value)


def _quotation(entry: Any, flags: list[str]) -> Evidence:
    if isinstance(entry, dict):
        step = _step(entry.get("step"), flags)
        return Evidence(step=step, quote=read_text(entry.get("quote"), flags))
    flags.append(COERCED)
    return Evidence(quote=read_text(entry, flags))
