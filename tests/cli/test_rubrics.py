"""`judge rubrics list | show | check`: right folders and wrong ones."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from judge import cli
from judge.resources import folder, names


@pytest.fixture
def own(tmp_path: Path) -> Path:
    return Path(shutil.copytree(folder("rubrics", "adapt_v1"), tmp_path / "mine"))


def output(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert cli.run(["rubrics", *map(str, arguments)]) == 0
    return capsys.readouterr().out


def refusal(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert cli.run(["rubrics", *map(str, arguments)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    return err


def test_list_names_every_version_with_its_settings(capsys: pytest.CaptureFixture[str]) -> None:
    out = output(capsys, "list")
    assert [name for name in names("rubrics") if f"{name}: " not in out] == []
    assert "fine off, frames key, prompts v1" in out
    assert "tool_dialogue" in out


def test_show_prints_the_items_of_one_category_or_of_all(capsys: pytest.CaptureFixture[str]) -> None:
    one = output(capsys, "show", "adapt_v1", "delete_cleanup")
    assert one.startswith("# delete_cleanup: ")
    assert "] pitfall: " in one
    assert "cues (zh): " in one
    assert one.count("# ") == 1
    assert output(capsys, "show", "adapt_v1").count("\n# ") == 9


def test_show_refuses_what_there_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    assert "no category 'cooking'; it has" in refusal(capsys, "show", "adapt_v1", "cooking")
    assert "unknown rubric version 'v9'" in refusal(capsys, "show", "v9")


def test_check_accepts_a_good_folder(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert f"{own}: good. 10 categories, " in output(capsys, "check", own)


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("general.yaml", "name: general\nstps: [Do it.]\n", "stps: unknown key"),
        ("general.yaml", "name: general\nname: again\nsteps: [Do it.]\n", "'name' is given twice"),
        ("general.yaml", "name: [unclosed\n", "general.yaml"),
        ("general.yaml", "name: general\nsteps: ['']\n", "steps"),
        ("general.yaml", "name: general\nsteps: [yes]\n", "steps"),
        ("version.yaml", "description: x\nprompts: v1\nfine: maybe\nframes: key\n", "fine"),
    ],
)
def test_check_names_the_file_and_the_key(
    own: Path, capsys: pytest.CaptureFixture[str], file: str, text: str, said: str
) -> None:
    (own / file).write_text(text)
    err = refusal(capsys, "check", own)
    assert file in err
    assert said in err


@pytest.mark.parametrize("file", ["general.yaml", "version.yaml"])
def test_check_misses_a_file_that_is_needed(own: Path, capsys: pytest.CaptureFixture[str], file: str) -> None:
    (own / file).unlink()
    assert file in refusal(capsys, "check", own)


def test_check_wants_a_folder(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "not a folder" in refusal(capsys, "check", own / "general.yaml")
    assert "not a folder" in refusal(capsys, "check", own / "gone")
