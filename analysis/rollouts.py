"""Rollouts as calibration takes them: the tier of each step, and the outcome.

A tier is what kind of step it is (TIER_VALUES, from the stored run) or how the judge labelled it
(LABEL_VALUES, from the log). References and outcomes are looked at here: nothing of this reaches a judge.
What a tier is worth is `calibration`'s to say.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from analysis.columns import NONE, error_kind, finite, number, truth
from judge.collapse import golden_call
from judge.log import read_log
from judge.schema import Step, ToolCall, Trajectory, as_text

__all__ = ["LABEL_VALUES", "TIER_VALUES", "Rollout", "logged_rollouts", "tiers_of", "with_tiers"]

TIER_VALUES = {
    **{"gold": 1.0, "soft": 0.75, "dup": -0.2, "err": -0.1},
    **{"state": 0.1, "read": 0.3, "msg": 0.0},
}
"""The tiers of a step with their starting values. A step has the first that fits: a tool call equal to the
reference, one with its name and some of its arguments (0.5 to 0.99: the middle), the same call as before, an
error, a tool that writes, a tool that reads, a message."""

LABEL_VALUES = {"-1": -1.0, "0": 0.0, "1": 1.0}
"""The judge's labels of a step as tiers, each with itself as starting value."""

_FIELDS = (
    *("trajectory_id", "task_id", "group", "rubric_version", "outcome", "outcome_status", "success"),
    *("steps", "error"),
)

_MESSAGES = {"message", "respond", "answer", "send_msg_to_user"}
# Writes have no end of names, reads have few: a tool that does not say that it reads is taken to write.
_READS = {
    *("get", "find", "search", "list", "lookup", "look", "read", "view", "show", "fetch", "query", "check"),
    *("calculate", "think", "count", "describe", "open", "cat", "ls", "grep", "head", "tail", "pwd"),
    *("goto", "go", "scroll", "hover", "noop", "wait"),
}
_FIRST_WORD = re.compile("[A-Z]?[a-z]+")


@dataclass(frozen=True, slots=True)
class Rollout:
    """What calibration takes of one run: the tier of each step in order, and the outcome in [0, 1].

    Rollouts of one `group` share a baseline; those of one `task` are drawn together. `is_judged`: no verifier
    gave an outcome, and the judge's success stands for it.
    """

    task: str
    group: str
    tiers: tuple[str, ...]
    outcome: float
    is_judged: bool = False


def logged_rollouts(
    paths: Iterable[str | Path], on_bad: Callable[[str], None] | None = None
) -> dict[str, dict[str, Rollout]]:
    """Rubric version → trajectory_id → rollout, with the judge's step labels as its tiers (() without any).

    The last row of a run counts, a failed one only where there is no other; a run without any outcome is left
    out. Raises FileNotFoundError; for `on_bad` see judge.log.read_log.
    """
    found: dict[str, dict[str, Rollout]] = {}
    for row in read_log(*paths, on_bad=on_bad, fields=_FIELDS):
        rollout = _logged(row)
        of_version = found.setdefault(as_text(row.get("rubric_version")) or NONE, {})
        run = as_text(row.get("trajectory_id"))
        if rollout and run and not (error_kind(row.get("error")) and run in of_version):
            of_version[run] = rollout
    return found


def with_tiers(rollouts: Mapping[str, Rollout], runs: Iterable[Trajectory]) -> list[Rollout]:
    """Those of `rollouts` (by trajectory_id) whose run is among `runs`, with the tiers of its steps."""
    known = (run for run in runs if run.trajectory_id in rollouts)
    found = {run.trajectory_id: tiers_of(run) for run in known}
    return [replace(rollouts[run], tiers=tiers) for run, tiers in found.items()]


def tiers_of(run: Trajectory) -> tuple[str, ...]:
    """A key of TIER_VALUES for each step.

    The reference is what a stored run keeps in labels.gold_actions; without it no step is gold or soft.
    Whether a tool reads is told by its first word. A write that reports no error counts as a change of state.
    """
    references, before, tiers = _references(run), set[str](), []
    for step in run.steps:
        calls = _calls(step)
        tiers.append(_tier(step, calls, references, before))
        before.update(map(_spelled, calls))
    return tuple(tiers)


def _logged(row: Mapping[str, Any]) -> Rollout | None:
    """The rollout of a row; None where neither a sound verifier nor the judge says how it ended."""
    stored = finite(number(row.get("outcome"))) if row.get("outcome_status") in (None, "ok") else math.nan
    outcome = truth(row.get("success")) if math.isnan(stored) else stored
    if math.isnan(outcome):
        return None
    steps = [step for step in _listed(row.get("steps")) if isinstance(step, Mapping)]
    labels = tuple(str(int(step["label"])) for step in steps if step.get("label") in (-1, 0, 1))
    task = as_text(row.get("task_id")) or as_text(row.get("trajectory_id"))
    group = as_text(row.get("group")) or task
    return Rollout(task, group, labels, outcome, is_judged=math.isnan(stored))


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _references(run: Trajectory) -> list[ToolCall]:
    labels = run.metadata.get("labels")
    stored = labels.get("gold_actions") if isinstance(labels, Mapping) else None
    found = [action for action in stored or () if isinstance(action, Mapping)]
    arguments = [action.get("kwargs", action.get("arguments")) or {} for action in found]
    return [
        ToolCall(name=as_text(action.get("name")), arguments=given)
        for action, given in zip(found, arguments, strict=True)
        if isinstance(given, Mapping)
    ]


def _calls(step: Step) -> tuple[ToolCall, ...]:
    """The tool calls of a step; where a format keeps only the action, that is its one call."""
    if step.tool_calls or step.action_type in _MESSAGES or not step.action.strip():
        return step.tool_calls
    return (ToolCall(name=step.action),)


def _tier(step: Step, calls: Sequence[ToolCall], references: Sequence[ToolCall], before: set[str]) -> str:
    likeness = [
        golden_call(call, each).value for call in calls for each in references if call.name == each.name
    ]
    if (most := max(likeness, default=0.0)) > 0.5:
        return "gold" if most == 1.0 else "soft"
    if calls and before.issuperset(map(_spelled, calls)):
        return "dup"
    if step.error:
        return "err"
    if not calls:
        return "msg"
    return "read" if all(map(_is_read, calls)) else "state"


def _is_read(call: ToolCall) -> bool:
    word = _FIRST_WORD.search(call.name)
    return word is not None and word[0].lower() in _READS


def _spelled(call: ToolCall) -> str:
    """Equal for equal calls, whatever the order of their arguments."""
    return json.dumps([call.name, call.arguments], sort_keys=True, default=repr)
