import csv
import json

import pytest

from tests.cli.called import called

WITH_ENDS = [
    *("precision", "recall", "f1", "fpr", "accuracy", "base_rate"),
    *("success_rate", "kappa", "reward_mean"),
]
DIFFERENCES = ["accuracy_diff", "recall_diff", "fpr_diff", "reward_diff"]


def run(*arguments):
    return called("report", *arguments, "--view", "compare")


def row(version="b", run="t0", **fields):
    common = {"judge_model": "judge-a", "repeat": 0, "outcome": 1.0, "outcome_status": "ok", "error": None}
    verdict = {"success": True, "reward": 1.0, "category": "email", "task_id": run, "scheme": "score"}
    return {"rubric_version": version, "trajectory_id": run, **common, **verdict, **fields}


@pytest.fixture
def compared(log):
    """A log of three versions on ten runs, the last of which only the first version judged."""
    runs = [f"18_{number}" for number in range(10)]
    return log(
        *(row("b", run, success=number % 2 == 0) for number, run in enumerate(runs)),
        *(row("c", run) for run in runs[:-1]),
        *(row("d", run, success=False, category=None) for run in runs[:-1]),
    )


def test_json_has_figures_with_ends_and_one_comparison_a_candidate(compared):
    result = run(compared, "--json")
    found = json.loads(result.stdout)
    assert (result.exit_code, list(found)) == (0, ["versions", "comparisons", "by"])
    assert [each["role"] for each in found["versions"]] == ["baseline", "candidate", "candidate"]
    for version in found["versions"]:
        assert {f"{name}{end}" for name in WITH_ENDS for end in ("", "_low", "_high")} <= set(version)
    assert [(each["baseline"], each["candidate"]) for each in found["comparisons"]] == [
        ("b", "c"),
        ("b", "d"),
    ]
    assert list(found["comparisons"][0]) == [
        *("baseline", "baseline_model", "candidate", "candidate_model", "verdict"),
        *("n", "both_right", "only_baseline", "only_candidate", "both_wrong"),
        *("tasks", "p_mcnemar", "p_task", "p_holm"),
        *(f"{name}{end}" for name in DIFFERENCES for end in ("", "_low", "_high")),
        *("reward_pairs", "baseline_alone", "candidate_alone", "outcome_unknown", "outcome_differs"),
    ]
    assert (found["comparisons"][0]["n"], found["comparisons"][0]["baseline_alone"]) == (9, 1)
    assert found["by"] is None


def test_the_named_judges_are_compared(compared):
    found = json.loads(run(compared, "--json", "--baseline", "c", "--candidate", "d").stdout)
    assert [each["role"] for each in found["versions"]] == ["other", "baseline", "candidate"]
    (only,) = found["comparisons"]
    assert (only["baseline"], only["candidate"], only["only_baseline"]) == ("c", "d", 9)


def test_by_adds_the_same_for_each_value(compared):
    result = run(compared, "--json", "--by", "category")
    found = json.loads(result.stdout)["by"]
    assert list(found) == ["column", "versions", "comparisons"]
    assert [(each["category"], each["rubric_version"]) for each in found["versions"]] == [
        ("email", "b"),
        ("email", "c"),
        ("(none)", "d"),
    ]
    assert "9 of 28 rows have no 'category': they stand under (none)." in result.stderr


def test_the_text_holds_every_table(compared):
    result = run(compared, "--by", "scheme")
    assert (result.exit_code, result.stderr) == (0, "")
    for title in (
        "Judges, and what",
        "Verdict against",
        "Pairs that both judged",
        "Candidate minus baseline",
    ):
        assert title in result.stdout
    assert "by scheme" in result.stdout


def test_csv_holds_each_table(compared, tmp_path):
    assert run(compared, "--by", "category", "--csv", tmp_path / "tables").exit_code == 0
    names = ["compare_pairs.csv", "compare_pairs_by.csv", "compare_versions.csv", "compare_versions_by.csv"]
    assert sorted(each.name for each in (tmp_path / "tables").iterdir()) == names
    rows = list(csv.DictReader((tmp_path / "tables" / "compare_pairs.csv").read_text().splitlines()))
    assert [each["candidate"] for each in rows] == ["c", "d"]


def test_an_empty_log_and_a_single_judge_have_nothing_to_compare(log):
    assert json.loads(run(log(), "--json").stdout) == {"versions": [], "comparisons": [], "by": None}
    assert run(log(), "--by", "category").stdout == "No rows.\n"
    found = json.loads(run(log(row()), "--json").stdout)
    assert ([each["role"] for each in found["versions"]], found["comparisons"]) == (["other"], [])


def test_rows_without_ids_are_said(log):
    result = run(log(row(trajectory_id=None), row(task_id=None)), "--json")
    assert "1 rows have no trajectory_id and cannot be paired." in result.stderr
    assert "1 rows have no task_id and stand for tasks of their own." in result.stderr


def test_a_log_of_failures_is_a_report_and_undefined_is_null(log):
    failed = {"success": None, "reward": None, "error": {"kind": "timeout"}}
    found = json.loads(run(log(row(**failed), row("c", **failed)), "--json").stdout)
    assert [(each["n"], each["failed"], each["kappa"]) for each in found["versions"]] == [(0, 1, None)] * 2
    assert (found["comparisons"][0]["p_holm"], found["comparisons"][0]["verdict"]) == (None, None)


def test_superseded_rows_are_mentioned(log):
    assert "1 rows not counted" in run(log(row(), row()), "--json").stderr


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--baseline", "x"], "unknown rubric version or judge model 'x': there are b, judge-a"),
        (["--by", "fine"], "--by fine is for --view summary"),
        (["--by", "cost"], "cannot group by 'cost'"),
        (["--by", "verdict"], "cannot group by 'verdict'"),
    ],
)
def test_what_cannot_be_compared_is_bad_usage(log, options, why):
    result = run(log(row()), *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert why in " ".join(result.stderr.split())
