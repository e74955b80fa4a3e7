"""Figures of tasks: each against a count by hand or over all draws, and the filters over them."""

import json
import math
import statistics
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from analysis.frame import load_frame
from analysis.groups import group_rollouts
from analysis.stepwise import STEP_COLUMNS, step_advantages
from analysis.tasks import TASK_COLUMNS, Run, attempts, misses, pass_at, pass_hat, run_of, task_figures
from judge.advantage import dr_grpo, grpo
from judge.schema import Trajectory


@pytest.fixture
def loaded(write_log):
    def load(rows):
        return load_frame([write_log(rows)], also=TASK_COLUMNS)

    return load


@pytest.fixture
def figures(loaded):
    """The figures of a log of these rows, as one dict for each task and judge."""

    def build(rows, runs=None, ks=None):
        frame = loaded(rows)
        return task_figures(frame, group_rollouts(frame), runs, ks).to_dict("records")

    return build


def rollouts(row, *outcomes, task="a", **fields):
    return [
        row(trajectory_id=f"{task}{number}", task_id=task, outcome=outcome, **fields)
        for number, outcome in enumerate(outcomes)
    ]


@pytest.mark.parametrize(("n", "c"), [(n, c) for n in range(1, 7) for c in range(n + 1)])
def test_pass_at_k_and_pass_hat_k_are_shares_of_all_draws(n, c):
    rollouts = [True] * c + [False] * (n - c)
    for k in range(1, n + 1):
        draws = list(combinations(rollouts, k))
        args = np.array([n]), np.array([c]), k
        assert pass_at(*args)[0] == pytest.approx(sum(map(any, draws)) / len(draws))
        assert pass_hat(*args)[0] == pytest.approx(sum(map(all, draws)) / len(draws))
    assert np.isnan(pass_at(np.array([n]), np.array([c]), n + 1)).all()
    assert np.isnan(pass_hat(np.array([n]), np.array([c]), n + 1)).all()


def test_large_numbers_of_rollouts_stay_exact():
    n, c, k = 2000, 700, 512
    expected = math.comb(c, k) / math.comb(n, k), 1 - math.comb(n - c, k) / math.comb(n, k)
    assert pass_hat(np.array([n]), np.array([c]), k)[0] == pytest.approx(expected[0], rel=1e-9)
    assert pass_at(np.array([n]), np.array([c]), k)[0] == pytest.approx(expected[1])


def test_the_pass_rate_is_the_outcomes_and_not_the_judges(figures, row):
    (only,) = figures(rollouts(row, 1, 0, 0.5, 0, success=True))
    assert (only["rollouts"], only["passes"], only["pass_rate"], only["by_judge"]) == (4, 1, 0.25, 0)
    assert (only["pass@1"], only["pass@2"], only["pass@4"]) == (0.25, 0.5, 1.0)
    assert (only["pass^1"], only["pass^2"], only["pass^4"]) == (0.25, 0.0, 0.0)


def test_the_judges_word_stands_where_no_sound_verifier_gave_an_outcome(figures, row):
    rows = rollouts(row, None, 0, None, success=True) + rollouts(row, 0, task="b", outcome_status="error")
    a, b = figures([*rows, row(trajectory_id="a3", task_id="a", outcome=None, success=None)])
    assert (a["rollouts"], a["passes"], a["by_judge"], a["pass_rate"]) == (3, 2, 2, pytest.approx(2 / 3))
    assert (b["rollouts"], b["passes"], b["by_judge"]) == (1, 1, 1)


def test_a_failed_judgement_enters_no_mean_and_hides_no_outcome(figures, row):
    rows = [
        *rollouts(row, 1, reward=0.5),
        row(trajectory_id="x", task_id="a", outcome=0, error="timeout", reward=0.0),
        row(trajectory_id="y", task_id="a", outcome=None, error="timeout", success=True, reward=1.0),
        row(trajectory_id="z", task_id="a", outcome=None, outcome_status="error", error="unusable_input"),
    ]
    (only,) = figures(rows)
    assert (only["rollouts"], only["passes"], only["failed"], only["skipped"]) == (2, 1, 2, 1)
    assert (only["reward_mean"], math.isnan(only["reward_var"])) == (0.5, True)


def test_reward_mean_and_variance_are_over_rollouts(figures, row):
    rewards = [0.1, 0.4, 0.75, 1.0]
    rows = [row(trajectory_id=str(at), reward=reward) for at, reward in enumerate(rewards)]
    (only,) = figures(rows)
    assert only["reward_mean"] == pytest.approx(statistics.mean(rewards))
    assert only["reward_var"] == pytest.approx(statistics.variance(rewards))


def test_repeats_are_one_rollout_that_passes_by_most_of_them(loaded, row):
    said = {"t0": (True, True, False), "t1": (True, False), "t2": (False, True, True)}
    rows = [
        row(trajectory_id=run, repeat=repeat, outcome=None, success=success, reward=float(success))
        for run, verdicts in said.items()
        for repeat, success in enumerate(verdicts)
    ]
    found = attempts(loaded(rows), {})
    assert found["passed"].to_list() == [1, 0, 1]
    assert found["reward"].to_list() == pytest.approx([2 / 3, 1 / 2, 2 / 3])


def test_rows_without_a_trajectory_id_are_rollouts_and_rows_without_a_task_are_none(figures, row):
    rows = [row(trajectory_id=None), row(trajectory_id=None), row(trajectory_id="t", task_id=None)]
    (only,) = figures(rows)
    assert (only["task_id"], only["rollouts"]) == ("task", 2)


def test_tasks_stand_by_version_and_judge_in_order_of_appearance(figures, row):
    rows = [
        *rollouts(row, 1, 0, task="18_19"),
        *rollouts(row, 1, task="007"),
        *rollouts(row, 1, task="18_19", rubric_version="adapt_v1"),
        *rollouts(row, 1, task="18_19", judge_model="judge-b"),
    ]
    found = [
        (each["rubric_version"], each["judge_model"], each["task_id"], each["rollouts"])
        for each in figures(rows)
    ]
    assert found == [
        ("static_v1", "judge-a", "18_19", 2),
        ("static_v1", "judge-a", "007", 1),
        ("adapt_v1", "judge-a", "18_19", 1),
        ("static_v1", "judge-b", "18_19", 1),
    ]


def names(found, prefix):
    return [name for name in found[0] if name.startswith(prefix)]


def test_k_rises_by_powers_of_2_to_the_fewest_rollouts_of_a_task(figures, row):
    rows = rollouts(row, *[1] * 9) + rollouts(row, *[0] * 5, task="b")
    rows.append(row(task_id="never judged", trajectory_id="n", outcome=None, error="timeout"))
    assert names(figures(rows), "pass@") == ["pass@1", "pass@2", "pass@4"]
    assert names(figures(rows[-1:]), "pass@") == []


def test_k_beyond_a_tasks_rollouts_is_undefined(figures, row):
    a, b = figures(rollouts(row, 1, 0, 1, 0) + rollouts(row, 1, 1, task="b"), ks=[3])
    assert a["pass@3"] == pytest.approx(1.0)
    assert math.isnan(b["pass@3"])
    assert math.isnan(b["pass^3"])
    with pytest.raises(ValueError, match="k is 0"):
        figures(rollouts(row, 1), ks=[0])


def test_steps_are_the_stored_runs_and_else_the_logs(figures, row):
    counted = {"frame_count": 10, "omitted": {"steps": 5, "chars": 0}}
    rows = [row(trajectory_id="t0", **counted), row(trajectory_id="t1", **counted), row(trajectory_id="t2")]
    assert figures(rows)[0]["steps"] == 15
    assert figures(rows, {"t1": Run(25, frozenset())})[0]["steps"] == 20
    assert math.isnan(figures([row()])[0]["steps"])


def test_tools_are_counted_once_over_the_runs_of_a_task(figures, row):
    runs = {"a0": Run(1, frozenset("xy")), "a1": Run(1, frozenset("yz")), "other": Run(1, frozenset("q"))}
    a, b = figures(rollouts(row, 1, 1, 1) + rollouts(row, 1, task="b"), runs)
    assert a["tools"] == 3
    assert math.isnan(b["tools"])
    assert math.isnan(figures(rollouts(row, 1))[0]["tools"])


def test_a_tool_is_named_by_its_call_or_its_action():
    steps = [
        {"action": 'search_flight({"to": "(x)"})', "action_type": "tool_call"},
        {"action": "click('a1')", "action_type": "click"},
        {"action": "click('a2')", "action_type": "click"},
        {"action": "PRESS enter", "action_type": "press"},
        {"action": "Done (really)", "action_type": "message"},
        {"action": "respond(content='bye')", "action_type": ""},
        {"action": "", "tool_calls": [{"name": "read"}, {"function": {"name": "write"}}]},
        {"action": "", "text": "I think"},
    ]
    run = Trajectory(trajectory_id="t", task_id="t", instruction="x", steps=steps)
    assert run_of(run) == Run(8, frozenset({"search_flight", "click", "press", "read", "write"}))


@pytest.mark.parametrize(
    ("rewards", "alive_grpo", "alive_dr_grpo"),
    [
        ([1, 0], True, True),
        ([1, 1], False, False),
        ([0.3, 0.1 + 0.2], False, False),
        ([1, None], False, True),
        ([0, None], False, False),
        ([None, None], None, None),
    ],
)
def test_alive_is_a_task_with_an_advantage_that_is_not_0(figures, row, rewards, alive_grpo, alive_dr_grpo):
    rows = [
        row(trajectory_id=str(at), reward=reward, **({} if reward is not None else {"error": "timeout"}))
        for at, reward in enumerate(rewards)
    ]
    (only,) = figures(rows)
    assert (only["alive_grpo"], only["alive_dr_grpo"]) == (alive_grpo, alive_dr_grpo)
    if alive_grpo is not None:
        assert alive_grpo == any(grpo(rewards))
        assert alive_dr_grpo == any(dr_grpo(rewards))


def test_one_live_group_makes_a_task_alive(figures, row):
    rows = [
        row(trajectory_id=f"{group}{step}{at}", group=group, step=step, reward=reward)
        for group, step, rewards in (("g", 1, (1, 1)), ("h", 1, (0, 0)), ("g", 2, (1, 0)))
        for at, reward in enumerate(rewards)
    ]
    assert figures(rows)[0]["alive_grpo"] is True
    assert figures(rows[:4])[0]["alive_grpo"] is False


def test_a_failed_step_makes_a_task_alive_under_gvpo_alone(write_log, row):
    labels = {"t0": (1, -1), "t1": (1, -1), "u0": (), "u1": ()}
    rows = [
        row(
            trajectory_id=run,
            task_id=run[0],
            reward=1.0,
            steps=[{"step": at, "label": each} for at, each in enumerate(its)],
        )
        for run, its in labels.items()
    ]
    path = write_log(rows)
    frame = load_frame([path], also=(*TASK_COLUMNS, *STEP_COLUMNS))
    grouped = step_advantages(group_rollouts(frame), frame, {})
    t, u = task_figures(frame, grouped).to_dict("records")
    assert (t["alive_grpo"], t["alive_gvpo"], t["alive_gtpo"]) == (False, True, False)
    assert (u["alive_grpo"], u["alive_gvpo"], u["alive_gtpo"]) == (False, None, None)


TABLE = pd.DataFrame(
    {
        "pass_rate": [0.0, 0.25, 1.0, math.nan],
        "steps": [9.5, 10, 256, math.nan],
        "tools": [4, 3, math.nan, math.nan],
        "alive_grpo": [True, False, None, True],
    },
    dtype=object,
)


@pytest.mark.parametrize(
    ("limits", "kept"),
    [
        ({"max_pass_rate": 0.25}, [0, 1]),
        ({"min_pass_rate": 0.25}, [1, 2]),
        ({"min_steps": 10, "max_steps": 256}, [1, 2]),
        ({"min_tools": 4}, [0]),
        ({}, [0, 1, 2, 3]),
    ],
)
def test_bounds_are_inclusive_and_an_undefined_figure_is_outside(limits, kept):
    missed = misses(TABLE, limits)
    assert list(missed) == list(limits)
    assert TABLE.index[~missed.any(axis=1)].to_list() == kept


def test_only_what_is_known_to_be_alive_is_kept():
    assert misses(TABLE, {}, "grpo")["alive"].to_list() == [False, True, True, False]


@pytest.mark.parametrize(
    "odd",
    [
        {"frame_count": "ten", "omitted": "five"},
        {"frame_count": None, "omitted": None},
        {"frame_count": {"a": 1}, "omitted": [1]},
        {"frame_count": 3, "omitted": {"steps": None}},
        {"task_id": {"odd": [1]}, "group": [1], "instruction_hash": 7},
    ],
)
def test_odd_fields_are_no_figures(figures, row, odd):
    (only,) = figures([row(**odd)])
    assert math.isnan(only["steps"])
    assert only["rollouts"] == 1


def test_an_empty_log_has_no_tasks(figures):
    assert figures([]) == []
    assert json.loads(json.dumps(figures([{"reward": 1.0}]))) == []
