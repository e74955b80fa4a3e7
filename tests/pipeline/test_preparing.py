"""What belongs to an instruction: who routes it, who refines its rubric, and what becomes of the answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from judge.schema import Request
from judge.testing import LoopbackServer
from tests.pipeline.judged import connected, good, rows, scripted, trajectory

INSTRUCTION = "Open the archive and send page 2 to Ann, not to Bob"
GROUNDED = {"quote": "not to Bob", "text": "Nothing went to Bob."}
VAGUE = {"quote": "", "text": "The agent was polite."}


def answers(**said: Any) -> Any:
    """A client's script: what is said for each purpose, a good verdict for the rest."""
    return lambda request: said.get(request.purpose) or good(request)


def judged(said: dict[str, Any], tmp_path: Path, **sections: Any) -> tuple[dict[str, Any], list[Request]]:
    sections["rubrics"] = {"version": "adapt_v1", "fine": "auto", **sections.get("rubrics", {})}
    judge, client = scripted(answers(**said), log={"path": tmp_path / "log.jsonl"}, **sections)
    with judge:
        judge.score(trajectory(instruction=INSTRUCTION))
    return rows(tmp_path / "log.jsonl")[-1], client.requests


def purposes(requests: list[Request]) -> list[str]:
    return [request.purpose for request in requests]


def test_the_judge_routes_and_the_rule_is_logged_beside_it(tmp_path: Path) -> None:
    said = {"route": {"category": "transfer"}, "fine": {"items": [GROUNDED]}}
    row, requests = judged(said, tmp_path, rubrics={"router": "llm"})
    assert purposes(requests) == ["route", "fine", "trajectory"]
    assert row["category"] == "transfer"
    assert (row["routing"]["judge"], row["routing"]["rules"]) == ("transfer", "communication")
    assert [item["quote"] for item in row["fine_rubrics"]] == ["not to Bob"]


def test_the_question_names_every_category_and_the_instruction_is_data(tmp_path: Path) -> None:
    _, requests = judged(
        {"route": {"category": "transfer"}}, tmp_path, rubrics={"router": "llm", "fine": "off"}
    )
    system, user = (message["content"] for message in requests[0].messages)
    assert "- tool_dialogue: Every request the user made" in system
    assert INSTRUCTION in user
    assert INSTRUCTION not in system
    assert requests[0].schema["properties"]["category"]["enum"] == sorted(requests[0].content.categories)


@pytest.mark.parametrize("said", ["gardening", "GENERAL?"])
def test_an_unknown_category_is_general(said: str, tmp_path: Path) -> None:
    row, _ = judged({"route": {"category": said}}, tmp_path, rubrics={"router": "llm", "fine": "off"})
    assert row["category"] == "general"
    assert row["routing"]["judge"] == said


@pytest.mark.parametrize(
    "said", [{"category": ""}, {"category": None}, {"categories": ["transfer"]}, "transfer"]
)
def test_a_routing_call_without_an_answer_fails_the_judgement(said: Any, tmp_path: Path) -> None:
    row, requests = judged({"route": said}, tmp_path, rubrics={"router": "llm"})
    assert row["reward"] is None
    assert row["error"]["kind"] in ("invalid_verdict", "parse_error")
    assert purposes(requests) == ["route", "route"]


def test_one_call_may_route_and_refine(tmp_path: Path) -> None:
    said = {"route": {"category": "communication", "items": [VAGUE, GROUNDED]}}
    row, requests = judged(said, tmp_path, rubrics={"router": "joint"})
    assert purposes(requests) == ["route", "trajectory"]
    assert row["category"] == "communication"
    assert [item["text"] for item in row["fine_rubrics"]] == ["Nothing went to Bob."]
    assert [dropped["why"] for dropped in row["fine_dropped"]] == ["no_quote"]


def test_a_category_given_by_the_trajectory_is_not_asked_for(tmp_path: Path) -> None:
    judge, client = scripted(
        answers(fine={"items": []}), rubrics={"version": "adapt_v1", "fine": "auto", "router": "joint"}
    )
    with judge:
        judge.score(trajectory(category="info_query"))
    assert purposes(client.requests) == ["fine", "trajectory"]
    assert client.requests[-1].content.rubric is not None
    assert client.requests[-1].content.rubric.category == "info_query"


def test_a_version_with_one_category_is_not_routed(tmp_path: Path) -> None:
    row, requests = judged({}, tmp_path, rubrics={"version": "static_v1", "router": "llm"})
    assert purposes(requests) == ["trajectory"]
    assert row["category"] == "general"


def test_rollouts_of_a_task_share_the_routing_call(tmp_path: Path) -> None:
    with LoopbackServer(delay_s=0.3) as server:
        rubrics = {"version": "adapt_v1", "router": "llm", "fine": "auto"}
        with connected(server, rubrics=rubrics, cache={"dir": tmp_path / "cache"}) as judge:
            rewards = judge.score_many([trajectory(f"r{i}", metadata={"i": i}) for i in range(3)])
    assert all(reward.value is not None for reward in rewards)
    asked = [request["json"]["messages"][0]["content"][:40] for request in server.requests]
    assert sum(text.startswith("You sort the instructions") for text in asked) == 1
    assert sum(text.startswith("You read the instruction") for text in asked) == 1


def test_forced_hints_are_two_and_kept_as_they_are(tmp_path: Path) -> None:
    said = {"fine": {"items": [VAGUE, {"quote": "to Carol", "text": "Carol got it."}, GROUNDED]}}
    row, requests = judged(said, tmp_path, rubrics={"version": "adapt_forced_v1"})
    assert [item["id"] for item in row["fine_rubrics"]] == ["fine_1", "fine_2"]
    assert [item["quote"] for item in row["fine_rubrics"]] == [None, "to Carol"]
    assert "exactly two" in requests[0].messages[0]["content"]
    assert "The agent was polite.\n" in requests[1].messages[1]["content"]


def test_fewer_than_two_forced_hints_are_asked_for_again_and_then_fail(tmp_path: Path) -> None:
    row, requests = judged({"fine": {"items": [GROUNDED]}}, tmp_path, rubrics={"version": "adapt_forced_v1"})
    assert purposes(requests) == ["fine", "fine"]
    assert (row["error"]["kind"], row["reward"]) == ("invalid_verdict", None)
