import csv
import json
from pathlib import Path

import pytest

from tests.cli.test_report import row, run

SHARED = Path(__file__).resolve().parents[2].parent / "shared"


def repeats(count, said, **fields):
    """Runs of a task each, every one with these verdicts."""
    return [
        row(run=f"r{number}", repeat=at, success=one, score=float(one), task_id=f"t{number}", **fields)
        for number in range(count)
        for at, one in enumerate(said)
    ]


@pytest.fixture
def mixed(log):
    met = [{"id": "a", "met": "yes"}]
    suspect = row(run="18_19", success=False, criteria=met, reason="Not \x1b[31m polite.", evidence=[])
    return log(*repeats(40, [True, False]), suspect)


def test_json_has_the_figures_the_rows_and_the_notes(mixed):
    found = json.loads(run(mixed, "--view", "noise", "--json").stdout)
    assert list(found) == ["versions", "categories", "look_first", "notes"]
    (version,) = found["versions"]
    assert (version["reading"], version["flip_rate"], version["runs"]) == ("noisy", 1.0, 41)
    assert version["fpr"] is None
    assert [each["category"] for each in found["categories"]] == ["email"]
    (first,) = found["look_first"]
    assert (first["trajectory_id"], first["why"], first["met"]) == ("18_19", "strict_suspect", 1)


def test_tables_say_what_to_do_and_how_to_look_closer(mixed):
    result = run(mixed, "--view", "noise")
    said = " ".join(result.stdout.split())
    assert result.exit_code == 0
    assert "Lower the temperature" in said
    assert "judge show LOG --trajectory ID" in said
    assert "18_19 (static_v1, email): strict_suspect, 1/1 met" in said
    assert "\x1b" not in result.stdout


def test_csv_holds_the_three_tables(mixed, tmp_path):
    run(mixed, "--view", "noise", "--csv", tmp_path / "out")
    names = {"noise.csv", "noise_categories.csv", "noise_look_first.csv"}
    assert {path.name for path in (tmp_path / "out").iterdir()} == names
    (only,) = csv.DictReader((tmp_path / "out" / "noise.csv").read_text().splitlines())
    assert (only["disagreement"], only["fpr_settled"]) == ("1.0", "")


def test_a_log_without_repeats_still_has_its_rates(log):
    rows = [row(run=f"r{at}", task_id=f"t{at}", success=at % 2 == 0) for at in range(40)]
    (version,) = json.loads(run(log(*rows), "--view", "noise", "--json").stdout)["versions"]
    assert (version["flip_rate"], version["fnr"], version["fnr_settled"]) == (None, 0.5, None)
    assert "strict or noisy" in version["advice"]


@pytest.mark.parametrize("rows", [[], [row(success=None, reward=None, error={"kind": "timeout"})]])
def test_a_log_without_verdicts_is_no_error(log, rows):
    assert run(log(*rows), "--view", "noise").stdout == "No rows with a verdict.\n"
    assert json.loads(run(log(*rows), "--view", "noise", "--json").stdout)["versions"] == []


def test_an_option_of_another_view_is_refused(log):
    result = run(log(row()), "--view", "noise", "--alpha", "1")
    assert result.exit_code == 2
    assert "--alpha" in result.stderr


def test_the_embedded_judge_is_not_noisy_and_passes_what_failed(tmp_path, no_settings_from_outside, capfd):
    source = SHARED / "data" / "tau_airline.jsonl"
    if not source.exists():
        pytest.skip("the shared data are not beside this checkout")
    from judge import cli

    path = tmp_path / "log.jsonl"
    command = [
        "rejudge",
        str(source),
        "--embedded",
        "--rubrics",
        "static_v1",
        "--repeat",
        "2",
        "--log",
        str(path),
    ]
    assert cli.run(command) == 0
    (version,) = json.loads(run(path, "--view", "noise", "--json").stdout)["versions"]
    assert (version["flip_rate"], version["score_sd"], version["reading"]) == (0.0, 0.0, "lenient")
    assert (version["successes"], version["failures"]) == (84, 116)
