"""Mode prefix: single steps verified, each without knowing what came later."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from judge import Outcome, Step, Trajectory
from judge.errors import JudgeError
from judge.schema import Request
from judge.testing import LoopbackServer
from tests.pipeline.judged import connected, good, rows, scripted, trajectory

STEPS = [Step(index=i, action=f"act {i}", observation=f"saw {i}", text=f"thought {i}") for i in range(8)]
GVPO = {"steps": {"mode": "prefix", "at": [1, 4, 6], "window": 2}, "reward": {"scheme": "gvpo_process"}}


def run(**fields: Any) -> Trajectory:
    return trajectory(**{"steps": STEPS, "outcome": Outcome(reward=1.0), **fields})


def check(request: Request, correct: bool = True, confidence: float = 0.9, **fields: Any) -> dict[str, Any]:
    step = request.content.verify[0]
    error_type = "none" if correct else "logic"
    answer = {
        "step": step,
        "reason": "",
        "correct": correct,
        "error_type": error_type,
        "confidence": confidence,
    }
    return {**answer, **fields}


def answering(**by_step: dict[str, Any]) -> Any:
    """Good verdicts on the run; on a step what is given for it (s1={...}), else correct with .9."""

    def answer(request: Request) -> Any:
        if request.purpose != "steps":
            return good(request)
        return check(request, **by_step.get(f"s{request.content.verify[0]}", {}))

    return answer


def test_each_verified_step_is_one_call_and_the_reward_is_bounded_gvpo() -> None:
    judge, client = scripted(
        answering(s4={"correct": False, "confidence": 0.8}, s6={"confidence": 0.85}), **GVPO
    )
    with judge:
        reward = judge.score(run())
    assert [request.purpose for request in client.requests] == ["steps", "steps", "steps", "trajectory"]
    assert [(step.step, step.correct) for step in reward.steps] == [(1, True), (4, False), (6, True)]
    # REWARDS.md section 2: R = 1, checks (T .9)(F .8)(T .85).
    assert reward.value == pytest.approx(0.7637, abs=1e-4)
    assert "outcome_from_verifier" in reward.flags


def test_a_step_is_judged_without_anything_that_came_later() -> None:
    judge, client = scripted(answering(), **GVPO)
    with judge:
        judge.score(run(outcome=Outcome(reward=0.25)))
    for request in client.requests[:-1]:
        index = request.content.verify[0]
        text = json.dumps(request.messages)
        assert f"saw {index}" in text
        assert not any(f"saw {later}" in text or f"act {later}" in text for later in range(index + 1, 8))
        assert "0.25" not in text
        assert request.content.total_steps == index + 1
        assert "8 steps" not in text


def test_the_latest_steps_are_shown_in_full_and_the_earlier_ones_as_lines() -> None:
    judge, client = scripted(answering(), **GVPO)
    with judge:
        judge.score(run())
    user = client.requests[1].messages[1]["content"]
    assert "step 2: act 2 -> saw 2" in user
    assert "thought 2" not in user
    assert "thought 3" in user
    assert "thought 4" in user
    assert "left out" not in user
    assert "up to step 4" in user


@pytest.mark.parametrize(
    ("at", "asked"), [("all", list(range(8))), ([6, 1, 1], [1, 6]), ([3, 6, 9], [3, 6]), ([20], [])]
)
def test_which_steps_are_verified(at: Any, asked: list[int]) -> None:
    judge, client = scripted(answering(), steps={"mode": "prefix", "at": at})
    with judge:
        reward = judge.score(run())
    assert [request.content.verify[0] for request in client.requests[:-1]] == asked
    assert [step.step for step in reward.steps] == asked


def test_a_run_too_short_for_any_check_is_worth_its_outcome() -> None:
    judge, _ = scripted(answering(), steps={"mode": "prefix", "at": [5]}, reward={"scheme": "gvpo_process"})
    with judge:
        assert judge.score(run(steps=STEPS[:3])).value == 1.0
        assert judge.score(run(steps=STEPS[:3], outcome=Outcome(reward=0.0))).value == 0.0


def test_a_step_without_a_verdict_is_asked_for_again_and_then_fails_the_judgement(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    silent = {"steps": []}
    judge, client = scripted(
        lambda request: silent if request.content.verify == (4,) else answering()(request),
        log={"path": log},
        **GVPO,
    )
    with judge:
        reward = judge.score(run())
    assert (reward.value, reward.error_kind) == (None, "incomplete_steps")
    assert sum(request.content.verify == (4,) for request in client.requests) == 2
    assert rows(log)[0]["error"]["kind"] == "incomplete_steps"


def test_a_verdict_on_another_step_is_no_verdict_on_this_one() -> None:
    judge, _ = scripted(answering(s4={"step": 5}), judge={"max_reask": 0}, **GVPO)
    with judge:
        assert judge.score(run()).error_kind in ("incomplete_steps", "invalid_verdict")


def test_the_first_failure_ends_the_other_calls() -> None:
    ended: list[int] = []

    class Client:
        async def call(self, request: Request) -> Any:
            if request.content.verify == (1,):
                raise JudgeError("bad_request", "no such thing", attempts=1)
            try:
                await asyncio.sleep(30)
            finally:
                ended.append(len(request.content.verify))

    from judge import Judge
    from tests.pipeline.judged import config

    with Judge(config(**GVPO), client=Client()) as judge:
        assert judge.score(run()).error_kind == "bad_request"
    assert sorted(ended) == [0, 1, 1]


def test_all_calls_of_a_run_go_out_at_once_and_are_logged(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with (
        LoopbackServer(delay_s=0.5) as server,
        connected(server, judge={"concurrency": 8}, log={"path": log}, **GVPO) as judge,
    ):
        assert judge.score(run()).value is not None
        assert len(server.connections) == 4
    [row] = rows(log)
    assert [call["purpose"] for call in row["calls"]] == ["steps", "steps", "steps", "trajectory"]
    assert row["attempts"] == 4
    assert [step["correct"] for step in row["steps"]] == [True, True, True]


def test_another_endpoint_may_judge_the_steps() -> None:
    with LoopbackServer() as one, LoopbackServer() as other:
        purposes = {"steps": {"base_url": other.base_url, "model": "step-judge"}}
        with connected(one, judge={"purposes": purposes}, **GVPO) as judge:
            assert judge.score(run()).value is not None
        assert (len(one.requests), len(other.requests)) == (1, 3)
        assert {request["json"]["model"] for request in other.requests} == {"step-judge"}
