"""Writing: whole lines, each in one append, from any number of threads and processes."""

from __future__ import annotations

import os
import socket
import threading
import warnings
from contextlib import suppress
from pathlib import Path

from judge.log.line import Judgement, encode_line, line_of


class RewardLog:
    """Appends judgements to a JSONL file, whole lines only; `path` may hold {host} and {pid}.

    Safe to use from several threads, from forked children (each reopens the file) and from several
    processes on a local disk. Nothing is created before the first line.
    """

    def __init__(self, path: Path) -> None:
        self._template = str(path)
        self._lock = threading.Lock()
        self._file: int | None = None
        self._pid = -1

    @property
    def path(self) -> Path:
        """The file this process writes to."""
        return Path(self._template.replace("{host}", socket.gethostname()).replace("{pid}", str(os.getpid())))

    def append(self, judgement: Judgement) -> None:
        """Write one line. Raises OSError that names the file where it cannot be written."""
        data = encode_line(line_of(judgement))
        with self._lock:
            if self._file is None or self._pid != os.getpid():
                self._file, self._pid = _open_for_append(self.path), os.getpid()
            try:
                _write_whole(self._file, data)
            except OSError as error:
                # What is left of this line must be closed before the next, as after a crash.
                broken, self._file = self._file, None
                with suppress(OSError):  # A network file system may tell of its full disk once more.
                    os.close(broken)
                raise OSError(error.errno, error.strerror, str(self.path)) from None

    def close(self) -> None:
        """Close the file; a later append opens it again."""
        with self._lock:
            if self._file is not None and self._pid == os.getpid():
                os.close(self._file)
            self._file = None


def _write_whole(file: int, data: bytes) -> None:
    written = os.write(file, data)
    # Only a full disk or a signal splits a write; the rest must follow at once.
    while written < len(data):
        written += os.write(file, data[written:])


def _open_for_append(path: Path) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
    size = os.fstat(file).st_size
    if size and os.pread(file, 1, size - 1) != b"\n":
        os.write(file, b"\n")
        warnings.warn(
            f"{path}: the last line was cut off (an interrupted write); it was closed and stays alone",
            stacklevel=4,
        )
    return file
