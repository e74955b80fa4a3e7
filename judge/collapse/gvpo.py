"""GVPO process weights: an outcome with the checks of the steps that were verified."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from judge.collapse.collapsed import Collapsed, check_share
from judge.schema import StepVerdict


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
    check_share("outcome", outcome)
    if missing := [check.step for check in checks if check.correct is None or check.confidence is None]:
        raise ValueError(f"the check of step {missing[0]} has no correct or no confidence; both are needed")
    weights = _GvpoWeights(outcome_weight, process_weight, early_error_penalty, late_error_discount)
    faded = [decay**i for i in range(len(checks))]
    if variant == "article":
        return _article(outcome, checks, faded[::-1], weights)
    if variant == "bounded":
        return _bounded(outcome, checks, faded if decay_toward == "early" else faded[::-1], weights)
    raise ValueError(f"unknown variant {variant!r}; there are bounded, article")


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
