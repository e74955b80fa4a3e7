"""SWE-agent's `.traj`: one run a file, in the old form, the new one, or as a bare demonstration.

    {"trajectory": [{"action", "observation", "thought", "response", "state", ...}],
     "history": [{"role", "content", "is_demo"?, "action"?, "tool_calls"?, ...}],
     "info": {"exit_status", "submission", ...}, "environment", "replay_config"}   or   {"history": [...]}

- Steps: `trajectory[i]` is a step, its observation what came back after its action, its state how things
  stood then. It also holds answers that were refused and asked for again, which `history` forgets. So
  `history` counts only where there is no `trajectory`, or an empty one: an assistant message is a step, what
  follows until the next one its observation. Messages with `is_demo` are an example and no part of the run.
- Instruction: the first user message of `history`, whole, for task, rules and hints are one text. System
  messages are context.policy, other messages before the first step context.first_observation.
- `text` is `thought`, or where that is null `response` (thought and action in one). Null is "".
- A last entry that begins "Exit due to" was written by SWE-agent as it stopped the run: it is no step and
  ends the observation of the step before. The submission joins the last observation unless that step shows
  it already; a run that exited without one says "submission: (none)".
- `error` is never set: the format has no flag, and what its tools print is configuration. `infra_error` are
  exit_environment_error, exit_api (the agent's model did not answer), and any exit without a step; limits,
  format errors and exit_error, which does not say whose fault it was, are ok. There is no verifier.
- A task is named by the problem in `replay_config`, else by the file; a run has no name. `environment` names
  neither of them.
- Not kept: `query` and `extra_info` (whole prompts), `replay_config` (may hold keys), `info.edited_files*`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from judge.errors import InputError
from judge.readers.chat import Message, calls_of, read_message, text_of
from judge.readers.checked import object_or_none, objects
from judge.readers.dialogue import joined

_ENTRY = frozenset({"action", "observation", "thought", "response"})
_STOPPED = re.compile(r"exit(ing)? due to ", re.IGNORECASE)
_BROKEN = re.compile(r"\bexit_(environment_error|api)\b")


def matches(record: Mapping[str, Any]) -> bool:
    entries, history = record.get("trajectory"), record.get("history")
    if "steps" in record or "frames" in record:
        return False
    if isinstance(entries, list) and entries:
        return any(isinstance(entry, Mapping) and not _ENTRY.isdisjoint(entry) for entry in entries)
    return isinstance(history, list) and any(
        isinstance(message, Mapping) and isinstance(message.get("role"), str) for message in history
    )


def fields(record: Mapping[str, Any], stem: str = "") -> dict[str, Any]:
    """The record as keyword arguments of Trajectory; `stem` names the task where the record does not."""
    entries = _listed(record, "trajectory")
    before, run = _told(_listed(record, "history"), to_the_end=not entries)
    info = object_or_none(record.get("info"), "info") or {}
    steps = _recorded(entries) if entries else _spoken(run)
    _close(steps, info)
    found: dict[str, Any] = {
        **_opening(before),
        "steps": steps,
        "outcome": {"status": _status(text_of("info.exit_status", info.get("exit_status")), bool(steps))},
        "metadata": _metadata(record, info),
    }
    task = _task(record) or stem
    return found | ({"task_id": task, "group": task} if task else {})


def _listed(record: Mapping[str, Any], field: str) -> Sequence[Mapping[str, Any]]:
    return () if record.get(field) is None else objects(record[field], field)


def _told(history: Sequence[Mapping[str, Any]], *, to_the_end: bool) -> tuple[list[Message], list[Message]]:
    """The messages before the agent's first one, and those from there on where they are asked for."""
    before: list[Message] = []
    run: list[Message] = []
    for position, stored in enumerate(history):
        if stored.get("is_demo"):
            continue
        message = read_message(position, f"history.{position}", stored)
        if run or message.speaker == "agent":
            if not to_the_end:
                break
            run.append(message)
        else:
            before.append(message)
    return before, run


def _opening(messages: Sequence[Message]) -> dict[str, Any]:
    """Instruction and context: what was said before the agent's first step."""
    asked = next((said for said in messages if said.speaker == "user" and said.text.strip()), None)
    if asked is None:
        raise InputError("history: no user message comes before the first step; the first one holds the task")
    context = {
        "policy": joined(said.text for said in messages if said.speaker == "system"),
        "first_observation": joined(
            said.seen for said in messages if said.speaker != "system" and said is not asked
        ),
    }
    return {"instruction": asked.text, "context": {name: text for name, text in context.items() if text}}


def _recorded(entries: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The steps of `trajectory`."""
    steps = [_step(position, entry) for position, entry in enumerate(entries)]
    last = steps[-1]
    if _STOPPED.match(last["text"]) and (not last["action"] or last["action"].startswith("exit_")):
        steps.pop()
        if steps:
            steps[-1]["observation"] = joined([steps[-1]["observation"], last["text"], last["observation"]])
    return steps


def _step(position: int, entry: Mapping[str, Any]) -> dict[str, Any]:
    def text(field: str) -> str:
        return text_of(f"trajectory.{position}.{field}", entry.get(field))

    state = text("state").strip()
    return {
        "action": text("action"),
        "text": text("response" if entry.get("thought") is None else "thought"),
        "observation": text("observation"),
        "state": "" if state == "{}" else state,
        "source_index": position,
    }


def _spoken(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """The steps of a `history`, whose first message here is the agent's."""
    steps: list[dict[str, Any]] = []
    for message in messages:
        if message.speaker != "agent":
            steps[-1]["observation"] = joined([steps[-1]["observation"], message.seen])
            continue
        action = text_of(f"{message.place}.action", message.fields.get("action"))
        thought = message.fields.get("thought", message.text)
        steps.append(
            {
                # The action spells the call in a way of its own, so that the call beside it says nothing new.
                "action": action or "\n".join(spelled for _, spelled in calls_of(message)),
                "text": text_of(f"{message.place}.thought", thought),
                "observation": "",
                "source_index": message.index,
            }
        )
    return steps


def _close(steps: Sequence[dict[str, Any]], info: Mapping[str, Any]) -> None:
    """Let the last step show what was delivered, or that nothing was."""
    if not steps or not info.get("exit_status"):
        return
    last, submission = steps[-1], text_of("info.submission", info.get("submission"))
    if not submission.strip():
        last["observation"] = joined([last["observation"], "submission: (none)"])
    elif _words(submission) not in _words(f"{last['action']} {last['observation']}"):
        last["observation"] = joined([last["observation"], f"submission:\n{submission}"])


def _words(text: str) -> str:
    return " ".join(text.split())


def _status(exit_status: str, acted: bool) -> str:
    stillborn = not acted and exit_status not in ("", "submitted")
    return "infra_error" if stillborn or _BROKEN.search(exit_status) else "ok"


def _task(record: Mapping[str, Any]) -> str:
    """The problem's id in `replay_config`, which is an object or its JSON; "" where there is none."""
    inner = record.get("replay_config")
    if isinstance(inner, str):
        try:
            inner = json.loads(inner)
        except (ValueError, RecursionError):
            return ""
    for name in ("problem_statement", "id"):
        inner = inner.get(name) if isinstance(inner, Mapping) else None
    return inner if isinstance(inner, str) else ""


def _metadata(record: Mapping[str, Any], info: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in info.items() if not str(name).startswith("edited_files")}
    metadata = {"environment": record.get("environment"), "info": kept}
    return {name: value for name, value in metadata.items() if value}
