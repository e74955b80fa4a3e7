"""A stored file → (place, record) pairs: JSONL, one JSON document, or Parquet, told apart by what it holds.

The place ("path:line", "path[index]", "path:row N") begins every error message about the record. A file is
opened once and read from front to end, so that a pipe will do. Compressed files and UTF-16 are named and not
read.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from judge.errors import InputError
from judge.readers.documents import is_document, read_document
from judge.readers.lines import OnBad, Records, read_lines, without_bom
from judge.readers.parquet import MAGIC, read_rows

_UNPACK = "is compressed ({}): unpack it, or pipe the unpacked text in and name it -"
_UTF_16 = "is UTF-16 text: store it as UTF-8, as `iconv -f UTF-16 -t UTF-8` does"
_NOT_READ = {
    b"\x1f\x8b": _UNPACK.format("gzip"),
    b"\x28\xb5\x2f\xfd": _UNPACK.format("zstd"),
    b"\xfd7zX": _UNPACK.format("xz"),
    b"BZh": _UNPACK.format("bzip2"),
    b"PK\x03\x04": _UNPACK.format("zip"),
    b"\xff\xfe": _UTF_16,
    b"\xfe\xff": _UTF_16,
    # Without a byte order mark; what follows is the beginning of JSON.
    **dict.fromkeys((b"{\0", b"[\0", b"\0{", b"\0["), _UTF_16),
}
"""How a file begins → what is wrong with it."""


def read_records(path: str | Path, on_bad: OnBad = None) -> Records:
    """Every record of a file (or of `-`, standard input), in file order; JSONL and Parquet as a stream.

    Raises InputError for a missing, unreadable or damaged file, and, without `on_bad`, for the first line or
    element that holds no object; with it, its message is handed over and reading goes on.
    """
    with _opened(path) as file:
        start = file.readline(len(MAGIC))
        if fault := next((_NOT_READ[each] for each in _NOT_READ if start.startswith(each)), None):
            raise InputError(f"{path}: {fault}")
        if start == MAGIC:
            yield from read_rows(path, file, on_bad)
            return
        head = _head(chain([start if start.endswith(b"\n") else start + file.readline()], file))
        first, second, *_ = *(line for line in head if without_bom(line).strip()), b"", b""
        if is_document(first, second):
            yield from read_document(path, b"".join([*head, file.read()]), on_bad)
        else:
            yield from read_lines(path, chain(head, file), on_bad)


def _head(lines: Iterable[bytes]) -> list[bytes]:
    """The lines up to the second one that holds text."""
    head: list[bytes] = []
    texts = 0
    for line in lines:
        head.append(line)
        texts += bool(without_bom(line).strip())
        if texts == 2:
            break
    return head


@contextmanager
def _opened(path: str | Path) -> Iterator[BinaryIO]:
    if str(path) == "-":
        yield sys.stdin.buffer
        return
    try:
        with Path(path).open("rb") as file:
            yield file
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None
