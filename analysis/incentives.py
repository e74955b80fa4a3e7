"""What the rewards of a run pay for: process or outcome, one part alone, pleasing the judge, length.

Covers the findings that need outcomes, training steps or parts of rewards, about the rows of one judge and
what they count for (`marks.mark`). Their rules are told by `health.health`; the statistics are `trends`' and
`components`'.
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.columns import finite, number
from analysis.components import OUTCOME_PARTS, PROCESS_PARTS, Components, components
from analysis.finding import Finding
from analysis.marks import task_codes
from analysis.trends import LEAST_STEPS, LEAST_TASKS, centred, diverging, how_many, slope

__all__ = ["length_bias", "part_findings", "reward_hacking", "training_step", "verified"]

_PARTS = "parts."
_OF_PARTS = ("process_variance", "dominant_part")
_LEAST_ROWS = 50
_FAR_ABOVE = 4.0
_DROWNS = 0.95
_PAID_FOR_LENGTH = 0.05
_LENGTH_ERROR_RATE = 0.01
_SAME = 1e-9


def part_findings(rows: pd.DataFrame, marks: pd.DataFrame) -> list[Finding]:
    """process_variance and dominant_part."""
    names = [name for name in map(str, rows) if name.startswith(_PARTS) and rows[name].notna().any()]
    use = rows[marks["rewarded"] & rows[names].notna().any(axis=1)]
    tasks = task_codes(use)
    if len(names) < 2:
        said = "Does not apply: the reward has one part, or none."
        return [Finding(name, "ok", math.nan, len(use), said) for name in _OF_PARTS]
    if len(use) < _LEAST_ROWS or how_many(tasks) < LEAST_TASKS:
        missing = f"Needs {_LEAST_ROWS} rewards of {LEAST_TASKS} tasks."
        return [Finding(name, "unknown", math.nan, len(use), missing) for name in _OF_PARTS]
    # A part that a row lacks added nothing to its reward.
    values = use[names].fillna(0.0).to_numpy(np.float64)
    short = [name.removeprefix(_PARTS) for name in names]
    made = components(short, values, use["reward"].to_numpy(np.float64), tasks)
    return [_process_variance(made, len(use)), _dominant_part(made, len(use))]


def reward_hacking(rows: pd.DataFrame, marks: pd.DataFrame) -> list[Finding]:
    """Rewards that rise while the verifier's pass rate falls, with the stretch of training steps."""
    name, steps = "reward_hacking", training_step(rows)
    outcomes, what = _told_by_verifier(rows)
    use = marks["rewarded"].to_numpy() & ~np.isnan(outcomes) & ~np.isnan(steps)
    if what is None:
        missing = (
            "Outcomes differ, but none is 1 and not all lie in [0, 1]: nobody can say which runs passed."
        )
        return [Finding(name, "unknown", math.nan, int(use.sum()), missing)]
    rewards = rows["reward"].to_numpy(np.float64)
    found = diverging(steps[use], rewards[use], outcomes[use], task_codes(rows)[use])
    if found is None:
        missing = f"Needs outcomes over {LEAST_STEPS} training steps of {LEAST_TASKS} tasks."
        return [Finding(name, "unknown", math.nan, int(use.sum()), missing)]
    meaning = (
        f"From step {found.first:g} to {found.last:g} rewards change by {found.reward:+.2g} "
        f"and the verifier's {what} by {found.pass_rate:+.2g}."
    )
    if found.is_sure:
        meaning += " The policy learns to please the judge: stop, and read its best-paid failures."
    return [Finding(name, "warn" if found.is_sure else "ok", found.pass_rate, found.n, meaning)]


def length_bias(rows: pd.DataFrame, marks: pd.DataFrame) -> list[Finding]:
    """Longer runs that are scored higher at equal outcome."""
    name, outcomes = "length_bias", _known_outcomes(rows)
    length = (rows["frame_count"] + rows["omitted_steps"].fillna(0)).to_numpy(np.float64)
    use = marks["n"] & rows["score"].notna() & ~np.isnan(outcomes) & (length > 0)
    doublings = np.log2(length[use])
    strata, alike, tasks = _alike(rows[use], outcomes[use], doublings)
    inside = _varies_within(doublings, strata)
    if inside.sum() < _LEAST_ROWS or how_many(tasks[inside]) < LEAST_TASKS:
        missing = (
            f"Needs {_LEAST_ROWS} scored runs of different lengths, with outcomes, of {LEAST_TASKS} tasks."
        )
        return [Finding(name, "unknown", math.nan, int(inside.sum()), missing)]
    scores = rows.loc[use, "score"].to_numpy(np.float64)
    rise = slope(doublings[inside], scores[inside], tasks[inside], strata[inside])
    meaning = f"The score changes by {rise.value:+.2g} for each doubling of the steps, among runs of {alike}."
    if rise.beyond(_LENGTH_ERROR_RATE) != 1:
        return [Finding(name, "ok", rise.value, rise.n, meaning)]
    meaning += " Length is paid for: say in the rubric that it does not count."
    return [Finding(name, "warn" if rise.value >= _PAID_FOR_LENGTH else "note", rise.value, rise.n, meaning)]


def training_step(rows: pd.DataFrame) -> NDArray[np.float64]:
    """The training step of each row; NaN where it has none that is a number."""
    numbers = np.array([finite(number(label)) for label in rows["step"].cat.categories] + [math.nan])
    return numbers[rows["step"].cat.codes]


def verified(rows: pd.DataFrame) -> NDArray[np.float64]:
    """1.0 where the verifier passed a run, 0.0 where it did not, NaN where that is unknown."""
    outcomes = _known_outcomes(rows)
    return np.where(np.isnan(outcomes), math.nan, outcomes == 1)


def _known_outcomes(rows: pd.DataFrame) -> NDArray[np.float64]:
    """The outcome of each row; NaN where the environment was not sound or gave none."""
    return rows["outcome"].where(rows["outcome_status"] == "ok").to_numpy(np.float64)


def _told_by_verifier(rows: pd.DataFrame) -> tuple[NDArray[np.float64], str | None]:
    """How each run did by the verifier, and what its mean is called; None where that cannot be told.

    Outcomes between 0 and 1 are partial success: that runs pass is then too coarse to see them fall.
    """
    outcomes = _known_outcomes(rows)
    known = outcomes[~np.isnan(outcomes)]
    if ((known >= 0) & (known <= 1)).all():
        return outcomes, "pass rate" if np.isin(known, (0.0, 1.0)).all() else "mean outcome"
    return verified(rows), "pass rate" if (known == 1).any() or not np.ptp(known) > 0 else None


def _process_variance(made: Components | None, n: int) -> Finding:
    name = "process_variance"
    process = set(made.shares) & PROCESS_PARTS if made else set()
    if made is None or not process:
        return Finding(name, "ok", math.nan, n, "No part of the process varies.")
    if not set(made.shares) & OUTCOME_PARTS:
        meaning = (
            "Only the process varies, never the outcome: rewards say how runs went, not whether they worked."
        )
        return Finding(name, "note", math.nan, n, meaning)
    meaning = f"The process has {made.process_ratio:.2g} times the variance of the outcome in the reward."
    if made.process_low <= 1:
        return Finding(name, "ok", made.process_ratio, n, meaning)
    meaning += " A policy is paid for looking right: lower the weight of the process."
    return Finding(name, "warn" if made.process_low > _FAR_ABOVE else "note", made.process_ratio, n, meaning)


def _dominant_part(made: Components | None, n: int) -> Finding:
    name = "dominant_part"
    if made is None or len(made.shares) < 2:
        return Finding(name, "ok", math.nan, n, "Fewer than two parts of the reward vary.")
    share = made.shares[made.top]
    meaning = f"{made.top} makes {share:.0%} of the variance of the reward."
    if made.top_low <= _DROWNS:
        return Finding(name, "ok", share, n, meaning)
    meaning += " The other parts make next to no difference: weigh them higher or do without them."
    return Finding(name, "warn" if made.top in PROCESS_PARTS else "note", share, n, meaning)


def _alike(
    rows: pd.DataFrame, outcomes: NDArray[np.float64], doublings: NDArray[np.float64]
) -> tuple[NDArray[np.int64], str, NDArray[np.int64]]:
    """Which rows are compared with one another, what these share, and the task of each row."""
    tasks, (different, outcome) = task_codes(rows), np.unique(outcomes, return_inverse=True)
    strata = _numbered(tasks * len(different) + outcome)
    if how_many(tasks[_varies_within(doublings, strata)]) >= LEAST_TASKS:
        return strata, "one task and outcome", tasks
    # Rows without a category have the code -1, and are compared with one another.
    categories = rows["category"].cat.codes.to_numpy(np.int64) + 1
    return _numbered(categories * len(different) + outcome), "one category and outcome", tasks


def _numbered(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """The codes as integers from 0, so that as many have to be counted as there are."""
    return np.asarray(np.unique(codes, return_inverse=True)[1], dtype=np.int64)


def _varies_within(values: NDArray[np.float64], strata: NDArray[np.int64]) -> NDArray[np.bool_]:
    """The rows of strata that hold more than one value."""
    spread = np.bincount(strata, centred(values, strata) ** 2)
    return spread[strata] > _SAME
