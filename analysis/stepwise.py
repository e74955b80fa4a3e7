"""Advantages of single steps within a group, where the judge labelled the steps (mode whole): gvpo and gtpo.

Covers what `judge report --view groups` adds to the rollouts' own advantages. The formulas are
judge.advantage's; for gvpo a step labelled -1 counts as failed, which is this project's reading and not the
paper's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from analysis.rollouts import LABEL_VALUES, Rollout
from judge.advantage import gtpo, gvpo

__all__ = ["STEP_METHODS", "step_advantages"]

STEP_METHODS = ("gvpo", "gtpo")


def step_advantages(
    rollouts: pd.DataFrame, logged: Mapping[str, Mapping[str, Rollout]], tiers: Mapping[str, float]
) -> pd.DataFrame:
    """The `group_rollouts` with a column for each of STEP_METHODS: a list with one value per step, or None.

    `logged` are the `logged_rollouts` of the same logs. `tiers` are the step rewards that gtpo takes, by
    label, over the labels' own values. A group has values where every rollout with a reward has its steps
    labelled, and where one judge made one judgement of each run: the labels of repeats are not kept apart.
    """
    values = {**LABEL_VALUES, **{label: tiers[label] for label in LABEL_VALUES if label in tiers}}
    once = (
        rollouts.groupby("rubric_version", observed=True)[["judge_model", "repeat"]].nunique().max(axis=1)
        == 1
    )
    found: dict[Any, tuple[list[float], list[float]]] = {}
    for _, group in rollouts.groupby("number", sort=False):
        version = str(group["rubric_version"].iloc[0])
        if once[version]:
            found.update(_of_group(group, logged.get(version, {}), values))
    columns = {
        name: pd.Series([found[row][at] if row in found else None for row in rollouts.index], rollouts.index)
        for at, name in enumerate(STEP_METHODS)
    }
    return rollouts.assign(**columns)


def _of_group(
    group: pd.DataFrame, logged: Mapping[str, Rollout], values: Mapping[str, float]
) -> dict[Any, tuple[list[float], list[float]]]:
    """By row: the advantages of its steps under gvpo and under gtpo; nothing where a label is missing."""
    rewards = [None if pd.isna(reward) else float(reward) for reward in group["reward"]]
    runs = [logged.get(str(run)) for run in group["trajectory_id"]]
    labels = [
        run.tiers if run and reward is not None else () for run, reward in zip(runs, rewards, strict=True)
    ]
    if not all(labels[at] for at, reward in enumerate(rewards) if reward is not None):
        return {}
    failed = [[int(label) for label in its] for its in labels]
    worth = [[values[label] for label in its] for its in labels]
    outcomes = [run.outcome if run and its else None for run, its in zip(runs, labels, strict=True)]
    of_steps = zip(gvpo(rewards, failed, failed_from="judge"), gtpo(worth, outcomes), strict=True)
    pairs = zip(group.index, rewards, of_steps, strict=True)
    return {row: advantages for row, reward, advantages in pairs if reward is not None}
