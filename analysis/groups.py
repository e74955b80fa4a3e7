"""Groups of rollouts: rewards, the advantages a trainer makes of them, and the groups that teach nothing.

Covers `judge report --view groups` and the advantages of `judge export`. A rollout without a reward is
missing from its group and never a 0. The formulas are judge.advantage's.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.compare import records
from analysis.frame import NONE
from analysis.stepwise import STEP_METHODS
from judge.advantage import dr_grpo, grpo

__all__ = [
    "GROUP_COLUMNS",
    "METHODS",
    "VERSION_FIGURES",
    "dead_groups",
    "group_records",
    "group_rollouts",
    "summarise_groups",
]

GROUP_COLUMNS = ("group", "step")
"""What `load_frame` has to load besides its own columns."""

Floats = NDArray[np.float64]
Method = Callable[[Iterable[float | None]], list[float]]

METHODS: dict[str, Method] = {"grpo": grpo, "dr_grpo": dr_grpo}
"""Name of an advantage column → the function of a group's rewards that fills it."""

VERSION_FIGURES = ["rubric_version", "groups", "dead", "dead_share"]

_TOLERANCE = 1e-9
_INTEGER = re.compile(r"0|-?[1-9]\d{0,17}", re.ASCII)
_KEY = ["rubric_version", "judge_model", "group", "step", "repeat"]


def group_rollouts(frame: pd.DataFrame, methods: Mapping[str, Method] = METHODS) -> pd.DataFrame:
    """The rows of a `load_frame(also=GROUP_COLUMNS)` frame, under its index, with their place in a group.

    A group is the rollouts of one `group` (where that is missing, of one task_id) in one training step, as
    one judge saw them under one rubric version; of several repeats, each makes a group of its own. Columns:
    number (of the group, from 0 in order of appearance), the five that tell groups apart, trajectory_id,
    reward (NaN where the judgement failed) and one column of advantages for each of `methods`, NaN
    where the reward is.
    """
    group, task = (frame[name].astype(object) for name in ("group", "task_id"))
    table = frame[["trajectory_id", "rubric_version", "judge_model", "repeat"]].assign(
        group=group.where(group.notna(), task.where(task.notna(), NONE)),
        step=frame["step"].astype(object).where(frame["step"].notna(), NONE),
        reward=frame["reward"].where(frame["error_kind"].isna()),
    )
    table["number"] = table.groupby(_KEY, observed=True, sort=False).ngroup()
    rewards, numbers = table["reward"].to_numpy(np.float64), table["number"].to_numpy(np.int64)
    for name, advantages in zip(methods, _in_groups(rewards, numbers, methods.values()), strict=True):
        table[name] = advantages
    return table[["number", *_KEY, "trajectory_id", "reward", *methods]]


def dead_groups(rollouts: pd.DataFrame) -> pd.DataFrame:
    """One row for each group of `group_rollouts`, by number: its key, `n`, `rewarded`, reward_mean, `dead`.

    Dead is a group whose rewards are all equal (to within 1e-9), one of a single reward included: a trainer
    learns nothing from it. A group without any reward is not dead but missing.
    """
    groups = rollouts.groupby("number")
    rewards = groups["reward"]
    table = groups[_KEY].first()
    table["n"] = groups.size()
    table["rewarded"] = rewards.count()
    table["reward_mean"] = rewards.mean()
    table["dead"] = (table["rewarded"] > 0) & (rewards.max() - rewards.min() <= _TOLERANCE)
    return table.reset_index()


def summarise_groups(groups: pd.DataFrame) -> pd.DataFrame:
    """The groups of `dead_groups` counted for each rubric version, in order of appearance.

    `groups` are those with a reward, `single` those with one only, `unrewarded` (not among the groups) those
    with none; dead_share is dead / groups, in [0, 1], NaN without any.
    """
    marks = pd.DataFrame(
        {
            "rubric_version": groups["rubric_version"].astype(object),
            "groups": groups["rewarded"] > 0,
            "dead": groups["dead"],
            "single": groups["rewarded"] == 1,
            "unrewarded": groups["rewarded"] == 0,
        }
    )
    table = marks.groupby("rubric_version", sort=False).sum().astype("int64").reset_index()
    table["dead_share"] = table["dead"] / table["groups"].where(table["groups"] > 0)
    return table[[*VERSION_FIGURES, "single", "unrewarded"]]


def group_records(rollouts: pd.DataFrame, groups: pd.DataFrame) -> list[dict[str, Any]]:
    """Some groups of `rollouts` as dicts of plain values.

    The rollouts of a group are parallel lists: trajectory_ids, rewards, one for each of METHODS, and of
    `stepwise.STEP_METHODS` where `rollouts` has them. What is missing is None.
    """
    methods = [*METHODS, *(name for name in STEP_METHODS if name in rollouts)]
    found = records(groups, [*_KEY, "n", "rewarded", "reward_mean", "dead"])
    lists = {"trajectory_id": "trajectory_ids", "reward": "rewards", **{name: name for name in methods}}
    for each in found:
        each.update(step=_integer(each["step"]), repeat=_integer(each["repeat"]))
        each.update({name: [] for name in lists.values()})
    by_number = dict(zip(groups["number"], found, strict=True))
    members = rollouts[rollouts["number"].isin(groups["number"])]
    for member in records(members, ["number", *lists]):
        for name, plural in lists.items():
            by_number[member["number"]][plural].append(member[name])
    return found


def _in_groups(rewards: Floats, numbers: NDArray[np.int64], methods: Iterable[Method]) -> Iterator[Floats]:
    """What each method makes of the rewards of each group, in the order of the rows; NaN where one is."""
    order = np.argsort(numbers, kind="stable")
    by_group = [None if math.isnan(reward) else reward for reward in rewards[order].tolist()]
    starts = np.concatenate([[0], np.cumsum(np.bincount(numbers))]).tolist()
    groups = [by_group[start:end] for start, end in pairwise(starts)]
    advantages = np.empty(len(rewards))
    for method in methods:
        # Missing rewards have an advantage too, 0.0, so that each row takes one.
        advantages[order] = list(chain.from_iterable(map(method, groups)))
        yield np.where(np.isnan(rewards), math.nan, advantages)


def _integer(label: str) -> int | str | None:
    """A label of the frame as the number it was in the log; "(none)" is None."""
    if label == NONE:
        return None
    return int(label) if _INTEGER.fullmatch(label) else label
