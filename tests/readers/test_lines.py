"""JSONL bytes → objects: a line that holds none is named, and only a line feed ends a line."""

from __future__ import annotations

from pathlib import Path

import pytest

from judge.errors import InputError
from judge.readers.records import read_records as read_objects


@pytest.fixture
def stored(tmp_path: Path):
    def write(content: bytes) -> Path:
        path = tmp_path / "runs.jsonl"
        path.write_bytes(content)
        return path

    return write


def objects(path: Path) -> list[dict]:
    return [record for _, record in read_objects(path)]


def test_each_object_comes_with_its_place(stored):
    path = stored(b'{"a": 1}\n\n  \r\n{"a": 2}')
    assert list(read_objects(path)) == [(f"{path}:1", {"a": 1}), (f"{path}:4", {"a": 2})]


@pytest.mark.parametrize("bom", [b"\xef\xbb\xbf", b"\xef\xbb\xbf\n"])
def test_a_byte_order_mark_is_no_fault(stored, bom):
    assert objects(stored(bom + b'{"a": 1}\r\n{"a": 2}\n')) == [{"a": 1}, {"a": 2}]


def test_only_a_line_feed_ends_a_line(stored):
    text = "a\u2028b\u2029c\x85d"
    assert objects(stored(f'{{"text": "{text}"}}\n{{"text": "ok"}}\n'.encode())) == [
        {"text": text},
        {"text": "ok"},
    ]


def test_an_empty_file_holds_nothing(stored):
    assert objects(stored(b"")) == []


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"not json", "not JSON: Expecting value at column 1"),
        (b'{"a": 1} {"b": 2}', "not JSON: Extra data at column 10"),
        (b'{"task_id": "t2", "sco', "not JSON: Unterminated string starting at column 19"),
        (b'{"a": "\xff"}', "not UTF-8 text: byte 7: invalid start byte"),
        (b"[" * 200_000, "not JSON: nested too deeply"),
        (b'{"a": ' + b"9" * 5000 + b"}", "not JSON: Exceeds the limit"),
        (b"[1, 2]", "a trajectory is a JSON object, this line is a list"),
        (b"null", "a trajectory is a JSON object, this line is a NoneType"),
    ],
)
def test_a_line_that_holds_no_object_names_file_line_and_fault(stored, line, message):
    path = stored(b'{"a": 1}\n' + line + b'\n{"a": 3}\n')
    with pytest.raises(InputError) as raised:
        objects(path)
    assert raised.value.message.startswith(f"{path}:2: {message}")
    bad: list[str] = []
    assert [record for _, record in read_objects(path, bad.append)] == [{"a": 1}, {"a": 3}]
    assert [message.split(": ")[0] for message in bad] == [f"{path}:2"]


@pytest.mark.parametrize("name", ["absent.jsonl", "."])
def test_a_file_that_cannot_be_opened_raises_whatever_on_bad_says(tmp_path, name):
    with pytest.raises(InputError, match=r"cannot be read: (No such file|Is a directory)"):
        list(read_objects(tmp_path / name, lambda message: None))


def test_a_reader_that_stops_early_leaves_no_file_open(stored):
    lines = read_objects(stored(b'{"a": 1}\n{"a": 2}\n'))
    next(lines)
    lines.close()
    with pytest.raises(StopIteration):
        next(lines)
