"""Files → (place, record) pairs: what kind of file it is, opened once, as a stream, from a path or a pipe.

Not covered: what is in a line (test_lines), a document (test_documents) or a row (test_parquet).
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import subprocess
import sys
import threading
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from judge.errors import InputError
from judge.readers.records import read_records

ROOT = Path(__file__).resolve().parents[2]
LINES = b'{"a": 1}\n{"a": 2}\n{"a": 3}\n'
Stored = Callable[[bytes], Path]


@pytest.fixture
def stored(tmp_path: Path) -> Stored:
    def write(content: bytes) -> Path:
        path = tmp_path / "runs"
        path.write_bytes(content)
        return path

    return write


def records(path: Path) -> list[dict]:
    return [record for _, record in read_records(path)]


@pytest.mark.parametrize(
    ("content", "places"),
    [
        (b'{"a": 1}', [":1"]),
        (b'\n\n{"a": 1}\n\n{"a": 2}\n', [":3", ":5"]),
        (b'{"a": 1}\r\n{"a": 2}\r\n', [":1", ":2"]),
        (b'{"a": 1}\n{\n', [":1"]),
        (b'{\n"a": 1\n}\n', [""]),
        (b'\n{"a":\n[\n1]}', [""]),
        (b'[{"a": 1}, {"a": 2}]', ["[0]", "[1]"]),
        (b'\xef\xbb\xbf\r\n[\r\n{"a": 1},\r\n{"a": 2}\r\n]\r\n', ["[0]", "[1]"]),
        (b'\n[\n  {\n    "a": 1\n  }\n]', ["[0]"]),
        (b"", []),
        (b"\n", []),
        (b"\xef\xbb\xbf", []),
        (b"[\n]", []),
    ],
)
def test_the_kind_of_a_file_is_told_by_what_it_holds(stored, content, places):
    path = stored(content)
    read = list(read_records(path, lambda message: None))
    assert [place.removeprefix(str(path)) for place, _ in read] == places
    assert all("a" in record for _, record in read)


def test_a_broken_first_line_does_not_hide_the_others(stored):
    path, bad = stored(b"[INFO] judge is up\n{torn\n" + LINES), list[str]()
    assert [record["a"] for _, record in read_records(path, bad.append)] == [1, 2, 3]
    assert [message.split(": ")[0] for message in bad] == [f"{path}:1", f"{path}:2"]


def zipped(data: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("runs.jsonl", data)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (gzip.compress(LINES), "is compressed (gzip): unpack it, or pipe the unpacked text in"),
        (bz2.compress(LINES), "is compressed (bzip2)"),
        (lzma.compress(LINES), "is compressed (xz)"),
        (bytes.fromhex("28b52ffd2400"), "is compressed (zstd)"),
        (zipped(LINES), "is compressed (zip)"),
        (LINES.decode().encode("utf-16"), "is UTF-16 text: store it as UTF-8"),
        (LINES.decode().encode("utf-16-le"), "is UTF-16 text"),
        (LINES.decode().encode("utf-16-be"), "is UTF-16 text"),
        (b"[{}]".decode().encode("utf-16-le"), "is UTF-16 text"),
    ],
)
def test_what_is_not_read_is_named_whatever_on_bad_says(stored, content, fault):
    path = stored(content)
    with pytest.raises(InputError) as raised:
        list(read_records(path, lambda message: None))
    assert raised.value.message.startswith(f"{path}: {fault}")


@pytest.mark.parametrize("name", ["absent.jsonl", "."])
def test_a_file_that_cannot_be_opened_raises_whatever_on_bad_says(tmp_path, name):
    with pytest.raises(InputError, match=r"cannot be read: (No such file|Is a directory)"):
        list(read_records(tmp_path / name, lambda message: None))


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="this system has no file that opens unread")
def test_a_file_that_fails_while_it_is_read_is_named():
    with pytest.raises(InputError, match=r"^/proc/self/mem: cannot be read: Input/output error"):
        records(Path("/proc/self/mem"))


def test_a_reader_that_stops_early_leaves_no_file_open(stored):
    lines = read_records(stored(LINES))
    next(lines)
    lines.close()
    with pytest.raises(StopIteration):
        next(lines)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
@pytest.mark.parametrize(
    "content",
    [LINES, b'[\n{"a": 1},\n{"a": 2},\n{"a": 3}\n]', b'{"a": 1}\n' * 9_999],
    ids=["lines", "list", "many lines"],
)
def test_a_pipe_is_read_once_and_whole(tmp_path, content):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(content,), daemon=True)
    writer.start()
    read = records(pipe)
    writer.join()
    assert len(read) == content.count(b"}")


def test_lines_are_read_as_a_stream(stored):
    path = stored(b'{"a": "%b"}\n' % (b"x" * 1000) * 10_000)
    tracemalloc.start()
    try:
        assert sum(1 for _ in read_records(path)) == 10_000
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("content", [LINES, json.dumps([{"a": n} for n in (1, 2, 3)], indent=1).encode()])
def test_standard_input_is_a_file_too(content):
    code = "from judge.readers.records import read_records; print(list(read_records('-')))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, input=content, capture_output=True)
    place = "[{}]" if content.startswith(b"[") else ":{}"
    first = 0 if content.startswith(b"[") else 1
    expected = [(f"-{place.format(n + first)}", {"a": n + 1}) for n in range(3)]
    assert (done.stderr, done.stdout.decode().strip()) == (b"", str(expected))
