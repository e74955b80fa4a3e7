from __future__ import annotations

import asyncio
import json
import logging
import multiprocessing
import os
import pickle
import signal
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from judge.cache import Memo, ReplyCache, request_key
from judge.cache.disk import DiskStore, network_file_system
from judge.config import Endpoint
from judge.schema import Content, Reply, Request, Usage

MIB_AS_GIB = 1 / 1024
ENDPOINT = Endpoint(base_url="http://127.0.0.1:1/v1", model="m")
REPLY = Reply(
    '{"success": true} 订单',
    "m",
    usage=Usage(9, 1, 10),
    attempts=2,
    latency_ms=5.0,
    verdict_id="t",
    flags=("f",),
)


def request(**changes: Any) -> Request:
    messages = ({"role": "user", "content": "Did it work?"},)
    return Request(
        **{"purpose": "trajectory", "messages": messages, "schema": {"type": "object"}} | changes,
        content=Content("i"),
    )


def messages_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "judge.cache"]


@pytest.mark.parametrize("changes", [{"verdict_id": "other"}, {"budget": 2}, {"purpose": "fine"}])
def test_what_leaves_the_key_alone(changes: dict[str, Any]) -> None:
    assert request_key(ENDPOINT, request(**changes)) == request_key(ENDPOINT, request())


@pytest.mark.parametrize(
    "changes", [{"messages": ({"role": "user", "content": "Did it fail?"},)}, {"schema": {}}, {"repeat": 1}]
)
def test_what_of_a_request_changes_the_key(changes: dict[str, Any]) -> None:
    assert request_key(ENDPOINT, request(**changes)) != request_key(ENDPOINT, request())


@pytest.mark.parametrize(
    "changes",
    [
        {"base_url": "http://127.0.0.1:2/v1"},
        {"endpoint_id": "named"},
        {"model": "n"},
        {"temperature": 0.5},
        {"temperature": None},
        {"seed": 1},
        {"max_tokens": 5},
        {"extra_body": {"enable_thinking": False}},
        {"vision": "off"},
    ],
)
def test_what_of_an_endpoint_changes_the_key(changes: dict[str, Any]) -> None:
    assert request_key(ENDPOINT.model_copy(update=changes), request()) != request_key(ENDPOINT, request())


def test_a_named_endpoint_may_move_and_be_paced_differently() -> None:
    here, there = (
        Endpoint(base_url=f"http://{host}/v1", endpoint_id="big", model="m") for host in ("a", "b")
    )
    paced = there.model_copy(update={"timeout_s": 1.0, "concurrency": 1, "max_attempts": 1})
    assert request_key(here, request()) == request_key(paced, request())


def test_the_order_of_keys_and_lone_surrogates_do_not_disturb_the_key() -> None:
    one, two = (Endpoint(model="m", extra_body=body) for body in ({"a": 1, "b": 2}, {"b": 2, "a": 1}))
    assert request_key(one, request()) == request_key(two, request())
    assert request_key(one, request(messages=({"role": "user", "content": "\ud83d"},)))


def test_a_reply_comes_back_as_cached_from_another_cache(tmp_path: Path) -> None:
    ReplyCache(tmp_path).put("k", REPLY)
    got = ReplyCache(tmp_path).get("k")
    assert got == replace(REPLY, cached=True, attempts=0, latency_ms=0.0)
    assert ReplyCache(tmp_path).get("other") is None


def test_a_long_reply_and_a_lone_surrogate_survive(tmp_path: Path) -> None:
    cache = ReplyCache(tmp_path)
    for text in ("x" * 100_000, "cut \ud83d", "line\r\nline\u2028"):
        cache.put("k", replace(REPLY, text=text))
        got = cache.get("k")
        assert got is not None
        assert got.text == text


def test_a_cache_may_be_closed_and_used_again(tmp_path: Path) -> None:
    cache = ReplyCache(tmp_path)
    cache.put("k", REPLY)
    cache.close()
    assert cache.get("k") is not None


def test_without_a_directory_nothing_is_stored() -> None:
    cache = ReplyCache(None)
    cache.put("k", REPLY)
    assert cache.get("k") is None
    cache.close()


def test_importing_the_cache_does_not_load_diskcache() -> None:
    code = "import sys, judge.cache; judge.cache.ReplyCache(None).get('k'); print('diskcache' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "False"


class Bomb:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


@pytest.mark.parametrize("mode", [1, 2, 3, 4])
def test_a_planted_pickle_is_a_miss_and_never_run(mode: int, tmp_path: Path) -> None:
    cache = ReplyCache(tmp_path / "cache")
    cache.put("k", REPLY)
    trap = tmp_path / "PWNED"
    with sqlite3.connect(tmp_path / "cache" / "cache.db") as database:
        database.execute("UPDATE Cache SET value = ?, mode = ?", (pickle.dumps(Bomb(trap)), mode))
    database.close()
    assert cache.get("k") is None
    assert not trap.exists()


@pytest.mark.parametrize(
    "text", ["", "no JSON", "5", "null", "{}", '{"text": 5, "model": "m", "usage": null, "flags": []}']
)
def test_a_value_that_is_no_reply_is_a_miss(text: str, tmp_path: Path) -> None:
    DiskStore(tmp_path, 10**8).put("k", text)
    assert ReplyCache(tmp_path).get("k") is None


@pytest.mark.parametrize(
    "change", ["value = CAST(x'ff' AS TEXT)", "mode = 3, filename = '../bad'", "mode = 3"]
)
def test_one_bad_row_is_a_miss_and_spoils_nothing_else(change: str, tmp_path: Path) -> None:
    cache = ReplyCache(tmp_path / "cache")
    for key in ("bad", "good"):
        cache.put(key, REPLY)
    (tmp_path / "bad").write_bytes(b"\xff")
    with sqlite3.connect(tmp_path / "cache" / "cache.db") as database:
        database.execute(f"UPDATE Cache SET {change} WHERE key = 'bad'")
    database.close()
    assert cache.get("bad") is None
    assert cache.get("good") is not None


def test_eviction_is_said_once_and_before_it_happens(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cache = ReplyCache(tmp_path, size_limit_gb=MIB_AS_GIB)
    large = replace(REPLY, text="x" * 5_000)
    for number in range(60):
        cache.put(f"k{number}", large)
    assert messages_of(caplog) == []
    assert all(cache.get(f"k{number}") for number in range(60))
    for number in range(60, 400):
        cache.put(f"k{number}", large)
    (said,) = messages_of(caplog)
    assert "cache.size_limit_gb" in said
    assert cache.get("k0") is None
    assert cache.get("k399") is not None
    assert (tmp_path / "cache.db").stat().st_size < 2 * 1024**2


@pytest.mark.parametrize("damage", ["cut", "garbage"])
def test_a_corrupt_database_is_moved_aside_with_one_warning(
    damage: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cache = ReplyCache(tmp_path)
    for number in range(200):
        cache.put(f"k{number}", replace(REPLY, text="x" * 2_000))
    cache.close()
    file = tmp_path / "cache.db"
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2] if damage == "cut" else b"no database " * 2_000)
    again = ReplyCache(tmp_path)
    for number in range(200):
        again.get(f"k{number}")
        again.put(f"n{number}", REPLY)
    assert again.get("n199") is not None
    assert [message for message in messages_of(caplog) if "moved aside" in message] == messages_of(caplog)[:1]
    assert list(tmp_path.glob("cache.db.corrupt-*"))


def test_a_directory_deleted_underfoot_is_begun_anew(tmp_path: Path) -> None:
    cache = ReplyCache(tmp_path)
    cache.put("k", REPLY)
    for name in ("cache.db", "cache.db-wal", "cache.db-shm"):
        (tmp_path / name).unlink(missing_ok=True)
    for _ in range(3):
        cache.put("k", REPLY)
    assert cache.get("k") is not None


def test_a_directory_that_cannot_be_made_switches_the_cache_off(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    cache = ReplyCache(tmp_path / "file" / "cache")
    cache.put("k", REPLY)
    assert cache.get("k") is None
    (said,) = messages_of(caplog)
    assert "switched off" in said


FULL_DISK = """
import resource, signal, sys
from pathlib import Path
from judge.cache import ReplyCache
from judge.schema import Reply
import logging; logging.basicConfig(stream=sys.stdout, format="%(message)s")
cache = ReplyCache(Path(sys.argv[1]))
cache.put("k", Reply("x", "m"))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
for number in range(300):
    cache.put(str(number), Reply("x" * 5_000, "m"))
    cache.get(str(number))
print("judged on")
"""


@pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="no file size limits on this platform")
def test_a_full_disk_switches_the_cache_off_with_one_warning(tmp_path: Path) -> None:
    shown = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(tmp_path)], capture_output=True, text=True, check=True
    )
    warning, last = shown.stdout.splitlines()
    assert "switched off" in warning
    assert last == "judged on"


MOUNTS = """\
/dev/sda1 / ext4 rw 0 0
server:/data /data nfs4 rw 0 0
/dev/sdb1 /data/me/local\\040disk xfs rw 0 0
tmpfs /datalike tmpfs rw 0 0
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/var", None),
        ("/data/me", "nfs4"),
        ("/data/me/local disk/x", None),
        ("/datalike", None),
        ("/datas", None),
    ],
)
def test_network_file_systems_are_told_by_their_mount(path: str, kind: str | None, tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(MOUNTS)
    assert network_file_system(Path(path), mounts) == kind
    assert network_file_system(Path(path), tmp_path / "absent") is None


def test_on_a_network_file_system_it_says_so_once_and_uses_no_shared_memory(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"server:/x {tmp_path.resolve()} nfs rw 0 0\n")
    cache = ReplyCache(tmp_path / "cache", mounts=mounts)
    cache.put("k", REPLY)
    assert cache.get("k") is not None
    cache.close()
    assert cache.get("k") is not None
    assert [("network file system (nfs)" in said) for said in messages_of(caplog)] == [True]
    assert not list((tmp_path / "cache").glob("*-wal"))


def _worker(dir: Path, number: int, start: Any) -> None:
    """Puts and gets of its own and of shared keys; anything lost or mixed up ends the process with 1."""
    cache = ReplyCache(dir)
    start.wait()
    for turn in range(50):
        shared, own = f"shared-{turn}", f"{number}-{turn}"
        for key in (shared, own):
            cache.put(key, replace(REPLY, text=key))
    wrong = [
        key
        for turn in range(50)
        for key in (f"shared-{turn}", f"{number}-{turn}")
        if _read(cache, key) != key
    ]
    os._exit(1 if wrong else 0)


def _read(cache: ReplyCache, key: str) -> str | None:
    got = cache.get(key)
    return got.text if got else None


def _run_processes(dir: Path, count: int) -> list[int | None]:
    context = multiprocessing.get_context("forkserver")
    start = context.Barrier(count)
    workers = [context.Process(target=_worker, args=(dir, number, start)) for number in range(count)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return [worker.exitcode for worker in workers]


def test_eight_processes_open_one_directory_at_once_and_lose_nothing(tmp_path: Path) -> None:
    assert _run_processes(tmp_path, 8) == [0] * 8
    cache = ReplyCache(tmp_path)
    assert all(
        _read(cache, f"{number}-{turn}") == f"{number}-{turn}" for number in range(8) for turn in range(50)
    )
    assert not list(tmp_path.glob("*corrupt*"))


@pytest.mark.slow
def test_thirty_two_processes_open_one_directory_at_once(tmp_path: Path) -> None:
    assert _run_processes(tmp_path, 32) == [0] * 32


def _read_in_child(cache: ReplyCache) -> None:
    os._exit(0 if _read(cache, "k") == REPLY.text else 1)


@pytest.mark.skipif(sys.platform == "win32", reason="no fork on this platform")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_fork_opens_the_cache_anew(tmp_path: Path) -> None:
    cache = ReplyCache(tmp_path)
    cache.put("k", REPLY)
    child = multiprocessing.get_context("fork").Process(target=_read_in_child, args=(cache,))
    child.start()
    child.join()
    assert child.exitcode == 0
    assert _read(cache, "k") == REPLY.text


def test_a_memo_keeps_the_latest() -> None:
    memo = Memo(size=2)
    for key in ("a", "b", "c"):
        memo.put(key, REPLY)
    assert memo.get("a") is None
    got = memo.get("c")
    assert got is not None
    assert (got.cached, got.attempts, got.text) == (True, 0, REPLY.text)


class Work:
    """Something to be done once: counts its beginnings, and waits to be told to end."""

    def __init__(self, failure: Exception | None = None) -> None:
        self.begun = 0
        self.cancelled = 0
        self.go = asyncio.Event()
        self._failure = failure

    async def __call__(self) -> int:
        self.begun += 1
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if self._failure:
            raise self._failure
        return self.begun


def test_equal_questions_in_flight_share_one_call_and_later_ones_do_not() -> None:
    async def run() -> tuple[list[int], int, int]:
        cache, work = ReplyCache(None), Work()
        calls = [asyncio.ensure_future(cache.through("k", work)) for _ in range(3)]
        other = asyncio.ensure_future(cache.through("other", work))
        await asyncio.sleep(0)
        work.go.set()
        return await asyncio.gather(*calls), await other, await cache.through("k", work)

    together, _, later = asyncio.run(run())
    assert together == [together[0]] * 3
    assert later == 3


def test_a_cancelled_waiter_leaves_the_others_waiting() -> None:
    async def run() -> tuple[int, int]:
        cache, work = ReplyCache(None), Work()
        first, second = (asyncio.ensure_future(cache.through("k", work)) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        work.go.set()
        return await second, work.cancelled

    assert asyncio.run(run()) == (1, 0)


def test_the_last_waiter_to_go_takes_the_work_along() -> None:
    async def run() -> tuple[int, int]:
        cache, work = ReplyCache(None), Work()
        waiters = [asyncio.ensure_future(cache.through("k", work)) for _ in range(2)]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        for waiter in waiters:
            waiter.cancel()
        await asyncio.gather(*waiters, return_exceptions=True)
        cancelled = work.cancelled
        work.go.set()
        return cancelled, await cache.through("k", work)

    assert asyncio.run(run()) == (1, 2)


def test_a_failure_is_shared_and_forgotten() -> None:
    async def run() -> tuple[list[Any], int]:
        cache, work = ReplyCache(None), Work(ValueError("no"))
        waiters = [asyncio.ensure_future(cache.through("k", work)) for _ in range(2)]
        await asyncio.sleep(0)
        work.go.set()
        got = await asyncio.gather(*waiters, return_exceptions=True)
        await asyncio.gather(cache.through("k", work), return_exceptions=True)
        return got, work.begun

    got, begun = asyncio.run(run())
    assert [str(failure) for failure in got] == ["no", "no"]
    assert begun == 2


def test_two_loops_do_not_wait_for_each_other() -> None:
    cache = ReplyCache(None)

    async def run() -> int:
        work = Work()
        work.go.set()
        return await cache.through("k", work)

    assert [asyncio.run(run()), asyncio.run(run())] == [1, 1]


def test_values_are_json(tmp_path: Path) -> None:
    cache = ReplyCache(tmp_path)
    cache.put("k", REPLY)
    cache.close()
    database = sqlite3.connect(tmp_path / "cache.db")
    ((stored,),) = database.execute("SELECT value FROM Cache").fetchall()
    database.close()
    assert json.loads(stored)["text"] == REPLY.text


@pytest.fixture(autouse=True)
def _warnings_are_seen(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "judge.cache")
