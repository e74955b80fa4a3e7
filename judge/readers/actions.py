"""The `actions` array: what a coding or tool environment records of an episode.

    {"trajectory_id", "task_id", "prompt", "actions": [{"step", "action_type", "content", "observation",
     "reward"}], "final_code", "reward", "done", "terminal_reason", "metadata"}

Every action is one step of the agent; its observation is what came back after it. The instruction is the
`prompt` (or `instruction`). `content` is what was done, except for thoughts, which are the step's text. An
action's own `step` number, from 0 or 1 or with gaps, is kept as `source_index`; the order of the list rules.
`final_code`, what the agent delivered, is the `state` of the last step, or a step of its own where there is
no action. `reward` is the environment's and becomes the outcome's, rewards of single actions stay with their
steps, and the judge sees neither. An action's prompt or messages, the same text over and over, are not kept.

A traceback with no action, or a terminal_reason that blames the environment, says nothing about the agent:
`infra_error`. A null observation is none; a null list of actions is an error, because it may mean either.
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
_TRACES = ("traceback", "error", "exception")


def matches(record: Mapping[str, Any]) -> bool:
    return isinstance(record.get("actions"), list) and record.get("steps") is None


def fields(record: Mapping[str, Any], stem: str = "") -> dict[str, Any]:
    """The record as keyword arguments of Trajectory. Raises InputError that names the field."""
    steps = [_step(action) for action in objects(record.get("actions"), "actions")]
    final_code = as_text(record.get("final_code"))
    if final_code and steps:
        steps[-1]["state"] = "\n".join(filter(None, (steps[-1]["state"], f"final_code:\n{final_code}")))
    elif final_code:
        steps = [{"action_type": "final_code", "action": final_code}]
    asked = record.get("instruction")
    return native.fields(
        {
            **{name: value for name, value in record.items() if name not in _EPISODE},
            "instruction": record.get("prompt") if asked is None else asked,
            "steps": steps,
            "outcome": _outcome(record, is_empty=not steps),
        }
    )


def _step(action: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in action.items() if name not in _REPEATED}
    done, number = as_text(kept.pop("content", None)), kept.pop("step", None)
    is_thought = str(kept.get("action_type")).lower() in _THOUGHTS
    return {
        **kept,
        "text" if is_thought else "action": done,
        "state": as_text(kept.get("state")),
        "source_index": number,
    }


def _outcome(record: Mapping[str, Any], *, is_empty: bool) -> dict[str, Any]:
    metadata = object_or_none(record.get("metadata"), "metadata") or {}
    is_broken = str(record.get("terminal_reason")).lower() in _BLAMES_ENVIRONMENT
    is_traced = any(each.get(name) for each in (record, metadata) for name in _TRACES)
    reward = record.get("reward")
    return {
        "reward": float(reward) if isinstance(reward, bool) else reward,
        "status": "infra_error" if is_broken or (is_empty and is_traced) else "ok",
        "done": record.get("done"),
        "terminal_reason": record.get("terminal_reason"),
    }
