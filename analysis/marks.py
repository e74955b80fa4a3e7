"""What each row of a log counts for: the sums that all figures of a judge are made of, and its task.

Covers which rows count as judged, failed, skipped and compared. The figures are `compare`'s and `paired`'s.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

__all__ = ["mark", "task_codes"]


def mark(frame: pd.DataFrame) -> pd.DataFrame:
    """One column for each count and mean of a `load_frame` frame, so that grouping only has to add them up.

    Booleans: rows (all of them), n (with a verdict), failed, skipped (unusable_input), rewarded, compared
    (with a verdict and a known outcome) and of these tp, fp, fn, tn, where an outcome of 1 is success and all
    else is not. Floats, NaN where they enter no mean: reward_mean, score_mean, success_rate, latency_ms_mean,
    tokens_mean and cost.
    """
    sound = frame["error_kind"].isna()
    skipped = frame["error_kind"] == "unusable_input"
    judged = sound & frame["success"].notna()
    compared = judged & (frame["outcome_status"] == "ok") & frame["outcome"].notna()
    said, was = frame["success"] == 1, frame["outcome"] == 1
    return pd.DataFrame(
        {
            "rows": True,
            "n": judged,
            "failed": ~sound & ~skipped,
            "skipped": skipped,
            "rewarded": sound & frame["reward"].notna(),
            "compared": compared,
            "tp": compared & said & was,
            "fp": compared & said & ~was,
            "fn": compared & ~said & was,
            "tn": compared & ~said & ~was,
            "reward_mean": frame["reward"].where(sound),
            "score_mean": frame["score"].where(judged),
            "success_rate": frame["success"].where(judged),
            "latency_ms_mean": frame["latency_ms"].where(~skipped),
            "tokens_mean": frame["tokens"].where(~skipped),
            "cost": frame["cost"].where(~skipped),
        }
    )


def task_codes(frame: pd.DataFrame) -> NDArray[np.int64]:
    """An integer for each row, equal where rows are of one task.

    A row without task_id stands with those of its trajectory_id, and one that has neither for itself.
    """
    task, run = (frame[name].cat.codes.to_numpy(np.int64) for name in ("task_id", "trajectory_id"))
    runs_from = len(frame["task_id"].cat.categories)
    rows_from = runs_from + len(frame["trajectory_id"].cat.categories)
    alone = rows_from + np.arange(len(frame), dtype=np.int64)
    return np.where(task >= 0, task, np.where(run >= 0, runs_from + run, alone))
