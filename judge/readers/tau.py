"""tau-bench results: a JSON array whose elements are one run each.

    {"task_id": 0, "trial": 0, "reward": 1.0, "traj": [messages],
     "info": {"task": {"instruction", "actions", "outputs", ...}, "reward_info": {...}, ...}}

- `traj` becomes steps as `dialogue` says; `source_index` counts its messages from 0.
- instruction: `info.task.instruction`, what the simulated user wants. context: `policy`, the system message,
  and `first_observation`, what the user said first.
- A tool's message is an error where it begins as the benchmark's own do: "Error:" or "Unknown action". Runs
  of the strategies act and react write their calls into the text, where they stay; they hear of results from
  the user, as "API output: ".
- outcome: `reward` is the benchmark's check of the database and of required outputs, 0 also for a run that
  ran out of turns. `info.error` means that the harness broke: the reward is then no check's and is left out,
  and a run without steps is an infra_error. Such a record names no task, and the instruction says so. After
  steps the error may be the agent's own (arguments that are no JSON), so that the run counts.
- Task numbers begin at 0 in every file, so that ids begin with the file's stem. `task_id` and `group` are
  stem/task, `trajectory_id` adds trial and a hash of the run: files of one name may lie in several folders.
- Gold actions and outputs go to metadata and its `labels`; `trial` and the rest of `info` to metadata.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any

from judge.errors import InputError
from judge.readers.chat import Message, text_of
from judge.readers.checked import objects
from judge.readers.dialogue import leftover, number_at, object_at, read

_VERIFIER = "tau-bench: database state and required outputs"
_UNTOLD = "(not recorded: the run broke before its first step)"
_TOOL_ERROR = re.compile(r"Error:|Unknown action ")
_TOLD_ERROR = re.compile(r"API output: (Error:|Unknown action )")
_USED = frozenset({"task_id", "trial", "reward", "traj", "info", "metadata"})
_OF_THE_TASK = frozenset({"instruction", "actions", "outputs"})


def matches(record: Mapping[str, Any]) -> bool:
    return isinstance(record.get("traj"), list | tuple) and "info" in record


def fields(record: Mapping[str, Any], stem: str) -> dict[str, Any]:
    """The record as keyword arguments of Trajectory. Raises InputError that names the field."""
    traj = objects(record.get("traj"), "traj")
    dialogue = read(((f"traj.{at}", message) for at, message in enumerate(traj)), _is_error)
    info = object_at("info", record.get("info"))
    task = object_at("info.task", info.pop("task", None))
    broke = bool(info.get("error") or info.get("traceback"))
    gold = {"gold_actions": task.get("actions"), "gold_outputs": task.get("outputs")}
    rest = leftover(record, _USED, dialogue)
    return {
        **rest,
        **_ids(record, stem, [task.get("instruction"), traj, info.get("error")]),
        "instruction": _instruction(task, untold=broke and not dialogue.steps),
        "context": {"policy": dialogue.policy, "first_observation": dialogue.opening},
        "steps": dialogue.steps,
        "outcome": _outcome(record.get("reward"), broke, "ok" if dialogue.steps else "infra_error"),
        # Where reports look for what a run is compared with.
        "labels": {**gold, **object_at("labels", rest.get("labels"))},
        "metadata": {
            **object_at("metadata", record.get("metadata")),
            "trial": record.get("trial"),
            **gold,
            "task": {name: value for name, value in task.items() if name not in _OF_THE_TASK},
            "info": info,
        },
    }


def _is_error(answer: Message) -> bool:
    pattern = _TOOL_ERROR if answer.speaker == "tool" else _TOLD_ERROR
    return pattern.match(answer.text) is not None


def _instruction(task: Mapping[str, Any], untold: bool) -> str:
    told = task.get("instruction")
    if isinstance(told, str):
        return told
    if told is None and untold:
        return _UNTOLD
    raise InputError("info.task.instruction: must be text that says what the user wants")


def _outcome(reward: Any, broke: bool, status: str) -> dict[str, Any]:
    if broke:
        return {"status": status}
    return {} if reward is None else {"reward": number_at("reward", reward), "verifier": _VERIFIER}


def _ids(record: Mapping[str, Any], stem: str, run: Any) -> dict[str, str]:
    digest = hashlib.sha256(text_of("traj", run).encode()).hexdigest()[:8]
    number, trial = record.get("task_id"), record.get("trial")
    if isinstance(number, bool) or not isinstance(number, int | str) or number == "":
        raise InputError("task_id: must be the number of the task")
    task = f"{stem}/{number}" if stem else str(number)
    name = task if trial is None else f"{task}/t{text_of('trial', trial)}"
    return {"task_id": task, "group": task, "trajectory_id": f"{name}/{digest}"}
