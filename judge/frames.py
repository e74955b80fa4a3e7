"""Which steps of a run the judge is shown in full: key frames, in time order, within two budgets.

Kept first are the last step and the first, then what closes a task (submit, send, save, the category's own
signals), errors, text entry and changes of state; the late before the early where the budget binds.
Neighbours that do and see the same are folded into one frame. Rendering is judge.prompt's.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

from judge.schema import Frame, Step

# Searched in lower case: eight times as fast as patterns that ignore case.
_CLOSING = re.compile(
    r"submit|send|save|confirm|publish|post\b|reply|pay|order|book|checkout|place|finish|done|answer|upload|"
    r"commit|report_infeasible|提交|发送|保存|确认|发布|付款|支付|下单|完成|回复"
)
_ENTRY = re.compile(r"fill|type|input|write|enter|select_option|press|edit|insert|str_replace|输入|填写")
_SIGNALS = {
    "info_query": r"search|find|goto|scroll|answer|send_msg|query|搜索|查询",
    "create_modify": r"create|new|add|edit|update|modify|rename|change|set_|新建|创建|修改|编辑|添加",
    "delete_cleanup": r"delete|remove|clear|trash|archive|cancel|unsubscribe|rm\b|删除|清空|移除|取消",
    "communication": r"send|reply|comment|message|mail|post|发送|回复|评论|邮件",
    "transfer": r"copy|move|transfer|upload|download|export|import|share|pay|转账|复制|移动|上传|下载",
    "state_navigation": r"goto|open|toggle|enable|disable|switch|select|tab|go_back|打开|切换|开启|关闭",
    "code_change": r"edit|str_replace|create|insert|write|test|pytest|submit|git|patch|make\b",
    "tool_dialogue": r"book|cancel|update|modify|exchange|return|transfer|send|refund|pay|create|delete",
}
_TEXTS = ("text", "action", "observation", "state", "error")
_MARKER = "[... {} characters left out ...]"
_LEAST_CHARS = 200
"""What a frame must have room for: fewer frames that can be read beat many that cannot."""

_CATEGORY = {category: re.compile(pattern) for category, pattern in _SIGNALS.items()}


def select_key_frames(
    steps: Sequence[Step],
    category: str = "general",
    max_frames: int | None = 10,
    max_chars: int | None = None,
    *,
    same_picture: Callable[[Any, Any], bool] = operator.eq,
) -> list[Frame]:
    """At most `max_frames` frames of a run, in time order, whose text fits `max_chars` characters.

    `max_frames` None keeps every step (neighbours are still folded); 1 keeps the last step, 2 the last and
    the first. Each frame names the reasons it was kept and how many identical followers it stands for. Text
    over the budget is cut in the middle, and a marker says how much was left out; where the budget would
    leave each frame next to nothing, fewer frames are kept. Neighbours are identical only if `same_picture`
    holds for their screenshots. Raises ValueError for a budget below 1.
    """
    if (max_frames is not None and max_frames < 1) or (max_chars is not None and max_chars < 1):
        raise ValueError(f"max_frames ({max_frames}) and max_chars ({max_chars}) must be at least 1")
    folded = _fold(steps, same_picture)
    reasons = _reasons([step for step, _ in folded], _CATEGORY.get(category))
    frames = _chosen(folded, reasons, max_frames)
    if max_chars is None:
        return frames
    room = max(2, max_chars // _LEAST_CHARS)
    if len(frames) > room and sum(map(_length, frames)) > max_chars:
        frames = _chosen(folded, reasons, room)
    return fit(frames, max_chars)


def latest(steps: Sequence[Step], index: int, window: int, max_chars: int) -> list[Frame]:
    """The `window` steps that end with step `index`, one frame each, within the character budget."""
    first = max(0, index - window + 1)
    return fit([Frame.of(step, ("window",)) for step in steps[first : index + 1]], max_chars)


def fit(frames: Sequence[Frame], max_chars: int) -> list[Frame]:
    """The frames with long texts cut in the middle until all together hold about `max_chars` characters.

    The longest texts give way first; what the agent did and said last, its final answer, gives way only when
    nothing else is left to cut. Where there are more texts than characters to share, markers go over.
    """
    if sum(map(_length, frames)) <= max_chars:
        return list(frames)
    lengths = {(i, name): len(_text(frame, name)) for i, frame in enumerate(frames) for name in _TEXTS}
    last = max(
        (i for i, frame in enumerate(frames) if frame.text.strip() or frame.action.strip()), default=-1
    )
    answer = {key for key in lengths if key in ((last, "text"), (last, "action"))}
    reserved = _cap([lengths[key] for key in answer], max_chars // 2)
    spent = sum(min(lengths[key], reserved) for key in answer)
    shared = _cap([length for key, length in lengths.items() if key not in answer], max_chars - spent)
    return [
        _cut(frame, {name: reserved if (i, name) in answer else shared for name in _TEXTS})
        for i, frame in enumerate(frames)
    ]


def shorten(text: str, limit: int) -> str:
    """`text` with its middle replaced by a marker that says how much is missing, if longer than `limit`.

    The marker counts towards the limit. A text is never made longer: where the limit does not even hold the
    marker, what comes out is the marker, or the text if that is shorter.
    """
    if len(text) <= limit:
        return text
    room = max(0, limit - len(_MARKER.format(len(text))))
    tail = room // 3
    head = room - tail
    cut = text[:head] + _MARKER.format(len(text) - room) + text[len(text) - tail :]
    return cut if len(cut) < len(text) else text


def _chosen(
    folded: Sequence[tuple[Step, int]], reasons: Sequence[Sequence[str]], max_frames: int | None
) -> list[Frame]:
    kept: Iterable[int] = range(len(folded))
    if max_frames is not None and len(folded) > max_frames:
        kept = sorted(sorted(kept, key=lambda i: (_rank(reasons[i]), -i))[:max_frames])
    return [Frame.of(folded[i][0], tuple(reasons[i]), folded[i][1]) for i in kept]


def _cut(frame: Frame, limits: Mapping[str, int]) -> Frame:
    texts: dict[str, Any] = {
        name: shorten(text, limit)
        for name, limit in limits.items()
        if len(text := _text(frame, name)) > limit
    }
    if not texts:
        return frame
    lost = sum(len(_text(frame, name)) - len(text) for name, text in texts.items())
    return replace(frame, **texts, cut=lost)


def _text(frame: Frame, name: str) -> str:
    value = getattr(frame, name)
    return value if isinstance(value, str) else ""


def _length(frame: Frame) -> int:
    error = len(frame.error) if isinstance(frame.error, str) else 0
    return len(frame.text) + len(frame.action) + len(frame.observation) + len(frame.state) + error


def _fold(steps: Sequence[Step], same_picture: Callable[[Any, Any], bool]) -> list[tuple[Step, int]]:
    folded: list[tuple[Step, int]] = []
    for step in steps:
        if folded and _same(folded[-1][0], step) and same_picture(folded[-1][0].screenshot, step.screenshot):
            folded[-1] = (folded[-1][0], folded[-1][1] + 1)
        else:
            folded.append((step, 0))
    return folded


def _same(one: Step, other: Step) -> bool:
    """Thoughts may differ in wording; what was done, and what came back as text, must not."""
    return (
        one.action == other.action
        and one.observation == other.observation
        and one.error == other.error
        and one.state == other.state
        and one.tool_calls == other.tool_calls
        and (bool(one.action) or bool(one.tool_calls) or one.text == other.text)
    )


def _reasons(steps: Sequence[Step], category: re.Pattern[str] | None) -> list[list[str]]:
    last_act = max((i for i, step in enumerate(steps) if not step.is_blank), default=-1)
    found: list[list[str]] = []
    state = ""
    for i, step in enumerate(steps):
        deed = f"{step.action_type} {step.deed[:160]}".lower() if step.action_type != "message" else ""
        why = [name for name, holds in (("last", i == len(steps) - 1), ("first", i == 0)) if holds]
        if i == last_act and "last" not in why:
            why.append("last_action")
        if category is not None and category.search(deed):
            why.append("category")
        if _CLOSING.search(deed):
            why.append("closing")
        if step.error:
            why.append("error")
        if _ENTRY.search(deed):
            why.append("entry")
        if step.state and step.state != state:
            why.append("state")
        state = step.state or state
        found.append(why)
    return found


_RANKS = {
    "last": 0,
    "first": 1,
    "last_action": 2,
    "closing": 3,
    "category": 4,
    "error": 5,
    "entry": 6,
    "state": 7,
}


def _rank(reasons: Sequence[str]) -> int:
    return min((_RANKS[reason] for reason in reasons), default=len(_RANKS))


def _cap(lengths: Sequence[int], budget: int) -> int:
    """The greatest length at which texts may be cut so that together they keep within the budget."""
    ordered = sorted(lengths)
    for position, (length, before) in enumerate(zip(ordered, accumulate([0, *ordered]), strict=False)):
        if before + length * (len(ordered) - position) > budget:
            return max(0, (budget - before) // (len(ordered) - position))
    return ordered[-1] if ordered else 0
