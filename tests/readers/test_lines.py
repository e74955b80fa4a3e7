"""JSONL bytes → objects: a line that holds none is named, and only a line feed ends a line.

Not covered: which files are JSONL, and how they are opened (test_records).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from judge.errors import InputError
from judge.readers.records import read_records


@pytest.fixture
def stored(tmp_path: Path):
    def write(content: bytes) -> Path:
        path = tmp_path / "runs.jsonl"
        path.write_bytes(content)
        return path

    return write


def objects(path: Path) -> list[dict]:
    return [record for _, record in read_records(path)]


def test_each_object_comes_with_its_place(stored):
    path = stored(b'{"a": 1}\n\n  \r\n{"a": 2}')
    assert list(read_records(path)) == [(f"{path}:1", {"a": 1}), (f"{path}:4", {"a": 2})]


@pytest.mark.parametrize("bom", [b"\xef\xbb\xbf", b"\xef\xbb\xbf\n"])
def test_a_byte_order_mark_is_no_fault(stored, bom):
    assert objects(stored(bom + b'{"a": 1}\r\n{"a": 2}\n')) == [{"a": 1}, {"a": 2}]


def test_files_put_one_behind_the_other_bring_a_byte_order_mark_each(stored):
    assert objects(stored(b'\xef\xbb\xbf{"a": 1}\n' * 2)) == [{"a": 1}, {"a": 1}]


def test_a_lone_surrogate_is_text_however_it_is_written(stored):
    assert objects(stored(b'{"a": "\\ud800"}\n{"a": "\xed\xa0\x80"}\n')) == [{"a": "\ud800"}] * 2


def test_nan_is_a_number_and_of_a_double_key_the_last_counts(stored):
    [record] = objects(stored(b'{"a": 1, "b": NaN, "a": 2}'))
    assert (record["a"], record["b"] != record["b"]) == (2, True)


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
        (b'{\0"\0a\0"\0', "not JSON: Expecting property name enclosed in double quotes at column 2"),
        (b"\0" * 20, "not JSON: Expecting value at column 1"),
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
    assert [record for _, record in read_records(path, bad.append)] == [{"a": 1}, {"a": 3}]
    assert [message.split(": ")[0] for message in bad] == [f"{path}:2"]
