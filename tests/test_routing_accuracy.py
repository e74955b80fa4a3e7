"""How often the rules find the category that a reader of the task would, and what they take it for instead.

Two sets are labelled by hand. routing_labels.tsv names tasks of the shared data by file and id alone.
routing_instructions.tsv holds instructions written for this test; the rows marked "held" were not looked at
while rules and cues were tuned. As a script this prints accuracy and confusion tables; it tunes nothing.
"""

from __future__ import annotations

import csv
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from judge.readers import read_trajectories
from judge.route import route
from judge.rubric import load_library
from judge.schema import Trajectory

HERE = Path(__file__).resolve().parent
DATA = HERE.parents[1] / "shared" / "data"
CUES = load_library("adapt_v1").cues

needs_data = pytest.mark.skipif(
    not DATA.is_dir(), reason="needs the shared data, which is not beside this checkout"
)


class Case(NamedTuple):
    """A labelled task with all its stored runs; raw formats give one run that holds nothing but words."""

    source: str
    label: str
    runs: tuple[Trajectory, ...]

    @property
    def found(self) -> set[str]:
        return {route(run, CUES).category for run in self.runs}

    @property
    def found_by_words(self) -> str:
        return by_words(self.runs[0].instruction)


def by_words(instruction: str) -> str:
    return route(Trajectory(instruction=instruction), CUES).category


def rows(name: str) -> list[dict[str, str]]:
    with (HERE / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def own(split: str) -> list[tuple[str, str]]:
    """(label, category found) of each own instruction of a split, "tune" or "held"."""
    return [
        (row["label"], by_words(row["instruction"]))
        for row in rows("routing_instructions.tsv")
        if row["split"] == split
    ]


@cache
def stored() -> tuple[Case, ...]:
    runs = {file: dict(_by_id(file)) for file in {row["file"] for row in rows("routing_labels.tsv")}}
    return tuple(
        Case(row["file"].split("__")[0], row["label"], tuple(runs[row["file"]][row["id"]]))
        for row in rows("routing_labels.tsv")
    )


def _by_id(file: str) -> dict[str, list[Trajectory]]:
    tasks: dict[str, list[Trajectory]] = defaultdict(list)
    path = DATA / file
    if path.suffix == ".traj":
        tasks[""].append(Trajectory(instruction=_problem(json.loads(path.read_text(encoding="utf-8")))))
    elif "openhands" in file:
        for position, line in enumerate(path.read_text(encoding="utf-8").strip().split("\n")):
            record = json.loads(line)
            key = record.get("instance_id") or str(position)
            tasks[key].append(Trajectory(instruction=record["instruction"]))
    else:
        for run in read_trajectories(path):
            tasks[run.task_id].append(run)
    return tasks


def _problem(record: dict[str, Any]) -> str:
    """What the agent was asked: the first message to it that is no demonstration."""
    asked = next(m for m in record["history"] if m["role"] == "user" and not m.get("is_demo"))
    content = asked["content"]
    return content if isinstance(content, str) else "\n".join(part["text"] for part in content)


def accuracy(pairs: Iterable[tuple[str, str]]) -> float:
    answers = [label == found for label, found in pairs]
    return sum(answers) / len(answers)


def judged(cases: Iterable[Case]) -> Iterator[tuple[str, str]]:
    """(label, found) of each task; where its runs disagree, all that was found, which equals no label."""
    for case in cases:
        yield case.label, "+".join(sorted(case.found))


@pytest.mark.parametrize(("split", "floor"), [("tune", 0.90), ("held", 0.72)])
def test_own_instructions(split, floor):
    assert accuracy(own(split)) >= floor


@needs_data
def test_stored_tasks():
    assert accuracy(judged(stored())) >= 0.98


@needs_data
def test_stored_tasks_by_their_words_alone():
    assert accuracy((case.label, case.found_by_words) for case in stored()) >= 0.98


@needs_data
def test_the_runs_of_a_task_share_a_category():
    assert [case.runs[0].task_id for case in stored() if len(case.found) > 1] == []


@needs_data
def test_every_stored_task_is_labelled():
    labelled = {(row["file"], row["id"]) for row in rows("routing_labels.tsv")}
    files = {file for file, _ in labelled}
    assert labelled == {(file, key) for file in files for key in _by_id(file)}


def test_labels_are_categories():
    labels = {
        row["label"] for name in ("routing_labels.tsv", "routing_instructions.tsv") for row in rows(name)
    }
    assert labels == set(CUES)


def confusion(pairs: Iterable[tuple[str, str]]) -> str:
    """A text table: a row for each label, a column for each category found."""
    counts = Counter(pairs)
    names = sorted({name for pair in counts for name in pair})
    short = {name: name.split("_")[0][:9] for name in names}
    lines = [" " * 20 + "".join(f"{short[name]:>10}" for name in names)]
    for label in sorted({label for label, _ in counts}):
        cells = "".join(f"{counts[label, name] or '.':>10}" for name in names)
        lines.append(f"{label:<20}{cells}")
    return "\n".join(lines)


def report() -> None:
    sets = {split: own(split) for split in ("tune", "held")}
    if DATA.is_dir():
        sets["stored"] = list(judged(stored()))
        sets["stored, words alone"] = [(case.label, case.found_by_words) for case in stored()]
        split = sum(len(case.found) > 1 for case in stored())
        print(f"tasks whose runs disagree: {split} of {len(stored())}")
    for name, pairs in sets.items():
        print(f"\n{name}: {accuracy(pairs):.3f} of {len(pairs)}\n{confusion(pairs)}")


if __name__ == "__main__":
    report()
