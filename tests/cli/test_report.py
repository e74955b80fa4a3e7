import csv
import json
import subprocess
import sys

from tests.cli.called import called

VERSION_KEYS = [
    *("rubric_version", "judge_model", "n", "failed", "skipped", "reward_mean", "success_rate"),
    *("tp", "fp", "fn", "tn", "precision", "recall", "f1", "fpr", "accuracy", "base_rate"),
    *("latency_ms_mean", "tokens_mean", "cost"),
]
PAIRED_KEYS = ["baseline", "candidate", "n", "both_right", "only_baseline", "only_candidate", "both_wrong"]


def row(version="static_v1", run="t0", **fields):
    common = {"judge_model": "judge-a", "repeat": 0, "outcome": 1.0, "outcome_status": "ok", "error": None}
    verdict = {"success": True, "reward": 1.0, "category": "email"}
    return {"rubric_version": version, "trajectory_id": run, **common, **verdict, **fields}


def run(*arguments):
    return called("report", *arguments)


def test_json_has_exactly_the_promised_keys(log):
    result = run(log(row(), row("adapt_v1", success=False)), "--json")
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    assert list(found) == ["versions", "paired"]
    assert [list(version) for version in found["versions"]] == [VERSION_KEYS, VERSION_KEYS]
    assert list(found["paired"]) == PAIRED_KEYS
    assert list(found["paired"].values()) == ["static_v1", "adapt_v1", 1, 0, 1, 0, 0]


def test_undefined_figures_are_null(log):
    (only,) = json.loads(
        run(log(row(success=None, reward=None, error={"kind": "timeout"})), "--json").stdout
    )["versions"]
    assert (only["n"], only["failed"], only["reward_mean"], only["f1"], only["cost"]) == (
        0,
        1,
        None,
        None,
        None,
    )


def test_one_version_has_no_pair(log):
    assert json.loads(run(log(row()), "--json").stdout)["paired"] is None


def test_an_empty_log_still_makes_a_report(log):
    assert json.loads(run(log(), "--json", "--by", "category").stdout) == {"versions": [], "paired": None}
    assert run(log()).exit_code == 0


def test_the_named_versions_are_paired(log):
    path = log(row("a"), row("b", success=False), row("c"))
    paired = json.loads(run(path, "--json", "--baseline", "b", "--candidate", "c").stdout)["paired"]
    assert (paired["baseline"], paired["candidate"], paired["only_candidate"]) == ("b", "c", 1)


def test_an_unknown_version_is_bad_usage_and_the_known_ones_are_listed(log):
    result = run(log(row("a"), row("b")), "--json", "--baseline", "adapt_v9")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "'adapt_v9': there are a, b" in result.stderr


def test_a_missing_file_is_bad_usage_and_named(tmp_path):
    result = run(tmp_path / "absent.jsonl")
    assert result.exit_code == 2
    assert "absent.jsonl" in result.stderr


def test_other_views_are_not_offered(log):
    assert run(log(row()), "--view", "summary").exit_code == 0
    assert run(log(row()), "--view", "weather").exit_code == 2


def test_torn_lines_are_counted_on_standard_error_only(log):
    path = log('{"trajectory_id": "t9", "rew', row(), "[1]")
    result = run(path, "--json")
    assert json.loads(result.stdout)["versions"][0]["n"] == 1
    assert f"{path}:1: " in result.stderr
    assert "2 unreadable lines" in result.stderr


def test_superseded_rows_are_mentioned(log):
    result = run(log(row(success=False), row()), "--json")
    assert json.loads(result.stdout)["versions"][0]["success_rate"] == 1.0
    assert "1 rows not counted" in result.stderr


def test_the_table_is_plain_text(log):
    result = run(log(row(), row("adapt_v1")))
    assert "\x1b" not in result.stdout
    assert {"static_v1", "adapt_v1", "only", "precision"} & set(result.stdout.split()) == {
        "static_v1",
        "adapt_v1",
        "only",
    }


def test_by_adds_a_table_with_the_rows_that_have_no_value(log):
    result = run(log(row(), row(run="t1", category=None)), "--by", "category")
    assert "by category" in result.stdout
    assert "(none)" in result.stdout


def test_a_column_that_no_row_has_is_said(log):
    result = run(log(row()), "--by", "kategory")
    assert result.exit_code == 0
    assert "No row has a value for 'kategory'" in result.stderr


def test_a_column_named_like_a_figure_is_bad_usage(log):
    result = run(log(row()), "--by", "cost")
    assert result.exit_code == 2
    assert "cost" in result.stderr


def test_csv_holds_one_file_for_each_table(log, tmp_path):
    folder = tmp_path / "new" / "tables"
    run(log(row(run="007"), row("adapt_v1", run="007")), "--csv", folder, "--by", "category", "--json")
    tables = {path.name: list(csv.DictReader(path.read_text().splitlines())) for path in folder.iterdir()}
    assert sorted(tables) == ["by.csv", "paired.csv", "versions.csv"]
    assert list(tables["versions.csv"][0])[: len(VERSION_KEYS)] == VERSION_KEYS
    assert [each["category"] for each in tables["by.csv"]] == ["email", "email"]
    assert tables["paired.csv"][0]["both_right"] == "1"


def test_csv_without_a_pair_or_groups_is_one_file(log, tmp_path):
    run(log(row()), "--csv", tmp_path / "tables")
    assert [path.name for path in (tmp_path / "tables").iterdir()] == ["versions.csv"]


def test_by_fine_shows_and_stores_the_fine_rubrics_and_leaves_the_json_alone(log, tmp_path):
    items = [{"id": "fine_1", "text": "It is 5.", "quote": "the task"}]
    dropped = [{"item": "Be kind.", "why": "no_quote"}]
    told = [row(run=name, instruction_hash=name, fine_rubrics=items, fine_dropped=dropped) for name in "ab"]
    path = log(*told, row("adapt_v1"))
    shown = run(path, "--by", "fine", "--csv", tmp_path / "tables")
    assert (shown.exit_code, shown.stderr) == (0, "")
    assert "Fine rubrics" in shown.stdout
    names = ["fine.csv", "fine_dropped.csv", "fine_quotes.csv", "paired.csv", "versions.csv"]
    assert sorted(each.name for each in (tmp_path / "tables").iterdir()) == names
    tables = {
        name: list(csv.DictReader((tmp_path / "tables" / name).read_text().splitlines()))
        for name in names[:3]
    }
    assert [(each["rubric_version"], each["none"], each["one"]) for each in tables["fine.csv"]] == [
        ("static_v1", "0", "2"),
        ("adapt_v1", "1", "0"),
    ]
    assert tables["fine_quotes.csv"][0]["quote"] == "the task"
    assert tables["fine_dropped.csv"][0]["items"] == "2"
    assert run(path, "--by", "fine", "--json").stdout == run(path, "--json").stdout


def test_a_folder_that_cannot_be_made_is_bad_usage(log, tmp_path):
    (tmp_path / "file").write_text("")
    result = run(log(row()), "--csv", tmp_path / "file" / "tables")
    assert result.exit_code == 2
    assert "cannot be written" in result.stderr


def test_pandas_is_loaded_only_when_the_command_runs():
    code = "import sys, judge.cli.report; sys.exit(bool({'pandas', 'analysis', 'rich'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
