"""Which format a record is in, what is said of it, and where a run's names and screenshots come from.

Not covered: what the formats' fields mean (the test of each format), and files (test_records).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judge.errors import InputError
from judge.readers import FORMATS, read_trajectories, trajectory_from
from tests.readers.mangling import mangled
from tests.readers.samples import ACTIONS, EVENTS, MESSAGES, NATIVE, OPENHANDS, RECORDS, SWEAGENT

FIELDS = ("steps", "frames", "actions", "messages", "prompt", "completion", "traj", "trajectory", "history")
Stored = Callable[..., Path]


@pytest.fixture
def stored(tmp_path: Path) -> Stored:
    def write(*records: Any, name: str = "runs.jsonl") -> Path:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
        return path

    return write


@pytest.fixture
def told_of(stored: Stored) -> Callable[..., list[str]]:
    """The formats that reading records in one file tells of, in order."""

    def read(*records: Any, **options: Any) -> list[str]:
        path, told = stored(*records), list[tuple[str, str]]()
        list(read_trajectories(path, on_format=lambda *found: told.append(found), **options))
        assert {name for name, _ in told} <= {str(path)}
        return [name for _, name in told]

    return read


@pytest.mark.parametrize("name", RECORDS)
def test_every_format_is_told_by_its_fields(told_of, name):
    assert told_of(RECORDS[name]) == [name]
    assert len(trajectory_from(RECORDS[name]).steps) == 2


@pytest.mark.parametrize("name", RECORDS)
def test_a_column_of_nulls_tells_nothing(told_of, name):
    assert told_of({**dict.fromkeys(FIELDS), **RECORDS[name]}) == [name]


AMBIGUOUS = {
    "gold actions beside messages": ({**MESSAGES, "actions": [{"name": "cancel"}]}, "messages"),
    "a count of steps beside messages": ({**MESSAGES, "steps": 12}, "messages"),
    "a count of frames beside messages": ({**MESSAGES, "frames": 0}, "messages"),
    "a count of steps beside actions": ({**ACTIONS, "steps": 2}, "actions"),
    "steps beside messages": ({**MESSAGES, "instruction": "Cancel", "steps": [{}]}, "native"),
    "steps beside frames": ({**RECORDS["frames"], "steps": [{}]}, "native"),
    "frames beside messages": ({**MESSAGES, "instruction": "Cancel", "frames": [{}]}, "frames"),
    "no steps beside messages": ({**MESSAGES, "steps": []}, "messages"),
    "no steps beside frames": ({**RECORDS["frames"], "steps": []}, "frames"),
    "no frames beside actions": ({**ACTIONS, "frames": []}, "actions"),
    "no steps, no frames, no messages": ({"instruction": "Cancel", "steps": [], "frames": []}, "native"),
    "messages in two lists": ({"prompt": MESSAGES["messages"][:2], "completion": []}, "messages"),
    "a question beside messages": ({**MESSAGES, "prompt": "Cancel it"}, "messages"),
    "a history of messages": ({**SWEAGENT, "trajectory": []}, "sweagent"),
    "a history that never began": ({**OPENHANDS, "history": [], "error": "no runtime"}, "openhands"),
    "an answer beside steps": ({**NATIVE, "messages": MESSAGES["messages"]}, "native"),
}


@pytest.mark.parametrize(("record", "name"), AMBIGUOUS.values(), ids=AMBIGUOUS)
def test_of_two_formats_the_more_telling_one_is_taken(told_of, record, name):
    assert told_of(record) == [name]


def test_gold_actions_of_a_chat_are_kept_and_are_no_steps():
    run = trajectory_from({**MESSAGES, "actions": [{"name": "gold"}]})
    assert (len(run.steps), run.metadata["actions"]) == (2, [{"name": "gold"}])


def test_a_mixed_file_is_read_record_by_record_and_each_format_told_once(stored, told_of):
    records = [*RECORDS.values(), *reversed(RECORDS.values())]
    assert told_of(*records) == list(RECORDS)
    runs = list(read_trajectories(stored(*records)))
    assert [run.instruction for run in runs] == [run.instruction for run in reversed(runs)]
    assert len({run.instruction for run in runs}) == 5


def test_a_format_that_was_named_is_no_news_and_one_that_could_not_be_read_neither(told_of):
    assert told_of(MESSAGES, format="messages") == []
    assert told_of({**MESSAGES, "messages": [7]}, on_bad=lambda message: None) == []


def test_a_list_of_events_is_one_run_of_the_files_name(stored, tmp_path):
    path = tmp_path / "acme__hi-1.json"
    path.write_text(json.dumps(EVENTS, indent=1))
    [run] = read_trajectories(path)
    assert (run.task_id, len(run.steps)) == ("acme__hi-1", 2)


def test_a_run_without_a_name_of_its_own_is_named_by_its_file(stored):
    [run] = read_trajectories(stored(SWEAGENT, name="acme__hi-1.traj"))
    assert (run.task_id, run.group) == ("acme__hi-1", "acme__hi-1")


@pytest.mark.parametrize(
    ("record", "fault"),
    [
        ({}, "it has no fields at all; a native trajectory has instruction and steps"),
        ({"b": 1, "a": []}, "it has a, b; a native"),
        (
            {str(n): n for n in range(14)},
            "it has 0, 1, 10, 11, 12, 13, 2, 3, 4, 5, 6, 7 and 2 more; a native",
        ),
        ({"k" * 100: 1}, f"it has {'k' * 40}; a native"),
        ({"data": [NATIVE]}, "it has data; data holds trajectories: store that list by itself"),
        ({"n": 1, "rows": [MESSAGES]}, "it has n, rows; rows holds trajectories"),
        ({"rows": [{"a": 1}, NATIVE]}, "it has rows; a native"),
        ({"prompt": MESSAGES["messages"]}, "it has prompt; a native"),
        (
            MESSAGES["messages"][0],
            "it has content, role; it is one of many that make a run: store the list of them as messages",
        ),
        (EVENTS[0], "it has action, args, id, source; it is one of many that make a run: store the list"),
        ({"steps": None, "messages": None}, "it has messages, steps; a native"),
        ({"messages": "Hello"}, "it has messages; a native"),
    ],
)
def test_an_unknown_format_says_what_there_is(stored, record, fault):
    path = stored(NATIVE, record)
    with pytest.raises(InputError) as raised:
        list(read_trajectories(path))
    assert raised.value.message.startswith(f"{path}:2: unknown format: {fault}")


def test_an_unknown_name_of_a_format_lists_what_there_is():
    with pytest.raises(InputError, match=f"^unknown format 'xml'; there are {', '.join(FORMATS)}$"):
        trajectory_from(NATIVE, "xml")


def test_a_key_that_is_no_text_is_named():
    with pytest.raises(InputError, match=r"^sample: metadata\.7\.\[key\]: must be text \(it is 7\)"):
        trajectory_from({**NATIVE, 7: "seven"})


def test_a_format_that_is_named_is_not_guessed_at():
    run = trajectory_from({**MESSAGES, "steps": []}, "messages")
    assert len(run.steps) == 2
    with pytest.raises(InputError, match=r"^sample: traj: must be a list \(it is a NoneType\)"):
        trajectory_from(MESSAGES, "tau")


def test_on_bad_hears_of_every_record_that_is_none(stored):
    path = stored({**ACTIONS, "actions": [7]}, NATIVE, {"n": 1}, {**MESSAGES, "messages": [{"role": 1}]})
    bad: list[str] = []
    assert len(list(read_trajectories(path, on_bad=bad.append))) == 1
    assert [message.removeprefix(str(path)).split(" (")[0] for message in bad] == [
        ":1: actions.0: must be an object",
        ":3: unknown format: it has n; a native trajectory has instruction and steps",
        ":4: messages.0.role: must be text",
    ]


@pytest.mark.parametrize("name", ["native", "frames", "actions"])
def test_a_text_nested_too_deeply_is_named_and_metadata_may_be_as_deep_as_it_likes(name):
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(InputError, match=r"^sample: nested too deeply"):
        trajectory_from({**RECORDS[name], "instruction": deep})
    assert trajectory_from({**RECORDS[name], "note": deep}).metadata["note"] is deep


@pytest.mark.parametrize("where", ["", "data", "data/deeper"])
def test_screenshots_are_looked_for_beside_the_file(stored, monkeypatch, tmp_path, where):
    steps = [{"action": "a", "screenshot": shot} for shot in ("shots/1.png", "/there/2.png", "data:,x")]
    (tmp_path / where).mkdir(parents=True, exist_ok=True)
    stored({"instruction": "Look", "steps": steps}, name=f"{where or '.'}/runs.jsonl")
    monkeypatch.chdir(tmp_path)
    [run] = read_trajectories(Path(where) / "runs.jsonl")
    assert [step.screenshot for step in run.steps] == [
        str(Path(where) / "shots/1.png"),
        "/there/2.png",
        "data:,x",
    ]


@settings(max_examples=300, derandomize=True, deadline=None)
@given(st.sampled_from([*RECORDS.values()]).flatmap(mangled))
def test_a_mangled_record_is_read_or_refused_and_nothing_else(record):
    with suppress(InputError):
        trajectory_from(record)
