import math
import random

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.calibration import as_yaml, calibrate, point_biserial
from analysis.compare import records
from analysis.rollouts import LABEL_VALUES, Rollout
from judge.advantage import gtpo
from judge.config import Config

VALUES = {"good": 1.0, "bad": -0.5, "both": 0.25}


def rollout(tiers, outcome, group="g", task=None):
    return Rollout(task or group, group, tuple(tiers), float(outcome))


def rows(rollouts, alpha=1.0, delta=0.1, values=VALUES, **options):
    table = calibrate(rollouts, alpha=alpha, delta=delta, values=values, **options)
    return {row["tier"]: row for row in records(table, list(table.columns))}


MIXED = [
    rollout(["both", "good"], 1),
    rollout(["both", "good", "bad"], 1),
    rollout(["both", "bad"], 0),
    rollout(["both", "bad", "bad"], 0),
]

# "good" is mostly in runs that pass, but most of its steps are in one that fails.
CONTRADICTED = [
    *(rollout(["good", "both"], 1) for _ in range(3)),
    *(rollout(["both", "both"], 0) for _ in range(2)),
    rollout(["good"] * 30, 0),
]


@pytest.mark.parametrize(
    ("occurs", "outcomes", "rho"),
    [
        ([1, 1, 1, 0, 0, 0, 1, 0], [1, 1, 1, 1, 0, 0, 0, 0], 0.5),
        ([1, 1, 0, 0], [1, 1, 0, 0], 1.0),
        ([0, 0, 0, 1, 1, 1], [1, 1, 0, 0, 0, 0], -0.7071),
    ],
)
def test_worked_correlations(occurs, outcomes, rho):
    assert point_biserial(occurs, outcomes) == pytest.approx(rho, abs=1e-4)


@pytest.mark.parametrize(
    ("occurs", "outcomes"),
    [([1, 1, 1], [1, 0, 1]), ([1, 0, 1], [1, 1, 1]), ([1, 0, 1], [0.1, 0.1, 0.1]), ([], []), ([1], [1])],
)
def test_what_is_constant_has_no_correlation(occurs, outcomes):
    assert point_biserial(occurs, outcomes) is None


def test_a_correlation_needs_as_many_outcomes():
    with pytest.raises(ValueError, match="3 occurrences and 1 outcomes"):
        point_biserial([1, 0, 1], [1])


@given(st.lists(st.tuples(st.booleans(), st.sampled_from([0.0, 0.25, 0.5, 1.0])), max_size=30))
def test_correlations_agree_with_pandas(pairs):
    occurs, outcomes = [float(c) for c, _ in pairs], [o for _, o in pairs]
    found = point_biserial(occurs, outcomes)
    if len(set(occurs)) < 2 or len(set(outcomes)) < 2:
        assert found is None
    else:
        assert found == pytest.approx(pd.Series(occurs).corr(pd.Series(outcomes)), abs=1e-9)


def test_a_tier_is_counted_by_rollout_and_by_step():
    found = rows(MIXED)["bad"]
    assert (found["steps"], found["rollouts_with"], found["rollouts_without"]) == (4, 3, 1)
    assert (found["pass_rate_with"], found["pass_rate_without"]) == (pytest.approx(1 / 3), 1.0)
    assert found["rho"] == pytest.approx(-0.5774, abs=1e-4)


def test_a_worth_is_alpha_times_rho():
    found = rows(MIXED, alpha=0.5)
    assert found["good"]["suggested"] == pytest.approx(0.5)
    assert found["bad"]["suggested"] == pytest.approx(-0.2887, abs=1e-4)


def test_a_correlation_within_delta_is_worth_nothing():
    assert rows(MIXED, delta=0.5774)["bad"]["suggested"] == 0.0
    assert rows(MIXED, delta=1.0)["good"]["suggested"] == 0.0
    assert rows(MIXED, delta=0.5773)["bad"]["suggested"] == pytest.approx(-0.5774, abs=1e-4)


def test_a_tier_without_a_correlation_keeps_its_value():
    found = rows([*MIXED, rollout(["both"], 0)])["both"]
    assert (found["rho"], found["rho_low"], found["suggested"]) == (None, None, VALUES["both"])
    assert rows(MIXED, values={**VALUES, "absent": 0.3})["absent"]["suggested"] == 0.3


def test_only_an_outcome_of_one_is_a_pass():
    found = rows([rollout(["good"], 0.5), rollout(["bad"], 1)])
    assert (found["good"]["pass_rate_with"], found["bad"]["pass_rate_with"]) == (0.0, 1.0)


def test_advantages_are_those_of_gtpo_within_each_group():
    rollouts = [*MIXED, rollout(["bad"], 1, "h"), rollout(["good"], 0, "h")]
    found = rows(rollouts)
    worth = {tier: row["suggested"] for tier, row in found.items()}
    expected = {tier: [] for tier in VALUES}
    for group in (MIXED, rollouts[4:]):
        rewards = [[worth[tier] for tier in each.tiers] for each in group]
        advantages = gtpo(rewards, [each.outcome for each in group], gamma=0.9, lam=0.3)
        for each, values in zip(group, advantages, strict=True):
            for tier, value in zip(each.tiers, values, strict=True):
                expected[tier].append(value)
    for tier, values in expected.items():
        assert found[tier]["advantage_mean"] == pytest.approx(sum(values) / len(values))
        assert found[tier]["dead_steps"] == sum(abs(value) <= 1e-9 for value in values)


def test_steps_of_a_group_of_one_are_dead_and_contradict_nothing():
    found = rows([rollout(["good", "bad"], 1, "a"), rollout(["bad"], 0, "b")])
    assert (found["bad"]["dead_steps"], found["bad"]["advantage_mean"], found["bad"]["sign_ok"]) == (
        2,
        0.0,
        None,
    )
    assert found["good"]["suggested"] == 1.0


def test_a_sign_that_holds_is_ok():
    found = rows(MIXED)
    assert (found["good"]["sign_ok"], found["bad"]["sign_ok"]) == (True, True)


def test_a_tier_that_pays_against_its_advantage_is_silenced_in_the_second_round():
    before = rows(CONTRADICTED, rounds=1)["good"]
    assert before["suggested"] == before["rho"] > 0
    assert (before["sign_ok"], before["suggested"] * before["advantage_mean"] < 0) == (False, True)
    assert rows(CONTRADICTED, rounds=2)["good"]["suggested"] == 0.0


def test_a_tier_without_a_correlation_is_checked_but_not_silenced():
    rollouts = [*MIXED, rollout(["both", "both"], 0)]
    found = [rows(rollouts, intended={"both": sign})["both"] for sign in (1, -1)]
    assert {row["sign_ok"] for row in found} == {True, False}
    assert {row["suggested"] for row in found} == {VALUES["both"]}


def test_an_intention_is_checked_in_place_of_the_suggested_sign():
    assert rows(MIXED, intended={"good": 1.0}, rounds=1)["bad"]["sign_ok"] is None
    assert rows(MIXED, intended={"bad": 1.0}, rounds=1)["bad"]["sign_ok"] is False
    assert rows(MIXED, intended={"bad": 1.0})["bad"]["suggested"] == 0.0


def generated(tasks, seed=1):
    chance = random.Random(seed)
    runs = []
    for task in range(tasks):
        passing = chance.random()
        for _ in range(4):
            outcome = chance.random() < passing
            runs.append(
                rollout(["good" if chance.random() < 0.3 + 0.4 * outcome else "bad"], outcome, str(task))
            )
    return runs


def test_the_interval_is_the_same_each_time_and_holds_the_correlation():
    found, again = rows(generated(40))["good"], rows(generated(40))["good"]
    assert (found["rho_low"], found["rho_high"]) == (again["rho_low"], again["rho_high"])
    assert -1 <= found["rho_low"] < found["rho"] < found["rho_high"] <= 1


def test_more_tasks_narrow_the_interval():
    few, many = rows(generated(15))["good"], rows(generated(240))["good"]
    assert many["rho_high"] - many["rho_low"] < 0.5 * (few["rho_high"] - few["rho_low"])


def test_rollouts_of_one_task_are_drawn_together():
    apart = [rollout(run.tiers, run.outcome, str(number)) for number, run in enumerate(generated(10) * 4)]
    joined = [
        rollout(run.tiers, run.outcome, str(number % 40)) for number, run in enumerate(generated(10) * 4)
    ]
    widths = [rows(each)["good"]["rho_high"] - rows(each)["good"]["rho_low"] for each in (apart, joined)]
    assert widths[1] > 1.5 * widths[0]


def test_tasks_are_drawn_and_groups_compared():
    tasks = [rollout(run.tiers, run.outcome, task=str(number)) for number, run in enumerate(MIXED)]
    groups = [rollout(run.tiers, run.outcome, str(number), task="t") for number, run in enumerate(MIXED)]
    by_task, by_group = rows(tasks)["bad"], rows(groups)["bad"]
    assert (by_task["advantage_mean"], by_task["rho_low"]) == (rows(MIXED)["bad"]["advantage_mean"], -1.0)
    assert (by_group["advantage_mean"], by_group["rho_low"]) == (0.0, None)


def test_one_task_has_no_interval():
    found = rows(MIXED)["good"]
    assert (found["rho"], found["rho_low"], found["rho_high"]) == (1.0, None, None)


@pytest.mark.parametrize(
    "wrong", [{"alpha": 0}, {"alpha": math.nan}, {"delta": -0.1}, {"delta": 1.1}, {"rounds": 0}]
)
def test_parameters_out_of_range_are_refused(wrong):
    with pytest.raises(ValueError, match="must be > 0, in"):
        calibrate(MIXED, **{"alpha": 1.0, "delta": 0.1, "values": VALUES, **wrong})


def test_a_tier_without_a_value_is_refused_by_name():
    with pytest.raises(ValueError, match="'good' has no value; there are -1, 0, 1"):
        calibrate([rollout(["good"], 1)], alpha=1, delta=0, values=LABEL_VALUES)


@pytest.mark.parametrize("values", [VALUES, LABEL_VALUES])
def test_the_yaml_is_read_back_by_the_configuration(values, tmp_path):
    first, second = list(values)[:2]
    rollouts = [rollout([first], 1), rollout([second], 0), rollout([second, first], 0), rollout([], 1)]
    table = calibrate(rollouts, alpha=0.7, delta=0.0, values=values)
    path = tmp_path / "tiers.yaml"
    path.write_text(as_yaml(table))
    expected = dict(zip(table["tier"], table["suggested"], strict=True))
    assert Config.load(path).reward.tiers == pytest.approx(expected, abs=5e-5)


def test_yaml_has_no_negative_zero():
    table = pd.DataFrame({"tier": ["msg", "-1"], "suggested": [-0.00001, -0.5]})
    assert as_yaml(table) == 'reward:\n  tiers:\n    msg: 0.0\n    "-1": -0.5\n'
