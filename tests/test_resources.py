"""Where rubrics, prompts and examples are found, by name or by path, and the hash of a folder.

That a wheel holds the same files is test_packaging's.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from judge.errors import ConfigError
from judge.resources import examples, folder, folder_hash, names, root


def test_the_packaged_versions_and_prompt_sets_are_found():
    assert {"adapt_v1", "static_v1"} <= set(names("rubrics"))
    assert "v1" in names("prompts")
    assert names("rubrics") == sorted(names("rubrics"))
    assert folder("rubrics", "adapt_v1") == root("rubrics") / "adapt_v1"
    assert list(examples().glob("*.jsonl"))


@pytest.mark.parametrize("name", ["adapt_v9", "", ".", "..", "adapt_v1/../none"])
def test_an_unknown_name_lists_what_there_is(name):
    with pytest.raises(ConfigError, match=r"there are adapt_allframes_v1, .*static_v1.*give its path"):
        folder("rubrics", name)


def test_an_unknown_prompt_set_is_called_one():
    with pytest.raises(ConfigError, match="unknown prompt set 'v99'"):
        folder("prompts", "v99")


def test_a_path_is_a_folder_of_your_own(tmp_path: Path):
    own = tmp_path / "adapt_v1"
    own.mkdir()
    assert folder("rubrics", str(own)) == own


def test_a_relative_path_needs_a_slash_and_a_bare_name_is_always_packaged(tmp_path, monkeypatch):
    for name in ("mine", "adapt_v1"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path)
    assert folder("rubrics", "./mine").resolve() == tmp_path / "mine"
    assert folder("rubrics", "adapt_v1") == root("rubrics") / "adapt_v1"
    with pytest.raises(ConfigError, match=r"such as \./mine"):
        folder("rubrics", "mine")


class TestFolderHash:
    @pytest.fixture
    def version(self, tmp_path: Path) -> Path:
        (tmp_path / "a.yaml").write_text("name: a")
        (tmp_path / "inner").mkdir()
        (tmp_path / "inner" / "b.yaml").write_text("name: b")
        return tmp_path

    def test_it_is_16_hex_digits_and_the_same_for_a_copy(self, version, tmp_path_factory):
        copy = tmp_path_factory.mktemp("copy")
        (copy / "inner").mkdir()
        (copy / "inner" / "b.yaml").write_text("name: b")
        (copy / "a.yaml").write_text("name: a")
        assert folder_hash(copy) == folder_hash(version)
        assert int(folder_hash(version), 16) >= 0
        assert len(folder_hash(version)) == 16

    def test_content_names_and_places_count(self, version):
        before = folder_hash(version)
        (version / "a.yaml").write_text("name: A")
        changed = folder_hash(version)
        (version / "a.yaml").rename(version / "c.yaml")
        renamed = folder_hash(version)
        (version / "c.yaml").rename(version / "inner" / "c.yaml")
        assert len({before, changed, renamed, folder_hash(version)}) == 4

    def test_where_a_file_ends_counts(self, tmp_path):
        (tmp_path / "a").write_bytes(b"xy")
        (tmp_path / "b").write_bytes(b"")
        before = folder_hash(tmp_path)
        (tmp_path / "a").write_bytes(b"x")
        (tmp_path / "b").write_bytes(b"y")
        assert folder_hash(tmp_path) != before

    def test_what_editors_and_tools_hide_there_does_not_count(self, version):
        before = folder_hash(version)
        (version / ".a.yaml.swp").write_text("scratch")
        (version / ".ipynb_checkpoints").mkdir()
        (version / ".ipynb_checkpoints" / "a-checkpoint.yaml").write_text("name: old")
        assert folder_hash(version) == before
