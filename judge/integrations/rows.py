"""What a trainer hands over with a generated text → a record of the `messages` format.

That is a row of its data set (verl's extra_info, OpenRLHF's label) and what the rollout added to it. Of such
a mapping only the fields of PASSED are taken, pictures as `illustrated` says, and messages as the trainer's
own module says: the rest, gold answers among it, is dropped and can reach no judge.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from judge.schema import Reward

__all__ = ["PASSED", "figures", "holds_picture", "illustrated", "plain", "prompt_of", "record"]

PASSED = (
    *("instruction", "question", "context", "tools", "category"),
    *("task_id", "group", "step", "outcome"),
)
"""`instruction` (or `question`) goes over the prompt's own words. Judges see `context` and `tools`, but not
the ids and `outcome`, which is a verifier's number or {"reward", ...}. `step` is the training step. A row's
`trajectory_id` is not among them: all rollouts of the row have it, and a log would take them for one."""

_NAMES = ("group", "task_id", "instruction", "question")


def plain(value: Any) -> Any:
    """`value` in dicts, lists and Python's own numbers: rows come as numpy arrays and configuration nodes."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {name: plain(inner) for name, inner in value.items()}
    is_list = isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray)
    return [plain(inner) for inner in value] if is_list else value


def record(row: Mapping[str, Any], messages: Any, text: str | None = None) -> dict[str, Any]:
    """The record of one rollout; `text` is what the agent said after `messages`, None where they are all.

    Messages that are no list stay as they are: the reader says what is wrong with them. The id is random:
    equal texts are common, and to a log that knew them by their content they would be one.
    """
    passed = {name: row[name] for name in PASSED if row.get(name) is not None}
    if isinstance(passed.get("outcome"), int | float):
        passed["outcome"] = {"reward": passed["outcome"]}
    if isinstance(messages, list):
        said = [] if text is None else [{"role": "assistant", "content": text}]
        messages = illustrated([*messages, *said], row.get("images"), row.get("screens"))
    return {"trajectory_id": uuid.uuid4().hex, **passed, "messages": messages}


def illustrated(messages: list[Any], images: Any, screens: Any) -> list[Any]:
    """`messages` with pictures that are kept beside them: paths, data URLs or PIL images, one or a list.

    `images` began the task. The k-th of `screens` came with the k-th message of a tool that has no picture
    of its own; what is left of them (all, without such messages) was seen before the agent's last message.
    """
    waiting = _listed(screens)
    shown = [
        _with(message, [waiting.pop(0)]) if waiting and _is_bare(message) else message for message in messages
    ]
    spoken = [at for at, message in enumerate(shown) if _role(message) == "assistant"]
    for at, pictures in ((spoken[-1:], waiting), (spoken[:1], _listed(images))):
        if at and pictures:
            shown.insert(at[0], _with({"role": "user"}, pictures))
    return shown


def prompt_of(record: Mapping[str, Any]) -> str:
    """What rollouts of one prompt share: group, task_id, instruction, else what was said before the agent."""
    for name in _NAMES:
        if record.get(name) is not None:
            return f"{name}={record[name]}"
    messages = record.get("messages")
    told = messages if isinstance(messages, list) else []
    first = next((at for at, message in enumerate(told) if _role(message) == "assistant"), len(told))
    return json.dumps(told[:first], default=lambda picture: "")


def figures(reward: Reward) -> dict[str, float]:
    """The verdict in numbers for a trainer's metrics: always these keys, always finite.

    judge_abstained is 1 where the judgement failed, and all others are then 0: a mean of one of them over
    samples is to be divided by 1 - mean of judge_abstained. judge_score is in [0, 1], judge_success 0 or 1,
    judge_met the share of the rubric's criteria that were met, judge_cost in the currency of
    judge.price_per_million (0 without a price).
    """
    verdict = None if reward.value is None else reward.verdict
    answers = [criterion.met == "yes" for criterion in verdict.criteria] if verdict else []
    return {
        "judge_abstained": float(reward.value is None),
        "judge_score": verdict.score if verdict else 0.0,
        "judge_success": float(verdict.success) if verdict else 0.0,
        "judge_met": sum(answers) / len(answers) if answers else 0.0,
        "judge_cost": reward.cost or 0.0,
    }


def _listed(pictures: Any) -> list[Any]:
    if isinstance(pictures, list | tuple):
        return list(pictures)
    return [] if pictures is None else [pictures]


def _role(message: Any) -> Any:
    return message.get("role") if isinstance(message, Mapping) else None


def _is_bare(message: Any) -> bool:
    """Whether it is a tool's and holds no picture."""
    return _role(message) == "tool" and not any(map(holds_picture, _parts(message.get("content"))))


def holds_picture(part: Any) -> bool:
    """Whether a part of a message's content is a picture, and no bare placeholder for one."""
    return isinstance(part, Mapping) and any(part.get(name) is not None for name in ("image", "image_url"))


def _parts(content: Any) -> list[Any]:
    if isinstance(content, list):
        return content
    return [{"type": "text", "text": content}] if content else []


def _with(message: Mapping[str, Any], pictures: list[Any]) -> dict[str, Any]:
    shown = [{"type": "image", "image": picture} for picture in pictures]
    return {**message, "content": [*_parts(message.get("content")), *shown]}
