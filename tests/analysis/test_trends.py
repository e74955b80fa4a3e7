import math

import numpy as np
import pytest
from scipy.stats import linregress

from analysis.trends import diverging, slope


@pytest.fixture
def random():
    return np.random.default_rng(3)


def test_the_slope_is_that_of_least_squares(random):
    x, noise = random.normal(size=200), random.normal(size=200)
    found = slope(x, 2 * x + noise, np.arange(200))
    assert found.value == pytest.approx(linregress(x, 2 * x + noise).slope)
    assert (found.n, found.tasks) == (200, 200)


def test_the_error_clusters_by_task(random):
    tasks = np.repeat(np.arange(12), 5)
    x, y = random.normal(size=60), random.normal(size=60)
    b, x0, y0 = linregress(x, y).slope, x - x.mean(), y - y.mean()
    pulls = [sum(x0[i] * (y0[i] - b * x0[i]) for i in np.flatnonzero(tasks == task)) for task in range(12)]
    by_hand = math.sqrt(12 / 11 * sum(pull**2 for pull in pulls)) / sum(x0**2)
    assert slope(x, y, tasks).error == pytest.approx(by_hand)


def test_strata_are_compared_with_themselves_alone(random):
    # Harder tasks are longer and score lower; within each, longer runs score higher.
    strata = np.repeat(np.arange(30), 8)
    x = strata + random.normal(size=240)
    y = 0.5 * (x - strata) - strata
    assert slope(x, y, strata).value < 0
    assert slope(x, y, strata, strata).value == pytest.approx(0.5)


@pytest.mark.parametrize("x", [[], [1.0], [2.0, 2.0, 2.0]])
def test_what_does_not_vary_has_no_slope(x):
    assert math.isnan(slope(np.array(x), np.array(x), np.arange(len(x))).value)
    assert slope(np.array(x), np.array(x), np.arange(len(x))).beyond(0.01) == 0


def rollouts(random, pass_rate, reward_rise=0.3, tasks=40, steps=40):
    """Rows of unequal tasks over training steps; `pass_rate` is a function of the share of training done."""
    step = np.repeat(np.arange(steps), tasks).astype(float)
    task = np.tile(np.arange(tasks), steps)
    done, ease = step / (steps - 1), random.normal(0, 0.15, tasks)[task]
    passed = (random.random(len(step)) < np.clip(pass_rate(done) + ease, 0, 1)).astype(float)
    rewards = np.clip(0.4 + reward_rise * done + ease + random.normal(0, 0.2, len(step)), 0, 1)
    return step, rewards, passed, task


def test_rewards_that_rise_while_the_pass_rate_falls_are_named_with_their_stretch(random):
    found = diverging(*rollouts(random, lambda done: 0.6 - 0.3 * done))
    assert (found.is_sure, found.first, found.last) == (True, 0, 39)
    assert found.pass_rate == pytest.approx(-0.3, abs=0.08)
    assert found.reward == pytest.approx(0.3, abs=0.08)


def test_a_fall_that_begins_late_is_found_where_it_is(random):
    found = diverging(*rollouts(random, lambda done: 0.3 + 0.5 * np.minimum(done, 1 - done) * 2))
    assert (found.is_sure, found.first, found.last) == (True, 20, 39)


@pytest.mark.parametrize(
    ("pass_rate", "rise"),
    [
        (lambda done: 0.4 + 0.3 * done, 0.3),
        (lambda done: 0.6 - 0.3 * done, -0.3),
        (lambda done: 0.5 - 0.02 * done, 0.3),
    ],
)
def test_a_better_policy_a_worse_one_and_a_small_fall_are_no_hacking(random, pass_rate, rise):
    assert not diverging(*rollouts(random, pass_rate, rise)).is_sure


def test_flat_logs_rarely_raise_a_false_alarm(random):
    alarms = [diverging(*rollouts(random, lambda done: 0.5 + 0 * done)).is_sure for _ in range(60)]
    assert sum(alarms) <= 1


@pytest.mark.parametrize(("tasks", "steps"), [(19, 40), (40, 7)])
def test_too_few_tasks_or_steps_tell_nothing(random, tasks, steps):
    assert diverging(*rollouts(random, lambda done: 0.6 - 0.3 * done, tasks=tasks, steps=steps)) is None
