"""A rubric version as a configuration uses it: its library, its prompt set, and the fingerprint of both."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from judge import rubric
from judge.config import Config
from judge.fingerprint import fingerprint
from judge.prompt import PromptSet
from judge.rubric import Library


@dataclass(frozen=True)
class Version:
    """`fine` is off, on or forced: the version's own setting unless the configuration overrides it.

    `asked` are the purposes of the calls that judging by it takes.
    """

    library: Library
    prompts: PromptSet
    fine: str
    asked: tuple[str, ...]
    fingerprint: str

    @classmethod
    def load(cls, config: Config, name: str) -> Version:
        """Raises ConfigError for an unknown version, RubricError for a file that cannot be used."""
        library = _library(name, rubric.content_hash(name))
        prompts = PromptSet.load(library.settings.prompts)
        fine = library.settings.fine if config.rubrics.fine == "auto" else config.rubrics.fine
        asked = (
            *{"none": ("trajectory",), "whole": ("steps",), "prefix": ("trajectory", "steps")}[
                config.steps.mode
            ],
            *(() if fine == "off" else ("fine",)),
            *(() if config.rubrics.router == "rules" else ("route",)),
        )
        return cls(library, prompts, fine, asked, fingerprint(config, library.hash, prompts.hash, asked))


@lru_cache(maxsize=32)
def _library(name: str, content: str) -> Library:
    """Reading YAML takes a tenth of a second; a folder whose content hash is known is not read again."""
    return rubric.load_library(name)
