"""Tasks to train on: how often each is solved, how its rewards spread, and whether a trainer learns from it.

Covers the figures and filters of `judge report --view tasks`. Tasks that ask the same are `duplicates`'; the
advantages are `groups`' and `stepwise`'s.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.groups import GROUP_COLUMNS, METHODS
from analysis.stepwise import STEP_METHODS
from judge.schema import Step, Trajectory

__all__ = [
    "LIMITS",
    "TASK_COLUMNS",
    "Run",
    "attempts",
    "misses",
    "pass_at",
    "pass_hat",
    "run_of",
    "task_figures",
]

TASK_COLUMNS = (*GROUP_COLUMNS, "instruction_hash", "frame_count", "omitted_steps")
"""What `load_frame` has to load besides its own columns."""

LIMITS = {
    **{"min_pass_rate": ("pass_rate", "least"), "max_pass_rate": ("pass_rate", "most")},
    **{"min_steps": ("steps", "least"), "max_steps": ("steps", "most"), "min_tools": ("tools", "least")},
}
"""Name of a filter → the column that it bounds, and on which side; both bounds are inclusive."""

_TASK = ["rubric_version", "judge_model", "task_id"]
_COUNTS = ["rollouts", "passes", "by_judge", "failed", "skipped"]
_MESSAGES = {"message", "respond", "answer", "send_msg_to_user"}
_CALL = re.compile(r"\s*([\w.:/-]+)\s*\(")


class Run(NamedTuple):
    """What is taken of a stored run: its length in steps, and the names of the tools that it called."""

    steps: float
    tools: frozenset[str]


def run_of(run: Trajectory) -> Run:
    """A tool is named by its call, or else by the action: `name(...)`, or its type. Messages are none."""
    return Run(len(run.steps), frozenset(name for step in run.steps for name in _tools(step)))


def pass_at(rollouts: NDArray[Any], passes: NDArray[Any], k: int) -> NDArray[np.float64]:
    """pass@k, in [0, 1]: the chance that of k of the rollouts at least one passed; NaN for fewer than k.

    Source: the unbiased estimator 1 - C(n - c, k) / C(n, k) of Chen et al. (2021).
    """
    return 1.0 - pass_hat(rollouts, rollouts - passes, k)


def pass_hat(rollouts: NDArray[Any], passes: NDArray[Any], k: int) -> NDArray[np.float64]:
    """pass^k, in [0, 1]: the chance that k of the rollouts all passed; NaN for fewer than k.

    Source: the unbiased estimator C(c, k) / C(n, k) of tau-bench (Yao et al. 2024).
    """
    found = np.where(rollouts >= k, 1.0, math.nan)
    for drawn in range(min(k, int(rollouts.max(initial=0)))):
        found *= np.maximum(passes - drawn, 0) / np.maximum(rollouts - drawn, 1)
    return found


def attempts(frame: pd.DataFrame, runs: Mapping[str, Run]) -> pd.DataFrame:
    """One row for each attempt at a task, as one judge saw it under one rubric version; repeats are folded.

    An attempt is a trajectory; rows without a trajectory_id are one each, and rows without a task_id are left
    out. Columns: rubric_version, judge_model, task_id, trajectory_id; passed (1, 0, or NaN where unknown): by
    the stored outcome where the environment was sound and gave one, else by the judge's success, in more than
    half of the repeats; by_judge, whether it was the judge; reward, the mean of the repeats; steps, the
    length of its run in `runs` (by trajectory_id), else as the log counts it; and how many of its judgements
    failed, and were skipped (unusable_input). An outcome counts also where the judgement failed: it is the
    environment's. Identical steps in a row count once in the log, because the judge is shown one.
    """
    run, sound = frame["trajectory_id"], frame["error_kind"].isna()
    skipped = frame["error_kind"] == "unusable_input"
    rows = frame[[*_TASK, "trajectory_id"]].assign(
        attempt=run.cat.codes.astype("int64").where(run.notna(), -1 - np.arange(len(frame))),
        outcome=frame["outcome"].where(frame["outcome_status"] == "ok"),
        success=frame["success"].where(sound),
        reward=frame["reward"].where(sound),
        steps=_lengths(frame, runs),
        failed=~sound & ~skipped,
        skipped=skipped,
    )
    groups = rows[rows["task_id"].notna()].groupby([*_TASK, "attempt"], observed=True, sort=False)
    table = groups[["outcome", "success", "reward", "steps"]].mean()
    table = table.join(groups[["failed", "skipped"]].sum()).join(groups["trajectory_id"].first())
    judged = (table["success"] > 0.5).where(table["success"].notna())
    table["passed"] = (table["outcome"] == 1).where(table["outcome"].notna(), judged).astype("float64")
    table["by_judge"] = table["outcome"].isna() & judged.notna()
    columns = [*_TASK, "trajectory_id", "passed", "by_judge", "reward", "steps", "failed", "skipped"]
    return table.reset_index()[columns]


def task_figures(
    frame: pd.DataFrame,
    rollouts: pd.DataFrame,
    runs: Mapping[str, Run] | None = None,
    ks: Sequence[int] | None = None,
) -> pd.DataFrame:
    """One row for each task of a `load_frame(also=TASK_COLUMNS)` frame, by (rubric_version, judge_model).

    Columns: rubric_version, judge_model, task_id in order of appearance; `rollouts`, the `attempts` that are
    known to have passed or not, `passes` of them, `by_judge` of them by the judge's word; `failed` and
    `skipped` judgements; pass_rate in [0, 1]; reward_mean and reward_var (of a sample: n - 1) over the
    attempts with a reward; steps, the mean length; tools, how many different ones its `runs` called in all;
    alive_<method> for METHODS and for those of STEP_METHODS that are in `rollouts` (of `group_rollouts` or
    `step_advantages`, under the index of the frame): whether any of its groups has an advantage that is not
    0, None without any; pass@k and pass^k for each of `ks`, by default the powers of 2 up to the fewest
    rollouts of a task that has some.
    Undefined figures are NaN. Raises ValueError for a k below 1.
    """
    if min(ks or [1]) < 1:
        raise ValueError(f"k is {min(ks or [1])}; it must be at least 1")
    tried = attempts(frame, runs or {})
    tried["rollouts"] = tried["passed"].notna()
    tried["passes"] = tried["passed"] == 1
    groups = tried.groupby(_TASK, observed=True, sort=False)
    table = groups[_COUNTS].sum().astype("int64")
    table["pass_rate"] = groups["passed"].mean()
    table["reward_mean"], table["reward_var"] = groups["reward"].mean(), groups["reward"].var()
    table["steps"] = groups["steps"].mean()
    table["tools"] = _distinct_tools(tried, runs) if runs else math.nan
    for name in [*METHODS, *(each for each in STEP_METHODS if each in rollouts)]:
        table[f"alive_{name}"] = _alive(frame, rollouts, name).reindex(table.index).astype(object)
    count, passed = table["rollouts"].to_numpy(), table["passes"].to_numpy()
    ks = _powers_of_2(count) if ks is None else ks
    table = table.assign(**{f"pass@{k}": pass_at(count, passed, k) for k in ks})
    return table.assign(**{f"pass^{k}": pass_hat(count, passed, k) for k in ks}).reset_index()


def misses(table: pd.DataFrame, limits: Mapping[str, float], alive: str | None = None) -> pd.DataFrame:
    """Which rows of `task_figures` each filter leaves out: one column of booleans for each filter.

    `limits` are values for some of LIMITS, by name; `alive` is a method whose groups must teach something. An
    undefined figure lies within no bounds.
    """
    found = pd.DataFrame(index=table.index)
    for name, value in limits.items():
        column, side = LIMITS[name]
        figures = table[column]
        found[name] = ~(figures >= value if side == "least" else figures <= value)
    if alive is not None:
        found["alive"] = [each is not True for each in table[f"alive_{alive}"]]
    return found


def _powers_of_2(rollouts: NDArray[Any]) -> list[int]:
    least = int(rollouts[rollouts > 0].min(initial=np.iinfo(np.int64).max)) if (rollouts > 0).any() else 0
    return [2**power for power in range(least.bit_length())]


def _lengths(frame: pd.DataFrame, runs: Mapping[str, Run]) -> pd.Series[float]:
    run, missing = frame["trajectory_id"], Run(math.nan, frozenset())
    stored = np.array([*(runs.get(name, missing).steps for name in run.cat.categories), math.nan])
    in_log = frame["frame_count"] + frame["omitted_steps"]
    return pd.Series(stored[run.cat.codes], frame.index).fillna(in_log)


def _distinct_tools(tried: pd.DataFrame, runs: Mapping[str, Run]) -> pd.Series[float]:
    known = tried[tried["trajectory_id"].isin(list(runs))]
    tools = known["trajectory_id"].astype(object).map(lambda run: runs[run].tools)
    return tools.groupby([known[key] for key in _TASK], observed=True).agg(_size_of_union)


def _size_of_union(sets: Iterable[frozenset[str]]) -> float:
    return float(len(frozenset().union(*sets)))


def _tools(step: Step) -> list[str]:
    if step.tool_calls:
        return [call.name for call in step.tool_calls if call.name]
    if step.action_type in _MESSAGES or not step.action.strip():
        return []
    called = _CALL.match(step.action)
    name = called[1] if called else step.action_type
    return [name] if name and name not in _MESSAGES else []


def _alive(frame: pd.DataFrame, rollouts: pd.DataFrame, method: str) -> pd.Series[Any]:
    """By task: True, False, or None where no group of it has advantages."""
    advantages = rollouts[method]
    if method in STEP_METHODS:
        moves = pd.Series([None if steps is None else any(steps) for steps in advantages], advantages.index)
    else:
        moves = advantages.ne(0).where(advantages.notna())
    in_group = moves.astype("float64").groupby(rollouts["number"]).transform("max")
    of_task = in_group.groupby([frame[key] for key in _TASK], observed=True).max()
    return of_task.map({1.0: True, 0.0: False}).astype(object).where(of_task.notna(), None)
