"""The embedded judge: a deterministic stand-in, so that everything runs with nothing installed or paid for.

It answers the same requests as an endpoint, from their content alone: instruction, rubric and the steps
shown. A handful of observable facts move its score; what a run says about itself does not. It ranks runs
about as well as their length does and is near chance on policy-bound dialogues: it shows that a rubric
changes a verdict, not that a verdict is right. Not a training reward.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from judge.config import EMBEDDED_MODEL
from judge.schema import Content, Frame, Reply, Request

_START = 0.75
_GAVE_UP = re.compile(
    r"\b(?:unable to|can(?:no|')t|could ?n[o']t|not possible|infeasible|impossible|give up|gave up)\b|无法|做不到|放弃",
    re.I,
)
_HEDGED = re.compile(
    r"\b(?:should (?:probably )?work|probably|might work|may work|not sure|untested|(?:could|did) ?n[o']t (?:run|test|verify))\b"
    r"|应该(?:可以|没问题|能)|大概|可能可以|没有运行|未测试|没能运行",
    re.I,
)
_ANSWERS = re.compile(r"send_msg|answer|report|respond|reply|stop\(|finish|done|回答|答复", re.I)
_EDITS = re.compile(
    r"\bedit\b|str_replace|\bsed -i|\bpatch\b|apply_patch|\bgit apply|>>? ?[\w./-]+\.\w+", re.I
)
_WRITES = re.compile(
    r"^(?:book|cancel|update|modify|exchange|return|create|delete|add|remove|send|transfer|issue|refund|schedule|"
    r"reschedule|set|submit|place|change|apply|approve|confirm)\w*\(",
    re.I,
)
_CLOSING = {
    "create_modify": re.compile(
        r"save|submit|create|update|confirm|add|post|publish|apply|click|press|保存|提交|确认|创建|发布", re.I
    ),
    "delete_cleanup": re.compile(
        r"delete|remove|clear|trash|archive|cancel|empty|unsubscribe|click|删除|清空|移除|取消", re.I
    ),
    "communication": re.compile(r"send|reply|post|comment|submit|click|发送|回复|发布|提交", re.I),
    "transfer": re.compile(
        r"move|copy|transfer|upload|download|export|share|paste|drop|confirm|click|移动|复制|转账|上传|下载|确认",
        re.I,
    ),
    "code_change": _EDITS,
}
_VALUES = re.compile(
    r"\"([^\"\n]{2,60})\"|“([^”\n]{2,60})”|「([^」\n]{2,60})」|《([^》\n]{1,60})》"
    r"|((?:\bdo not|\bdon't|\bwithout|\bnever|不要|不得|请勿|别)[^.,;，。；\n]{2,60})"
    r"|([$€£¥#]\s?\d[\w.,]*\w|\b\d{4}-\d{2}-\d{2}\b|\b[A-Z]{2,}[-_]?\d[\w-]*|\b\d[\d.,:]*\s?[A-Za-z%]*\b)"
)


@dataclass(frozen=True)
class _Fact:
    """Something seen in the record: how much it weighs, what it means, and the step that shows it."""

    weight: float
    text: str
    step: int | None = None


class EmbeddedJudge:
    """A client like any other; the same request always gets the same reply, at no cost and without a wait."""

    async def call(self, request: Request) -> Reply:
        """Answer a fine-rubric, step or trajectory request as JSON."""
        content = request.content
        answer = {"items": _propose(content.instruction)} if request.purpose == "fine" else _grade(content)
        text = json.dumps({**answer, "verdict_id": request.verdict_id}, ensure_ascii=False)
        return Reply(text, EMBEDDED_MODEL, verdict_id=request.verdict_id, response_format="embedded")


def _propose(instruction: str) -> list[dict[str, str]]:
    """The first two values or prohibitions that the instruction spells out."""
    quotes = [
        next(group for group in match.groups() if group).strip() for match in _VALUES.finditer(instruction)
    ]
    return [{"quote": quote, "text": f'Heeds "{quote}".'} for quote in dict.fromkeys(quotes)][:2]


def _grade(content: Content) -> dict[str, Any]:
    facts = list(_facts(content))
    seen = _values_seen(content)
    score = max(0.05, min(0.95, _START - sum(fact.weight for fact in facts) + 0.02 * len(seen)))
    success = score >= 0.5
    reason = " ".join(fact.text for fact in facts) or "Nothing in the steps shown speaks against the run."
    evidence = [{"step": step, "quote": quote} for quote, step in seen.items()]
    return {
        "reason": reason,
        "evidence": evidence
        + [_quoted(content.frames, fact.step) for fact in facts if fact.step is not None],
        "criteria": _criteria(content, facts, seen, success),
        **({"steps": _labels(content, facts)} if content.mode == "whole" else {}),
        "success": success,
        "score": round(score, 4),
    }


def _facts(content: Content) -> Iterator[_Fact]:
    """What the record shows, by the rubric's category where one is named. Praise and length weigh nothing."""
    frames, category = content.frames, content.rubric.category if content.rubric else "general"
    acting = [frame for frame in frames if frame.action]
    if not acting:
        yield _Fact(0.7, "No step holds an action.")
        return
    last, deeds = acting[-1], [frame.action for frame in acting]
    counts = Counter(deed for deed in deeds if not _speaks(deed))
    if again := next((f for f in acting if f.repeats or counts[f.action] >= 3), None):
        yield _Fact(0.35, "The agent repeated the same action.", again.index)
    if "policy" not in content.context and _GAVE_UP.search(f"{last.text} {last.action}"):
        yield _Fact(0.35, "The agent gave up.", last.index)
    if category == "info_query" and not any(
        _ANSWERS.search(deed) or frame.action_type == "message"
        for frame, deed in zip(acting, deeds, strict=True)
    ):
        yield _Fact(0.35, "The run ends without an answer.", last.index)
    if category == "tool_dialogue":
        yield from _dialogue_facts(acting)
    elif (closing := _CLOSING.get(category)) and not any(closing.search(deed) for deed in deeds):
        yield _Fact(0.35, "The action that closes such a task is missing.", last.index)
    if category == "code_change" and (
        hedge := next((f for f in acting[-2:] if _HEDGED.search(f"{f.text} {f.action}")), None)
    ):
        yield _Fact(0.3, "The agent hedges about its own code.", hedge.index)


def _dialogue_facts(acting: Sequence[Frame]) -> Iterator[_Fact]:
    last = acting[-1]
    if last.action_type == "tool_call" and "transfer" not in last.action:
        yield _Fact(0.3, "The dialogue stops at a tool call, without a word to the user.", last.index)
    writes = [frame for frame in acting if _WRITES.match(frame.action)]
    if writes and writes[-1].error:
        yield _Fact(0.3, "The last write was refused by its tool.", writes[-1].index)


def _values_seen(content: Content) -> dict[str, int]:
    """Quotes of the fine rubrics that turn up in what was done or seen, with the step: shown, hardly weighed."""
    wanted = [item.quote for item in content.rubric.fine if item.quote] if content.rubric else []
    return {
        quote: frame.index
        for quote in wanted
        for frame in reversed(content.frames)
        if quote.lower() in f"{frame.action} {frame.observation}".lower()
    }


def _criteria(
    content: Content, facts: Sequence[_Fact], seen: dict[str, int], success: bool
) -> list[dict[str, Any]]:
    """All items met, or the first one not met and the rest unclear: a stand-in has no finer view."""
    step = facts[0].step if facts else None
    items = content.rubric.items if content.rubric else ()
    coarse = [item.id for item in items if item.kind != "fine"]
    answers = [
        {
            "id": item,
            "met": "yes" if success else "unclear" if position else "no",
            "step": step if not success else None,
        }
        for position, item in enumerate(coarse)
    ]
    hints = [item for item in items if item.kind == "fine" and item.quote in seen]
    return answers + [{"id": item.id, "met": "yes", "step": seen[item.quote or ""]} for item in hints]


def _labels(content: Content, facts: Sequence[_Fact]) -> list[dict[str, Any]]:
    """-1 for the step behind the weightiest fact, 0 for a step that reports an error, else 1."""
    worst = max((fact for fact in facts if fact.step is not None), key=lambda fact: fact.weight, default=None)
    lines = dict(content.lines)
    return [
        {
            "step": index,
            "reason": worst.text if worst and index == worst.step else "",
            "label": -1
            if worst and index == worst.step
            else 0
            if lines.get(index, "").startswith("ERROR ")
            else 1,
        }
        for index in content.verify
    ]


def _speaks(deed: str) -> bool:
    """Whether an action is said rather than done; a question put twice is no loop."""
    return "(" not in deed


def _quoted(frames: Sequence[Frame], step: int | None) -> dict[str, Any]:
    frame = next(frame for frame in frames if frame.index == step)
    return {"step": step, "quote": (frame.action or frame.text)[:120]}
