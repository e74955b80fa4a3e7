"""Step verdicts in one call, and what outcome the tarl scheme takes."""

from __future__ import annotations

import re
from typing import Any

import pytest

from judge.schema import Request
from judge.testing import LoopbackServer
from tests.pipeline.judged import connected, good, scripted, trajectory

TARL = {"reward": {"scheme": "tarl"}, "steps": {"mode": "whole"}}


def labelled(*labels: int, success: bool = True) -> Any:
    """An answer with these labels for the steps from 0."""

    def answer(request: Request) -> dict[str, Any]:
        steps = [{"step": i, "reason": "", "label": label} for i, label in enumerate(labels)]
        met = "yes" if success else "no"
        whole = good(request)
        criteria = [{**each, "met": met} for each in whole["criteria"]]
        return {**whole, "criteria": criteria, "steps": steps, "success": success, "score": float(success)}

    return answer


def test_whole_asks_once_for_both_verdicts() -> None:
    judge, client = scripted(labelled(1, 0, -1), steps={"mode": "whole"})
    reward = judge.score(trajectory())
    assert [step.label for step in reward.steps] == [1, 0, -1]
    assert reward.value == 1.0
    (request,) = client.requests
    assert (request.purpose, request.content.verify) == ("steps", (0, 1, 2))
    assert [index for index, _ in request.content.lines] == [0, 1, 2]


@pytest.mark.parametrize(
    ("outcome", "outcome_from", "success", "source", "part"),
    [
        ({"reward": 0.0}, "auto", True, "verifier", 0.0),
        ({"reward": 1.0}, "verifier", False, "verifier", 10.0),
        ({"reward": 0.0}, "judge", True, "judge", 10.0),
        ({}, "auto", True, "judge", 10.0),
        ({"reward": 1.0, "status": "infra_error"}, "auto", False, "judge", 0.0),
    ],
)
def test_tarl_says_whose_outcome_it_took(
    outcome: dict[str, Any], outcome_from: str, success: bool, source: str, part: float
) -> None:
    settings = {**TARL, "reward": {"scheme": "tarl", "outcome_from": outcome_from}}
    judge, _ = scripted(labelled(1, 1, 0, success=success), **settings)
    reward = judge.score(trajectory(outcome=outcome))
    assert f"outcome_from_{source}" in reward.flags
    assert reward.parts["outcome"] == part
    assert reward.value == pytest.approx(part + 2 / 3)


@pytest.mark.parametrize(
    ("outcome", "message"),
    [({}, "no sound outcome.reward"), ({"reward": 7.0}, r"outcome.reward is 7; .* in \[0, 1\]")],
)
def test_an_outcome_that_tarl_cannot_use_is_unusable_input(outcome: dict[str, Any], message: str) -> None:
    settings = {**TARL, "reward": {"scheme": "tarl", "outcome_from": "verifier"}}
    judge, _ = scripted(labelled(1, 1, 1), **settings)
    reward = judge.score(trajectory(outcome=outcome))
    assert (reward.value, reward.error_kind) == (None, "unusable_input")
    assert re.search(message, reward.error or "")


def test_a_step_without_a_verdict_fails_after_one_more_try() -> None:
    judge, client = scripted(labelled(1, 1), **TARL)
    reward = judge.score(trajectory())
    assert (reward.value, reward.error_kind, len(client.requests)) == (None, "incomplete_steps", 2)
    assert "no verdict on step 2" in client.requests[1].messages[-1]["content"]
    judge, _ = scripted([labelled(1, 1), labelled(1, 1, 1)], **TARL)
    assert judge.score(trajectory()).value == 11.0


def test_an_agent_that_did_nothing_has_no_steps_to_be_paid_for() -> None:
    judge, client = scripted(**TARL)
    reward = judge.score(trajectory(steps=[]))
    assert (reward.value, reward.steps, client.requests) == (0.0, (), [])
    assert set(reward.flags) == {"empty_trajectory", "outcome_from_judge"}


def every_label(request: Request) -> dict[str, Any]:
    """Labels for the steps asked for, 0 for every tenth, and a good verdict on the run."""
    labels = [{"step": at, "reason": "", "label": 0 if at % 10 == 0 else 1} for at in request.content.verify]
    return {**good(request), "steps": labels}


def test_a_long_run_is_labelled_in_parts_and_every_label_is_the_steps_own() -> None:
    judge, client = scripted(every_label, steps={"mode": "whole"}, reward={"scheme": "tarl"})
    run = trajectory(steps=[{"action": f"act {at}"} for at in range(100)])
    with judge:
        reward = judge.score(run)
    assert [request.content.verify for request in client.requests] == [
        tuple(range(48)),
        tuple(range(48, 96)),
        tuple(range(96, 100)),
    ]
    assert [step.step for step in reward.steps] == list(range(100))
    assert [step.label for step in reward.steps] == [0 if at % 10 == 0 else 1 for at in range(100)]
    assert all("step 99: act 99" in request.messages[1]["content"] for request in client.requests)
    assert reward.value == pytest.approx(10 + 90 / 100)


def test_the_more_labels_the_more_tokens_a_reply_may_take() -> None:
    with LoopbackServer() as server:
        settings = {"judge": {"max_tokens": 500}, "steps": {"mode": "whole"}}
        with connected(server, **settings) as judge:
            for count in (1, 16, 17, 40):
                judge.score(trajectory(f"r{count}", steps=[{"action": f"act {at}"} for at in range(count)]))
    asked = [request["json"]["max_tokens"] for request in server.requests if "steps" in str(request["json"])]
    assert sorted(set(asked)) == [500, 1000, 1500]
