"""What commands say of the files they read."""

from __future__ import annotations

import gzip
import json

import pytest

from judge.cli.inputs import format_teller
from tests.cli.called import called

ROW = {"trajectory_id": "t0", "task_id": "t", "rubric_version": "static_v1", "success": True, "score": 1.0}
RUN = {"instruction": "Water the plants", "steps": [{"action": "pour()"}]}


def test_a_file_and_its_format_are_said_once_however_often_it_is_read(capsys):
    tell = format_teller()
    for path, name in [("a", "tau"), ("a", "tau"), ("a", "messages"), ("b", "tau"), ("a", "tau")]:
        tell(path, name)
    assert capsys.readouterr() == ("", "a: read as tau\na: read as messages\nb: read as tau\n")


def test_the_native_format_is_no_news(capsys):
    format_teller()("a", "native")
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (gzip.compress(json.dumps(ROW).encode()), "is compressed (gzip)"),
        (json.dumps(RUN).encode(), "holds runs, no judgements of them: judge rejudge writes a log of those"),
        (json.dumps([ROW]).encode(), "no line of it is a row of a reward log"),
        (b"not\na log\n", "no line of it is a row of a reward log"),
        (b'{"trajectory_id": "t0", "rub', "no line of it is a row of a reward log"),
    ],
    ids=["compressed", "runs", "list", "text", "torn"],
)
@pytest.mark.parametrize(
    "command",
    [("report",), ("export", "--out", "out"), ("recollapse", "--scheme", "success", "--log", "out")],
    ids=["report", "export", "recollapse"],
)
def test_a_file_that_is_no_log_is_refused(tmp_path, monkeypatch, command, content, why):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "given").write_bytes(content)
    result = called(command[0], "given", *command[1:])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"judge: given: {why}")
    assert not (tmp_path / "out").exists()


def test_a_torn_log_beside_a_sound_one_is_passed_over(log, tmp_path):
    torn = tmp_path / "torn.jsonl"
    torn.write_text('{"trajectory_id": "t1", "rub')
    result = called("report", torn, log(ROW), "--json")
    assert [version["n"] for version in json.loads(result.stdout)["versions"]] == [1]
    assert "1 unreadable lines passed over." in result.stderr


def test_an_empty_log_has_no_rows(tmp_path):
    (tmp_path / "log.jsonl").touch()
    assert called("report", tmp_path / "log.jsonl")[:2] == (0, "No rows.\n")
