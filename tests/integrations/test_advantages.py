"""A group's rewards and runs → advantages on steps and on tokens, against the formulas worked out by hand."""

from __future__ import annotations

import pytest

from judge import Outcome, Reward, Step, StepVerdict, Trajectory, TrajectoryVerdict
from judge.integrations.advantages import gtpo_steps, gvpo_steps, on_tokens
from tests.pipeline.judged import good, scripted

FAILED = Reward(value=None, error_kind="timeout", error="late")


def run(*errors: bool, reward: float | None = None, name: str = "t") -> Trajectory:
    steps = [Step(index=i, action=f"call {i}", error=error) for i, error in enumerate(errors)]
    return Trajectory(trajectory_id=name, instruction="Do it", steps=steps, outcome=Outcome(reward=reward))


def judged(value: float, *labels: int, success: bool = True) -> Reward:
    verdict = TrajectoryVerdict(success=success, score=1.0 if success else 0.0)
    steps = tuple(StepVerdict(step=i, label=label) for i, label in enumerate(labels))
    return Reward(value=value, verdict=verdict, steps=steps)


def test_gvpo_takes_failures_of_the_execution():
    # Mean .5: advantages .5 and -.5. A failed step of the good run gets 0, of the bad one (1 + .2) * -.5.
    found = gvpo_steps([judged(1.0), judged(0.0)], [run(False, True), run(True, False, False)])
    assert found == [[0.5, 0.0], [pytest.approx(-0.6), -0.5, -0.5]]


def test_gvpo_takes_labels_of_the_judge():
    rewards = [judged(1.0, 1, -1), judged(0.0, 0, -1)]
    found = gvpo_steps(rewards, [run(True, True), run(False, False)], failed_from="judge", b=0.5)
    assert found == [[0.5, 0.0], [-0.5, -0.75]]


def test_a_failed_judgement_is_left_out_of_the_group():
    rewards = [judged(1.0, 1), FAILED, judged(0.0, 1)]
    runs = [run(False), run(False, True), run(False)]
    assert gvpo_steps(rewards, runs) == [[0.5], [0.0, 0.0], [-0.5]]
    assert gvpo_steps(rewards, runs, failed_from="judge")[1] == [0.0, 0.0]
    assert gtpo_steps(rewards, runs)[1] == [0.0, 0.0]


def test_gtpo_by_hand():
    # One step each, gamma .5: returns 1 + .5 * 1 = 1.5 and -1 + .5 * 0 = -1; both std are of two values.
    rewards = [judged(11.0, 1), judged(-5.0, -1, success=False)]
    [[good], [bad]] = gtpo_steps(rewards, [run(False, reward=1.0), run(False)], gamma=0.5, lam=0.3)
    half = 0.5**0.5
    assert good == pytest.approx(half + 0.3 * half, abs=1e-5)
    assert bad == pytest.approx(-half - 0.3 * half, abs=1e-5)


def test_gtpo_takes_the_verifier_over_the_judge():
    rewards = [judged(1.0, 0), judged(1.0, 0)]
    [[first], [second]] = gtpo_steps(rewards, [run(False, reward=0.0), run(False)])
    assert first < 0 < second


def test_gtpo_takes_values_of_labels():
    rewards, runs = [judged(1.0, 1), judged(1.0, 0)], [run(False), run(False)]
    assert gtpo_steps(rewards, runs, values={1: 0.0, 0: 0.0, -1: 0.0}) == [[0.0], [0.0]]
    assert gtpo_steps(rewards, runs)[0][0] > 0


def test_an_unlabelled_step_is_refused_by_name():
    with pytest.raises(ValueError, match=r"run 't9' has no label on step 1: judge with steps\.mode whole"):
        gtpo_steps([judged(1.0, 1)], [run(False, False, name="t9")])


def test_a_run_that_did_nothing_needs_no_labels():
    idle = Trajectory(trajectory_id="t", instruction="Do it", steps=[{"observation": "page"}])
    assert gvpo_steps([judged(0.0, success=False)], [idle], failed_from="judge") == [[0.0]]


def test_rewards_and_runs_are_parallel():
    for method in (gvpo_steps, gtpo_steps):
        with pytest.raises(ValueError, match="1 rewards and 2 runs"):
            method([judged(1.0, 1)], [run(False), run(False)])


def test_tokens_get_the_advantage_of_their_step():
    rewards = [judged(1.0), FAILED]
    [good, failed] = on_tokens(rewards, [[0.5, -0.5], [0.0]], [[(1, 3), (4, 5)], [(0, 2)]], [6, 3])
    assert good.values == [0.0, 0.5, 0.5, 0.0, -0.5, 0.0]
    assert good.mask == [False, True, True, False, True, False]
    assert failed == ([0.0] * 3, [False] * 3)


def test_a_group_in_parts_of_different_number_is_refused():
    with pytest.raises(ValueError, match="1 rewards, 1 lists of advantages, 2 of spans and 1 lengths"):
        on_tokens([judged(1.0)], [[1.0]], [[(0, 1)], []], [1])


def test_a_group_as_a_judge_labels_it():
    def labelled(request):
        steps = [{"step": step, "reason": "", "label": 1} for step in request.content.verify]
        return {**good(request), "steps": steps}

    judge, _ = scripted(labelled, steps={"mode": "whole"}, reward={"scheme": "tarl"})
    runs = [run(False, False, name=f"t{i}", reward=float(i)) for i in range(2)]
    rewards = judge.score_many(runs)
    steps = gtpo_steps(rewards, runs)
    assert steps[0][0] < 0 < steps[1][0]
    laid = on_tokens(rewards, steps, [[(0, 2), (3, 4)]] * 2, [5, 5])
    assert [sum(each.mask) for each in laid] == [3, 3]
