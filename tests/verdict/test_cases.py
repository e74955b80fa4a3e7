"""Replies that broke other judges: the shared collection, read as it lies beside the checkout."""

import json
from pathlib import Path

import pytest

from judge import JudgeError, parse_verdict

CASES = Path(__file__).resolve().parents[2].parent / "shared" / "cases" / "cases.jsonl"


def replies():
    """Each reply of the collection, variants included, as a parameter with its id."""
    if not CASES.is_file():
        reason = "the shared cases are not beside this checkout"
        return [pytest.param({}, id="absent", marks=pytest.mark.skip(reason=reason))]
    with CASES.open(encoding="utf-8") as lines:
        cases = [case for case in map(json.loads, lines) if case["input"]["kind"] == "judge_text"]
    return [
        pytest.param({**case["input"], **variant}, id=f"{case['id']}-{number}")
        for case in cases
        for number, variant in enumerate([{"expected": case["expected"]}, *case["input"].get("variants", [])])
    ]


def observe(case):
    """What this project makes of the reply, in the words of the collection."""
    rubric = [item["id"] for item in case["rubric"]] if case.get("rubric") else None
    try:
        verdict = parse_verdict(case["raw"], finish_reason=case["finish_reason"], rubric=rubric)
    except JudgeError as error:
        return {"kind": "error", "error_kind": error.kind, "success": None, "score": None, "raw": error.raw}
    return {
        "kind": "verdict",
        "error_kind": None,
        **verdict.model_dump(include={"success", "score", "flags", "reason"}),
    }


def matches(seen, wanted):
    if seen["kind"] != wanted["kind"] or seen["error_kind"] != wanted.get("error_kind"):
        return False
    if seen["kind"] == "error":
        return True
    return (
        seen["success"] == wanted.get("success", seen["success"])
        and seen["score"] == pytest.approx(wanted["score"], abs=1e-4)
        and set(wanted.get("flags", ())) <= set(seen["flags"])
        and seen["reason"] == wanted.get("reason_exact", seen["reason"])
    )


def forbidden(seen, must_not):
    """Which of the outcomes that are wrong under every design has happened."""
    score = seen["score"]
    checks = {
        "success": seen["success"] is must_not.get("success", ...),
        "score": score is not None and score == must_not.get("score"),
        "score_default": score is not None and score == must_not.get("score_default"),
        "score_in": score is not None and score in must_not.get("score_in", ()),
        "score_at_least": score is not None and score >= must_not.get("score_at_least", 2),
    }
    assert must_not.keys() <= checks.keys()
    return [name for name in must_not if checks[name]]


@pytest.mark.parametrize("case", replies())
def test_shared_case(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    expected = case["expected"]
    seen = observe(case)
    assert seen.get("raw", case["raw"]) == case["raw"]
    assert not forbidden(seen, expected.get("must_not", {}))
    assert any(matches(seen, wanted) for wanted in [expected, *expected.get("acceptable", [])]), seen
    assert not list(tmp_path.iterdir()), "reading a reply wrote a file"
