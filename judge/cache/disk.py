"""Texts by key in a diskcache directory that many processes use at once, and that may break.

A corrupt database is moved aside and begun anew; a directory that cannot be written to switches the store
off. Each is said once, by a warning of the logger `judge.cache`. Only plain text is read back: a planted
pickle is a miss and never loaded. On a network file system SQLite's write-ahead log is unsafe, so the
rollback journal is used there.
"""

from __future__ import annotations

import logging
import os
import re
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

MOUNTS = Path("/proc/mounts")

_log = logging.getLogger("judge.cache")

_DATABASE = "cache.db"
_BUSY_S = 5.0
# A lock held elsewhere, or one undecodable row: a miss, and no fault of the store.
_PASSING = re.compile("locked|busy|decode")
_PAGE = 4096
_NETWORK = (
    "nfs",
    "cifs",
    "smb",
    "lustre",
    "ceph",
    "gluster",
    "9p",
    "virtiofs",
    "afs",
    "gpfs",
    "beegfs",
    "fuse.",
)


class DiskStore:
    """Texts by key under `dir`, at most about `limit` bytes of them; neither `get` nor `put` raises."""

    def __init__(self, dir: Path, limit: int, mounts: Path = MOUNTS) -> None:
        self._dir = dir
        self._limit = limit
        self._mounts = mounts
        self._cache: Any = None
        self._inode: int | None = None
        self._pid = os.getpid()
        self._off = False
        self._forsaken: list[Any] = []
        self._said: set[str] = set()
        self._headroom = 0
        self._lock = Lock()

    def get(self, key: str) -> str | None:
        text = self._use(lambda cache: cache.get(key))
        return text if isinstance(text, str) else None

    def put(self, key: str, text: str) -> None:
        self._use(lambda cache: self._set(cache, key, text))

    def close(self) -> None:
        """Close this thread's connection; later use opens the store again."""
        with self._lock:
            if self._cache is not None and self._pid == os.getpid():
                self._cache.close()
            self._cache = None

    def _set(self, cache: Any, key: str, text: str) -> None:
        self._headroom -= len(text) + 2 * _PAGE
        if self._headroom < 0 and "full" not in self._said:
            self._measure(cache, len(text) + 2 * _PAGE)
        cache.set(key, text)

    def _measure(self, cache: Any, needed: int) -> None:
        """See how much room is left. It is seen again long before that is used up: others write here too."""
        free = self._limit - cache.volume()
        self._headroom = free // 16
        if free < needed:
            self._say("full", "has reached cache.size_limit_gb: from now on the oldest replies make room")

    def _use(self, action: Callable[[Any], Any]) -> Any:
        """What `action` returns; None where it fails, and then the store is mended or switched off."""
        if self._off:
            return None
        from diskcache import Timeout

        cache = None
        try:
            cache = self._opened()
            return action(cache)
        except Timeout:
            return None
        except (sqlite3.Error, OSError, ValueError) as error:
            self._mend(cache, error)
            return None

    def _mend(self, cache: Any, error: Exception) -> None:
        if isinstance(error, sqlite3.OperationalError) and _PASSING.search(str(error)):
            return
        with self._lock:
            if cache is not None and cache is not self._cache:
                return  # Another thread has mended it already.
            self._cache = None
            if cache is not None and _inode(self._dir) != self._inode:
                return  # Another process has moved it aside, or the user has deleted it: open what is there.
            if cache is not None and _is_corruption(error):
                with _alone(self._dir):
                    self._move_aside(error)
                return
            self._off = True
        self._say("off", f"cannot be used and is switched off; judging goes on without it ({error})")

    def _opened(self) -> Any:
        if self._cache is not None and self._pid == os.getpid():
            return self._cache
        with self._lock:
            if self._pid != os.getpid():
                # SQLite connections do not survive a fork, and closing one would drop the parent's locks.
                self._forsaken.append(self._cache)
                self._cache, self._pid = None, os.getpid()
            if self._cache is None:
                self._cache = self._open()
            return self._cache

    def _open(self) -> Any:
        self._dir.mkdir(parents=True, exist_ok=True)
        # One process at a time: diskcache creates its tables without a transaction.
        with _alone(self._dir):
            try:
                cache = self._connect()
            except (sqlite3.DatabaseError, ValueError) as error:
                if not _is_corruption(error):
                    raise
                self._move_aside(error)
                cache = self._connect()
            self._inode = _inode(self._dir)
        return cache

    def _connect(self) -> Any:
        from diskcache import Cache

        pragmas: dict[str, Any] = {}
        if kind := network_file_system(self._dir, self._mounts):
            self._say(
                "network", f"is on a network file system ({kind}) and will be slow: prefer a local disk"
            )
            pragmas = {"sqlite_journal_mode": "delete", "sqlite_mmap_size": 0}
        return Cache(str(self._dir), timeout=_BUSY_S, disk=_text_disk(), size_limit=self._limit, **pragmas)

    def _move_aside(self, error: Exception) -> None:
        mark = f".corrupt-{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}"
        for name in (_DATABASE, _DATABASE + "-wal", _DATABASE + "-shm"):
            with suppress(FileNotFoundError):
                (self._dir / name).rename(self._dir / (name + mark))
        self._say("corrupt", f"was corrupt ({error}): moved aside as {_DATABASE}{mark}, and begun anew")

    def _say(self, what: str, message: str) -> None:
        if what not in self._said:
            self._said.add(what)
            _log.warning("the reply cache %s %s", self._dir, message)


def network_file_system(dir: Path, mounts: Path = MOUNTS) -> str | None:
    """The type of the network file system that `dir` is on; None where it is local, or nobody can tell."""
    try:
        lines = mounts.read_text(errors="replace").splitlines()
    except OSError:
        return None
    found = Path("/"), ""
    for _, point, kind, *_ in (line.split(" ") for line in lines if line.count(" ") >= 3):
        path = Path(point.replace("\\040", " "))
        if dir.resolve().is_relative_to(path) and len(path.parts) >= len(found[0].parts):
            found = path, kind
    return found[1] if found[1].startswith(_NETWORK) else None


@cache
def _text_disk() -> type[Any]:
    """A diskcache Disk that reads text alone. Made on demand, because diskcache is imported lazily."""
    from diskcache import Disk
    from diskcache.core import MODE_RAW, MODE_TEXT

    class TextDisk(Disk):  # type: ignore[misc]
        def fetch(self, mode: int, filename: str | None, value: Any, read: bool) -> Any:
            if mode == MODE_RAW and isinstance(value, str):
                return value
            # An OSError is what diskcache expects of an entry that has gone: it makes a miss of it.
            if mode != MODE_TEXT or not isinstance(filename, str):
                raise OSError("not text")
            try:
                return Path(self._directory, filename).read_text(encoding="utf-8")
            except ValueError as error:
                raise OSError("not text") from error

    return TextDisk


@contextmanager
def _alone(dir: Path) -> Iterator[None]:
    """Hold the directory's opening lock, where the platform and the file system have one."""
    try:
        from fcntl import LOCK_EX, flock

        lock = (dir / "opening.lock").open("w")
    except (ImportError, OSError):
        yield
        return
    with lock:
        with suppress(OSError):
            flock(lock, LOCK_EX)
        yield


def _is_corruption(error: Exception) -> bool:
    return not isinstance(error, sqlite3.OperationalError | OSError) or "no such" in str(error)


def _inode(dir: Path) -> int | None:
    try:
        return (dir / _DATABASE).stat().st_ino
    except OSError:
        return None
