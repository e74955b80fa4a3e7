"""A rubric version as a configuration uses it: its library, its prompt set, and the fingerprint of both."""

from __future__ import annotations

from dataclasses import dataclass

from judge import rubric
from judge.config import Config
from judge.fingerprint import fingerprint
from judge.prompt import PromptSet
from judge.rubric import Library


@dataclass(frozen=True)
class Version:
    """`fine` is off, on or forced: the version's own setting unless the configuration overrides it."""

    library: Library
    prompts: PromptSet
    fine: str
    fingerprint: str

    @classmethod
    def load(cls, config: Config, name: str) -> Version:
        """Raises ConfigError for an unknown version, RubricError for a file that cannot be used."""
        library = rubric.load_library(name)
        prompts = PromptSet.load(library.settings.prompts)
        fine = library.settings.fine if config.rubrics.fine == "auto" else config.rubrics.fine
        asked = (
            "trajectory" if config.steps.mode == "none" else "steps",
            *(() if fine == "off" else ("fine",)),
        )
        return cls(library, prompts, fine, fingerprint(config, library.hash, prompts.hash, asked))
