"""The view compare: each judge's figures with intervals, the pairs of two, and what they come to in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
from rich.console import Console
from rich.table import Table
from rich.text import Text

from analysis.compare import records
from analysis.paired import DIFFERENCES
from analysis.render.intervals import with_interval
from analysis.render.tables import plain, print_tables, table
from analysis.versions import BASIS

__all__ = ["show_compare"]

_ROLES = {"n": "n", "failed": "failed", "skipped": "skipped"}
_METHOD = {
    **{"reward_mean": "reward", "success_rate": "success"},
    **{"fn": "success judged\nfailure (FN)", "fp": "failure judged\nsuccess (FP)"},
    **{"latency_ms_mean": "ms", "tokens_mean": "tokens", "cost": "cost"},
}
_AGREED = {
    **{"compared": "n", "precision": "precision", "recall": "recall", "f1": "f1", "fpr": "fpr"},
    **{"accuracy": "accuracy", "base_rate": "base\nrate", "kappa": "kappa"},
}
_PAIRS = {
    **{
        "n": "pairs",
        "both_right": "both\nright",
        "only_baseline": "only\nbase",
        "only_candidate": "only\ncand.",
    },
    **{"both_wrong": "both\nwrong", "tasks": "tasks"},
    **{"p_mcnemar": "p\nMcNemar", "p_task": "p by\ntask", "p_holm": "p\nHolm"},
}
_CHANGES = {
    **{"reward_diff": "reward", "accuracy_diff": "accuracy", "recall_diff": "recall", "fpr_diff": "fpr"},
    **{"reward_pairs": "pairs with\nrewards"},
}


def show_compare(
    console: Console, versions: pd.DataFrame, comparisons: pd.DataFrame, by: str | None = None
) -> None:
    """Print what `compared_versions` and `compare_judges` found; `by` is the column that both start from."""
    if versions.empty:
        console.print("No rows.")
        return
    where = "" if by is None else f", by {plain(by)}"
    comparisons = _with_names(comparisons, models=versions["judge_model"].nunique())
    if by is None:
        for line in [*_notes(versions, comparisons), *_verdicts(comparisons)]:
            console.print(line)
    print_tables(console, [*_of_versions(versions, by, where), *_of_pairs(comparisons, by, where)])


def _of_versions(versions: pd.DataFrame, by: str | None, where: str) -> list[Table]:
    keys = list(dict.fromkeys([*([by] if by else []), "rubric_version", "judge_model"]))
    if versions["judge_model"].nunique() == 1 and by != "judge_model":
        keys.remove("judge_model")
        where += f" (judge: {plain(versions['judge_model'].iat[0])})"
    method = with_interval(versions, ["reward_mean", "success_rate"])
    agreed = with_interval(versions, [name for name in _AGREED if name != "compared"])
    tables = [
        table(f"Judged, with 95 % intervals over tasks{where}", method, keys, _METHOD),
        table(
            f"Verdict against stored outcome, with 95 % intervals over tasks{where}", agreed, keys, _AGREED
        ),
    ]
    if by is not None:
        return tables
    basis = versions.assign(basis=[_basis(row) for row in records(versions, BASIS)])
    title = f"Judges, and what their rewards rest on{where}"
    return [table(title, basis, ["role", *keys, "basis"], _ROLES), *tables]


def _of_pairs(comparisons: pd.DataFrame, by: str | None, where: str) -> list[Table]:
    if comparisons.empty:
        return []
    keys = [*([by] if by else []), "baseline", "candidate"]
    return [
        table(f"Pairs that both judged: who agrees with the outcome{where}", comparisons, keys, _PAIRS),
        table(
            f"Candidate minus baseline over the pairs, with 95 % intervals over tasks{where}",
            with_interval(comparisons, DIFFERENCES),
            keys,
            _CHANGES,
        ),
    ]


def _basis(row: dict[str, Any]) -> str:
    """What the reward rests on, in a few words."""
    categories = "1 category" if row["categories"] == 1 else f"{row['categories']} categories"
    fine = f"fine on {row['fine_share']:.0%}" if row["fine_share"] else "no fine rubrics"
    return f"{row['schemes'] or 'no scheme'}; {categories}; {fine}"


def _with_names(comparisons: pd.DataFrame, models: int) -> pd.DataFrame:
    """With the judge's model beside each version, where there are several models."""
    if models == 1:
        return comparisons
    names = {
        side: comparisons[side].astype(str) + " (" + comparisons[f"{side}_model"].astype(str) + ")"
        for side in ("baseline", "candidate")
    }
    return comparisons.assign(**names)


def _verdicts(comparisons: pd.DataFrame) -> Iterator[Text]:
    """One sentence for each comparison that could be made."""
    for row in records(comparisons, list(comparisons.columns)):
        baseline, candidate = (plain(row[side]) for side in ("baseline", "candidate"))
        if row["verdict"] is None:
            continue
        what = {
            "better": f"{candidate} is right more often than {baseline}",
            "worse": f"{candidate} is right less often than {baseline}",
        }.get(row["verdict"], f"{candidate} against {baseline}: no difference in accuracy shown")
        p = f"p = {row['p_holm']:.3g}, by task" + (", Holm" if len(comparisons) > 1 else "")
        yield Text(f"{what} ({row['accuracy_diff']:+.3f}, {p}).", style="bold")


def _notes(versions: pd.DataFrame, comparisons: pd.DataFrame) -> Iterator[Text]:
    """What a reader should know before believing the tables."""
    for row in records(versions, list(versions.columns)):
        who = f"{plain(row['rubric_version'])}, {plain(row['judge_model'])}"
        if not row["n"]:
            why = (
                f"{row['failed']} failed, most often {plain(row['commonest_error'])}" if row["failed"] else ""
            )
            yield _note(f"{who}: no verdict in {row['rows']} rows{'; ' if why else ''}{why}")
        elif row["failed"]:
            yield _note(f"{who}: {row['failed']} failed judgements are in no figure")
        if row["n"] and not row["compared"]:
            yield _note(f"{who}: no outcome is known, so nothing says whether the judge is right")
    for row in records(comparisons, list(comparisons.columns)):
        yield from map(_note, _of_comparison(row))


def _of_comparison(row: dict[str, Any]) -> Iterator[str]:
    baseline, candidate = (plain(row[side]) for side in ("baseline", "candidate"))
    who = f"{candidate} against {baseline}"
    if not row["n"]:
        yield f"{who}: no trajectory with a known outcome was judged by both"
    if row["baseline_alone"] or row["candidate_alone"]:
        alone = f"{row['baseline_alone']} by {baseline}, {row['candidate_alone']} by {candidate}"
        yield f"{who}: judged by one only, and not compared: {alone}"
    if row["outcome_unknown"]:
        yield f"{who}: {row['outcome_unknown']} pairs have no known outcome"
    if row["outcome_differs"]:
        yield f"{who}: {row['outcome_differs']} pairs have not the same outcome in both rows"
    if row["n"] and row["tasks"] < 2:
        yield f"{who}: all pairs are of one task, which says nothing about others"


def _note(text: str) -> Text:
    return Text(f"{text}.", style="yellow")
