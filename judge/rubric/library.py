"""A rubric version in memory: every category's rubric, its cues, and the hash that names its content.

Loading reads and checks every file once; after that nothing touches the disk.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from judge.errors import RubricError
from judge.resources import folder, folder_hash
from judge.rubric.files import CategoryFile, VersionFile, read
from judge.schema import Rubric, RubricItem

FALLBACK = "general"


@dataclass(frozen=True, eq=False)
class Library:
    """One rubric version.

    Attributes:
        version: its name in logs: the packaged name, or the name of the user's folder.
        folder: where it was read from.
        hash: 16 hex digits over its files; changes with any byte of them.
        settings: what `version.yaml` says.
        categories: the category files by category (the file's name); always holds "general".
        cues: per category and language (en, zh) the words that speak for it; may be empty.
    """

    version: str
    folder: Path
    hash: str
    settings: VersionFile
    categories: dict[str, CategoryFile]
    cues: dict[str, dict[str, tuple[str, ...]]] = field(init=False, repr=False)
    _coarse: dict[str, Rubric] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        cues = {name: {"en": file.cues.en, "zh": file.cues.zh} for name, file in self.categories.items()}
        coarse = {
            name: Rubric(version=self.version, category=name, items=file.items, output=file.output)
            for name, file in self.categories.items()
        }
        object.__setattr__(self, "cues", cues)
        object.__setattr__(self, "_coarse", coarse)

    def rubric(self, category: str, fine: Sequence[RubricItem] = ()) -> Rubric:
        """The category's rubric with `fine` after its own items; an unknown category gets the general one.

        Without `fine` it is the same object on every call.
        """
        coarse = self._coarse.get(category) or self._coarse[FALLBACK]
        if not fine:
            return coarse
        # Not model_copy: that would carry the cached split into coarse and fine along.
        return Rubric(
            version=coarse.version,
            category=coarse.category,
            items=(*coarse.items, *fine),
            output=coarse.output,
        )


def load_library(version: str) -> Library:
    """Read a packaged version, or a folder of the user's own where `version` is a path.

    Raises ConfigError for an unknown version, RubricError that names file and key for a faulty file.
    """
    source = folder("rubrics", version)
    files = _category_files(source)
    return Library(
        version=source.resolve().name,
        folder=source,
        hash=folder_hash(source),
        settings=read(_present(source / "version.yaml"), VersionFile),
        categories={path.stem: read(path, CategoryFile) for path in files},
    )


def _category_files(source: Path) -> list[Path]:
    if misnamed := sorted(path.name for path in source.glob("*.yml")):
        raise RubricError(f"{source / misnamed[0]}: would be ignored; rubric files end in .yaml")
    _present(source / f"{FALLBACK}.yaml")
    return sorted(path for path in source.glob("*.yaml") if path.name != "version.yaml")


def _present(path: Path) -> Path:
    if not path.is_file():
        raise RubricError(f"{path}: missing; every rubric version needs version.yaml and {FALLBACK}.yaml")
    return path
