"""Verdicts and an outcome become one number, with its parts. Pure arithmetic, no model behind it.

Covers the schemes `success`, `score`, `tarl`, `gvpo_process` and `weighted`. The group's view of rewards is
judge.advantage's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from judge.schema import StepVerdict, TrajectoryVerdict

TarlProcess = Literal["mean_all", "mean_valid", "sum", "ten_mean"]


@dataclass(frozen=True, slots=True)
class Collapsed:
    """A reward as one number and the named numbers it was made of."""

    value: float
    parts: dict[str, float] = field(default_factory=dict)


def success(verdict: TrajectoryVerdict) -> Collapsed:
    """The judge's success as a reward: 1.0 or 0.0."""
    value = float(verdict.success)
    return Collapsed(value, {"success": value})


def score(verdict: TrajectoryVerdict) -> Collapsed:
    """The judge's score as a reward, in [0, 1]."""
    return Collapsed(verdict.score, {"score": verdict.score})


def tarl(
    outcome: float,
    labels: Sequence[int | None],
    process: TarlProcess = "mean_all",
    *,
    outcome_weight: float = 10.0,
    deviation_penalty: float = 5.0,
    process_clip: float = 5.0,
) -> Collapsed:
    """Trajectory reward with step labels: 10 R - 5 [some label is -1] + clip(P, -5, 5).

    `outcome` R is in [0, 1]; `labels` holds one of -1, 0, +1 for each of the T steps. P is, by `process`:

    - mean_all: (sum of the labels that are 0 or 1) / T, the formula as printed; range -5 ... 11
    - mean_valid: the same sum / the number of labels that are 0 or 1; range -5 ... 11
    - sum: the plain sum, which fits the printed range; range -5 ... 15
    - ten_mean: 10 / T times the sum; range -5 ... 15

    Raises ValueError for an outcome outside [0, 1], an unknown `process`, or a label that is none of the
    three: a step without a verdict must fail the judgement, because leaving it out would pay for silence.

    Source: TARL (turn-level adjudicated RL), eq. for the collapsed reward; its text and its printed range
    disagree, hence the four readings.
    """
    _check_outcome(outcome)
    known = [label for label in labels if label is not None and label in (-1, 0, 1)]
    if len(known) < len(labels):
        raise ValueError("a label is none of -1, 0, 1; a run with a step that was not judged has no reward")
    term = _process_term(known, process)
    parts = {
        "outcome": outcome_weight * outcome,
        "deviation": -deviation_penalty if -1 in known else 0.0,
        "process": max(-process_clip, min(process_clip, term)),
    }
    return Collapsed(sum(parts.values()), parts)


def gvpo_process(
    outcome: float,
    checks: Sequence[StepVerdict],
    variant: Literal["bounded", "article"] = "bounded",
    *,
    outcome_weight: float = 0.6,
    process_weight: float = 0.4,
    early_error_penalty: float = 0.3,
    late_error_discount: float = 0.5,
    decay: float = 0.95,
    decay_toward: Literal["early", "late"] = "early",
) -> Collapsed:
    """Outcome R in [0, 1] and the checks (`correct`, `confidence`) of verified steps, in time order.

    - bounded: in [0, 1], monotone, and with the default weights never ranks a failing run above a passing
      one with the same checks; `decay_toward` says which end of the run weighs more
    - article: the published formula, kept for comparison; it has no bound, can rank a failing run above a
      passing one, and takes no notice of `decay_toward`

    Raises ValueError for an outcome outside [0, 1], a check without `correct` or `confidence`, an unknown
    variant, and weights that sum to 0.

    Source: the GVPO article on coding agents; `bounded` is this project's reading of its intent.
    """
    _check_outcome(outcome)
    if missing := [check.step for check in checks if check.correct is None or check.confidence is None]:
        raise ValueError(f"the check of step {missing[0]} has no correct or no confidence; both are needed")
    weights = _GvpoWeights(outcome_weight, process_weight, early_error_penalty, late_error_discount)
    faded = [decay**i for i in range(len(checks))]
    if variant == "article":
        return _article(outcome, checks, faded[::-1], weights)
    if variant == "bounded":
        return _bounded(outcome, checks, faded if decay_toward == "early" else faded[::-1], weights)
    raise ValueError(f"unknown variant {variant!r}; there are bounded, article")


def weighted(parts: Mapping[str, float | None], weights: Mapping[str, float]) -> Collapsed:
    """The weighted mean of the parts that are present, weights renormalised over them.

    Raises ValueError where no weighted part is present or their weights sum to 0 or less.
    """
    present = {name: value for name in weights if (value := parts.get(name)) is not None}
    total = sum(weights[name] for name in present)
    if total <= 0:
        raise ValueError(f"none of the weighted parts ({', '.join(weights) or 'none given'}) is present")
    return Collapsed(sum(weights[name] * value for name, value in present.items()) / total, dict(present))


def _check_outcome(outcome: float) -> None:
    if not 0.0 <= outcome <= 1.0:
        raise ValueError(f"outcome is {outcome}; it must lie in [0, 1]")


def _process_term(labels: Sequence[int], process: TarlProcess) -> float:
    kept = [label for label in labels if label >= 0]
    total = float(sum(kept))
    steps = {"mean_all": len(labels), "mean_valid": len(kept), "sum": 1, "ten_mean": len(labels) / 10}
    if process not in steps:
        raise ValueError(f"unknown process {process!r}; there are {', '.join(steps)}")
    return total / steps[process] if kept else 0.0


@dataclass(frozen=True, slots=True)
class _GvpoWeights:
    outcome: float
    process: float
    early_error_penalty: float
    late_error_discount: float


def _bounded(
    outcome: float, checks: Sequence[StepVerdict], faded: Sequence[float], weights: _GvpoWeights
) -> Collapsed:
    if (both := weights.outcome + weights.process) <= 0:
        raise ValueError("outcome_weight and process_weight sum to 0")
    process, wrong = outcome, 0.0
    if checks:
        process = _mean([_mark(check) for check in checks], faded)
        wrong = _mean([float(not check.correct) for check in checks], faded)
    if outcome > 0:
        value = (weights.outcome * outcome + weights.process * process) / both
        value -= weights.early_error_penalty * outcome * wrong
    else:
        value = weights.late_error_discount * weights.process / both * process
    parts = {"outcome": outcome, "process": process, "wrong_share": wrong}
    return Collapsed(max(0.0, min(1.0, value)), parts)


def _article(
    outcome: float, checks: Sequence[StepVerdict], faded: Sequence[float], weights: _GvpoWeights
) -> Collapsed:
    penalty, adjustment = weights.early_error_penalty, 0.0
    marks = [(check.confidence or 0.0) if check.correct else -penalty for check in checks]
    all_correct = all(check.correct for check in checks)
    if outcome > 0 and not all_correct:
        adjustment = -penalty * outcome
    elif outcome == 0 and checks and all_correct:
        adjustment = weights.late_error_discount * weights.process
    parts = {
        "outcome": weights.outcome * outcome,
        "process": weights.process * sum(m * w for m, w in zip(marks, faded, strict=True)),
        "adjustment": adjustment,
    }
    return Collapsed(sum(parts.values()), parts)


def _mark(check: StepVerdict) -> float:
    """How right a checked step is, in [0, 1]: 0.5 where the judge does not trust its own answer."""
    confidence = check.confidence or 0.0
    return (1 + confidence) / 2 if check.correct else (1 - confidence) / 2


def _mean(values: Sequence[float], weights: Sequence[float]) -> float:
    return sum(value * weight for value, weight in zip(values, weights, strict=True)) / sum(weights)
