"""Where replies and rewards are written: the cache folder and the reward log. Nothing is left behind."""

from __future__ import annotations

import tempfile
from pathlib import Path

from judge.cache.disk import MOUNTS, network_file_system
from judge.config import CacheSection, LogSection
from judge.doctor.finding import Finding
from judge.log import RewardLog


def check_cache(settings: CacheSection, mounts: Path = MOUNTS) -> Finding:
    """A cache that cannot be used is a warning: judging goes on without it, and pays again."""
    if settings.dir is None:
        return Finding("ok", "cache", "off (cache.dir is null): every judgement is paid for again")
    facts = {"dir": str(settings.dir)}
    if why := _unwritable(settings.dir):
        return Finding("warn", "cache", f"{settings.dir} cannot be used: {why}", "set cache.dir", facts)
    if kind := network_file_system(settings.dir, mounts):
        what = f"{settings.dir} is on a network file system ({kind}): correct, but slow"
        return Finding("warn", "cache", what, "set cache.dir to a folder on a local disk", facts)
    return Finding("ok", "cache", f"{settings.dir}, writable", facts=facts)


def check_log(settings: LogSection, mounts: Path = MOUNTS) -> Finding:
    """A log that cannot be written fails: no judgement gets past it."""
    if settings.path is None:
        return Finding("ok", "log", "off (log.path is null): rewards are not kept")
    path = RewardLog(settings.path).path
    facts = {"path": str(path)}
    if why := _unwritable(path.parent) or _unappendable(path):
        return Finding("fail", "log", f"{path} cannot be written: {why}", "set log.path, or null", facts)
    if (kind := network_file_system(path, mounts)) and path == settings.path:
        what = f"{path} is on a network file system ({kind}), where processes tear each other's lines"
        return Finding("warn", "log", what, "put {host} and {pid} into log.path: one file a process", facts)
    return Finding("ok", "log", f"{path}, writable", facts=facts)


def _unwritable(folder: Path) -> str:
    """Why no file can be made in `folder`, or in its nearest parent that exists; "" where one can."""
    nearest = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    if not nearest.is_dir():
        return f"{nearest} is a file"
    try:
        with tempfile.TemporaryFile(dir=nearest):
            return ""
    except OSError as error:
        return f"{nearest}: {error.strerror or error}"


def _unappendable(path: Path) -> str:
    if not path.exists():
        return ""
    try:
        with path.open("ab"):
            return ""
    except OSError as error:
        return str(error.strerror or error)
