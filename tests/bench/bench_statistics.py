"""Whether the statistics of `judge report --view compare` can be trusted: judges of known error rates.

    python tests/bench/bench_statistics.py                     # 500 logs of each kind, some minutes
    python tests/bench/bench_statistics.py --logs 100 --only few,many

Every log holds the verdicts of two judges on the same rollouts. Tasks differ in how often they are solved and
in how hard they are to judge, so rollouts of one task are alike; of this difficulty the two judges share a
part. Some logs of each kind go through a file and `load_frame`, the others become a frame as they are.

Printed are the share of logs whose 95 % interval holds the truth (of the first judge, and of the
differences), which should be 93-97 %; and the share in which McNemar's test and the test by task find a
difference at the 5 % level, which is a false alarm where the judges are equally good. The truth is that of
400,000 tasks, taken from their probabilities.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.compare import WITH_INTERVAL, summarise
from analysis.frame import load_frame
from analysis.paired import DIFFERENCES, compare_judges
from analysis.statistics import rates
from analysis.versions import choose_judges

VERSIONS = ("static_v1", "adapt_v1")
THROUGH_FILES = 5
POPULATION = 400_000


@dataclass(frozen=True)
class Kind:
    """A kind of log; spreads are standard deviations of log-odds, error rates are those at no spread."""

    tasks: int = 50
    rollouts: int = 4
    repeats: int = 1
    solved: float = 0.4
    false_negative: tuple[float, float] = (0.3, 0.3)
    false_positive: tuple[float, float] = (0.1, 0.1)
    task_spread: float = 1.5
    judge_spread: float = 0.7
    rollout_spread: float = 0.0
    shared: float = 0.5


KINDS = {
    "few": Kind(tasks=40, solved=0.3, false_negative=(0.2, 0.2), false_positive=(0.05, 0.05)),
    "usual": Kind(),
    "many": Kind(tasks=60, solved=0.5, false_negative=(0.45, 0.45), false_positive=(0.15, 0.15)),
    "strong effects": Kind(tasks=60, task_spread=2.5, judge_spread=2.0, shared=0.2),
    "no effects": Kind(task_spread=0.0, judge_spread=0.0),
    "groups of 8": Kind(rollouts=8, judge_spread=1.0, shared=0.2),
    "repeats": Kind(repeats=3, rollout_spread=1.0),
    "better": Kind(tasks=60, false_negative=(0.35, 0.15)),
}
"""Kinds by name; in all but the last one the two judges are equally good."""


@dataclass(frozen=True)
class Chances:
    """Probabilities: of success [tasks], and of each judge to say so, after a success and after a failure."""

    solved: NDArray[np.float64]
    says: NDArray[np.float64]
    """[judges, tasks, rollouts, outcome 0 or 1]"""


def chances(kind: Kind, tasks: int, draw: np.random.Generator) -> Chances:
    solved = _inverse(_logit(kind.solved) + kind.task_spread * draw.standard_normal(tasks))
    common = draw.standard_normal(tasks)
    own = draw.standard_normal((len(VERSIONS), tasks))
    difficulty = kind.judge_spread * (math.sqrt(kind.shared) * common + math.sqrt(1 - kind.shared) * own)
    effect = difficulty[..., None] + kind.rollout_spread * draw.standard_normal((tasks, kind.rollouts))
    # A task that is hard to judge makes both errors likelier.
    wrong = [
        [_inverse(_logit(rate) + each) for each, rate in zip(effect, of_judge, strict=True)]
        for of_judge in (kind.false_positive, kind.false_negative)
    ]
    return Chances(solved, np.stack([np.array(wrong[0]), 1 - np.array(wrong[1])], axis=-1))


def truth(kind: Kind) -> pd.Series:
    """The figures of a log without end: WITH_INTERVAL of the first judge, and DIFFERENCES."""
    found = chances(kind, POPULATION, np.random.default_rng(0))
    failed, solved = 1 - found.solved[:, None], found.solved[:, None]
    cells = [
        [
            float(each.mean())
            for yes in (says, 1 - says)
            for each in (solved * yes[..., 1], failed * yes[..., 0])
        ]
        for says in found.says
    ]
    *shares, kappa = rates(np.array(cells))[0]
    success = [tp + fp for tp, fp, _, _ in cells]
    reward = [0.25 + 0.5 * each for each in success]
    gained = np.diff(rates(np.array(cells)), axis=0)[0]
    values = [*shares, success[0], kappa, reward[0], *gained[[4, 1, 3]], reward[1] - reward[0]]
    return pd.Series(values, index=[*WITH_INTERVAL, *DIFFERENCES])


def simulated(kind: Kind, draw: np.random.Generator) -> pd.DataFrame:
    """The rows of one log, as columns of plain values."""
    found = chances(kind, kind.tasks, draw)
    shape = (kind.tasks, kind.rollouts)
    outcome = draw.random(shape) < found.solved[:, None]
    task, rollout = np.indices(shape)
    parts = []
    for version, says in zip(VERSIONS, found.says, strict=True):
        chance = np.where(outcome, says[..., 1], says[..., 0])
        for repeat in range(kind.repeats):
            success = draw.random(shape) < chance
            columns = {
                "trajectory_id": [
                    f"{one}_{other}" for one, other in zip(task.flat, rollout.flat, strict=True)
                ],
                "task_id": [str(one) for one in task.flat],
                "rubric_version": version,
                "repeat": str(repeat),
                "outcome": outcome.ravel().astype(float),
                "success": success.ravel().astype(float),
                "reward": (draw.random(shape) / 2 + success / 2).ravel(),
            }
            parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True)


def as_frame(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows as `load_frame` would give them."""
    names = ["trajectory_id", "task_id", "rubric_version", "repeat"]
    constant = {"judge_model": "synthetic", "outcome_status": "ok", "category": "general"}
    labels = {name: rows[name].astype(object).astype("category") for name in names}
    labels |= {name: pd.Series(value, rows.index).astype("category") for name, value in constant.items()}
    empty = dict.fromkeys(("latency_ms", "tokens", "cost"), math.nan)
    nothing = pd.Series(pd.Categorical([None] * len(rows), categories=[]), rows.index)
    return rows.assign(**labels, **empty, score=rows["success"], error_kind=nothing)


def through_file(rows: pd.DataFrame, folder: Path) -> pd.DataFrame:
    path = folder / "log.jsonl"
    lines = [json.dumps({**row, "judge_model": "synthetic"}) for row in rows.to_dict("records")]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return load_frame([path])


def logs(kind: Kind, count: int, seed: int) -> Iterator[pd.DataFrame]:
    with tempfile.TemporaryDirectory() as folder:
        for number in range(count):
            rows = simulated(kind, np.random.default_rng([seed, number]))
            yield through_file(rows, Path(folder)) if number < THROUGH_FILES else as_frame(rows)


def measured(kind: Kind, count: int, seed: int = 1) -> pd.Series:
    """Of `count` logs the share whose interval holds the truth, by figure, and that in which p < 0.05."""
    real = truth(kind)
    found = []
    for frame in logs(kind, count, seed):
        paired = compare_judges(frame, choose_judges(frame, *VERSIONS)).iloc[0]
        of_version = summarise(frame, intervals=True).set_index("rubric_version")
        figures = pd.concat([of_version.loc[VERSIONS[0]], paired])
        # No interval holds nothing.
        held = {name: figures[f"{name}_low"] <= real[name] <= figures[f"{name}_high"] for name in real.index}
        found.append({**held, **{name: figures[name] < 0.05 for name in ("p_mcnemar", "p_task")}})
    return pd.DataFrame(found).mean()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--logs", type=int, default=500)
    parser.add_argument("--only", default=",".join(KINDS), help="kinds, separated by commas")
    options = parser.parse_args()
    warnings.simplefilter("error")
    table = pd.DataFrame({name: measured(KINDS[name], options.logs) for name in options.only.split(",")})
    print(f"{options.logs} logs of each kind; share of intervals that hold the truth, of tests below 0.05")
    print(table.round(3).to_string())
    covered = table.drop(index=["p_mcnemar", "p_task"])
    print(
        f"intervals: {covered.min(axis=None):.3f} to {covered.max(axis=None):.3f}, "
        f"mean {covered.to_numpy().mean():.3f}"
    )


def _logit(share: float) -> float:
    return math.log(share / (1 - share))


def _inverse(log_odds: NDArray[np.float64]) -> NDArray[np.float64]:
    return 1 / (1 + np.exp(-log_odds))


if __name__ == "__main__":
    main()
