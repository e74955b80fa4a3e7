"""The rows to look at first where a judge may be too strict: failures that their own criteria do not explain.

Covers what one row can tell: its criteria, flags, fine rubrics and evidence. A log holds no text of the
coarse rubric, so a requirement that a reason names and the rubric does not is seen only by its trace: nothing
that the rubric lists speaks for the failure. Reasons are shown for a reader, and not searched.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

import pandas as pd

from analysis.columns import error_kind, finite, flag_lines, number, truth
from analysis.frame import NONE
from judge.schema import as_text

__all__ = ["WHY", "Examined", "look_first"]

WHY = {
    "strict_suspect": "every item is met, and yet a failure: a requirement that no item states",
    "hint_as_gate": "of the rubric only fine items are not met: hints, treated as pass or fail",
    "no_item_failed": "no item is answered with no: the failure rests on nothing that the rubric lists",
    "most_met": "at least 3 in 4 items are met, with quotes that name their step",
}
"""Why a row is suspect, from the strongest sign to the weakest."""

_KEY = ["rubric_version", "judge_model", "trajectory_id", "repeat"]
_RUN = _KEY[:3]
_COLUMNS = [*_KEY, "category", "why", "met", "items", "quotes", "outcome", "success_share", "reason"]
_FOUND = [name for name in _COLUMNS if name != "success_share"]
_MOST_MET = 0.75
_REASON_CHARS = 160
_MOST_ROWS = 200
_MOST_EXAMINED = 20_000
"""Failures looked at in full: enough for examples, and a log of a million rows is not read twice."""

_RANKS = {why: rank for rank, why in enumerate(WHY)}


@dataclass(frozen=True)
class Examined:
    """The suspect rows, at most 200, and how many failures were looked at for them; `is_all` in the log."""

    rows: pd.DataFrame
    failures: int
    is_all: bool


def look_first(rows: Iterable[Mapping[str, Any]], runs: pd.DataFrame, frame: pd.DataFrame) -> Examined:
    """The failures among `rows` (of the log, in full) that are suspect, those to look at first in front.

    Columns: rubric_version, judge_model, trajectory_id, repeat, category, why (a key of WHY), met of items,
    quotes (that name their step), outcome (NaN where unknown), success_share (of the run's verdicts, from
    `judged_runs`: 0 where all repeats fail it) and reason, on one line of 160 characters at most.

    In front is the strongest sign, then what the verifier calls a success, then the larger share of items
    met and the more quotes; of the repeats of one run the foremost alone. Takes the first 20,000 failures;
    rows that `frame` no longer counts are left out.
    """
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    failures, is_all = 0, True
    for row in rows:
        if truth(row.get("success")) != 0 or error_kind(row.get("error")) or row.get("trajectory_id") is None:
            continue
        if failures == _MOST_EXAMINED:
            is_all = False
            break
        failures += 1
        key = _key(row)
        found.pop(key, None)
        if why := _why(row):
            found[key] = _shown(row, why)
    runs_once: dict[tuple[Any, ...], dict[str, Any]] = {}
    for suspect in sorted(found.values(), key=_order):
        runs_once.setdefault(tuple(suspect[name] for name in _RUN), suspect)
    first = list(islice(runs_once.values(), _MOST_ROWS))
    return Examined(
        _counted(pd.DataFrame(first, columns=_FOUND).astype(dict.fromkeys(_KEY, object)), runs, frame),
        failures,
        is_all,
    )


def _why(row: Mapping[str, Any]) -> str | None:
    """The strongest sign that a failure is not one by the rubric; None without any."""
    answers = _answers(row)
    if "strict_suspect" in flag_lines(row.get("flags")).split("\n"):
        return "strict_suspect"
    if not answers:
        return None
    unmet = {item for item, met in answers.items() if met != "yes"}
    if not unmet:
        return "strict_suspect"
    if unmet <= {as_text(item.get("id")) for item in _objects(row.get("fine_rubrics"))}:
        return "hint_as_gate"
    if "no" not in answers.values():
        return "no_item_failed"
    met_share = 1 - len(unmet) / len(answers)
    return "most_met" if met_share >= _MOST_MET and _quotes(row) else None


def _shown(row: Mapping[str, Any], why: str) -> dict[str, Any]:
    answers = list(_answers(row).values())
    known = row.get("outcome_status") in (None, "ok")
    reason = " ".join((as_text(row.get("reason")) or "").split())
    return {
        **dict(zip(_KEY, _key(row), strict=True)),
        "category": as_text(row.get("category")) or NONE,
        "why": why,
        "met": answers.count("yes"),
        "items": len(answers),
        "quotes": _quotes(row),
        "outcome": finite(number(row.get("outcome"))) if known else float("nan"),
        "reason": reason if len(reason) <= _REASON_CHARS else f"{reason[: _REASON_CHARS - 1]}…",
    }


def _order(row: Mapping[str, Any]) -> tuple[int, bool, float, int]:
    share = row["met"] / row["items"] if row["items"] else 1.0
    return _RANKS[row["why"]], row["outcome"] != 1, -share, -row["quotes"]


def _counted(found: pd.DataFrame, runs: pd.DataFrame, frame: pd.DataFrame) -> pd.DataFrame:
    """Without rows that a later judgement has turned into something else; with their run's success_share."""
    near, of_run = (each[each["trajectory_id"].isin(found["trajectory_id"])] for each in (frame, runs))
    failing = near[near["error_kind"].isna() & (near["success"] == 0)][_KEY].astype(object)
    shares = of_run[[*_RUN, "success_share"]].astype(dict.fromkeys(_RUN, object))
    return found.merge(failing, on=_KEY).merge(shares, on=_RUN)[_COLUMNS]


def _key(row: Mapping[str, Any]) -> tuple[str, ...]:
    defaults = {"rubric_version": NONE, "judge_model": NONE, "trajectory_id": NONE, "repeat": "0"}
    return tuple(
        missing if row.get(name) is None else as_text(row[name]) for name, missing in defaults.items()
    )


def _answers(row: Mapping[str, Any]) -> dict[str, str]:
    """Item → its answer, of the criteria; a log of another writer may hold anything there."""
    return {as_text(each.get("id")): as_text(each.get("met")) for each in _objects(row.get("criteria"))}


def _quotes(row: Mapping[str, Any]) -> int:
    evidence = _objects(row.get("evidence"))
    return sum(each.get("step") is not None and bool(each.get("quote")) for each in evidence)


def _objects(value: Any) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
