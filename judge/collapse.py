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

    Raises ValueError for an outcome outside [0, 1] or a label that is none of the three: a step without a
    verdict must fail the judgement, because leaving it out would pay for silence.

    Source: TARL (turn-level adjudicated RL), eq. for the collapsed reward; its text and its printed range
    disagree, hence the four readings.
    """
    if not 0.0 <= outcome <= 1.0:
        raise ValueError(f"outcome is {outcome}; it must lie in [0, 1]")
    if wrong := [label for label in labels if label not in (-1, 0, 1)]:
        raise ValueError(
            f"label {wrong[0]!r} is none of -1, 0, 1; a step that was not judged has no TARL reward"
        )
    deviated = any(label == -1 for label in labels)
    clipped = max(
        -process_clip,
        min(process_clip, _process_term([label for label in labels if label is not None], process)),
    )
    parts = {
        "outcome": outcome_weight * outcome,
        "deviation": -deviation_penalty if deviated else 0.0,
        "process": clipped,
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
    """Outcome and the checks of verified steps (each with `correct` and `confidence`), in time order.

    `bounded` lies in [0, 1], is monotone, and never ranks a failing run above a passing one with the same
    checks. `article` is the published formula, kept for comparison: it has no bound and can rank a failing
    run above a passing one. `decay_toward` says which end of the run weighs more in `bounded`.

    Raises ValueError for a check without `correct` or `confidence`.
    """
    missing = [check.step for check in checks if check.correct is None or check.confidence is None]
    if missing:
        raise ValueError(
            f"the check of step {missing[0]} has no correct or no confidence; gvpo_process needs both"
        )
    count = len(checks)
    if variant == "article":
        weights = [decay ** (count - i - 1) for i in range(count)]
        return _article(
            outcome, checks, weights, outcome_weight, process_weight, early_error_penalty, late_error_discount
        )
    weights = [decay ** (i if decay_toward == "early" else count - 1 - i) for i in range(count)]
    return _bounded(
        outcome, checks, weights, outcome_weight, process_weight, early_error_penalty, late_error_discount
    )


def weighted(parts: Mapping[str, float | None], weights: Mapping[str, float]) -> Collapsed:
    """The weighted mean of the parts that are present, weights renormalised over them.

    Raises ValueError where no weighted part is present or their weights sum to 0 or less.
    """
    present = {name: value for name in weights if (value := parts.get(name)) is not None}
    total = sum(weights[name] for name in present)
    if total <= 0:
        raise ValueError(f"none of the weighted parts ({', '.join(weights) or 'none given'}) is present")
    return Collapsed(sum(weights[name] * value for name, value in present.items()) / total, dict(present))


def _process_term(labels: Sequence[int], process: TarlProcess) -> float:
    kept = [label for label in labels if label >= 0]
    total = float(sum(kept))
    if process == "sum" or not labels:
        return total
    if process == "mean_valid":
        return total / len(kept) if kept else 0.0
    return (10.0 if process == "ten_mean" else 1.0) * total / len(labels)


def _bounded(
    outcome: float,
    checks: Sequence[StepVerdict],
    weights: Sequence[float],
    outcome_weight: float,
    process_weight: float,
    penalty: float,
    discount: float,
) -> Collapsed:
    share = outcome_weight + process_weight
    outcome_weight, process_weight = outcome_weight / share, process_weight / share
    total = sum(weights)
    marks = [(1 + (c.confidence or 0)) / 2 if c.correct else (1 - (c.confidence or 0)) / 2 for c in checks]
    process = sum(w * s for w, s in zip(weights, marks, strict=True)) / total if checks else outcome
    wrong = sum(w for w, c in zip(weights, checks, strict=True) if not c.correct) / total if checks else 0.0
    if outcome > 0:
        value = outcome_weight * outcome + process_weight * process - penalty * outcome * wrong
    else:
        value = discount * process_weight * process
    parts = {"outcome": outcome, "process": process, "wrong_share": wrong}
    return Collapsed(max(0.0, min(1.0, value)), parts)


def _article(
    outcome: float,
    checks: Sequence[StepVerdict],
    weights: Sequence[float],
    outcome_weight: float,
    process_weight: float,
    penalty: float,
    discount: float,
) -> Collapsed:
    process = sum(
        (c.confidence or 0.0) * w if c.correct else -penalty * w for c, w in zip(checks, weights, strict=True)
    )
    adjustment = 0.0
    if outcome > 0 and not all(c.correct for c in checks):
        adjustment = -penalty * outcome
    elif outcome == 0 and checks and all(c.correct for c in checks):
        adjustment = discount * process_weight
    parts = {
        "outcome": outcome_weight * outcome,
        "process": process_weight * process,
        "adjustment": adjustment,
    }
    return Collapsed(sum(parts.values()), parts)
