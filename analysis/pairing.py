"""The rows of two judges, put side by side: the same trajectory, the same repeat.

Covers which rows meet and who was right of the two; what the pairs say is `paired`'s.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

__all__ = ["COUNTED", "pair_rows", "right_counts"]

COUNTED = ["n", "both_right", "only_baseline", "only_candidate", "both_wrong"]

Rows = NDArray[np.intp]


def pair_rows(frame: pd.DataFrame, ours: Rows, theirs: Rows, *, of_one_model: bool) -> tuple[Rows, Rows]:
    """Of two lists of row positions those that meet: of one trajectory_id and repeat (and judge_model).

    The two are parallel. Of several rows of one side that would meet the last is taken; rows without a
    trajectory_id meet none.
    """
    run, repeat, model = (
        frame[name].cat.codes.to_numpy(np.int64) for name in ("trajectory_id", "repeat", "judge_model")
    )
    key = run * (repeat.max(initial=0) + 1) + repeat
    if of_one_model:
        key = key * (model.max(initial=0) + 1) + model
    (left, ours), (right, theirs) = (_last_of_each(key, side[run[side] >= 0]) for side in (ours, theirs))
    _, at_left, at_right = np.intersect1d(left, right, assume_unique=True, return_indices=True)
    return ours[at_left], theirs[at_right]


def right_counts(ours: NDArray[np.bool_], theirs: NDArray[np.bool_]) -> dict[str, int]:
    """The pairs, by who was right: the counts COUNTED of baseline (`ours`) and candidate (`theirs`)."""
    cells = (ours & theirs, ours & ~theirs, ~ours & theirs, ~ours & ~theirs)
    counts = [len(ours), *(int(cell.sum()) for cell in cells)]
    return dict(zip(COUNTED, counts, strict=True))


def _last_of_each(key: NDArray[np.int64], rows: Rows) -> tuple[NDArray[np.int64], Rows]:
    """The different keys of some rows, and the last row of each."""
    keys, first_from_behind = np.unique(key[rows[::-1]], return_index=True)
    return keys, rows[::-1][first_from_behind]
