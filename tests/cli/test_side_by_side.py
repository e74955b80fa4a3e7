"""One verdict under every scheme, as `judge show` prints it for a log's row."""

from __future__ import annotations

from typing import Any

import pytest

from judge.cli.side_by_side import side_by_side
from judge.errors import InputError


def row(**fields: Any) -> dict[str, Any]:
    common = {"trajectory_id": "r0", "success": True, "score": 0.8, "outcome": 1.0, "outcome_status": "ok"}
    return {**common, "steps": [], **fields}


def steps(*found: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"step": at, "reason": "", **each} for at, each in enumerate(found)]


def shown(**fields: Any) -> dict[str, str]:
    """What is printed for each scheme."""
    return {line[2:24].strip(): line[25:] for line in side_by_side(row(**fields))}


def test_without_step_verdicts_there_are_success_and_score() -> None:
    assert shown() == {"success": "1 = success 1", "score": "0.8 = score 0.8"}


def test_labels_allow_the_four_readings_of_tarl() -> None:
    found = shown(steps=steps(*({"label": label} for label in (1, 1, 0, -1, 1))))
    assert found["tarl, mean_all"] == "5.6 = outcome 10 + deviation -5 + process 0.6"
    assert [found[f"tarl, {process}"].split()[0] for process in ("mean_valid", "sum", "ten_mean")] == [
        "5.75",
        "8",
        "10",
    ]
    assert not any(name.startswith("gvpo") for name in found)


def test_checks_allow_both_variants_of_gvpo() -> None:
    checks = ((True, 0.9), (False, 0.8), (True, 0.85))
    found = shown(steps=steps(*({"correct": correct, "confidence": sure} for correct, sure in checks)))
    assert found["gvpo_process, bounded"].startswith(
        "0.76369 from outcome 1, process 0.659005, wrong_share 0.333041"
    )
    assert found["gvpo_process, article"].startswith("0.8509 = ")


def test_an_outcome_that_a_scheme_cannot_use_is_said_and_not_scored() -> None:
    found = shown(outcome=7.0, steps=steps({"label": 1}))
    assert found["score"] == "0.8 = score 0.8"
    assert found["tarl, sum"].startswith("none: outcome.reward is 7")


def test_a_failed_row_has_nothing_to_show_and_a_broken_one_is_named() -> None:
    assert shown(success=None, score=None) == {}
    with pytest.raises(InputError, match="r0: score"):
        shown(score=7)
