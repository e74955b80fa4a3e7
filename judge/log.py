"""The reward log: one JSON line per judged trajectory, written in one append and read as a stream.

Covers the line format (`line_of`), writing (`RewardLog`), reading (`read_log`) and which rows a rerun may
skip (`settled_keys`). Tables and figures over many rows are analysis/'s.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from judge.schema import Call, Reward, Rubric, Trajectory, Usage, clean_text

SCHEMA = 1
SETTLED_ERRORS = frozenset({"unusable_input"})
"""Error kinds that judging again cannot change."""

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


class RewardLog:
    """Appends judgements to a JSONL file, whole lines only; `path` may hold {host} and {pid}.

    Safe to use from several threads, from forked children (each reopens the file) and from several
    processes on a local disk. Nothing is created before the first line.
    """

    def __init__(self, path: Path) -> None:
        self._template = str(path)
        self._lock = threading.Lock()
        self._file: int | None = None
        self._pid = -1

    @property
    def path(self) -> Path:
        """The file this process writes to."""
        return Path(self._template.replace("{host}", socket.gethostname()).replace("{pid}", str(os.getpid())))

    def append(self, judgement: Judgement) -> None:
        """Write one line. Raises OSError where the file cannot be written."""
        data = encode_line(line_of(judgement))
        with self._lock:
            if self._file is None or self._pid != os.getpid():
                self._file, self._pid = _open_for_append(self.path), os.getpid()
            written = os.write(self._file, data)
            # Only a full disk or a signal splits a write; the rest must follow at once.
            while written < len(data):
                written += os.write(self._file, data[written:])

    def close(self) -> None:
        """Close the file; a later append opens it again."""
        with self._lock:
            if self._file is not None and self._pid == os.getpid():
                os.close(self._file)
            self._file = None


def read_log(*paths: str | Path, on_bad: Callable[[str], None] | None = None) -> Iterator[dict[str, Any]]:
    """The rows of one or more logs, in file order, one at a time.

    A line that is no JSON object is reported to `on_bad` as "path:line: why" (or as one warning per file)
    and passed over. Raises FileNotFoundError for a path that does not exist.
    """
    for path in paths:
        bad: list[str] = []
        yield from _rows(Path(path), on_bad or bad.append)
        if bad:
            warnings.warn(f"{len(bad)} unreadable lines passed over, the first: {bad[0]}", stacklevel=2)


def settled_keys(
    paths: Iterable[str | Path], on_bad: Callable[[str], None] | None = None
) -> set[tuple[str, str, int, str]]:
    """(trajectory_id, rubric_version, repeat, fingerprint) of every row that a rerun need not judge."""
    return {
        (row["trajectory_id"], row["rubric_version"], row["repeat"], row["fingerprint"])
        for row in read_log(*paths, on_bad=on_bad)
        if is_settled(row) and {"trajectory_id", "rubric_version", "repeat", "fingerprint"} <= row.keys()
    }


def is_settled(row: dict[str, Any]) -> bool:
    """Whether a row holds a verdict, or says that none can be had."""
    error = row.get("error")
    return not error or (isinstance(error, dict) and error.get("kind") in SETTLED_ERRORS)


def encode_line(row: dict[str, Any]) -> bytes:
    """A row as one line of UTF-8 that ends in a line feed and holds no other line end, NaN or surrogate."""
    try:
        text = json.dumps(row, ensure_ascii=False, allow_nan=False, default=_plain)
    except (ValueError, TypeError):
        text = json.dumps(_finite(row), ensure_ascii=False, allow_nan=False, default=_plain)
    if not text.isascii():
        text = clean_text(text)
        for raw, escaped in _SEPARATORS:
            text = text.replace(raw, escaped)
    return text.encode() + b"\n"


def line_of(judgement: Judgement) -> dict[str, Any]:
    """The row of a judgement, keys in the order of DESIGN's table (schema 1)."""
    run, reward, calls = judgement.trajectory, judgement.reward, judgement.calls
    verdict = reward.verdict
    criteria = verdict.criteria if verdict else ()
    return {
        "schema": SCHEMA,
        "timestamp": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "trajectory_id": run.trajectory_id,
        "task_id": run.task_id,
        "group": run.group,
        "step": run.step,
        "source": run.metadata.get("source"),
        "dataset_version": run.metadata.get("dataset_version"),
        "instruction_hash": run.instruction_hash,
        "category": judgement.category,
        "routing": judgement.routing,
        "rubric_version": judgement.rubric_version,
        "rubric_hash": judgement.rubric_hash,
        "fine_rubrics": _fine(judgement.rubric),
        "fine_dropped": list(judgement.fine_dropped),
        "prompt_set": judgement.prompt_set,
        "frame_count": judgement.frame_count,
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
        "flags": list(reward.flags),
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
        "usage": asdict(call.usage) if call.usage else None,
        "cost": call.cost,
        "finish_reason": call.finish_reason,
        "response_format": call.response_format,
        "verdict_id": call.verdict_id,
        "raw": call.raw,
        "error": call.error,
    }


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


def _open_for_append(path: Path) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
    size = os.fstat(file).st_size
    if size and os.pread(file, 1, size - 1) != b"\n":
        os.write(file, b"\n")
        warnings.warn(
            f"{path}: the last line was cut off (an interrupted write); it was closed and stays alone",
            stacklevel=4,
        )
    return file


def _rows(path: Path, on_bad: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                on_bad(f"{path}:{number}: not JSON: {error}")
                continue
            if isinstance(row, dict):
                yield row
            else:
                on_bad(f"{path}:{number}: a {type(row).__name__}, not an object")


def _plain(value: Any) -> Any:
    """What JSON has no word for: NumPy numbers by value, sets as lists, the rest as text."""
    if hasattr(value, "item") and getattr(value, "size", 1) == 1:
        return value.item()
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, set | frozenset):
        return sorted(value, key=repr)
    return value.isoformat() if hasattr(value, "isoformat") else repr(value)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, float) and value - value != 0:
        return None
    return value
