"""What was asked of `judge report`, and where its answers go: JSON, CSV files, notes on standard error."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["Asked", "print_json"]

_SHOWN_BAD_LINES = 5


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


def print_json(found: Mapping[str, Any]) -> None:
    click.echo(json.dumps(found, indent=2, allow_nan=False))
