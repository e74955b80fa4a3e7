import csv
import json

import pytest

from tests.cli.test_report import row, run

KEYS = ["rubric_version", "judge_model", "finding", "severity", "figure", "n", "meaning"]


@pytest.fixture
def failing(log):
    rows = [row(run=f"r{at}", task_id="t", step=at % 3, flags=["injection_suspected"]) for at in range(30)]
    return log(
        *rows, *(row(run=f"f{at}", success=None, reward=None, error={"kind": "tim\x1beout"}) for at in "abc")
    )


def test_json_has_findings_failures_and_steps(failing):
    found = json.loads(run(failing, "--view", "health", "--json").stdout)
    assert list(found) == ["findings", "failures", "steps"]
    assert {tuple(each) for each in found["findings"]} == {tuple(KEYS)}
    severities = {each["finding"]: each["severity"] for each in found["findings"]}
    assert severities["failures"] == severities["injection"] == severities["constant_rewards"] == "warn"
    assert severities["reward_hacking"] == "unknown"
    assert {each["severity"] for each in found["findings"]} <= {"ok", "note", "warn", "unknown"}
    assert [(each["step"], each["n"]) for each in found["steps"]] == [(0.0, 10), (1.0, 10), (2.0, 10)]
    assert found["failures"][0]["n"] == 3


def test_the_worst_stands_first_and_the_exit_status_is_0(failing):
    result = run(failing, "--view", "health")
    lines = result.stdout.splitlines()
    assert result.exit_code == 0
    assert "warn" in lines[0]
    assert lines[1].startswith("  warn: ")
    assert "injection_suspected" not in lines[0]
    assert "\x1b" not in result.stdout


def test_csv_holds_the_three_tables(failing, tmp_path):
    run(failing, "--view", "health", "--csv", tmp_path / "out")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"health.csv", "failures.csv", "steps.csv"}
    rows = list(csv.DictReader((tmp_path / "out" / "health.csv").read_text().splitlines()))
    assert list(rows[0]) == KEYS


def test_an_empty_log_is_no_error(log):
    assert run(log(), "--view", "health").stdout == "No rows.\n"
    empty = {"findings": [], "failures": [], "steps": []}
    assert json.loads(run(log(), "--view", "health", "--json").stdout) == empty


def test_a_log_of_a_few_keys_is_no_error(log):
    path = log(
        {"trajectory_id": "007", "reward": 1}, {"flags": "odd", "parts": [1], "omitted": 3, "step": {}}
    )
    assert run(path, "--view", "health").exit_code == 0
