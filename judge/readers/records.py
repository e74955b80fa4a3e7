"""A stored file → (place, record) pairs: JSONL, one JSON document, or Parquet, told apart by what it holds.

The place ("path:line", "path[index]", "path:row N") begins every error message about the record.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from judge.errors import InputError
from judge.readers.documents import is_document, read_document
from judge.readers.lines import OnBad, Records, read_lines, without_bom
from judge.readers.parquet import is_parquet, read_rows


def read_records(path: str | Path, on_bad: OnBad = None) -> Records:
    """Every record of a file (or of `-`, standard input), in file order; JSONL and Parquet as a stream.

    Raises InputError for a missing, unreadable or damaged file, and, without `on_bad`, for the first line or
    element that holds no object; with it, its message is handed over and reading goes on.
    """
    if str(path) != "-" and is_parquet(path):
        yield from read_rows(path, on_bad)
        return
    with _open(path) as file:
        head = _head(file)
        first, second, *_ = *(line for line in head if without_bom(line).strip()), b"", b""
        if is_document(first, second):
            yield from read_document(path, b"".join([*head, file.read()]), on_bad)
        else:
            yield from read_lines(path, chain(head, file), on_bad)


def _head(file: BinaryIO) -> list[bytes]:
    """The lines up to the second one that holds text."""
    head: list[bytes] = []
    texts = 0
    for line in file:
        head.append(line)
        texts += bool(without_bom(line).strip())
        if texts == 2:
            break
    return head


@contextmanager
def _open(path: str | Path) -> Iterator[BinaryIO]:
    if str(path) == "-":
        yield sys.stdin.buffer
        return
    try:
        file = Path(path).open("rb")  # noqa: SIM115 - closed below; only opening it may be an InputError
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None
    with file:
        yield file
