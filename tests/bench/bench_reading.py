"""Does the view noise name the right cause? Synthetic judges, whose faults are known, over many logs.

    python tests/bench/bench_reading.py                        # all judges, sizes and repeats
    python tests/bench/bench_reading.py --logs 50 --tasks 40 --repeats 3

Two ways for a judge to err, since a reading that holds only under its own assumptions proves little:

    flips      a conviction about each run, wrong at the judge's rates, and noise that turns verdicts round
               with one chance for all runs: what analysis.noise.settled_rate assumes
    bar        each run has a quality, each verdict sees it with an error and asks for more or less than the
               bar: close calls are noisy, clear ones are not

Tasks differ in difficulty and in how easily they mislead the judge. A log has eight rollouts a task. The
share of logs is printed whose reading is exactly the cause, "not enough data", and any other; the true rates
above them come from 4,000 runs. Judges that stand exactly at a level have no right reading:
a cause that is named there is a false alarm, of which the rule allows 2.5 %.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.random import Generator

from analysis.noise import judged_runs, noise_figures
from analysis.reading import LENIENT, NOISY, STRICT

ROLLOUTS = 8


@dataclass(frozen=True)
class Flips:
    """Rates of wrong convictions on successes and failures, and the chance that noise turns a verdict."""

    miss: float
    wrong: float
    noise: float

    def chances(self, passed: np.ndarray, task: np.ndarray, random: Generator) -> np.ndarray:
        """The chance of each run that a verdict on it is success."""
        pull = random.beta(2, 2, task.max() + 1)[task] * 2
        is_wrong = random.random(len(passed)) < np.where(passed, self.miss, self.wrong) * pull
        return np.abs((passed ^ is_wrong) - self.noise)


@dataclass(frozen=True)
class Bar:
    """How much more than the bar a judge asks for, and with what error it sees a run's quality."""

    asks: float
    error: float

    def chances(self, passed: np.ndarray, task: np.ndarray, random: Generator) -> np.ndarray:
        pull = random.normal(0, 0.3, task.max() + 1)[task]
        quality = np.where(passed, 1.0, -1.0) * random.gamma(8, 0.25, len(passed)) + pull
        seen = quality[:, None] + random.normal(0, self.error, (1, 4000))
        return (seen > self.asks).mean(axis=1)


JUDGES: dict[str, dict[str, Flips | Bar]] = {
    "fine": {"flips": Flips(0.05, 0.02, 0.01), "bar": Bar(0.0, 0.3)},
    "noisy": {"flips": Flips(0.05, 0.02, 0.15), "bar": Bar(0.0, 1.4)},
    "strict": {"flips": Flips(0.4, 0.02, 0.01), "bar": Bar(1.9, 0.15)},
    "lenient": {"flips": Flips(0.05, 0.35, 0.01), "bar": Bar(-1.7, 0.15)},
    "noisy, strict": {"flips": Flips(0.4, 0.02, 0.12), "bar": Bar(1.9, 1.0)},
    "at the level": {
        "strict": Flips(STRICT, 0.02, 0.01),
        "noisy": Flips(0.02, 0.02, (1 - (1 - 2 * NOISY) ** 0.5) / 2),
        "lenient": Flips(0.02, LENIENT, 0.01),
    },
}


def simulated(judge: Flips | Bar, tasks: int, repeats: int, random: Generator) -> pd.DataFrame:
    """The frame of a log of one judge, as `load_frame` would read it."""
    task = np.repeat(np.arange(tasks), ROLLOUTS)
    passed = random.random(len(task)) < random.beta(2, 2, tasks)[task]
    chances = judge.chances(passed, task, random)
    said = random.random((repeats, len(task))) < chances
    return frame_of(task, passed, said)


def frame_of(task: np.ndarray, passed: np.ndarray, said: np.ndarray) -> pd.DataFrame:
    """`said` holds the verdicts, [repeats, runs]."""
    repeats, count = said.shape
    labels = {
        "trajectory_id": np.tile(np.arange(count), repeats),
        "task_id": np.tile(task, repeats),
        "repeat": np.repeat(np.arange(repeats), count),
        **dict.fromkeys(("rubric_version", "judge_model", "category"), "one"),
        "outcome_status": "ok",
        "flags": "",
    }
    frame = pd.DataFrame(labels).astype(str).astype("category")
    numbers = {"success": said.ravel(), "score": said.ravel(), "outcome": np.tile(passed, repeats)}
    frame = frame.assign(**{name: values.astype(float) for name, values in numbers.items()})
    unknown = dict.fromkeys(("reward", "latency_ms", "cost", "tokens", "cached"), float("nan"))
    return frame.assign(**unknown, error_kind=pd.Categorical([None] * len(frame)))


def readings(judge: Flips | Bar, tasks: int, repeats: int, logs: int) -> Iterator[str]:
    """The reading of each of so many logs."""
    for seed in range(logs):
        frame = simulated(judge, tasks, repeats, np.random.default_rng([seed, tasks, repeats]))
        yield noise_figures(judged_runs(frame)).loc[0, "reading"]


def true_rates(judge: Bar | Flips, random: Generator) -> dict[str, float]:
    """Disagreement, and the shares of successes and failures that most of all verdicts get wrong."""
    task = np.repeat(np.arange(500), ROLLOUTS)
    passed = random.random(len(task)) < random.beta(2, 2, 500)[task]
    chance = judge.chances(passed, task, random)
    return {
        "disagreement": float((2 * chance * (1 - chance)).mean()),
        "fnr": float((chance[passed] < 0.5).mean()),
        "fpr": float((chance[~passed] > 0.5).mean()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--logs", type=int, default=200)
    parser.add_argument("--tasks", type=int, nargs="*", default=[20, 50, 100])
    parser.add_argument("--repeats", type=int, nargs="*", default=[2, 3, 5])
    options = parser.parse_args()
    for cause, kinds in JUDGES.items():
        for kind, judge in kinds.items():
            rates = true_rates(judge, np.random.default_rng(0))
            shown = ", ".join(f"{name} {value:.3f}" for name, value in rates.items())
            print(f"{cause} by {kind} (true: {shown})")
            for tasks in options.tasks:
                for repeats in options.repeats:
                    print(
                        _line(cause, Counter(readings(judge, tasks, repeats, options.logs)), tasks, repeats)
                    )


def _line(cause: str, found: Counter[str], tasks: int, repeats: int) -> str:
    total = found.total()
    unsettled = found.pop("not enough data", 0)
    right = found.pop(cause, 0)
    others = ", ".join(f"{name} {count / total:.1%}" for name, count in found.most_common())
    shares = f"right {right / total:6.1%}, not enough data {unsettled / total:6.1%}"
    return f"  {tasks:4} tasks x {repeats} repeats: {shares}, other: {others or '0.0%'}"


if __name__ == "__main__":
    main()
