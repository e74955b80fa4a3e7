"""Judge from any kind of caller, over real connections: threads, loops, forks, spawned processes, pickles."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from judge import Judge, Trajectory, reward_fn
from judge.testing import LoopbackServer
from tests.pipeline.judged import config, connected, rows, trajectory

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = {"instruction": "Go", "frames": [{"action": "go()"}]}
FORKS = pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")


def runs(count: int = 8) -> list[Trajectory]:
    return [trajectory(f"r{i}", instruction=f"Task {i}") for i in range(count)]


def values(judge: Judge, count: int = 8) -> list[float | None]:
    return [reward.value for reward in judge.score_many(runs(count))]


def script(tmp_path: Path, server: LoopbackServer, text: str) -> subprocess.Popen[str]:
    """A Python process that runs `text` with warnings as errors and everything unclosed told."""
    head = f"""
        from judge import Config, Judge
        from judge.judging import Job
        config = Config(
            judge={{"base_url": {server.base_url!r}, "model": "judge-x", "concurrency": 2}},
            rubrics={{"fine": "off"}},
            cache={{"dir": {str(tmp_path / "cache")!r}}},
            log={{"path": {str(tmp_path / "l")!r}}},
        )
        runs = [{{"instruction": f"Task {{i}}", "steps": [{{"action": "go()"}}]}} for i in range(30)]
    """
    file = tmp_path / "script.py"
    file.write_text(textwrap.dedent(head) + textwrap.dedent(text), encoding="utf-8")
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-X", "dev", str(file)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


@pytest.mark.parametrize(
    "text",
    [
        "print(Judge(config).score(runs[0]).value)",
        "with Judge(config) as judge: print(judge.score_many(runs)[-1].value)",
        "judge = Judge(config); stream = judge.score_iter(runs); print(next(stream).value)",
        """
        import asyncio
        judge = Judge(config)
        asyncio.run(judge.ascore(runs[0]))
        print(asyncio.run(judge.ascore(runs[0])).value)
        """,
        """
        from judge import reward_fn
        print(reward_fn(runs[0], base_url=config.judge.base_url, model="judge-x", cache={"dir": None},
                        log={"path": None}))
        """,
    ],
    ids=["score", "with", "unfinished stream", "two loops", "reward_fn"],
)
def test_a_script_ends_without_a_word_on_stderr(tmp_path: Path, text: str) -> None:
    with LoopbackServer(delay_s=0.01) as server:
        out, err = script(tmp_path, server, text).communicate(timeout=60)
    # What asyncio's debug mode says about slow turns of the loop tells of imports, not of leaks.
    told = [line for line in err.splitlines() if not line.startswith("Executing <")]
    assert (out.strip(), told) == ("1.0", [])


def test_ctrl_c_ends_a_script_and_the_lines_written_are_whole(tmp_path: Path) -> None:
    text = """
    print("ready", flush=True)
    list(Judge(config).score_iter(runs))
    """

    answered = [{}, {}, {}, {"accept_then_stall_s": 3600}]
    with LoopbackServer(answered) as server, script(tmp_path, server, text) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        _until(lambda: server.served >= 5)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert err.strip().endswith("KeyboardInterrupt")
    assert "never retrieved" not in err
    assert "Warning" not in err
    assert len(rows(tmp_path / "l")) == 3


def test_threads() -> None:
    with LoopbackServer() as server, connected(server) as judge, ThreadPoolExecutor(8) as pool:
        assert [reward.value for reward in pool.map(judge.score, runs(24))] == [1.0] * 24
        assert server.served == 24


def test_inside_a_running_loop_awaited_and_blocking() -> None:
    """The second is what a notebook does: its cells run while its loop is running."""

    async def cell(judge: Judge) -> list[float | None]:
        first = await judge.ascore(trajectory("a"))
        second = judge.score(trajectory("b"))
        third = await asyncio.to_thread(judge.score, trajectory("c"))
        return [first.value, second.value, third.value, *(each.value for each in judge.score_iter(runs(2)))]

    with LoopbackServer() as server, connected(server) as judge:
        assert asyncio.run(cell(judge)) == [1.0] * 5


def test_two_event_loops_in_turn() -> None:
    with LoopbackServer() as server, connected(server) as judge:
        for _ in range(2):
            rewards = asyncio.run(judge.ascore_many(runs(4)))
            assert [reward.value for reward in rewards] == [1.0] * 4


@FORKS
def test_forks_after_first_use_have_connections_of_their_own(tmp_path: Path) -> None:
    sections: dict[str, Any] = {"log": {"path": tmp_path / "l"}, "cache": {"dir": tmp_path / "cache"}}
    with LoopbackServer() as server, connected(server, **sections) as judge:
        assert values(judge, 2) == [1.0] * 2
        context = multiprocessing.get_context("fork")
        pipe, inside = context.Pipe(duplex=False)
        children = [context.Process(target=_in_child, args=(judge, i, inside)) for i in range(4)]
        for child in children:
            child.start()
        got = [pipe.recv() for _ in children if pipe.poll(30)]
        for child in children:
            child.join(30)
        assert got == [[1.0] * 3] * 4
        assert [child.exitcode for child in children] == [0] * 4
        assert values(judge, 3) == [1.0] * 3
    lines = rows(tmp_path / "l")
    assert len(lines) == 2 + 4 * 3 + 3
    assert {line["reward"] for line in lines} == {1.0}


def _in_child(judge: Judge, number: int, pipe: Any) -> None:
    own = [trajectory(f"c{number}/{i}", instruction=f"Child {number}, task {i}") for i in range(3)]
    pipe.send([reward.value for reward in judge.score_many(own)])


def test_a_spawned_worker_gets_the_settings_and_nothing_else() -> None:
    context = multiprocessing.get_context("spawn")
    with LoopbackServer() as server, connected(server) as judge:
        judge.score(trajectory())
        with ProcessPoolExecutor(1, mp_context=context) as pool:
            assert pool.submit(judge.score, trajectory("there")).result(60).value == 1.0
            filled = pool.submit(reward_fn, SAMPLE, base_url=server.base_url, model="m", **_NOTHING_KEPT)
            assert filled.result(60) == 1.0


_NOTHING_KEPT: dict[str, Any] = {"cache": {"dir": None}, "log": {"path": None}, "rubrics": {"fine": "off"}}


@pytest.mark.parametrize("used", [False, True])
def test_a_pickled_judge_opens_everything_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, used: bool
) -> None:
    monkeypatch.setenv("JUDGE_API_KEY", "sk-test-never-travels")
    with LoopbackServer() as server, connected(server, log={"path": tmp_path / "l"}) as judge:
        if used:
            judge.score(trajectory())
        stored = pickle.dumps(judge)
        assert b"sk-test-never-travels" not in stored
        with pickle.loads(stored) as revived:
            assert revived.config == judge.config
            assert revived.score(trajectory()).value == 1.0
        assert server.requests[-1]["headers"]["authorization"] == "Bearer sk-test-never-travels"
    assert len(rows(tmp_path / "l")) == 1 + used


def test_cloudpickle_takes_it_too() -> None:
    cloudpickle = pytest.importorskip("cloudpickle")
    with LoopbackServer() as server, connected(server) as judge:
        judge.score(trajectory())
        revived, function = pickle.loads(cloudpickle.dumps((judge, reward_fn)))
        with revived:
            assert revived.score(trajectory()).value == 1.0
        assert function(SAMPLE, base_url=server.base_url, model="m", **_NOTHING_KEPT) == 1.0


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="open files are counted in /proc")
def test_calls_do_not_pile_up_open_files(tmp_path: Path) -> None:
    with LoopbackServer() as server:
        for round_ in range(50):
            with Judge(
                config(
                    judge={"base_url": server.base_url},
                    cache={"dir": tmp_path / "cache"},
                    log={"path": tmp_path / "l"},
                )
            ) as judge:
                judge.score(trajectory(str(round_), instruction=f"Task {round_}"))
            if round_ == 4:
                early = len(os.listdir("/proc/self/fd"))
        assert len(os.listdir("/proc/self/fd")) <= early + 3


def test_importing_the_package_opens_nothing_and_loads_nothing_heavy() -> None:
    code = (
        "import os, sys, threading\n"
        "files = lambda: len(os.listdir('/proc/self/fd')) if os.path.isdir('/proc') else 0\n"
        "before = files()\n"
        "import judge, judge.rewarding, judge.judging\n"
        "heavy = {'openai', 'pandas', 'diskcache'} & set(sys.modules)\n"
        "print(files() - before, threading.active_count(), heavy)"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-X", "dev", "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=60,
    )
    assert (done.stdout.strip(), done.stderr) == ("0 1 set()", "")


def _until(condition: Any) -> None:
    for _ in range(2_000):
        if condition():
            return
        time.sleep(0.005)
    pytest.fail("what was waited for did not happen")
