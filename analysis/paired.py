"""Two judges on the trajectories that both judged: who was right, by how much, and whether that is chance.

Covers the comparisons of the view compare; which judges meet is `versions`' to say, and how sure one can be
is `statistics`'.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.compare import group_values
from analysis.marks import mark, task_codes
from analysis.pairing import COUNTED, Rows, pair_rows, right_counts
from analysis.statistics import CELLS, RATES, bootstrap, holm, mcnemar_p, rates, ratio, sign_flip_p
from analysis.versions import Judging, Versus
from judge.errors import InputError

__all__ = ["COMPARED", "DIFFERENCES", "LEVEL", "compare_judges"]

DIFFERENCES = ["accuracy_diff", "recall_diff", "fpr_diff", "reward_diff"]

LEVEL = 0.05
"""The level, after Holm's correction, below which the verdict speaks of a difference."""

_NAMES = ["baseline", "baseline_model", "candidate", "candidate_model"]
_ASIDE = ["reward_pairs", "baseline_alone", "candidate_alone", "outcome_unknown", "outcome_differs"]
COMPARED = [
    *_NAMES,
    "verdict",
    *COUNTED,
    *("tasks", "p_mcnemar", "p_task", "p_holm"),
    *(f"{name}{end}" for name in DIFFERENCES for end in ("", "_low", "_high")),
    *_ASIDE,
]

_TP, _FP, _FN, _TN = range(len(CELLS))
_OF_RATES = [RATES.index(name) for name in ("accuracy", "recall", "fpr")]


def compare_judges(frame: pd.DataFrame, versus: Sequence[Versus], by: str | None = None) -> pd.DataFrame:
    """One row for each comparison, or for each value of `by` and comparison, with the columns COMPARED.

    The pairs are the (trajectory_id, repeat) with a verdict of both judges; `n` of them have a known outcome
    under both and fall into both_right to both_wrong. p_mcnemar takes pairs as independent; p_task flips the
    signs of whole `tasks`, and p_holm corrects it for all rows of the table. On p_holm rests the `verdict`:
    better, worse, or no difference shown; None without pairs.

    Differences are candidate - baseline with 95 % intervals over tasks: of accuracy, recall and FPR, in
    [-1, 1], over the n pairs, and of the mean reward over the reward_pairs, those that both rewarded.

    Set aside: baseline_alone and candidate_alone count the rows with a verdict that meet none of the other
    judge; of the pairs, outcome_unknown have no known outcome on some side; of the n, outcome_differs have
    not the same on both. A pair has the `by` of its candidate row,
    because a category is that of its rubric version. Undefined figures are NaN.

    Raises InputError where `by` bears the name of one of COMPARED.
    """
    if by in COMPARED:
        raise InputError(f"cannot group by {by!r}: a figure of the table has this name")
    values = None if by is None else group_values(frame, by)
    codes: NDArray[Any] = np.zeros(len(frame), np.int64) if values is None else values.cat.codes.to_numpy()
    rows = _Rows.of(frame)
    found = [each for one in versus for each in _compared(frame, rows, codes, one)]
    # Stable, so that the comparisons of one group stand in their own order.
    found.sort(key=lambda each: each[0])
    table = pd.DataFrame([row for _, row in found], columns=COMPARED)
    table["p_holm"] = holm(table["p_task"].to_list())
    gained = table["only_candidate"] - table["only_baseline"]
    table["verdict"] = pd.Series(list(map(_verdict, table["p_holm"], gained)), dtype=object)
    if values is not None:
        table.insert(0, str(by), values.cat.categories[[code for code, _ in found]])
    return table


@dataclass(frozen=True)
class _Rows:
    """What the rows of a frame count for, as arrays that a comparison takes its own from."""

    judged: NDArray[np.bool_]
    known: NDArray[np.bool_]
    cells: NDArray[np.int64]
    rewarded: NDArray[np.bool_]
    reward: NDArray[np.float64]
    tasks: NDArray[np.int64]

    @classmethod
    def of(cls, frame: pd.DataFrame) -> _Rows:
        marks = mark(frame)
        return cls(
            judged=marks["n"].to_numpy(),
            known=marks["compared"].to_numpy(),
            cells=marks[CELLS].to_numpy(np.int64),
            rewarded=marks["rewarded"].to_numpy(),
            reward=marks["reward_mean"].fillna(0.0).to_numpy(),
            tasks=task_codes(frame),
        )


def _compared(
    frame: pd.DataFrame, rows: _Rows, codes: NDArray[Any], versus: Versus
) -> Iterator[tuple[int, dict[str, Any]]]:
    """For each group with a pair or a row that meets none (without any, for the first): its code and row."""
    ours, theirs = (np.flatnonzero(rows.judged & _is_judge(frame, judge)) for judge in versus)
    left, right = pair_rows(frame, ours, theirs, of_one_model=False)
    met = np.zeros(len(frame), np.bool_)
    met[left] = met[right] = True
    left_alone, right_alone = ours[~met[ours]], theirs[~met[theirs]]
    names = dict(zip(_NAMES, [*versus.baseline, *versus.candidate], strict=True))
    for code in np.unique(codes[np.concatenate([right, left_alone, right_alone])]).tolist() or [0]:
        inside = codes[right] == code
        row = names | _paired(rows, left[inside], right[inside])
        row["baseline_alone"] = int((codes[left_alone] == code).sum())
        row["candidate_alone"] = int((codes[right_alone] == code).sum())
        yield code, row


def _is_judge(frame: pd.DataFrame, judge: Judging) -> NDArray[np.bool_]:
    is_version = frame["rubric_version"] == judge.rubric_version
    return (is_version & (frame["judge_model"] == judge.judge_model)).to_numpy(np.bool_)


def _paired(rows: _Rows, left: Rows, right: Rows) -> dict[str, Any]:
    """The figures of the pairs of these rows."""
    known = rows.known[left] & rows.known[right]
    rewarded = rows.rewarded[left] & rows.rewarded[right]
    ours, theirs = (rows.cells[side] * known[:, None] for side in (left, right))
    gained = np.where(rewarded, rows.reward[right] - rows.reward[left], 0.0)
    moments = np.column_stack([ours, theirs, gained, rewarded])
    ends = bootstrap(moments, rows.tasks[left], _differences, skewed=False)
    by_name = zip(DIFFERENCES, _differences(moments.sum(axis=0)), *ends, strict=True)
    differences = {
        f"{name}{end}": value
        for name, *values in by_name
        for end, value in zip(("", "_low", "_high"), values, strict=True)
    }
    return {
        **_agreement(ours[known], theirs[known], rows.tasks[left][known]),
        **differences,
        "reward_pairs": int(rewarded.sum()),
        "outcome_unknown": int((~known).sum()),
    }


def _agreement(
    ours: NDArray[np.int64], theirs: NDArray[np.int64], tasks: NDArray[np.int64]
) -> dict[str, Any]:
    """Who was right, and the p-values, of pairs given as their cells."""
    our_right, their_right = (side[:, _TP] + side[:, _TN] == 1 for side in (ours, theirs))
    counts = right_counts(our_right, their_right)
    there, codes = np.unique(tasks, return_inverse=True)
    gained = np.bincount(codes, their_right.astype(np.float64) - our_right, len(there)).astype(np.int64)
    our_success, their_success = (side[:, _TP] + side[:, _FN] == 1 for side in (ours, theirs))
    mcnemar = mcnemar_p(counts["only_baseline"], counts["only_candidate"]) if len(tasks) else math.nan
    return {
        **counts,
        "tasks": len(there),
        "p_mcnemar": mcnemar,
        "p_task": sign_flip_p(gained),
        "outcome_differs": int((our_success != their_success).sum()),
    }


def _differences(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """DIFFERENCES of sums [..., 10]: the cells of either judge, the reward gained, the pairs with one."""
    ours, theirs = rates(sums[..., :4]), rates(sums[..., 4:8])
    gained = ratio(sums[..., 8], sums[..., 9])
    return np.concatenate([(theirs - ours)[..., _OF_RATES], gained[..., None]], axis=-1)


def _verdict(p: float, gained: int) -> str | None:
    if math.isnan(p):
        return None
    if p >= LEVEL:
        return "no difference shown"
    return "better" if gained > 0 else "worse"
