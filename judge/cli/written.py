"""Files that a command writes in one go: whole, or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import click


@contextmanager
def written_whole(path: Path) -> Iterator[BinaryIO]:
    """A file that takes the place of `path` once the block has ended well; folders are made as needed.

    An interrupted block leaves what was there before. What is no regular file, such as a pipe, is written
    to as it is.
    """
    if path.exists() and not path.is_file():
        with path.open("wb") as file:
            yield file
        return
    whole = path.resolve()
    whole.parent.mkdir(parents=True, exist_ok=True)
    part = whole.with_name(f".{whole.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            yield file
        part.replace(whole)
    finally:
        part.unlink(missing_ok=True)


def refuse_overwriting(option: str, path: Path, inputs: Iterable[str | Path]) -> None:
    """Raise click.UsageError where `path` is one of the files that are read."""
    if path.resolve() in {Path(each).resolve() for each in inputs}:
        raise click.UsageError(f"{option} {path}: is one of the files to be read; name another")
