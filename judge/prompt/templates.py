"""Prompt sets: the words of a question as files, checked at load and filled in one pass.

A placeholder is ${name}. Values are never looked at again, so that braces, dollar signs and placeholders in
data stay what they are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from judge import resources
from judge.errors import RubricError

_PLACEHOLDER = re.compile(r"\$\{(\w+)\}")
_DIVIDER = "\n=== user ===\n"
_FILES = {
    "judge": {
        "steps",
        "category",
        "rubric",
        "output",
        "step_key",
        "context",
        "instruction",
        "hints",
        "extent",
        "run",
    },
    "steps_whole": {"verify"},
    "fine": {"category", "rubric", "instruction"},
    "repair": {"problem"},
}
_DATA = frozenset({"context", "instruction", "hints", "extent", "run"})
"""Placeholders that are filled with data: never part of the system text, and never of its reusable prefix."""


@dataclass(frozen=True)
class PromptSet:
    """The templates of one folder under prompts/."""

    name: str
    hash: str
    templates: Mapping[str, str]

    @classmethod
    def load(cls, name: str) -> PromptSet:
        """Read a packaged set, or the folder a path names.

        Raises ConfigError for an unknown set, RubricError for a missing file and for an unknown or missing
        placeholder.
        """
        folder = resources.folder("prompts", name)
        templates = {file: _read(folder / f"{file}.md", names) for file, names in _FILES.items()}
        return cls(folder.name, resources.folder_hash(folder), templates)

    def fill(self, file: str, values: Mapping[str, str]) -> str:
        """The template with its placeholders replaced."""
        return _fill(self.templates[file], values)

    def messages(self, file: str, values: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
        """The system and the user message of a template that holds both."""
        system, user = self.templates[file].split(_DIVIDER)
        return (
            {"role": "system", "content": _fill(system, values)},
            {"role": "user", "content": _fill(user, values).rstrip("\n")},
        )


def _read(path: Path, names: set[str]) -> str:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RubricError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    found = set(_PLACEHOLDER.findall(text))
    for what, wrong in (("unknown", found - names), ("missing", names - found)):
        if wrong:
            raise RubricError(
                f"{path}: {what} placeholder ${{{sorted(wrong)[0]}}}; it takes {', '.join(sorted(names))}"
            )
    if path.stem in ("judge", "fine") and text.count(_DIVIDER) != 1:
        raise RubricError(f"{path}: needs exactly one line '{_DIVIDER.strip()}' between system and user text")
    if path.stem in ("judge", "fine") and (
        early := _DATA.intersection(_PLACEHOLDER.findall(text.split(_DIVIDER)[0]))
    ):
        raise RubricError(
            f"{path}: placeholder ${{{min(early)}}} stands before '{_DIVIDER.strip()}'; what an agent or its "
            "environment wrote belongs in the user text"
        )
    return text


def _fill(template: str, values: Mapping[str, str]) -> str:
    return _PLACEHOLDER.sub(lambda match: values[match[1]], template)
