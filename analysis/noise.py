"""Strict or noisy: what repeated judgements of the same run say about the judge, apart from the policy.

Covers the figures of `judge report --view noise` and which cause they show; the sentences are `reading`'s,
the rows to look at first are `suspects`'. Noise is what differs between repeats of one run; what stays wrong
when that is taken out is the judge's or the rubric's own. Not covered: noise between paraphrases of a rubric
or between models, which repeats cannot show.
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.columns import flagged
from analysis.frame import NONE
from analysis.marks import mark, task_codes
from analysis.reading import Measured, read
from analysis.statistics import bootstrap, ratio

__all__ = ["NOISE_COLUMNS", "NOISE_FIGURES", "judged_runs", "noise_figures", "notes", "settled_rate"]

NOISE_COLUMNS = ("flags", "cached")
"""What `load_frame` has to load besides its own columns."""

NOISE_FIGURES = [
    *("runs", "repeated", "tasks", "flip_rate", "disagreement", "disagreement_low", "disagreement_high"),
    *("score_sd", "strict_suspects"),
    *("successes", "fnr", "fnr_settled", "fnr_low", "fnr_high"),
    *("failures", "fpr", "fpr_settled", "fpr_low", "fpr_high"),
    *("reading", "advice"),
]

_JUDGE = ["rubric_version", "judge_model"]
_LEAST_SIGNAL = 0.2
_UNREPEATED = "No run was judged twice: judge with --repeat 3 to tell strict from noisy."

Floats = NDArray[np.float64]


def settled_rate(wrong: Floats, disagreement: Floats) -> Floats:
    """The share of runs that the judge gets wrong by conviction, from the share wrong in one verdict.

    With a chance e that noise turns a verdict round, two verdicts on a run disagree with D = 2e(1 - e), and a
    share s of wrong convictions shows as s(1 - e) + (1 - s)e; this solves both for s. It needs only two
    repeats, where a majority of two decides nothing. Below 0 or above 1 by sampling alone; NaN where D is so
    near 1/2 that verdicts say nothing (1 - 2e < 0.2).

    Source: Rogan and Gladen 1978, with the error rates estimated from the repeats. It takes e to be the same
    for all runs of one outcome; noise on close calls only counts partly as conviction.
    """
    signal = np.sqrt(np.clip(1 - 2 * disagreement, 0.0, 1.0))
    turned = (1 - signal) / 2
    return np.where(signal >= _LEAST_SIGNAL, ratio(wrong - turned, signal), math.nan)


def judged_runs(frame: pd.DataFrame) -> pd.DataFrame:
    """One row for each run with a verdict, as one judge saw it under one rubric version.

    Takes a `load_frame(also=NOISE_COLUMNS)` frame; rows without a trajectory_id belong to no run. Columns:
    rubric_version, judge_model, trajectory_id, category (of its first verdict, "(none)" where missing), task
    (a code), verdicts (how many), success_share of them, score_sd (ddof 1, NaN below two), strict_suspects
    (verdicts flagged so), outcome (1.0 or 0.0, by the first row that knows it, else NaN), and repeated,
    flipped and disagreement: two or more verdicts, not all alike, and the share of their pairs that differ.
    """
    verdicts = frame[mark(frame)["n"] & frame["trajectory_id"].notna()]
    grouped = verdicts.groupby([*_JUDGE, "trajectory_id"], observed=True, sort=False)
    number = grouped.ngroup().to_numpy()
    first = ~pd.Series(number).duplicated().to_numpy()
    runs = verdicts.loc[first, [*_JUDGE, "trajectory_id"]].reset_index(drop=True)
    category = verdicts.loc[first, "category"].astype(object)
    n, k = np.bincount(number), np.bincount(number, weights=verdicts["success"])
    pairs = n * (n - 1) / 2
    known = mark(verdicts)["compared"].to_numpy()
    outcome = np.where(known, verdicts["outcome"] == 1, math.nan)
    return runs.assign(
        category=category.where(category.notna(), NONE).to_numpy(),
        task=task_codes(verdicts)[first],
        verdicts=n,
        success_share=k / np.maximum(n, 1),
        score_sd=verdicts["score"].groupby(number).std().to_numpy(),
        strict_suspects=np.bincount(number, weights=flagged(verdicts, "strict_suspect")).astype(int),
        outcome=pd.Series(outcome).groupby(number).first().to_numpy(),
        repeated=n > 1,
        flipped=(k > 0) & (k < n),
        disagreement=ratio(k * (n - k), pairs),
    )


def noise_figures(runs: pd.DataFrame, *, by_category: bool = False) -> pd.DataFrame:
    """The figures of each judge over `judged_runs`, and for each category where asked for.

    Counts: runs with a verdict, `repeated` ones, tasks, strict_suspects (verdicts), and runs whose outcome is
    known, as successes and failures. flip_rate is the share of repeated runs whose verdicts are not all the
    same, which grows with the number of repeats; disagreement, the chance that two verdicts on one run
    differ, does not. score_sd is the mean over repeated runs of the deviation within each. fnr and fpr are
    the chance that one verdict on a success fails it, on a failure passes it; the settled ones are without
    noise (`settled_rate`), cut to [0, 1] and NaN without repeats. Their intervals, and that of disagreement,
    are 95 % from a bootstrap over tasks. reading and advice: `analysis.reading.read`.
    """
    keys = [*_JUDGE, *(["category"] if by_category else [])]
    rows = [
        dict(zip(keys, key, strict=True)) | _figures(group)
        for key, group in runs.groupby(keys, observed=True, sort=False)
    ]
    return pd.DataFrame(rows, columns=[*keys, *NOISE_FIGURES])


def notes(frame: pd.DataFrame, runs: pd.DataFrame) -> list[str]:
    """What has to be known to read the figures: no repeats, repeats from a cache, repeats all the same."""
    repeated = runs[runs["repeated"]]
    if repeated.empty:
        return [_UNREPEATED] if len(runs) else []
    found = []
    of_repeats = frame["trajectory_id"].isin(repeated["trajectory_id"]) & frame["success"].notna()
    if (frame.loc[of_repeats, "cached"] == 1).all():
        found.append(
            "Every repeated verdict came from the cache. Each repeat has an entry of its own there, so they "
            "were drawn apart; they show the noise of the day they were made."
        )
    if not (repeated["disagreement"].any() or repeated["score_sd"].any()):
        found.append(
            "The repeats are identical to the last digit: a deterministic judge, or an endpoint that caches. "
            "At temperature 0 that says nothing about how close its calls are."
        )
    return found


def _figures(runs: pd.DataFrame) -> dict[str, float | str]:
    moments = _moments(runs)
    tasks = runs["task"].to_numpy(np.int64)
    values = _rates(moments.sum(axis=0))
    # Draws in which an undefined figure happens to be defined make no interval of it.
    intervals = bootstrap(moments, tasks, _rates, shares=3) + 0 * values
    found = np.clip([values, *intervals], 0.0, 1.0)
    disagreement, fnr, fpr = (Measured(*map(float, each)) for each in found.T)
    repeated, was, failed = runs["repeated"], runs["outcome"] == 1, runs["outcome"] == 0
    miss, wrong = (1 - runs["success_share"])[was], runs["success_share"][failed]
    counts = {
        "disagreement": runs.loc[repeated, "task"].nunique(),
        "fnr": runs.loc[was & repeated, "task"].nunique(),
        "fpr": runs.loc[failed & repeated, "task"].nunique(),
    }
    reading, advice = read(disagreement, fnr, fpr, counts, miss.mean(), wrong.mean())
    return {
        "runs": len(runs),
        "repeated": int(repeated.sum()),
        "tasks": runs["task"].nunique(),
        "flip_rate": runs.loc[repeated, "flipped"].mean(),
        **disagreement.columns("disagreement", "disagreement"),
        "score_sd": runs.loc[repeated, "score_sd"].mean(),
        "strict_suspects": int(runs["strict_suspects"].sum()),
        "successes": int(was.sum()),
        "fnr": miss.mean(),
        **fnr.columns("fnr_settled", "fnr"),
        "failures": int(failed.sum()),
        "fpr": wrong.mean(),
        **fpr.columns("fpr_settled", "fpr"),
        "reading": reading,
        "advice": advice,
    }


def _moments(runs: pd.DataFrame) -> Floats:
    """What each run adds to the sums of `_rates`: for all runs, for successes and for failures alike."""
    outcome, share = runs["outcome"].to_numpy(np.float64), runs["success_share"].to_numpy(np.float64)
    every = np.ones(len(runs))
    repeated, disagreement = runs["repeated"].to_numpy(np.float64), np.nan_to_num(runs["disagreement"])
    thirds = [
        of[:, None] * np.column_stack([every, wrong, repeated, disagreement])
        for of, wrong in ((every, share), (outcome == 1, 1 - share), (outcome == 0, share))
    ]
    return np.hstack(thirds)


def _rates(sums: Floats) -> Floats:
    """Disagreement, settled FNR, settled FPR of sums [..., 12]."""
    runs, wrong, repeated, disagreement = np.moveaxis(sums.reshape(*sums.shape[:-1], 3, 4), -1, 0)
    differ = ratio(disagreement, repeated)
    settled = settled_rate(ratio(wrong, runs), differ)
    return np.stack([differ[..., 0], settled[..., 1], settled[..., 2]], axis=-1)
