"""What commands say of the files they read."""

from __future__ import annotations

from judge.cli.inputs import format_teller


def test_a_file_and_its_format_are_said_once_however_often_it_is_read(capsys):
    tell = format_teller()
    for path, name in [("a", "tau"), ("a", "tau"), ("a", "messages"), ("b", "tau"), ("a", "tau")]:
        tell(path, name)
    assert capsys.readouterr() == ("", "a: read as tau\na: read as messages\nb: read as tau\n")


def test_the_native_format_is_no_news(capsys):
    format_teller()("a", "native")
    assert capsys.readouterr() == ("", "")
