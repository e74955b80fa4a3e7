"""Prompt sets of one's own: braces and dollars stay, and what is wrong is said at load, with the file."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from judge.errors import ConfigError, RubricError
from judge.prompt import PromptSet, trajectory_request
from judge.resources import folder
from judge.schema import Step
from tests.prompt.asked import RUBRIC, blocks, content, texts


@pytest.fixture
def own(tmp_path: Path) -> Path:
    return Path(shutil.copytree(folder("prompts", "v1"), tmp_path / "mine"))


def append(path: Path, text: str) -> None:
    path.write_text(path.read_text(encoding="utf-8") + text, encoding="utf-8")


def test_braces_and_dollars_in_templates_and_data_stay_what_they_are(own: Path) -> None:
    """T05: one pass, so that values are never looked at again."""
    example = 'Reply like {"success": true, "score": 1.0}\nUnbalanced } {task} $HOME $$ {0} %s'
    append(own / "judge.md", example)
    said = "print {x} and {{y}} and {task} ${run} ${nobody} {a.b.__class__} \\1 %s {{jinja}}"
    rubric = RUBRIC.model_copy(update={"output": '- {0} {a.b} $HOME must contain {"ok": 1}'})
    asked = content([Step(action=said)], instruction=said, rubric=rubric)
    system, user = texts(trajectory_request(PromptSet.load(str(own)), asked))
    assert user.endswith(example)
    assert blocks(user)["task"] == said
    assert f"  action: {said}" in blocks(user)["run"]
    assert rubric.output in system


@pytest.mark.parametrize("file", ["judge", "steps_whole", "fine", "repair"])
def test_an_unknown_placeholder_is_an_error_that_names_the_file(own: Path, file: str) -> None:
    append(own / f"{file}.md", "\n${outcome}\n")
    with pytest.raises(RubricError, match=rf"{file}\.md: unknown placeholder \$\{{outcome\}}"):
        PromptSet.load(str(own))


@pytest.mark.parametrize(
    ("file", "name"),
    [("judge", "run"), ("steps_whole", "verify"), ("fine", "instruction"), ("repair", "problem")],
)
def test_a_missing_placeholder_is_an_error_that_names_the_file(own: Path, file: str, name: str) -> None:
    path = own / f"{file}.md"
    path.write_text(path.read_text(encoding="utf-8").replace(f"${{{name}}}", "$" + name), encoding="utf-8")
    with pytest.raises(RubricError, match=rf"{file}\.md: missing placeholder \$\{{{name}\}}"):
        PromptSet.load(str(own))


def test_data_has_no_place_in_the_system_text(own: Path) -> None:
    path = own / "judge.md"
    path.write_text("The task: ${instruction}\n" + path.read_text(encoding="utf-8"), encoding="utf-8")
    with pytest.raises(RubricError, match=r"judge\.md: placeholder \$\{instruction\} stands before"):
        PromptSet.load(str(own))


@pytest.mark.parametrize("file", ["judge", "fine"])
def test_system_and_user_text_are_told_apart_once(own: Path, file: str) -> None:
    append(own / f"{file}.md", "\n=== user ===\nonce more")
    with pytest.raises(RubricError, match=rf"{file}\.md: needs exactly one line"):
        PromptSet.load(str(own))


def test_a_missing_file_is_named(own: Path) -> None:
    (own / "repair.md").unlink()
    with pytest.raises(RubricError, match=r"repair\.md: cannot be read: No such file"):
        PromptSet.load(str(own))


def test_a_file_that_is_no_text_is_named(own: Path) -> None:
    (own / "fine.md").write_bytes(b"\xff\xfe${instruction}")
    with pytest.raises(RubricError, match=r"fine\.md: cannot be read: .*utf-8"):
        PromptSet.load(str(own))


def test_an_unknown_set_lists_those_there_are() -> None:
    with pytest.raises(ConfigError, match=r"unknown prompt set 'v0': there are .*v1"):
        PromptSet.load("v0")


def test_the_hash_tells_sets_apart_by_their_text(own: Path) -> None:
    before = PromptSet.load(str(own)).hash
    assert before == PromptSet.load("v1").hash
    append(own / "judge.md", " ")
    assert PromptSet.load(str(own)).hash != before


def test_line_ends_of_another_system_are_no_trouble(own: Path) -> None:
    path = own / "judge.md"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert PromptSet.load(str(own)).templates == PromptSet.load("v1").templates
