"""Judge: order, concurrency, streams, and failures that are none of the judge's."""

from __future__ import annotations

import asyncio
import gc
import itertools
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from judge import Config, Judge, JudgeError, Trajectory
from judge.config import EMBEDDED_MODEL
from judge.errors import ConfigError, InputError
from judge.judging import Job
from judge.log import Judgement
from judge.schema import Reply, Request
from judge.testing import LoopbackServer, completion
from tests.pipeline.judged import FAILURE, config, connected, rows, scripted, trajectory

RUNS = 16


def runs(count: int = RUNS) -> list[Trajectory]:
    return [numbered(i) for i in range(count)]


def numbered(i: int) -> Trajectory:
    return trajectory(f"r{i}", instruction=f"Task number {i}.")


def score_of(asked: dict[str, Any]) -> int:
    """Which of the numbered tasks a request is about."""
    return int(asked["messages"][-1]["content"].split("Task number ")[1].split(".")[0])


def backwards(asked: dict[str, Any]) -> dict[str, Any]:
    """The later the run, the sooner and the better its answer."""
    i = score_of(asked)
    text = f'{{"reason": "", "success": {str(i >= RUNS / 2).lower()}, "score": {i / RUNS}}}'
    return {"body_json": completion(text), "delay_s": (RUNS - i) * 0.01}


class Counting:
    """A client that takes a moment, keeps the number of calls at once, and can be told to stall."""

    def __init__(self, stall_from: int | None = None) -> None:
        self.running = self.most = self.calls = self.cancelled = 0
        self.stalled = threading.Event()
        self._stall_from = stall_from

    async def call(self, request: Request) -> Reply:
        self.running += 1
        self.calls += 1
        self.most = max(self.most, self.running)
        try:
            if self._stall_from is not None and self.calls > self._stall_from:
                self.stalled.set()
                await asyncio.sleep(3600)
            await asyncio.sleep(0.002)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.running -= 1
        return Reply('{"success": true, "score": 1}', "counting")


@pytest.mark.parametrize("way", ["score_many", "score_iter", "ascore_many"])
def test_rewards_come_in_the_order_of_the_runs(way: str) -> None:
    """R02: answers in reverse order; one that fails stays in its place and stops nobody."""

    def answer(asked: dict[str, Any]) -> dict[str, Any]:
        return FAILURE if score_of(asked) == 5 else backwards(asked)

    with LoopbackServer(answer) as server, connected(server, judge={"concurrency": RUNS}) as judge:
        if way == "ascore_many":
            rewards = asyncio.run(judge.ascore_many(runs()))
        else:
            rewards = list(getattr(judge, way)(runs()))
    expected: list[float | None] = [i / RUNS for i in range(RUNS)]
    expected[5] = None
    assert [reward.value for reward in rewards] == expected
    assert [reward.trajectory_id for reward in rewards] == [f"r{i}" for i in range(RUNS)]


@pytest.mark.parametrize("way", ["score_many", "score_iter"])
def test_no_more_than_concurrency_are_in_flight(way: str) -> None:
    client = Counting()
    judge = Judge(config(judge={"concurrency": 4}), client)
    assert len(list(getattr(judge, way)(runs(20)))) == 20
    assert client.most == 4


def test_nothing_gives_nothing() -> None:
    judge, _ = scripted()
    assert judge.score_many([]) == []
    assert list(judge.score_iter([])) == []


def test_a_stored_record_is_as_good_as_a_trajectory() -> None:
    judge, _ = scripted()
    record = {"instruction": "Go", "steps": [{"action": "go()"}], "trajectory_id": "own"}
    sample = {"instruction": "Go", "frames": [{"action": "go()", "text": "ok"}], "task_id": "t", "step": 3}
    assert [reward.value for reward in judge.score_many([record, sample])] == [1.0, 1.0]
    assert judge.score(record).trajectory_id == "own"
    with pytest.raises(InputError, match="instruction"):
        judge.score({"steps": []})


def test_settings_that_would_fail_each_call_are_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("JUDGE_BASE_URL", "JUDGE_MODEL", "OPENAI_BASE_URL", "JUDGE_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ConfigError, match="base_url"):
        Judge(Config(judge={"model": "m"}))
    with pytest.raises(ConfigError, match="unknown rubric version 'v0'"):
        scripted(rubrics={"version": "v0"})


def test_the_embedded_judge_does_not_route() -> None:
    with pytest.raises(ConfigError, match="router llm: the embedded judge routes by rules only"):
        Judge(Config(judge={"model": EMBEDDED_MODEL}, rubrics={"router": "llm"}))


def test_every_judgement_is_observed_and_logged(tmp_path: Path) -> None:
    seen: list[Judgement] = []
    with LoopbackServer(backwards) as server:
        settings = config(judge={"base_url": server.base_url}, log={"path": tmp_path / "log.jsonl"})
        with Judge(settings, observe=seen.append) as judge:
            judge.score_many(runs())
    logged = [row["trajectory_id"] for row in rows(tmp_path / "log.jsonl")]
    assert sorted(logged) == sorted(f"r{i}" for i in range(RUNS))
    assert [each.trajectory.trajectory_id for each in seen] == logged


def test_a_judge_can_be_used_again_after_it_was_closed(tmp_path: Path) -> None:
    with LoopbackServer() as server:
        judge = connected(server, log={"path": tmp_path / "log.jsonl"}, cache={"dir": tmp_path / "cache"})
        assert judge.score(numbered(0)).value == 1.0
        judge.close()
        judge.close()
        assert judge.score(numbered(1)).value == 1.0
        asyncio.run(judge.aclose())
    assert len(rows(tmp_path / "log.jsonl")) == 2


def test_a_stream_reads_its_source_only_as_fast_as_rewards_are_taken() -> None:
    taken = itertools.count()
    read = 0

    def source() -> Iterator[Trajectory]:
        nonlocal read
        for read in taken:
            yield numbered(read)

    judge = Judge(config(judge={"concurrency": 3}), Counting())
    stream = judge.score_iter(source())
    assert read == 0
    for position in range(40):
        assert next(stream).trajectory_id == f"r{position}"
        assert read <= position + 8 * 3 + 1
    stream.close()  # type: ignore[attr-defined]
    after = read
    judge.score(numbered(0))
    assert read == after


def test_leaving_a_stream_cancels_what_is_in_flight() -> None:
    client = Counting(stall_from=5)
    judge = Judge(config(judge={"concurrency": 4}), client)
    stream = judge.score_iter(runs(40))
    for _ in range(5):
        next(stream)
    assert client.stalled.wait(30)
    stream.close()  # type: ignore[attr-defined]
    assert client.running == 0
    assert client.cancelled >= 1


@pytest.mark.parametrize("way", ["score_many", "score_iter"])
def test_a_bug_in_a_client_surfaces_as_itself(way: str) -> None:
    class Broken(Counting):
        async def call(self, request: Request) -> Reply:
            if "Task number 7." in request.content.instruction:
                raise ZeroDivisionError("a bug")
            return await super().call(request)

    client = Broken()
    with pytest.raises(ZeroDivisionError, match="a bug"):
        list(getattr(Judge(config(judge={"concurrency": 4}), client), way)(runs()))
    assert client.running == 0


def test_an_error_of_the_source_comes_after_the_rewards_before_it() -> None:
    def source() -> Iterator[Trajectory]:
        yield from runs(6)
        raise InputError("runs.jsonl:7: not JSON")

    stream = Judge(config(), Counting()).score_iter(source())
    assert [next(stream).trajectory_id for _ in range(6)] == [f"r{i}" for i in range(6)]
    with pytest.raises(InputError, match=r"runs\.jsonl:7"):
        next(stream)


def test_a_record_in_a_stream_that_is_no_trajectory_comes_in_its_turn() -> None:
    stream = Judge(config(), Counting()).score_iter([numbered(0), {"steps": []}, numbered(1)])
    assert next(stream).trajectory_id == "r0"
    with pytest.raises(InputError, match="instruction"):
        next(stream)


def test_cancelling_one_caller_leaves_the_others_and_nothing_behind() -> None:
    client = Counting(stall_from=0)
    judge = Judge(config(judge={"concurrency": 4}), client)

    async def caller() -> None:
        waiting = [asyncio.create_task(judge.ascore(trajectory("same"))) for _ in range(2)]
        await asyncio.to_thread(client.stalled.wait, 30)
        waiting[0].cancel()
        await asyncio.sleep(0.02)
        assert (client.calls, client.running) == (1, 1)
        waiting[1].cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        while client.running:
            await asyncio.sleep(0.001)

    asyncio.run(asyncio.wait_for(caller(), 60))
    assert client.cancelled == 1


def test_more_callers_than_slots_are_no_timeout() -> None:
    """The deadline is for judging; a wait for one of our own slots does not count."""
    with (
        LoopbackServer(delay_s=0.3) as server,
        connected(server, judge={"concurrency": 1, "deadline_s": 4.0}) as judge,
    ):

        async def all_at_once() -> list[float | None]:
            rewards = await asyncio.gather(*(judge.ascore(run) for run in runs(15)))
            return [reward.value for reward in rewards]

        assert asyncio.run(all_at_once()) == [1.0] * 15


def test_what_is_not_judged_in_the_time_allowed_has_failed_and_is_logged(tmp_path: Path) -> None:
    """Also what never left our own queue: the log must hold the failures that the caller saw."""
    with (
        LoopbackServer([{"accept_then_stall_s": 3600}]) as server,
        connected(server, judge={"concurrency": 1}, log={"path": tmp_path / "log"}) as judge,
    ):
        rewards = judge.score_many([Job(run, within_s=1.0) for run in runs(3)])
    assert [(reward.value, reward.error_kind) for reward in rewards] == [(None, "timeout")] * 3
    lines = {row["trajectory_id"]: row["error"]["kind"] for row in rows(tmp_path / "log")}
    assert lines == {f"r{i}": "timeout" for i in range(3)}


@pytest.mark.parametrize("within_s", [0, -1.0, float("nan"), "280", True, []])
def test_a_limit_that_is_no_time_is_refused(within_s: Any) -> None:
    with pytest.raises(ConfigError, match="it is a number of seconds above 0"):
        Job(numbered(0), within_s=within_s)


def test_a_forgotten_stream_does_no_harm() -> None:
    client = Counting(stall_from=3)
    stream = Judge(config(judge={"concurrency": 2}), client).score_iter(runs(20))
    next(stream)
    del stream
    gc.collect()
    assert client.running == 0


def test_an_unusable_log_is_an_error_and_no_reward(tmp_path: Path) -> None:
    judge, _ = scripted(log={"path": tmp_path})
    with pytest.raises(IsADirectoryError):
        judge.score(trajectory())


def test_a_failure_is_a_reward_and_never_a_number() -> None:
    judge, _ = scripted(JudgeError("rate_limited", "busy", attempts=4))
    (reward,) = judge.score_many([trajectory()])
    assert (reward.value, reward.error_kind, reward.error, reward.verdict) == (
        None,
        "rate_limited",
        "busy",
        None,
    )
