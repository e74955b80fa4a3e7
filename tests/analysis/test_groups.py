"""Groups of rollouts: who belongs together, what is missing, and which groups teach nothing."""

import json

import pandas as pd
import pytest

from analysis.frame import load_frame
from analysis.groups import (
    GROUP_COLUMNS,
    METHODS,
    VERSION_FIGURES,
    dead_groups,
    group_records,
    group_rollouts,
    summarise_groups,
)
from analysis.render.groups import show_groups
from analysis.render.tables import report_console


@pytest.fixture
def grouped(write_log, row):
    """Rollouts of a log: each reward with the fields given; None is a failed judgement."""

    def build(*rollouts):
        rows = []
        for number, (reward, fields) in enumerate(rollouts):
            failed = {"error": "timeout"} if reward is None else {}
            rows.append(row(**{"trajectory_id": f"t{number}", "reward": reward, **failed, **fields}))
        return group_rollouts(load_frame([write_log(rows)], also=GROUP_COLUMNS))

    return build


def records_of(rollouts):
    return group_records(rollouts, dead_groups(rollouts))


def test_advantages_are_those_of_the_formulas(grouped):
    (group,) = records_of(grouped(*((reward, {}) for reward in (11, 5.6, 1, -5))))
    assert group["rewards"] == [11, 5.6, 1, -5]
    assert group["grpo"] == pytest.approx([1.1546, 0.3604, -0.3162, -1.1987], abs=1e-4)
    assert group["dr_grpo"] == pytest.approx([7.85, 2.45, -2.15, -8.15])
    assert (group["n"], group["rewarded"], group["reward_mean"], group["dead"]) == (4, 4, 3.15, False)


def test_a_failed_judgement_is_missing_and_no_zero(grouped):
    (group,) = records_of(grouped((1, {}), (None, {}), (0, {}), (0, {})))
    assert group["rewards"] == [1, None, 0, 0]
    assert group["dr_grpo"] == [pytest.approx(0.6667, abs=1e-4), None, *[pytest.approx(-1 / 3)] * 2]
    assert group["grpo"][1] is None
    assert (group["n"], group["rewarded"]) == (4, 3)


def test_a_reward_beside_an_error_does_not_count(grouped):
    (group,) = records_of(grouped((1, {}), (0, {"error": {"kind": "timeout"}}), (1, {})))
    assert group["rewards"] == [1, None, 1]
    assert group["dead"]


def test_rollouts_are_grouped_by_their_group_and_else_by_their_task(grouped):
    found = records_of(
        grouped(
            (1, {"group": "g", "task_id": "a"}),
            (2, {"group": None, "task_id": "a"}),
            (3, {"group": "g", "task_id": "b"}),
            (4, {"task_id": "a"}),
            (5, {"task_id": None}),
        )
    )
    assert [(group["group"], group["rewards"]) for group in found] == [
        ("g", [1, 3]),
        ("a", [2, 4]),
        ("(none)", [5]),
    ]


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("rubric_version", ["adapt_v1", "static_v1"]),
        ("judge_model", ["judge-b", "judge-a"]),
        ("step", [2, 10]),
        ("step", [None, 0]),
        ("step", ["--5", "007"]),
        ("repeat", [1, 0]),
    ],
)
def test_rollouts_of_another_version_judge_training_step_or_repeat_are_another_group(grouped, column, values):
    first, second = ({column: value} for value in values)
    found = records_of(grouped((1, first), (0, second), (0.5, first), (1, second)))
    assert [group["rewards"] for group in found] == [[1, 0.5], [0, 1]]
    assert [group[column] for group in found] == values


@pytest.mark.parametrize(
    ("rewards", "dead"),
    [
        ([0.1, 0.1, 0.1], True),
        ([0.3, 0.1 + 0.2], True),
        ([0.5, 0.5 + 1e-6], False),
        ([1, None, 1], True),
        ([0, None, 1], False),
        ([0, None, 0], True),
        ([1], True),
        ([None, None], False),
    ],
)
def test_dead_is_a_group_whose_rewards_are_all_equal(grouped, rewards, dead):
    (group,) = records_of(grouped(*((reward, {}) for reward in rewards)))
    assert group["dead"] is dead


def test_versions_count_their_dead_groups(grouped):
    a, b = {"rubric_version": "a"}, {"rubric_version": "b"}
    tasks = [{"task_id": f"task{number}"} for number in range(4)]
    rollouts = grouped(
        *((reward, {**b, **tasks[0]}) for reward in (0, 1)),
        *((reward, {**b, **tasks[1]}) for reward in (1, 1)),
        *((reward, {**b, **tasks[2]}) for reward in (None, None)),
        (1, {**b, **tasks[3]}),
        *((reward, {**a, **tasks[0]}) for reward in (0, None, 1)),
        (None, {"rubric_version": "c"}),
    )
    table = summarise_groups(dead_groups(rollouts))
    assert list(table.columns[:4]) == VERSION_FIGURES
    figures = table.set_index("rubric_version")
    assert list(figures.index) == ["b", "a", "c"]
    assert figures.loc["b"].to_dict() == {
        **{"groups": 3, "dead": 2, "dead_share": pytest.approx(2 / 3)},
        **{"single": 1, "unrewarded": 1},
    }
    assert (figures.loc["a", "dead"], figures.loc["a", "dead_share"]) == (0, 0)
    assert figures.loc["c", "groups"] == 0
    assert pd.isna(figures.loc["c", "dead_share"])


def test_a_later_judgement_of_a_run_stands_for_it(grouped):
    (group,) = records_of(grouped((None, {"trajectory_id": "x"}), (0, {}), (1, {"trajectory_id": "x"})))
    assert dict(zip(group["trajectory_ids"], group["rewards"], strict=True)) == {"t1": 0, "x": 1}


def test_an_empty_log_has_no_groups(write_log):
    rollouts = group_rollouts(load_frame([write_log([])], also=GROUP_COLUMNS))
    groups = dead_groups(rollouts)
    assert group_records(rollouts, groups) == []
    assert summarise_groups(groups).empty
    show_groups(report_console(), summarise_groups(groups), rollouts, groups)


def test_the_order_of_rollouts_changes_no_advantage(grouped):
    rewards = [0.2, 0.9, 0.4, 0.9]
    forward, backward = (
        records_of(grouped(*((r, {}) for r in each)))[0] for each in (rewards, rewards[::-1])
    )
    for method in METHODS:
        assert backward[method] == pytest.approx(forward[method][::-1])


def test_positions_are_those_of_the_rows_in_the_logs(tmp_path, row):
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    first.write_text(f"{json.dumps(row(trajectory_id='x', error='timeout'))}\nno JSON\n{json.dumps(row())}\n")
    second.write_text(json.dumps(row(trajectory_id="x")) + "\n")
    frame = load_frame([first, second], whole=True, on_bad=lambda _: None)
    assert list(zip(frame["position"], frame["trajectory_id"], strict=True)) == [(1, "t0"), (2, "x")]
    assert "position" not in load_frame([second])


def test_the_table_shows_versions_and_the_first_groups(grouped, capsys):
    rollouts = grouped(
        *((1, {"task_id": f"task{number}"}) for number in range(25)),
        *((number / 10, {"task_id": "task0", "rubric_version": "other", "step": 7}) for number in range(12)),
    )
    groups = dead_groups(rollouts)
    show_groups(report_console(), summarise_groups(groups), rollouts, groups)
    shown = capsys.readouterr().out
    assert "the first 20 of 26" in shown
    assert shown.count("dead") == 20 + 3
    assert "0.000" in shown
    assert "task24" not in shown
    last = groups.tail(1)
    show_groups(report_console(), summarise_groups(last), rollouts, last)
    shown = " ".join(capsys.readouterr().out.split())
    assert "(step 7)" in shown
    assert "… 4 more" in shown
