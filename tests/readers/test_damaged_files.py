"""Whole files, cut, flipped and shuffled: runs or an InputError come out, and nothing else.

Whatever lies before the place of a cut comes out as it is.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from judge.errors import InputError
from judge.readers import read_trajectories
from judge.schema import Trajectory
from tests.readers.samples import EVENTS, MESSAGES, NATIVE, RECORDS, SWEAGENT

RUNS = [*RECORDS.values()]


def lines(*records: Any) -> bytes:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records).encode()


LINES = {
    "lines": lines(*RUNS),
    "windows lines": b"\xef\xbb\xbf" + lines(*RUNS).replace(b"\n", b"\r\n"),
}
DOCUMENTS = {
    "list in a line": lines(RUNS),
    "list of lines": b"[\n" + b",\n".join(lines(each).rstrip() for each in RUNS) + b"\n]\n",
    "printed list": json.dumps(RUNS, indent=1).encode(),
    "traj": json.dumps(SWEAGENT, indent=2).encode(),
    "messages": json.dumps(MESSAGES["messages"], indent=2).encode(),
    "events": json.dumps(EVENTS).encode(),
}
FILES = LINES | DOCUMENTS


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs"


def read(path: Path) -> list[Trajectory]:
    """The runs of a file whose faults are passed over; before the first fault they are the same without."""
    bad: list[str] = []
    strict = list(until_a_fault(read_trajectories(path), bad))
    found = list(until_a_fault(read_trajectories(path, on_bad=bad.append), bad))
    assert all(message.startswith(str(path)) and "\n" not in message for message in bad)
    assert found[: len(strict)] == strict
    return found


def until_a_fault(runs: Iterator[Trajectory], bad: list[str]) -> Iterator[Trajectory]:
    try:
        yield from runs
    except InputError as error:
        bad.append(error.message)


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_was_cut_gives_what_lies_before_the_cut(path, name):
    whole = FILES[name]
    path.write_bytes(whole)
    runs = read(path)
    assert len(runs) == (1 if name in ("traj", "messages", "events") else len(RUNS))
    counts = []
    for length in range(0, len(whole), 11):
        path.write_bytes(whole[:length])
        found = read(path)
        assert found == runs[: len(found)]
        counts.append(len(found))
    assert counts == sorted(counts)
    assert {*counts} >= {*range(len(runs))}


@pytest.mark.parametrize("name", FILES)
def test_flipped_bytes_are_read_or_named(path, name):
    chance = random.Random(name)
    for _ in range(150):
        data = bytearray(FILES[name])
        for _ in range(chance.randint(1, 3)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        path.write_bytes(data)
        read(path)


def shuffled(name: str) -> Iterator[bytes]:
    chance, rows = random.Random(name), FILES[name].splitlines(keepends=True)
    for _ in range(30):
        yield b"".join(chance.sample(rows, len(rows)))


@pytest.mark.parametrize("name", LINES)
def test_shuffled_lines_are_the_same_runs(path, name):
    path.write_bytes(LINES[name])
    runs = {run.trajectory_id: run for run in read(path)}
    for data in shuffled(name):
        path.write_bytes(data)
        assert {run.trajectory_id: run for run in read(path)} == runs


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_with_shuffled_lines_is_read_or_named(path, name):
    for data in shuffled(name):
        path.write_bytes(data)
        read(path)


def test_a_table_that_was_cut_or_flipped_is_read_or_named(path):
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow, which writes Parquet, is not installed")
    from pyarrow.parquet import write_table

    rows = [{**NATIVE, "task_id": str(n), "note": "é", "labels": "{}"} for n in range(40)]
    table = pyarrow.Table.from_pylist([{**row, "steps": json.dumps(row["steps"])} for row in rows])
    write_table(table, path, row_group_size=20, compression="none")
    whole, chance = path.read_bytes(), random.Random("table")
    runs = read(path)
    assert len(runs) == 40
    for _ in range(200):
        data = bytearray(whole)
        if chance.random() < 0.25:
            del data[chance.randrange(4, len(data)) :]
        else:
            data[chance.randrange(4, len(data))] = chance.randrange(256)
        path.write_bytes(data)
        read(path)
