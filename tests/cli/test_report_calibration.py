import csv
import json
from pathlib import Path

import pytest

from judge.config import Config
from tests.cli.called import called

SHARED = Path(__file__).resolve().parents[2].parent / "shared"
PARAMETERS = ["--alpha", "1", "--delta", "0.1"]


def command(*arguments):
    return called(*arguments)


def calibration(*arguments):
    return command("report", *arguments, "--view", "calibration")


def figures(*arguments):
    status, out, err = calibration(*arguments, "--json")
    assert status == 0, err
    return {tier["tier"]: tier for tier in json.loads(out)["tiers"]}


def trajectory(number, outcome, *tools):
    calls = [
        {
            "action_type": "tool_call",
            "action": tool,
            "tool_calls": [{"name": tool, "arguments": {"n": position}}],
        }
        for position, tool in enumerate(tools)
    ]
    return {
        "trajectory_id": f"t{number}",
        "task_id": f"task{number // 2}",
        "instruction": "Cancel the booking.",
        "steps": [{"action_type": "message", "action": "Hello.", "text": "Hello."}, *calls],
        "outcome": {"reward": outcome},
        "labels": {"gold_actions": [{"name": "cancel", "kwargs": {"n": 0}}]},
    }


def judged(number, outcome, *labels, version="adapt_v1", **fields):
    steps = [{"step": index, "label": label} for index, label in enumerate(labels)]
    known = {"judge_model": "judge-a", "repeat": 0, "outcome_status": "ok", "success": True, "error": None}
    run = {"trajectory_id": f"t{number}", "task_id": f"task{number // 2}", "outcome": outcome}
    return {**run, **known, "rubric_version": version, "steps": steps, **fields}


RUNS = [
    trajectory(0, 1.0, "cancel"),
    trajectory(1, 0.0, "get_booking"),
    trajectory(2, 1.0, "cancel", "get_booking"),
    trajectory(3, 0.0, "get_booking", "get_booking"),
]
ROWS = [judged(0, 1.0, 1, 1), judged(1, 0.0, 1, -1), judged(2, 1.0, 1, 1, 1), judged(3, 0.0, 0, -1, 0)]


@pytest.fixture
def stored(tmp_path):
    """Writes these objects as lines, and gives the file's path."""

    def write(name, objects):
        path = tmp_path / name
        path.write_text("".join(json.dumps(each) + "\n" for each in objects))
        return path

    return write


@pytest.fixture
def log(stored):
    return stored("log.jsonl", ROWS)


@pytest.fixture
def runs(stored):
    return stored("runs.jsonl", RUNS)


def test_tiers_come_from_the_stored_runs(log, runs):
    found = figures(log, "--input", runs, *PARAMETERS)
    assert list(found) == ["gold", "soft", "dup", "err", "state", "read", "msg"]
    assert (found["gold"]["rho"], found["gold"]["suggested"], found["gold"]["sign_ok"]) == (1.0, 1.0, True)
    assert (found["gold"]["pass_rate_with"], found["gold"]["pass_rate_without"]) == (1.0, 0.0)
    assert (found["msg"]["rho"], found["msg"]["rollouts_with"], found["msg"]["suggested"]) == (None, 4, 0.0)
    assert found["read"]["suggested"] == pytest.approx(-0.5774, abs=1e-4)


def test_labels_come_from_the_log(log):
    found = figures(log, *PARAMETERS)
    assert [(tier, row["steps"]) for tier, row in found.items()] == [("-1", 2), ("0", 2), ("1", 6)]
    assert (found["-1"]["rho"], found["-1"]["suggested"]) == (-1.0, -1.0)


def test_labels_beside_stored_runs_are_refused(log, runs):
    status, _, err = calibration(log, "--input", runs, "--tiers", "labels", *PARAMETERS)
    assert (status, "leave out --input" in err) == (2, True)


@pytest.mark.parametrize("with_runs", [True, False])
def test_the_printed_values_are_a_configuration(log, runs, tmp_path, with_runs):
    arguments = [log, *(["--input", runs] if with_runs else []), *PARAMETERS]
    status, out, _ = calibration(*arguments)
    assert status == 0
    path = tmp_path / "config.yaml"
    path.write_text(out[out.index("reward:") :])
    expected = {tier: row["suggested"] for tier, row in figures(*arguments).items()}
    assert Config.load(path).reward.tiers == pytest.approx(expected, abs=5e-5)


def test_the_values_in_force_are_kept_where_nothing_is_known(log, runs, tmp_path, monkeypatch):
    path = tmp_path / "config.yaml"
    path.write_text("reward: {tiers: {msg: 0.125, soft: 0.6, other: 9}}")
    found = figures(log, "--input", runs, "--config", path, *PARAMETERS)
    assert [found[tier]["suggested"] for tier in ("msg", "soft", "dup")] == [0.125, 0.6, -0.2]
    monkeypatch.setenv("JUDGE_CONFIG", str(path))
    assert figures(log, "--input", runs, *PARAMETERS) == found


def test_csv_holds_the_table(log, runs, tmp_path):
    assert calibration(log, "--input", runs, *PARAMETERS, "--csv", tmp_path / "tables")[0] == 0
    with (tmp_path / "tables" / "calibration.csv").open(newline="") as lines:
        table = list(csv.DictReader(lines))
    assert (table[0]["tier"], table[0]["suggested"], table[-1]["rho"]) == ("gold", "1.0", "")


def test_the_table_says_what_is_undefined_and_what_is_opposite(log, runs):
    _, out, _ = calibration(log, "--input", runs, *PARAMETERS)
    (message,) = [line for line in out.splitlines() if line.startswith(" msg ")]
    assert message.split()[:6] == ["msg", "4", "4", "0", "0.500", "–"]
    assert max(map(len, out.splitlines())) <= 100


@pytest.mark.parametrize("given", [["--alpha", "1"], ["--delta", "0"], []])
def test_alpha_and_delta_must_be_given(log, given):
    status, out, err = calibration(log, *given)
    assert (status, out) == (2, "")
    assert "needs --alpha and --delta" in err


@pytest.mark.parametrize("given", [["--alpha", "0", "--delta", "0"], ["--alpha", "1", "--delta", "2"]])
def test_alpha_and_delta_out_of_range_are_refused(log, given):
    assert calibration(log, *given)[0] == 2


def test_options_of_other_views_are_refused(log):
    assert (
        "--by is for --view summary and compare, not for calibration"
        in calibration(log, *PARAMETERS, "--by", "category")[2]
    )
    status, _, err = command("report", log, "--delta", "0")
    assert (status, "--delta is for --view calibration, not for summary" in err) == (2, True)


def test_tiers_need_the_stored_runs(log):
    status, _, err = calibration(log, "--tiers", "tiers", *PARAMETERS)
    assert (status, "--input TRAJECTORIES" in err) == (2, True)


def test_a_log_without_labels_is_refused(stored):
    status, _, err = calibration(stored("log.jsonl", [judged(0, 1.0)]), *PARAMETERS)
    assert (status, "--steps whole" in err) == (2, True)


def test_runs_that_do_not_meet_are_counted(log, stored):
    status, _, err = calibration(log, "--input", stored("some.jsonl", RUNS[:3]), *PARAMETERS)
    assert (status, "1 runs of the log are not among the --input" in err) == (0, True)
    status, _, err = calibration(
        stored("other.jsonl", [judged(9, 1.0)]), "--input", stored("r.jsonl", RUNS), *PARAMETERS
    )
    assert (status, "no run of the log" in err) == (2, True)


def test_labels_of_two_versions_are_not_mixed(stored):
    log = stored(
        "log.jsonl", [*ROWS, *(judged(number, 1.0 - number % 2, 0, version="b") for number in range(4))]
    )
    status, _, err = calibration(log, *PARAMETERS)
    assert (status, "--candidate whose labels to take: adapt_v1, b" in err) == (2, True)
    assert figures(log, *PARAMETERS, "--candidate", "b")["0"]["steps"] == 4
    assert "there are adapt_v1, b" in calibration(log, *PARAMETERS, "--candidate", "c")[2]


def test_outcomes_that_are_the_judges_own_are_said_to_be(stored):
    rows = [judged(0, None, 1), judged(1, 0.0, -1), judged(2, 1.0, 1)]
    assert (
        "1 of 3 outcomes are the judge's own success"
        in calibration(stored("log.jsonl", rows), *PARAMETERS)[2]
    )


def test_unreadable_lines_are_named(log):
    log.write_text(log.read_text() + '{"torn')
    status, _, err = calibration(log, *PARAMETERS)
    assert (status, f"{log}:5: " in err) == (0, True)


def test_a_stored_run_that_cannot_be_read_is_named(log, stored):
    status, _, err = calibration(log, "--input", stored("bad.jsonl", [{"steps": []}]), *PARAMETERS)
    assert (status, "bad.jsonl" in err) == (2, True)


def test_real_dialogues_give_every_tier(tmp_path):
    source = SHARED / "data" / "tau_airline.jsonl"
    if not source.exists():
        pytest.skip("the shared trajectories are not beside the checkout")
    rows = [json.loads(line) for line in source.read_text().splitlines()]
    log = tmp_path / "log.jsonl"
    outcomes = [{**row, "outcome": row["outcome"]["reward"], "rubric_version": "v"} for row in rows]
    log.write_text("".join(json.dumps({**row, "steps": []}) + "\n" for row in outcomes))
    found = figures(log, "--input", source, *PARAMETERS)
    assert {tier: row["steps"] for tier, row in found.items()} == {
        **{"gold": 397, "soft": 105, "dup": 14, "err": 16},
        **{"state": 92, "read": 540, "msg": 1290},
    }
    assert found["soft"]["rho"] == pytest.approx(-0.3502, abs=1e-4)
    assert found["soft"]["rho_high"] < 0
    assert found["msg"]["rho"] is None
