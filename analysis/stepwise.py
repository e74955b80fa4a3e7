"""Advantages of single steps within a group, where the judge labelled the steps (mode whole): gvpo and gtpo.

Covers what `judge report --view groups` adds to the rollouts' own advantages. The formulas are
judge.advantage's; for gvpo a step labelled -1 counts as failed, which is this project's reading and not the
paper's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.rollouts import LABEL_VALUES
from judge.advantage import gtpo, gvpo

__all__ = ["STEP_COLUMNS", "STEP_METHODS", "labelled_rows", "step_advantages"]

STEP_COLUMNS = ("steps",)
"""What `load_frame` has to load besides GROUP_COLUMNS."""

STEP_METHODS = ("gvpo", "gtpo")


def step_advantages(rollouts: pd.DataFrame, frame: pd.DataFrame, tiers: Mapping[str, float]) -> pd.DataFrame:
    """The `group_rollouts` with a column for each of STEP_METHODS: a list with one value per step, or None.

    `frame` is what they were made of, with STEP_COLUMNS. `tiers` are the step rewards that gtpo takes, by
    label, over the labels' own values. For which rows have values see `labelled_rows`.
    """
    values = {**LABEL_VALUES, **{label: tiers[label] for label in LABEL_VALUES if label in tiers}}
    labels = [line.split() for line in frame["steps"].cat.categories]
    failed = [[int(label) for label in each] for each in labels]
    worth = [[values[label] for label in each] for each in labels]
    rewards, outcomes = rollouts["reward"].to_numpy(np.float64), _outcomes(frame)
    steps = frame["steps"].cat.codes.to_numpy()
    found = {name: np.full(len(rollouts), None, dtype=object) for name in STEP_METHODS}
    for rows in _groups(rollouts["number"].to_numpy(), labelled_rows(rollouts, frame)):
        its = steps[rows].tolist()
        made = {
            "gvpo": gvpo(rewards[rows].tolist(), [failed[each] for each in its], failed_from="judge"),
            "gtpo": gtpo([worth[each] for each in its], outcomes[rows].tolist()),
        }
        for name, of_rows in made.items():
            for row, advantages in zip(rows.tolist(), of_rows, strict=True):
                found[name][row] = advantages
    return rollouts.assign(**found)


def labelled_rows(rollouts: pd.DataFrame, frame: pd.DataFrame) -> NDArray[np.bool_]:
    """The rows of `step_advantages` that have values.

    They are the rows with a reward of a group where every one of these has its steps labelled and a known
    outcome, and where, under its rubric version, one judge made one judgement of each run.
    """
    number = rollouts["number"].to_numpy()
    has_reward = rollouts["reward"].notna().to_numpy()
    is_labelled = (frame["steps"] != "").to_numpy() & ~np.isnan(_outcomes(frame))
    unknown = np.bincount(number, has_reward & ~is_labelled) > 0
    versions = rollouts.groupby("rubric_version", observed=True)
    once = versions[["judge_model", "repeat"]].nunique().max(axis=1) == 1
    is_once = rollouts["rubric_version"].astype(object).map(once).to_numpy(dtype=bool)
    return np.asarray(has_reward & is_once & ~unknown[number], dtype=bool)


def _groups(numbers: NDArray[np.int64], chosen: NDArray[np.bool_]) -> Iterator[NDArray[np.int64]]:
    """The chosen rows of each group that has any, in their order."""
    rows = np.flatnonzero(chosen)
    rows = rows[np.argsort(numbers[rows], kind="stable")]
    starts = np.flatnonzero(np.diff(numbers[rows], prepend=-1, append=-1))
    return (rows[start:end] for start, end in pairwise(starts))


def _outcomes(frame: pd.DataFrame) -> NDArray[np.float64]:
    """The outcome of a sound verifier, else the judge's success, NaN where there is neither."""
    sound = frame["outcome"].where(frame["outcome_status"] == "ok")
    return sound.fillna(frame["success"]).to_numpy(np.float64)
