"""The embedded judge: a deterministic stand-in, so that everything runs with nothing installed or paid for.

From a request's content alone it sees whether a run loops, gives up or stops half-way, and never whether its
result is right. Errors on the way, length and praise weigh nothing. Not a training reward.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from judge.config import EMBEDDED_MODEL
from judge.embedded.proposing import propose
from judge.schema import Content, Frame, Reply, Request

_START = 0.75
_FAULT = 0.3  # One fault is enough to fail.
_HINT = 0.01  # Next to nothing: a value that turns up need not be the right one in the right place.
_LONG_RUN = 25

_ENTRY = r"(?i)\s*(?:fill|type|keyboard_type|input|输入|填写)\b"
_IDLE = r"(?i)\s*(?:scroll|hover|wait|noop|滚动|等待)\b"
_SPEECH = r"(?i)\s*(?:send_msg|answer|respond|repl|report|finish|stop|done|transfer_to|escalate)"
_PRAISE = (
    r"(?i)\b(?:task|goal|job|everything|requirements?|criteria)\b.{,80}\b(?:success|complete|done|met|full)"
    r"|\b(?:perfect|flawless|excellent|great job)|(?:任务|要求|工作|全部).{,80}(?:完成|满足|成功)|完美|满分"
)
_GIVING_UP = r"(?i)\b(?:unable to|can(?:no|.)t|could ?n.t|(?:not |im)possible|g[ia]v\w+ up)\b|无法|放弃"
_HEDGE = r"(?i)\b(?:probably|(?:should|might|may) work|not (?:\w+ )?sure|untested)\b|应该可以|不确定|没跑"
_QUESTION = r"(?i)\b(?:what|which|who|when|where|how|tell me|list|return|count)\b|多少|哪|什么|几|告诉"
_HOLDING_BACK = r"(?i)\b(?:not|don't|never|without) (?:send|submit|sav|post)|(?:不要|请勿|别)(?:发|提交|保存)"
_CLOSING = {
    "create_modify": "(?i)click|press|save|submit|creat|updat|add|post|apply|保存|提交|创建|点击",
    "delete_cleanup": "(?i)click|press|delet|remov|clear|archiv|cancel|删除|清空|移除|点击",
    "communication": "(?i)click|press|send(?!_msg)|reply|post|comment|发送|回复|点击",
    "transfer": "(?i)click|press|mov|cop|transfer|upload|download|share|移动|复制|转账|点击",
}
_EDIT = r"\b(?:edit|str_replace|insert|patch|apply_patch)\b|\bsed (?:-\w+ )*-i|\bgit (?:apply|mv|rm)\b|>>"
_WRITING = r"(?:\bcreate|\bwrite|\btee|(?<![0-9&>-])>)\W{1,8}(?:path\W{1,8})?([\w./-]{1,200}\.\w+)"
_UNDOING = r"\bgit (?:checkout (?:-- |\.)|restore\b|stash$|reset --hard)"

_Seen = dict[str, tuple[int, str]]


class _Fact(NamedTuple):
    """Something that speaks against a run: what it costs, what it means, and the step that shows it."""

    cost: float
    text: str
    frame: Frame | None = None


class EmbeddedJudge:
    """A client like any other; the same request always gets the same reply, at no cost and without a wait."""

    async def call(self, request: Request) -> Reply:
        """Answer a fine-rubric, step or trajectory request as JSON."""
        content = request.content
        if request.purpose == "fine":
            answer: dict[str, Any] = {"items": propose(content.instruction, content.forced)}
        else:
            answer = _check(content) if content.mode == "prefix" else _grade(content)
        text = json.dumps({**answer, "verdict_id": request.verdict_id}, ensure_ascii=False)
        return Reply(text, EMBEDDED_MODEL, verdict_id=request.verdict_id, response_format="embedded")


def _check(content: Content) -> dict[str, Any]:
    """The last step shown, by itself (mode prefix): wrong where it reports an error or repeats another."""
    step = content.frames[-1]
    again = any((step.action, step.observation) == (f.action, f.observation) for f in content.frames[:-1])
    fault = "It repeats an earlier step." if again else "It reports an error." if step.error else ""
    kind = "tool" if fault else "none"
    return {"step": step.index, "reason": fault, "correct": not fault, "error_type": kind, "confidence": 0.6}


def _grade(content: Content) -> dict[str, Any]:
    frames = [frame for frame in content.frames if not _is_praise(frame)]
    facts = sorted(_facts(content, frames), key=lambda fact: -fact.cost)
    seen = _hints_seen(content, frames)
    score = round(max(0.05, _START - sum(fact.cost for fact in facts) + _HINT * len(seen)), 4)
    success, blamed = score >= 0.5, [fact.frame for fact in facts if fact.frame]
    reasons = [fact.text for fact in facts] or ["Nothing in the steps shown speaks against the run."]
    if content.total_steps > _LONG_RUN:
        reasons.append(f"(long run: {content.total_steps} steps)")
    quotes = [*seen.values(), *((frame.index, frame.action[:120]) for frame in blamed)]
    step = blamed[0].index if blamed else None
    return {
        "reason": " ".join(reasons),
        "evidence": [{"step": step, "quote": quote} for step, quote in quotes],
        "criteria": _criteria(content, seen, success, step),
        **({"steps": _labels(content, reasons[0], success, step)} if content.mode == "whole" else {}),
        "success": success,
        "score": score,
    }


def _facts(content: Content, frames: Sequence[Frame]) -> Iterator[_Fact]:
    """What speaks against a run: general facts, and those of the category that its rubric is for."""
    acting = [frame for frame in frames if frame.action.strip()]
    if not acting:
        yield _Fact(_START, "No step shown does anything.")
        return
    last, category = acting[-1], content.rubric.category if content.rubric else "general"
    yield from _repetition([frame for frame in acting if not _speaks(frame)])
    if "policy" not in content.context and re.search(_GIVING_UP, f"{last.text} {last.action}"):
        yield _Fact(_FAULT, "The agent gave up.", last)
    if gap := _gap(category, content, acting):
        yield _Fact(_FAULT, gap, last)
    if category == "code_change" and re.search(_HEDGE, f"{last.text} {last.action}"):
        yield _Fact(_FAULT, "The agent hedges about its own code.", last)


def _repetition(deeds: Sequence[Frame]) -> Iterator[_Fact]:
    """Costs its share of the deeds. The same deed with another result is a retry or a next page, and free."""
    counts = Counter((deed.action, deed.observation) for deed in deeds for _ in range(1 + deed.repeats))
    again, total = counts.total() - len(counts), counts.total()
    if again:
        worst = max(deeds, key=lambda deed: counts[deed.action, deed.observation])
        yield _Fact(again / total, f"{again} of {total} actions repeat an earlier one.", worst)


def _gap(category: str, content: Content, acting: Sequence[Frame]) -> str | None:
    """What keeps a run from having ended. Where the task says not to send, stopping short of it is no gap."""
    last, closing = acting[-1], _CLOSING.get(category)
    if category == "tool_dialogue" and last.action_type == "tool_call" and not _speaks(last):
        return "The dialogue stops at a tool call, without a word to the user."
    if category == "info_query" and re.search(_QUESTION, content.instruction) and not _speaks(last):
        return "The run ends without an answer."
    if category == "code_change" and not _keeps_a_change(content, acting):
        return "No existing file is changed in the end."
    if re.search(_HOLDING_BACK, content.instruction):
        return None
    if re.match(_ENTRY, last.action) or re.match(_IDLE, last.action):
        return "The run stops half-way."
    typed = max((at for at, frame in enumerate(acting) if re.match(_ENTRY, frame.action)), default=-1)
    if closing and not any(re.search(closing, frame.action) for frame in acting[typed + 1 :]):
        return "The action that closes such a task is missing."
    return None


def _keeps_a_change(content: Content, acting: Sequence[Frame]) -> bool:
    """Whether a file that was there before the agent came is changed when it leaves."""
    known, own, kept = " ".join([content.instruction, *content.context.values()]), set[str](), False
    for frame in acting:
        written = set(re.findall(_WRITING, frame.action))
        own |= {path for path in written if path not in known}
        edits = re.search(_EDIT, frame.action) and not any(path in frame.action for path in own)
        kept = bool(kept or written - own or edits) and not re.search(_UNDOING, frame.action)
        known += f" {frame.action} {frame.observation}"
    return kept


def _speaks(frame: Frame) -> bool:
    """Whether a step says something, answers or hands over."""
    return frame.action_type == "message" or bool(re.match(_SPEECH, frame.action))


def _is_praise(frame: Frame) -> bool:
    """Whether a step consists of nothing but praise, and then counts for none."""
    spoken = _speaks(frame) or not re.match(r"\s*\w+\(", frame.action)
    sentences = [part for part in re.split(r"[.!?。！？\n]+", frame.action) if re.search(r"\w", part)]
    return spoken and bool(sentences) and all(re.search(_PRAISE, sentence) for sentence in sentences)


def _hints_seen(content: Content, frames: Sequence[Frame]) -> _Seen:
    """By id of a fine item: the last step in which its quote turns up, done or seen, and the quote."""
    fine = content.rubric.fine if content.rubric else ()
    wanted = {item.id: (item.quote or "").strip("\"'`“”「」《》") for item in fine}
    return {
        id_: (frame.index, quote)
        for id_, quote in wanted.items()
        for frame in frames
        if quote and quote.lower() in f"{frame.action} {frame.observation}".lower()
    }


def _criteria(content: Content, seen: _Seen, success: bool, step: int | None) -> list[dict[str, Any]]:
    """All coarse items met, or the first one not and the rest unclear: a stand-in has no finer view."""
    coarse = content.rubric.coarse if content.rubric else ()
    met = ["yes"] * len(coarse) if success else ["no", *["unclear"] * len(coarse)]
    blamed = None if success else step
    graded = [{"id": item.id, "met": met[at], "step": blamed} for at, item in enumerate(coarse)]
    return graded + [{"id": id_, "met": "yes", "step": where} for id_, (where, _) in seen.items()]


def _labels(content: Content, reason: str, success: bool, step: int | None) -> list[dict[str, Any]]:
    """-1 for the step that fails the run, 0 for one that is at fault in a passed run or reports an error."""
    labels: dict[int | None, int] = {at: 0 if line.startswith("ERROR ") else 1 for at, line in content.lines}
    labels[step], reasons = 0 if success else -1, {step: reason}
    return [{"step": at, "reason": reasons.get(at, ""), "label": labels.get(at, 1)} for at in content.verify]
