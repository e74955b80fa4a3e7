"""A preview of a judgement, laid out for a reader and as one JSON object."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from judge.client.tokens import estimate_tokens
from judge.pipeline import Preview
from judge.pipeline.preview import message_text
from judge.schema import Frame, Picture, Request, clean_text

TOKEN = "<a random token of each call>"
"""What stands for the verdict_id, which is drawn when a question is put."""

_DEED_CHARS = 60
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def laid_out(preview: Preview, with_messages: bool = True, with_fine: bool = False) -> Iterator[str]:
    """The preview as text, paragraph by paragraph; see as_json for the parameters."""
    yield f"{preview.run.trajectory_id} under {preview.version.library.version}"
    yield f"  task        {_head(preview.run.instruction, 200)}"
    if preview.request is None:
        yield from _uncalled(preview)
        return
    yield from _graded_by(preview)
    yield from _shown(preview)
    yield from _size(preview, preview.request)
    if with_fine and preview.unasked:
        yield from _messages(preview.unasked)
    if with_messages:
        yield from _messages(preview.request)


def as_json(preview: Preview, with_messages: bool = True, with_fine: bool = False) -> dict[str, Any]:
    """The preview in JSON's types. A run that needs no call has no messages, and says its `reward`.

    `messages` are None unless `with_messages`; those of `unasked`, a question for a route or for fine rubrics
    that is still to be put, are there only with `with_fine`.
    """
    request, library = preview.request, preview.version.library
    sent = _sent(request) if request else []
    return {
        "trajectory_id": preview.run.trajectory_id,
        "task_id": preview.run.task_id,
        "rubric_version": library.version,
        "rubric_hash": library.hash,
        "prompt_set": preview.version.prompts.name,
        "fingerprint": preview.version.fingerprint,
        "category": preview.category,
        "routing": preview.routing,
        "rubric": preview.rubric.model_dump() if preview.rubric else None,
        "fine": preview.version.fine,
        "fine_dropped": preview.fine_dropped,
        "unasked": _unasked(preview.unasked, with_fine),
        "frames": [_frame(frame) for frame in preview.frames],
        "omitted": [_frame(frame) | {"bound": preview.bound} for frame in preview.omitted],
        "suspicions": preview.suspicions,
        "characters": preview.characters,
        "token_estimate": estimate_tokens(sent),
        "messages": sent if with_messages else None,
        "schema": request.schema if request else None,
        "reward": preview.reward.model_dump(mode="json") if preview.reward else None,
    }


def printable(text: str) -> str:
    """`text` with control characters spelled out: a run may hold some that would rewrite a terminal."""
    return _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", clean_text(text))


def _uncalled(preview: Preview) -> Iterator[str]:
    reward = preview.reward
    assert reward is not None
    why = reward.error or ", ".join(reward.flags)
    yield f"  no call     {why}"
    yield f"  reward      {'none' if reward.value is None else f'{reward.value:g}'}"


def _graded_by(preview: Preview) -> Iterator[str]:
    routing = preview.routing or {}
    yield f"  category    {preview.category} ({routing.get('reason')})"
    for category, cue in routing.get("cues", []):
        yield f"  cue         {cue!r} speaks for {category}"
    if preview.rubric is not None:
        for item in preview.rubric.coarse:
            yield f"  {item.kind:<11} [{item.id}] {item.text}"
        for item in preview.rubric.fine:
            yield f"  attention   [{item.id}] {item.text}  (the task says: {item.quote!r})"
    for dropped in preview.fine_dropped:
        yield f"  not used    {dropped['item']}: {dropped['why']}"
    yield f"  fine        {_fine(preview)}"


def _fine(preview: Preview) -> str:
    if preview.unasked is not None:
        first = "the category" if preview.unasked.purpose == "route" else "fine rubrics"
        return f"{first} would be asked for first: not in the cache (--fine shows the question)"
    known = len(preview.rubric.fine) if preview.rubric else 0
    return "off" if preview.version.fine == "off" else f"{preview.version.fine}, {known} known without a call"


def _shown(preview: Preview) -> Iterator[str]:
    total = len(preview.run.steps)
    yield f"  kept        {sum(1 + frame.repeats for frame in preview.frames)} of {total} steps"
    for frame in preview.frames:
        yield _line(frame)
    if preview.omitted:
        count = sum(1 + frame.repeats for frame in preview.omitted)
        yield f"  left out    {count} of {total} steps, by {preview.bound}; others rank higher, or are later"
    for frame in preview.omitted:
        yield _line(frame)
    if preview.suspicions:
        kinds = ", ".join(preview.suspicions)
        yield f"  suspicious  {kinds}: text that speaks to the judge; flagged, not changed"


def _line(frame: Frame) -> str:
    notes = []
    if frame.repeats:
        notes.append(f"and {frame.repeats} identical after it")
    if frame.cut:
        notes.append(f"{frame.cut:,} characters cut")
    why = ", ".join(frame.reasons) or "no reason"
    after = f"  ({'; '.join(notes)})" if notes else ""
    return f"    step {frame.index:<5} {why:<26} {_head(frame.action or frame.text, _DEED_CHARS)}{after}"


def _size(preview: Preview, request: Request) -> Iterator[str]:
    yield f"  size        about {estimate_tokens(_sent(request)):,} tokens"
    for part, count in preview.characters.items():
        yield f"    {part:<16} {count:>9,} characters"


def _messages(request: Request) -> Iterator[str]:
    for message in _sent(request):
        yield f"\n=== {request.purpose}: {message['role']} ===\n{message_text(message)}"


def _sent(request: Request) -> list[dict[str, Any]]:
    """The messages as they go out, but with what a picture is instead of the picture."""
    messages = [
        {**each, "content": [_described(part) for part in each["content"]]}
        if isinstance(each["content"], list)
        else each
        for each in request.messages
    ]
    return replace(request, messages=tuple(messages)).with_verdict_id(TOKEN).wire_messages()


def _described(part: dict[str, Any]) -> dict[str, Any]:
    picture = part.get("image_url", {}).get("url")
    return {**part, "image_url": picture.logged()} if isinstance(picture, Picture) else part


def _unasked(request: Request | None, with_fine: bool) -> dict[str, Any] | None:
    if request is None:
        return None
    return {"purpose": request.purpose, **({"messages": _sent(request)} if with_fine else {})}


def _frame(frame: Frame) -> dict[str, Any]:
    return {"step": frame.index, "reasons": frame.reasons, "repeats": frame.repeats, "cut": frame.cut}


def _head(text: str, limit: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 4]} ..."
