"""What TRL hands to a reward function → one stored run for each completion, of the format `messages`.

- Prompts and completions are chat messages or text: a prompt is then what the user said and a completion the
  only message of the agent. What TRL reports of a tool that raised becomes the error of its step.
- Columns `instruction`, `task_id`, `id`, `trajectory_id`, `group`, `category` and `tools` mean what they mean
  in a stored run. `outcome`, a number or {"reward", "verifier", "status"}, is what a verifier said of the
  completion, which only a rollout_func can know. `image` and `images` are shown where the prompt itself holds
  none. All other columns, gold answers among them, go to metadata: no judge sees it, nor the outcome.
- An environment may have `judge_state` (text, or what JSON can say), which the judge sees after the last
  step, and `judge_outcome`, as the column. They should be attributes or properties: TRL offers every public
  method to the policy as a tool. `get_reward` is never called.
- A run's id is random unless a column gives each completion one of its own: a trainer repeats the rows of a
  dataset, and reports would take runs of one id, or of equal texts, for one run that was judged again.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from judge.integrations.rows import holds_picture, plain

__all__ = ["records"]

_KNOWN = ("instruction", "task_id", "id", "trajectory_id", "group", "category", "tools")

_TOOL_ERROR = re.compile(r"""\{'error': (['"]).*\1\}""", re.DOTALL)
"""How TRL words what a tool raised: the repr of {"error": text}."""


def records(
    prompts: Sequence[Any],
    completions: Sequence[Any],
    columns: Mapping[str, Any],
    environments: Sequence[Any] | None = None,
    step: int | None = None,
) -> list[dict[str, Any]]:
    """A record for each completion, in their order; nothing the trainer owns is changed.

    `columns` are lists with a value for each completion; whatever else is among them is passed over. `step`
    is the training step.
    """
    count = len(prompts)
    lists = {name: held for name, held in columns.items() if isinstance(held, list) and len(held) == count}
    if not _tell_apart(lists.get("trajectory_id", [])):
        del lists["trajectory_id"]
    rows = [{name: held[at] for name, held in lists.items()} for at in range(count)]
    together = zip(prompts, completions, rows, environments or [None] * count, strict=True)
    return [{**_record(*each), "step": step} for each in together]


def _tell_apart(ids: Sequence[Any]) -> bool:
    """Whether no two are equal: an id that a row of a dataset brings is that of all its rollouts."""
    there = [str(each) for each in ids if each is not None]
    return len(set(there)) == len(there)


def _record(prompt: Any, completion: Any, row: Mapping[str, Any], environment: Any) -> dict[str, Any]:
    outcome = _outcome(_of(environment, "judge_outcome")) or _outcome(row.get("outcome"))
    state = _of(environment, "judge_state")
    closing = [] if state is None else [{"role": "tool", "name": "environment", "content": state}]
    return {
        "trajectory_id": uuid.uuid4().hex,
        **{name: row[name] for name in _KNOWN if row.get(name) is not None},
        "prompt": _illustrated(_messages(prompt, "user"), row),
        "completion": [*map(_marked, _messages(completion, "assistant")), *closing],
        "outcome": outcome,
        "metadata": _metadata(row),
    }


def _metadata(row: Mapping[str, Any]) -> dict[str, Any]:
    rest = {name: value for name, value in row.items() if name not in _KNOWN}
    own = rest.pop("metadata", None)
    return {**rest, **own} if isinstance(own, Mapping) else {**rest, "metadata": own}


def _of(environment: Any, name: str) -> Any:
    found = getattr(environment, name, None)
    return found() if callable(found) else found


def _outcome(stored: Any) -> dict[str, Any] | None:
    """What a verifier said; a text of that name is the dataset's own affair."""
    stored = plain(stored)
    if isinstance(stored, int | float):
        return {"reward": stored}
    return dict(stored) if isinstance(stored, Mapping) else None


def _messages(said: Any, role: str) -> list[Any]:
    return [{"role": role, "content": said}] if isinstance(said, str) else list(said)


def _marked(message: Mapping[str, Any]) -> Mapping[str, Any]:
    content = message.get("content")
    if message.get("role") == "tool" and isinstance(content, str) and _TOOL_ERROR.fullmatch(content):
        return {**message, "is_error": True}
    return message


def _illustrated(messages: list[Any], row: Mapping[str, Any]) -> list[Any]:
    """The messages with the row's images in the last of the user's, unless there are images in them."""
    images = row.get("images") or [row.get("image")]
    parts = [{"type": "image", "image": image} for image in images if image is not None]
    asked = [at for at, message in enumerate(messages) if message.get("role") == "user"]
    if not parts or not asked or any(map(holds_picture, _parts(messages))):
        return messages
    message = messages[asked[-1]]
    content = message.get("content") or ""
    told = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return [*messages[: asked[-1]], {**message, "content": [*told, *parts]}, *messages[asked[-1] + 1 :]]


def _parts(messages: Sequence[Mapping[str, Any]]) -> list[Any]:
    contents = (message.get("content") for message in messages)
    return [part for content in contents if isinstance(content, list) for part in content]
