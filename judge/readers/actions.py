"""The `actions` array: what a coding or tool environment records of an episode.

    {"trajectory_id", "task_id", "prompt", "actions": [{"step", "action_type", "content", "observation",
     "reward"}], "final_code", "reward", "done", "terminal_reason", "metadata"}

- Every action is one step of the agent; its observation, none where it is null, is what came back after it.
  `content` is what was done, or for a thought (think, thought, thinking, reasoning) the step's text. An
  action's own `step` or `index`, from 0 or 1 or with gaps, is kept as `source_index`; the order of the list
  rules. Its prompt or messages, the same text over and over, are not kept.
- Instruction: `instruction`, else `prompt`. Context and group are found as in native records.
- `final_code`, what the agent delivered, joins the `state` of the last step; without any action it is a step
  of its own.
- outcome: the record's own `outcome`, with `reward`, `done` and `terminal_reason` where it has none of them.
  Rewards of single actions stay with their steps. The judge sees none of it.
- A terminal_reason that blames the environment says nothing about the agent, nor does an error or traceback
  (of record or metadata) without any action: infra_error. A null list of actions is an error, because it may
  mean either.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from judge.readers import native
from judge.readers.checked import object_or_none, objects
from judge.schema import as_text

_EPISODE = {"prompt", "instruction", "actions", "final_code", "reward", "done", "terminal_reason"}
_REPEATED = {"prompt", "messages", "history", "query"}
_THOUGHTS = {"think", "thought", "thinking", "reasoning"}
_BLAMES_ENVIRONMENT = {
    *("infra_error", "env_error", "environment_error", "system_error", "sandbox_error", "crash", "exception"),
}


def matches(record: Mapping[str, Any]) -> bool:
    return isinstance(record.get("actions"), list | tuple)


def fields(record: Mapping[str, Any], stem: str = "") -> dict[str, Any]:
    """The record as keyword arguments of Trajectory. Raises InputError that names the field."""
    steps = [_step(action) for action in objects(record.get("actions"), "actions")]
    outcome = _outcome(record, acted=bool(steps))
    final_code = as_text(record.get("final_code"))
    if final_code and steps:
        before = as_text(steps[-1].get("state"))
        steps[-1]["state"] = "\n".join(filter(None, (before, f"final_code:\n{final_code}")))
    elif final_code:
        steps = [{"action_type": "final_code", "action": final_code}]
    asked = record.get("instruction")
    return native.fields(
        {
            **{name: value for name, value in record.items() if name not in _EPISODE},
            "instruction": record.get("prompt") if asked is None else asked,
            "steps": steps,
            "outcome": outcome,
        }
    )


def _step(action: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in action.items() if name not in _REPEATED and value is not None}
    for number in ("index", "step"):
        if number in kept:
            kept["source_index"] = kept.pop(number)
    if "content" in kept:
        is_thought = str(kept.get("action_type")).strip().lower() in _THOUGHTS
        kept["text" if is_thought else "action"] = kept.pop("content")
    return kept


def _outcome(record: Mapping[str, Any], *, acted: bool) -> dict[str, Any]:
    own = object_or_none(record.get("outcome"), "outcome") or {}
    is_broken = str(record.get("terminal_reason")).strip().lower() in _BLAMES_ENVIRONMENT
    found = {name: record.get(name) for name in ("reward", "done", "terminal_reason")}
    if is_broken or (not acted and native.is_traced(record)):
        found["status"] = "infra_error"
    found |= {name: value for name, value in own.items() if value is not None}
    if isinstance(found["reward"], bool):
        found["reward"] = float(found["reward"])
    return {name: value for name, value in found.items() if value is not None}
