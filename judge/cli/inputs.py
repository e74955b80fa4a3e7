"""Stored trajectories as commands read them."""

from __future__ import annotations

from collections.abc import Callable

import click

__all__ = ["format_teller"]


def format_teller() -> Callable[[str, str], None]:
    """What `read_trajectories` may be given as on_format: says on standard error what a file was read as.

    Once for each file and format, however often the file is read; nothing of what is native.
    """
    told: set[tuple[str, str]] = set()

    def tell(path: str, format: str) -> None:
        if format != "native" and (path, format) not in told:
            told.add((path, format))
            click.echo(f"{path}: read as {format}", err=True)

    return tell
