"""One row of a reward log, taken apart for a reader: from the rubric to the number."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from judge.cli.side_by_side import made_of
from judge.schema import Reward


def taken_apart(row: dict[str, Any]) -> str:
    """The row as indented lines: what judged, by which rubric, what it found, how that became a reward."""
    return "\n".join([*_asked(row), *_found(row), *_rewarded(row)])


def _asked(row: dict[str, Any]) -> Iterator[str]:
    yield f"{row['trajectory_id']} under {row['rubric_version']}"
    why = (row.get("routing") or {}).get("reason")
    yield f"  category    {row['category']}" + (f" ({why})" if why else "")
    yield f"  shown       {_shown(row)}, prompts {row['prompt_set']}"
    for item in row["fine_rubrics"]:
        yield f"  attention   [{item['id']}] {item['text']}  (the task says: {item['quote']!r})"
    for item in row.get("fine_dropped") or []:
        yield f"  not used    {item['item']}: {item['why']}"


def _shown(row: dict[str, Any]) -> str:
    omitted = row.get("omitted") or {}
    images = len(row.get("images") or [])
    parts = [f"{row['frame_count']} key frames" + (f" ({images} with a screenshot)" if images else "")]
    parts += [f"{omitted[what]} {what} left out" for what in ("steps", "chars") if omitted.get(what)]
    return ", ".join(parts)


def _found(row: dict[str, Any]) -> Iterator[str]:
    if row["error"]:
        yield f"  failed      {row['error']['kind']}: {row['error']['message']}"
        return
    for criterion in row["criteria"]:
        at = f" (step {criterion['step']})" if criterion["step"] is not None else ""
        yield f"  {criterion['met']:<11} {criterion['id']}{at}"
    for step in row["steps"]:
        yield f"  step {step['step']:<6} {_step(step)} {step['reason']}".rstrip()
    for quote in row["evidence"]:
        yield f"  evidence    step {quote['step']}: {quote['quote']}"
    yield f"  reason      {row['reason']}"


def _rewarded(row: dict[str, Any]) -> Iterator[str]:
    if row["success"] is not None:
        yield f"  verdict     {'success' if row['success'] else 'failure'}, score {row['score']:g}"
    reward = Reward(value=row["reward"], parts=row["parts"])
    scheme = "" if reward.value is None else f" (scheme {row['scheme']})"
    yield f"  reward      {made_of(reward)}{scheme}"
    stored = "none stored" if row["outcome"] is None else f"{row['outcome']:g}"
    yield f"  outcome     {stored} (status {row['outcome_status']}; never shown to the judge)"
    if row["flags"]:
        yield f"  flags       {', '.join(row['flags'])}"


def _step(step: dict[str, Any]) -> str:
    if step["label"] is not None:
        return f"{step['label']:+d}" if step["label"] else " 0"
    found = "correct" if step["correct"] else f"wrong ({step['error_type']})"
    return f"{found}, confidence {step['confidence']:g}"
