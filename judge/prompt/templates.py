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
        "context",
        "instruction",
        "hints",
        "extent",
        "run",
        "labels",
    },
    "steps_whole": {"verify"},
    "steps_prefix": {"category", "rubric", "context", "instruction", "index", "run"},
    "fine": {"category", "rubric", "instruction"},
    "fine_forced": {"category", "rubric", "instruction"},
    "route": {"categories", "instruction"},
    "route_fine": {"categories", "instruction"},
    "repair": {"problem"},
}
_ONE_PART = frozenset({"repair"})
_DATA = frozenset({"context", "instruction", "hints", "extent", "run", "labels", "verify", "index"})
"""Placeholders that differ from run to run: never in the system text, which endpoints keep as a prefix."""


@dataclass(frozen=True)
class PromptSet:
    """The templates of one folder under prompts/."""

    name: str
    hash: str
    templates: Mapping[str, tuple[str, ...]]

    @classmethod
    def load(cls, name: str) -> PromptSet:
        """Read a packaged set, or the folder a path names.

        Raises ConfigError for an unknown set, RubricError for a missing file and for an unknown or missing
        placeholder.
        """
        folder = resources.folder("prompts", name)
        templates = {file: _read(folder / f"{file}.md", names) for file, names in _FILES.items()}
        return cls(folder.name, resources.folder_hash(folder), templates)

    def fill(self, file: str, values: Mapping[str, str]) -> tuple[str, ...]:
        """The parts of a template, system before user, with their placeholders replaced."""
        return tuple(_PLACEHOLDER.sub(lambda match: values[match[1]], part) for part in self.templates[file])

    def messages(self, file: str, values: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
        """The system and the user message of a template."""
        system, user = self.fill(file, values)
        return {"role": "system", "content": system}, {"role": "user", "content": user}


def _read(path: Path, names: set[str]) -> tuple[str, ...]:
    try:
        text = path.read_text(encoding="utf-8").rstrip("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise RubricError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    found = set(_PLACEHOLDER.findall(text))
    for what, wrong in (("unknown", found - names), ("missing", names - found)):
        if wrong:
            raise RubricError(
                f"{path}: {what} placeholder ${{{min(wrong)}}}; it takes {', '.join(sorted(names))}"
            )
    parts = tuple(text.split(_DIVIDER))
    if path.stem not in _ONE_PART:
        _check_parts(path, parts)
    return parts


def _check_parts(path: Path, parts: tuple[str, ...]) -> None:
    line = f"'{_DIVIDER.strip()}'"
    if len(parts) != 2:
        raise RubricError(f"{path}: needs exactly one line {line} between system and user text")
    if early := _DATA.intersection(_PLACEHOLDER.findall(parts[0])):
        raise RubricError(
            f"{path}: placeholder ${{{min(early)}}} stands before {line}; what an agent or its environment "
            "wrote, and what differs from run to run, belongs in the user text"
        )
