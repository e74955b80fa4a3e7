"""The line: a Judgement as a row of known keys, and a row as bytes that nothing in it can break."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from judge.schema import Call, Reward, Rubric, Trajectory, Usage, clean_text

SCHEMA = 1

_OF_METADATA = ("source", "dataset_version", "agent")
"""What a row takes from the metadata of its run: what reports are broken down by."""

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode

# JSON allows these inside a string, but tools that split on Unicode line ends would cut the line there.
_SEPARATORS = (("\u2028", "\\u2028"), ("\u2029", "\\u2029"), ("\x85", "\\u0085"))


@dataclass(frozen=True, slots=True)
class Judgement:
    """Everything one log line says: whom, by what, through which calls, with what reward."""

    trajectory: Trajectory
    rubric: Rubric | None
    category: str
    rubric_version: str
    rubric_hash: str
    prompt_set: str
    frame_count: int
    judge_model: str
    repeat: int
    scheme: str
    reward: Reward
    calls: tuple[Call, ...] = ()
    fine_dropped: tuple[dict[str, str], ...] = ()
    routing: dict[str, Any] | None = None
    omitted_steps: int = 0
    omitted_chars: int = 0
    images: tuple[dict[str, Any], ...] = ()


def encode_line(row: dict[str, Any]) -> bytes:
    """A row as one line of UTF-8 that ends in a line feed and holds no other line end, NaN or surrogate."""
    try:
        text = _encode(row)
    except (ValueError, TypeError, RecursionError):
        text = _encode(plain(row))
    if not text.isascii():
        text = clean_text(text)
        for raw, escaped in _SEPARATORS:
            text = text.replace(raw, escaped)
    return text.encode() + b"\n"


def plain(value: Any, as_text: list[str] | None = None, depth: int = 40) -> Any:
    """`value` in JSON's own types: NumPy and tensors as numbers and lists, NaN as None, bytes as their hash.

    Whatever else JSON has no word for, or lies deeper than `depth`, becomes text, and its type is added to
    `as_text`.
    """
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, bytes | bytearray):
        return f"{len(value)} bytes, sha256 {hashlib.sha256(value).hexdigest()}"
    if hasattr(value, "isoformat"):
        return value.isoformat()
    inner = _inner(value)
    if depth and isinstance(inner, dict):
        return {str(key): plain(item, as_text, depth - 1) for key, item in inner.items()}
    if depth and isinstance(inner, list):
        return [plain(item, as_text, depth - 1) for item in inner]
    if inner is not value:
        return plain(inner, as_text, depth)
    if as_text is not None:
        as_text.append(type(value).__name__)
    return repr(value) if depth else f"({type(value).__name__}, nested too deeply)"


def _inner(value: Any) -> Any:
    """A container as a list or dict, an array or tensor as what it holds, anything else as it is."""
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, set | frozenset):
        return sorted(value, key=repr)
    return value.tolist() if hasattr(value, "tolist") else value


def line_of(judgement: Judgement) -> dict[str, Any]:
    """The row of a judgement, its keys in the order of schema 1."""
    run, reward, calls = judgement.trajectory, judgement.reward, judgement.calls
    verdict = reward.verdict
    criteria = verdict.criteria if verdict else ()
    as_text: list[str] = []
    described = {key: plain(run.metadata.get(key), as_text) for key in _OF_METADATA}
    return {
        "schema": SCHEMA,
        "timestamp": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "trajectory_id": run.trajectory_id,
        "task_id": run.task_id,
        "group": run.group,
        "step": run.step,
        **described,
        "instruction_hash": run.instruction_hash,
        "category": judgement.category,
        "routing": judgement.routing,
        "rubric_version": judgement.rubric_version,
        "rubric_hash": judgement.rubric_hash,
        "fine_rubrics": _fine(judgement.rubric),
        "fine_dropped": list(judgement.fine_dropped),
        "prompt_set": judgement.prompt_set,
        "frame_count": judgement.frame_count,
        "omitted": {"steps": judgement.omitted_steps, "chars": judgement.omitted_chars},
        "images": list(judgement.images),
        "judge_model": judgement.judge_model,
        "repeat": judgement.repeat,
        "fingerprint": reward.fingerprint,
        "scheme": judgement.scheme,
        "reward": reward.value,
        "parts": reward.parts,
        "outcome": run.outcome.reward,
        "outcome_status": run.outcome.status,
        "success": verdict.success if verdict else None,
        "score": verdict.score if verdict else None,
        "reason": verdict.reason if verdict else None,
        "evidence": [{"step": one.step, "quote": one.quote} for one in verdict.evidence] if verdict else [],
        "criteria": [{"id": one.id, "met": one.met, "step": one.step} for one in criteria],
        "rubric_hits": [one.id for one in criteria if one.met == "yes"],
        "steps": [one.model_dump() for one in reward.steps],
        "flags": [*reward.flags, *(["metadata_as_text"] if as_text else [])],
        "error": {"kind": reward.error_kind, "message": reward.error} if reward.error_kind else None,
        "attempts": sum(call.attempts for call in calls),
        "cached": bool(calls) and all(call.cached for call in calls),
        "latency_ms": round(sum(call.latency_ms for call in calls), 3),
        "usage": _total_usage(calls),
        "cost": _total_cost(calls),
        "calls": [_call(call) for call in calls],
    }


def _fine(rubric: Rubric | None) -> list[dict[str, str | None]]:
    return [{"id": item.id, "text": item.text, "quote": item.quote} for item in rubric.fine] if rubric else []


def _call(call: Call) -> dict[str, Any]:
    return {
        "purpose": call.purpose,
        "model": call.model,
        "attempts": call.attempts,
        "cached": call.cached,
        "latency_ms": round(call.latency_ms, 3),
        "usage": _usage(call.usage) if call.usage else None,
        "cost": call.cost,
        "finish_reason": call.finish_reason,
        "response_format": call.response_format,
        "verdict_id": call.verdict_id,
        "raw": call.raw,
        "error": call.error,
    }


def _usage(usage: Usage) -> dict[str, int | None]:
    return {name: getattr(usage, name) for name in Usage.__dataclass_fields__}


def _total_usage(calls: Iterable[Call]) -> dict[str, int | None] | None:
    counted = [call.usage for call in calls if call.usage]
    if not counted:
        return None
    return {name: _sum(getattr(usage, name) for usage in counted) for name in Usage.__dataclass_fields__}


def _total_cost(calls: Iterable[Call]) -> float | None:
    known = [call.cost for call in calls if call.cost is not None]
    return sum(known) if known else None


def _sum(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
