"""What was asked of `judge report`, and where its answers go: JSON, CSV files, notes on standard error."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judge.cli.written import refuse_overwriting

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["Asked", "print_json"]

_SHOWN_BAD_LINES = 5
_ENCODER = json.JSONEncoder(allow_nan=False)


@dataclass(frozen=True)
class Asked:
    """The options of the command line, by their names; those of other views are None or empty."""

    logs: Sequence[Path]
    baseline: str | None = None
    candidate: str | None = None
    by: str | None = None
    csv_folder: Path | None = None
    as_json: bool = False
    inputs: Sequence[str] = ()
    tiers: str | None = None
    alpha: float | None = None
    delta: float | None = None
    config_path: str | None = None
    sqlite_file: Path | None = None
    k: Sequence[int] = ()
    min_pass_rate: float | None = None
    max_pass_rate: float | None = None
    min_steps: float | None = None
    max_steps: float | None = None
    min_tools: int | None = None
    alive: str | None = None
    drop_duplicates: str | None = None
    exclude: Sequence[str] = ()
    similarity: float | None = None
    ids: Path | None = None
    bad: list[str] = field(default_factory=list)
    """Unreadable lines of the logs, as they are found."""

    def frame(self, **columns: Any) -> DataFrame:
        """The logs as `load_frame` reads them; what could not be read is said."""
        from analysis.frame import load_frame

        frame = load_frame(self.logs, on_bad=self.bad.append, **columns)
        self.say_what_is_missing(frame.attrs["superseded"])
        return frame

    def say_what_is_missing(self, superseded: int = 0) -> None:
        for line in self.bad[:_SHOWN_BAD_LINES]:
            click.echo(f"Passed over {line}", err=True)
        if self.bad:
            click.echo(f"{len(self.bad)} unreadable lines passed over.", err=True)
        if superseded:
            click.echo(
                f"{superseded} rows not counted: a later judgement of the same run stands for them.", err=True
            )

    def write_csv(self, tables: Mapping[str, DataFrame]) -> None:
        """Each table as <name>.csv into --csv, where that was given; raises click.UsageError if it cannot."""
        folder = self.csv_folder
        if folder is None:
            return
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for name, table in tables.items():
                table.to_csv(folder / f"{name}.csv", index=False, encoding="utf-8", lineterminator="\n")
        except OSError as error:
            raise click.UsageError(f"--csv {folder}: cannot be written: {error.strerror or error}") from None

    def check_sqlite(self) -> None:
        """Raises click.UsageError where --sqlite is a file that is read: before a long log is, not after."""
        if self.sqlite_file is not None:
            refuse_overwriting("--sqlite", self.sqlite_file, [*self.logs, *self.inputs, *self.exclude])

    def write_sqlite(self) -> None:
        """The rows that count into --sqlite, where that was given; raises InputError if they cannot be."""
        if self.sqlite_file is None:
            return
        from analysis.sqlite import TABLE, write_sqlite

        count = write_sqlite(self.logs, self.sqlite_file, on_bad=lambda _: None)
        click.echo(f"{count} rows in the table {TABLE} of {self.sqlite_file}", err=True)


def print_json(found: Mapping[str, Any]) -> None:
    """An object, each row of its tables on a line: they may be many, and to indent them takes long."""
    parts = (f"  {json.dumps(name)}: {_laid_out(value)}" for name, value in found.items())
    click.echo("{\n" + ",\n".join(parts) + "\n}")


def _laid_out(value: Any) -> str:
    if not isinstance(value, list) or not value:
        return _ENCODER.encode(value)
    return "[\n    " + ",\n    ".join(map(_ENCODER.encode, value)) + "\n  ]"
