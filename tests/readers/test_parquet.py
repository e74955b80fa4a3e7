"""Rows of a Parquet file → records: absent is not null, nested columns are what JSON has, damage is named."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from judge.errors import InputError
from judge.readers import read_trajectories
from judge.readers.records import read_records

ROOT = Path(__file__).resolve().parents[2]
PNG = b"\x89PNG\r\n\x1a\nnot looked at"
Row = dict[str, Any]
Stored = Callable[..., Path]


@pytest.fixture
def stored(tmp_path: Path) -> Stored:
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow, which writes Parquet, is not installed")
    from pyarrow.parquet import write_table

    def write(*rows: Row, schema: Any = None, **options: Any) -> Path:
        path = tmp_path / "runs.parquet"
        write_table(pyarrow.Table.from_pylist(list(rows), schema), path, **options)
        return path

    return write


def records(path: Path) -> list[Row]:
    return [record for _, record in read_records(path)]


def test_a_row_is_a_record_with_its_place(stored):
    path = stored(*({"instruction": f"Book {n}"} for n in range(100)), row_group_size=30)
    read = list(read_records(path))
    assert read[:1] + read[-1:] == [
        (f"{path}:row 1", {"instruction": "Book 0"}),
        (f"{path}:row 100", {"instruction": "Book 99"}),
    ]
    assert len(read) == 100


def test_a_null_in_a_struct_was_absent_and_one_in_a_column_is_null(stored):
    steps = [{"action": "click", "args": {"x": 1}}, {"text": "done", "args": {"y": [None, {"z": 0}]}}]
    assert records(stored({"steps": steps, "frames": None}, {"steps": None, "frames": ["a"]})) == [
        {"steps": steps, "frames": None},
        {"steps": None, "frames": ["a"]},
    ]


def test_a_map_is_an_object_with_the_keys_of_its_row(stored):
    pa = pytest.importorskip("pyarrow")
    texts, numbers = (
        pa.map_(pa.string(), pa.string()),
        pa.map_(pa.int8(), pa.list_(pa.map_(pa.string(), pa.int8()))),
    )
    step = pa.struct({"action": pa.string(), "args": texts})
    schema = pa.schema({"steps": pa.list_(step), "metadata": texts, "labels": numbers})
    steps = [{"action": "click", "args": {"x": "1", "y": None}}, {"args": {}}, {"action": "done"}]
    rows = [
        {"steps": steps, "metadata": {}, "labels": {7: [{"a": 1}, {}, None], 8: None}},
        {"steps": [], "metadata": [("a", "first"), ("a", "last")], "labels": None},
    ]
    assert records(stored(*rows, schema=schema)) == [
        {"steps": steps, "metadata": {}, "labels": {"7": [{"a": 1}, {}, None], "8": None}},
        {"steps": [], "metadata": {"a": "last"}, "labels": None},
    ]


@pytest.mark.parametrize("name", ["steps", "frames", "actions", "messages", "trajectory", "prompt"])
def test_a_struct_of_lists_is_a_list_of_objects(stored, name):
    lists = {"action": ["click", None], "observation": ["", "done"], "state": None, "seen": [[1], [2, 3]]}
    row = {name: lists, "labels": {"step": [0], "label": [1]}}
    assert records(stored(row, {name: {"action": []}}, {name: None})) == [
        {
            name: [
                {"action": "click", "observation": "", "seen": [1]},
                {"observation": "done", "seen": [2, 3]},
            ],
            "labels": {"step": [0], "label": [1]},
        },
        {name: [], "labels": None},
        {name: None, "labels": None},
    ]


def test_tool_calls_and_images_in_a_struct_of_lists_are_found(stored):
    call = {
        "id": ["c1", "c2"],
        "function": [{"name": "f", "arguments": "{}"}, {"name": "g", "arguments": None}],
    }
    messages = {
        "role": ["user", "assistant"],
        "content": ["Look", None],
        "tool_calls": [None, call],
    }
    [run] = read_trajectories(stored({"messages": messages}))
    assert [call.spelled for call in run.steps[0].tool_calls] == ["f({})", "g()"]
    frames = {"action": ["a", "b"], "screenshot": [{"bytes": PNG, "path": None}, None]}
    [run] = read_trajectories(stored({"instruction": "Look", "frames": frames}))
    assert [(step.action, step.screenshot) for step in run.steps] == [("a", PNG), ("b", None)]


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        (
            {"steps": {"action": ["a", "b"], "text": ["c"]}},
            "steps: lists of one length make a list of objects; these differ (action 2, text 1)",
        ),
        (
            {"messages": {"role": ["user"], "tool_calls": [{"id": ["1"], "name": []}]}},
            "messages.0.tool_calls: lists of one length make a list of objects; these differ (id 1, name 0)",
        ),
        ({"steps": {"action": ["a"], "text": "c"}}, "steps: must be a list"),
    ],
)
def test_a_struct_that_is_no_list_of_objects_names_row_and_column(stored, row, fault):
    path = stored({"instruction": "Look", **row})
    with pytest.raises(InputError) as raised:
        list(read_trajectories(path))
    assert raised.value.message == f"{path}:row 1: {fault}"


def test_json_text_is_read_where_it_may_stand(stored):
    row = {"steps": [{"action": "click"}], "outcome": {"reward": 1}, "metadata": {}}
    texts = {name: json.dumps(value) for name, value in row.items()}
    [read] = records(stored({**texts, "instruction": '["a", "b"]', "note": "{}"}))
    assert read == {**row, "instruction": '["a", "b"]', "note": "{}"}


@pytest.mark.parametrize(
    ("name", "text", "read"),
    [
        ("prompt", "[INST] Sort the list [/INST]", "[INST] Sort the list [/INST]"),
        ("prompt", "[3, 1, 2] in order, please", "[3, 1, 2] in order, please"),
        ("prompt", "[3, 1, 2]", "[3, 1, 2]"),
        ("prompt", "[]", "[]"),
        ("prompt", ' [{"role": "user"}]', [{"role": "user"}]),
        ("completion", '[{"role": "assistant"}]', [{"role": "assistant"}]),
        ("completion", '{"role": "assistant"}', '{"role": "assistant"}'),
        ("context", "{policy} be kind", "{policy} be kind"),
        ("context", '["a"]', '["a"]'),
        ("context", '{"policy": "be kind"}', {"policy": "be kind"}),
    ],
)
def test_text_that_only_begins_like_json_stays_text(stored, name, text, read):
    assert records(stored({name: text})) == [{name: read}]


def test_broken_json_text_names_row_and_column_and_may_be_passed_over(stored):
    path = stored({"steps": "[]"}, {"steps": '[{"action": "cli'}, {"steps": "[1]"})
    message = f"{path}:row 2: steps: not JSON: Unterminated string starting at column 13"
    with pytest.raises(InputError) as raised:
        records(path)
    assert raised.value.message == message
    bad: list[str] = []
    assert [record for _, record in read_records(path, bad.append)] == [{"steps": []}, {"steps": [1]}]
    assert bad == [message]


def test_an_image_is_its_bytes_or_else_its_path(stored):
    shots = [{"bytes": PNG, "path": "1.png"}, {"bytes": None, "path": "2.png"}, None]
    path = stored({"instruction": "Look", "steps": [{"action": "a", "screenshot": shot} for shot in shots]})
    [run] = read_trajectories(path)
    assert [step.screenshot for step in run.steps] == [PNG, str(path.parent / "2.png"), None]


def test_a_table_of_our_own_export_reads_as_the_runs_it_was_made_of(stored):
    steps = [{"index": 0, "action": "click", "tool_calls": [{"name": "f", "arguments": {"a": None}}]}]
    row = {"trajectory_id": "t1", "task_id": "7", "instruction": "Book", "reward": 0.5}
    [run] = read_trajectories(stored({**row, "steps": json.dumps(steps), "context": '{"policy": "kind"}'}))
    assert (run.trajectory_id, run.context, run.metadata) == ("t1", {"policy": "kind"}, {"reward": 0.5})
    assert run.steps[0].tool_calls[0].arguments == {"a": None}


@pytest.mark.parametrize("keep", [4, 8, 100, -1, -8, -100])
def test_a_table_that_was_cut_is_named_whatever_on_bad_says(stored, keep):
    path = stored({"instruction": "Book"})
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(InputError) as raised:
        list(read_records(path, lambda message: None))
    assert raised.value.message.startswith(f"{path}: cannot be read as Parquet: ")
    assert "\n" not in raised.value.message


def test_text_that_is_no_utf_8_is_named(stored):
    path = stored({"instruction": "Réserver"}, compression="none", use_dictionary=False)
    path.write_bytes(path.read_bytes().replace("é".encode(), b"\xff\xff"))
    with pytest.raises(InputError, match="cannot be read as Parquet: 'utf-8' codec can't decode"):
        records(path)


def test_a_table_in_a_pipe_is_refused_and_one_on_standard_input_read(stored):
    path = stored({"instruction": "Book"})
    code = "from judge.readers.records import read_records; print(list(read_records('-')))"
    command = [sys.executable, "-c", code]
    piped = subprocess.run(command, cwd=ROOT, input=path.read_bytes(), capture_output=True)
    assert b"-: Parquet is read from its end, which a pipe does not have: name the file" in piped.stderr
    with path.open("rb") as file:
        done = subprocess.run(command, cwd=ROOT, stdin=file, capture_output=True, check=True)
    assert done.stdout.decode().strip() == "[('-:row 1', {'instruction': 'Book'})]"


@pytest.mark.skipif(find_spec("pyarrow") is not None, reason="pyarrow is installed")
def test_without_pyarrow_the_extra_is_named(tmp_path):
    path = tmp_path / "runs.parquet"
    path.write_bytes(b"PAR1")
    with pytest.raises(InputError, match=r"Parquet needs pyarrow: pip install 'adaptive-judge\[parquet\]'"):
        records(path)
