"""The judge's own verdict as a reward, and TARL: an outcome with a label for every step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from judge.collapse.collapsed import Collapsed, check_share
from judge.schema import TrajectoryVerdict

TarlProcess = Literal["mean_all", "mean_valid", "sum", "ten_mean"]


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
    check_share("outcome", outcome)
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


def _process_term(labels: Sequence[int], process: TarlProcess) -> float:
    kept = [label for label in labels if label >= 0]
    total = float(sum(kept))
    steps = {"mean_all": len(labels), "mean_valid": len(kept), "sum": 1, "ten_mean": len(labels) / 10}
    if process not in steps:
        raise ValueError(f"unknown process {process!r}; there are {', '.join(steps)}")
    return total / steps[process] if kept else 0.0
