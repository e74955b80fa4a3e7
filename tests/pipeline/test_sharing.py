"""Who asks what others have asked waits for their answer; only good answers are kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from judge.judging import Job
from judge.testing import LoopbackServer
from tests.pipeline.judged import FAILURE, connected, rows, scripted, trajectory

GROUP = 8


def group() -> list[Any]:
    """Rollouts of one task that differ in what they did."""
    return [trajectory(f"r{i}", steps=[{"action": f"click('{i}')"}]) for i in range(GROUP)]


@pytest.mark.parametrize("cached", [False, True])
def test_a_group_asks_once_for_its_fine_rubrics(tmp_path: Path, cached: bool) -> None:
    sections: dict[str, Any] = {
        "rubrics": {"fine": "on"},
        "cache": {"dir": tmp_path / "cache" if cached else None},
        "log": {"path": tmp_path / "log.jsonl"},
    }
    with LoopbackServer(delay_s=0.3) as server:
        with connected(server, **sections) as judge:
            assert [reward.value for reward in judge.score_many(group())] == [1.0] * GROUP
            assert server.served == GROUP + 1
            judge.score_many([trajectory("late", steps=[{"action": "other()"}])])
            assert server.served == GROUP + 2
        with connected(server, **sections) as judge:
            judge.score_many(group())
        assert server.served == GROUP + 2 + (0 if cached else GROUP + 1)
    first = rows(tmp_path / "log.jsonl")[:GROUP]
    fine = [call for row in first for call in row["calls"] if call["purpose"] == "fine"]
    assert sorted(call["attempts"] for call in fine) == [0] * (GROUP - 1) + [1]
    assert sum(not call["cached"] for call in fine) == 1
    assert len({call["verdict_id"] for call in fine}) == 1


def test_a_warm_cache_answers_as_the_endpoint_did(tmp_path: Path) -> None:
    sections: dict[str, Any] = {"cache": {"dir": tmp_path / "cache"}, "log": {"path": tmp_path / "log.jsonl"}}
    with LoopbackServer() as server, connected(server, **sections) as judge:
        cold, warm = judge.score(trajectory()), judge.score(trajectory())
        assert server.served == 1
        assert judge.score(Job(trajectory(), repeat=1)).value == 1.0
        assert server.served == 2
    assert cold.model_copy(update={"cost": None}) == warm
    asked, stored, _ = rows(tmp_path / "log.jsonl")
    assert (asked["cached"], stored["cached"], stored["attempts"], stored["latency_ms"]) == (
        False,
        True,
        0,
        0,
    )
    assert asked["calls"][0]["verdict_id"] == stored["calls"][0]["verdict_id"]


def test_equal_runs_in_flight_share_one_call(tmp_path: Path) -> None:
    with (
        LoopbackServer(delay_s=0.3) as server,
        connected(server, log={"path": tmp_path / "log.jsonl"}) as judge,
    ):
        rewards = judge.score_many([trajectory(f"twin{i}") for i in range(5)])
        assert server.served == 1
    assert [reward.trajectory_id for reward in rewards] == [f"twin{i}" for i in range(5)]
    assert {reward.value for reward in rewards} == {1.0}
    assert sum(row["attempts"] for row in rows(tmp_path / "log.jsonl")) == 1


@pytest.mark.parametrize("fine", ["off", "on"])
def test_who_is_cut_off_takes_nobody_along_and_leaves_the_bill(tmp_path: Path, fine: str) -> None:
    """The first of three that wait for one call may not wait for it; what it cost stands in one line."""
    sections: dict[str, Any] = {"rubrics": {"fine": fine}, "log": {"path": tmp_path / "log.jsonl"}}
    price = {"price_per_million": {"prompt": 1.0, "completion": 1.0}}
    with LoopbackServer(delay_s=1.5) as server, connected(server, judge=price, **sections) as judge:
        twins = [trajectory(f"twin{i}") for i in range(3)]
        rewards = judge.score_many([Job(twins[0], within_s=0.5), Job(twins[1]), Job(twins[2], within_s=600)])
        assert [(each.value, each.error_kind) for each in rewards] == [
            *[(None, "timeout"), (1.0, None), (1.0, None)]
        ]
        calls = [call for row in rows(tmp_path / "log.jsonl") for call in row["calls"]]
        paid = [call for call in calls if not call["cached"]]
        assert (sum(call["attempts"] for call in paid), len(calls)) == (server.served, 2 * server.served)
        assert sum(reward.cost or 0 for reward in rewards) == pytest.approx(930e-6 * server.served)


def test_a_failure_reaches_all_who_waited_and_is_forgotten(tmp_path: Path) -> None:
    with (
        LoopbackServer([{**FAILURE, "delay_s": 0.3}, {}]) as server,
        connected(server, cache={"dir": tmp_path / "cache"}) as judge,
    ):
        rewards = judge.score_many([trajectory(f"twin{i}") for i in range(3)])
        assert {reward.error_kind for reward in rewards} == {"bad_request"}
        assert server.served == 1
        assert judge.score(trajectory()).value == 1.0


def test_a_failed_fine_call_fails_the_whole_group_alike() -> None:
    with (
        LoopbackServer([{**FAILURE, "delay_s": 0.3}, {}]) as server,
        connected(server, rubrics={"fine": "on"}) as judge,
    ):
        assert {reward.error_kind for reward in judge.score_many(group())} == {"bad_request"}
        assert server.served == 1


def test_a_stored_reply_that_can_no_longer_be_read_is_asked_for_again(tmp_path: Path) -> None:
    """What an older release accepted must not fail a run for good."""
    with LoopbackServer() as server, connected(server, cache={"dir": tmp_path / "cache"}) as judge:
        judge.score(trajectory())
        workshop = judge._workshop
        assert workshop is not None
        (key,) = workshop.cache._disk._open()  # type: ignore[union-attr]
        workshop.cache._disk.put(key, '{"text": "{}", "model": "m", "usage": null, "flags": []}')  # type: ignore[union-attr]
        assert judge.score(trajectory()).value == 1.0
        assert server.served == 2


def test_without_a_cache_equal_runs_are_judged_each_time() -> None:
    judge, client = scripted()
    judge.score(trajectory())
    judge.score(trajectory())
    assert len(client.requests) == 2


def test_a_purpose_with_an_endpoint_of_its_own_is_asked_there(tmp_path: Path) -> None:
    with LoopbackServer() as small, LoopbackServer() as large:
        purposes = {"fine": {"base_url": small.base_url, "model": "small"}}
        with connected(large, judge={"purposes": purposes}, rubrics={"fine": "on"}) as judge:
            assert judge.score(trajectory()).value == 1.0
        assert [request["json"]["model"] for request in small.requests] == ["small"]
        assert [request["json"]["model"] for request in large.requests] == ["judge-x"]


def test_two_versions_of_one_run_are_two_questions() -> None:
    judge, client = scripted()
    judge.score_many([Job(trajectory(), version) for version in ("static_v1", "adapt_v1")])
    assert len(client.requests) == 2
