"""What tasks ask, from the files that hold it: the stored runs of a log, and an evaluation's own tasks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judge.errors import InputError
from judge.readers import read_trajectories, trajectory_from
from judge.readers.records import read_records
from judge.schema import Trajectory, as_text

if TYPE_CHECKING:
    from analysis.duplicates import Instruction
    from analysis.tasks import Run

__all__ = ["evaluation_tasks", "stored_tasks"]


def stored_tasks(inputs: Sequence[str]) -> tuple[dict[str, Run], dict[str, str]]:
    """trajectory_id → its run, and task_id → its instruction, of the first run that is stored.

    Raises InputError for a stored run that cannot be used.
    """
    from analysis.tasks import run_of

    runs: dict[str, Run] = {}
    texts: dict[str, str] = {}
    for path in inputs:
        for run in read_trajectories(path):
            runs[run.trajectory_id] = run_of(run)
            texts.setdefault(run.task_id, run.instruction)
    return runs, texts


def evaluation_tasks(paths: Sequence[str]) -> Iterator[Instruction]:
    """The instructions of these files, each named by its task_id, or else by its place in the file.

    A .txt file has one on each line. Any other holds records: stored runs in a format that the readers know,
    or objects with an `instruction`. Raises InputError for a record with none, and for a file without any.
    """
    from analysis.duplicates import Instruction

    for path in paths:
        count = 0
        for count, run in enumerate(_of_lines(path) if path.endswith(".txt") else _of_records(path), 1):  # noqa: B007
            yield Instruction(run.task_id, run.instruction, run.instruction_hash)
        if not count:
            raise InputError(f"{path}: holds no instruction, so that nothing could be kept out of training")


def _of_lines(path: str) -> Iterator[Trajectory]:
    with Path(path).open(encoding="utf-8-sig", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield _bare(line.rstrip("\r\n"), f"{path}:{number}")


def _of_records(path: str) -> Iterator[Trajectory]:
    for where, record in read_records(path, None):
        yield _of_record(record, where)


def _of_record(record: Mapping[str, Any], where: str) -> Trajectory:
    text = record.get("instruction")
    if isinstance(text, str) and text.strip():
        return _bare(text, as_text(record.get("task_id")) or where)
    return trajectory_from(record, where=where)


def _bare(instruction: str, name: str) -> Trajectory:
    return Trajectory(trajectory_id=name, task_id=name, instruction=instruction)
