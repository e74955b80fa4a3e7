"""Advantages of single steps within a group, from the judge's labels in a log."""

import json
import math

import pytest

from analysis.frame import load_frame
from analysis.groups import GROUP_COLUMNS, dead_groups, group_records, group_rollouts
from analysis.stepwise import STEP_COLUMNS, labelled_rows, step_advantages
from judge import cli
from judge.advantage import gtpo, gvpo


def labelled(*labels):
    return [{"step": at, "reason": "", "label": label} for at, label in enumerate(labels)]


@pytest.fixture
def stepwise(write_log, row):
    """The one group of a log of these rows, with its step advantages; `tiers` are the rewards of labels."""

    def build(*rows, tiers=None):
        log = write_log([row(**{"trajectory_id": f"t{at}", **fields}) for at, fields in enumerate(rows)])
        frame = load_frame([log], also=(*GROUP_COLUMNS, *STEP_COLUMNS))
        found = group_rollouts(frame)
        rollouts = step_advantages(found, frame, tiers or {})
        assert list(rollouts["gvpo"].notna()) == list(labelled_rows(found, frame))
        return group_records(rollouts, dead_groups(rollouts))[0]

    return build


ROWS = (
    {"reward": 1.0, "outcome": 1.0, "steps": labelled(1, 0)},
    {"reward": 0.5, "outcome": 1.0, "steps": labelled(1, 1, -1)},
    {"reward": 0.0, "outcome": 0.0, "steps": labelled(-1)},
)


def test_they_are_those_of_the_formulas(stepwise):
    group = stepwise(*ROWS)
    assert group["gvpo"] == gvpo([1.0, 0.5, 0.0], [[1, 0], [1, 1, -1], [-1]], failed_from="judge")
    assert group["gvpo"] == [[0.5, 0.5], [0.0, 0.0, -0.2], [-0.6]]
    assert group["gtpo"] == gtpo([[1.0, 0.0], [1.0, 1.0, -1.0], [-1.0]], [1.0, 1.0, 0.0])


def test_gtpo_takes_the_tiers_in_force(stepwise):
    group = stepwise(*ROWS, tiers={"-1": -0.4, "1": 0.2, "gold": 9.0})
    assert group["gtpo"] == gtpo([[0.2, 0.0], [0.2, 0.2, -0.4], [-0.4]], [1.0, 1.0, 0.0])
    assert group["gvpo"] == stepwise(*ROWS)["gvpo"]


def test_a_failed_judgement_is_left_out_and_has_no_advantages(stepwise):
    group = stepwise(*ROWS, {"error": "timeout"})
    assert group["gvpo"] == [[0.5, 0.5], [0.0, 0.0, -0.2], [-0.6], None]
    assert group["gtpo"][:3] == stepwise(*ROWS)["gtpo"]
    assert group["gtpo"][3] is None


@pytest.mark.parametrize(
    "odd", [{"steps": []}, {"steps": [{"step": 0, "label": None, "correct": True, "confidence": 0.9}]}]
)
def test_a_group_with_an_unlabelled_run_has_none(stepwise, odd):
    group = stepwise(*ROWS, {"reward": 1.0, **odd})
    assert group["gvpo"] == group["gtpo"] == [None] * 4


def test_labels_and_outcome_are_those_of_the_judgement_that_counts(stepwise):
    later = {"trajectory_id": "t0", "reward": 1.0, "outcome": 1.0, "steps": labelled(-1)}
    assert stepwise(*ROWS[:2], later)["gvpo"] == gvpo([0.5, 1.0], [[1, 1, -1], [-1]], failed_from="judge")
    unknown = {**later, "outcome": None, "success": None}
    assert stepwise(*ROWS[:2], unknown)["gvpo"] == [None] * 2


def test_a_run_without_a_name_has_its_own_labels(stepwise):
    nameless = [{**fields, "trajectory_id": None} for fields in ROWS]
    assert stepwise(*nameless)["gvpo"] == stepwise(*ROWS)["gvpo"]


@pytest.mark.parametrize("steps", ["none", 3, {"0": 1}, [None, 1, {"label": [1]}, {}]])
def test_steps_of_another_shape_have_no_labels(stepwise, steps):
    assert stepwise(*ROWS, {"reward": 1.0, "steps": steps})["gtpo"] == [None] * 4


def test_repeats_are_not_mixed_up(stepwise):
    again = {**ROWS[0], "trajectory_id": "t0", "repeat": 1, "steps": labelled(-1, -1)}
    assert stepwise(*ROWS, again)["gvpo"] == [None] * 3


def test_the_report_gives_them_in_json_and_csv(write_log, row, tmp_path, capsys):
    log = write_log([row(trajectory_id=f"t{at}", **fields) for at, fields in enumerate(ROWS)])
    settings = tmp_path / "judge.yaml"
    settings.write_text('reward: {tiers: {"1": 0.5}}\n')
    arguments = ["report", str(log), "--view", "groups", "--config", str(settings)]
    assert cli.run([*arguments, "--json"]) == 0
    (group,) = json.loads(capsys.readouterr().out)["groups"]
    assert group["gvpo"] == [[0.5, 0.5], [0.0, 0.0, -0.2], [-0.6]]
    assert group["gtpo"] == gtpo([[0.5, 0.0], [0.5, 0.5, -1.0], [-1.0]], [1.0, 1.0, 0.0])
    assert all(math.isfinite(value) for steps in group["gtpo"] for value in steps)
    assert cli.run([*arguments, "--csv", str(tmp_path / "csv")]) == 0
    assert "1 of 1 groups" in capsys.readouterr().out
    assert "[0.0, 0.0, -0.2]" in (tmp_path / "csv" / "groups.csv").read_text()
