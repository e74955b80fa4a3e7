"""A rubric version in memory: every category's rubric, its cues, and the hash that names its content.

Loading reads and checks every file once; after that nothing touches the disk.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from judge.errors import ConfigError, RubricError
from judge.resources import folder, folder_hash
from judge.rubric.files import CategoryFile, VersionFile, read
from judge.schema import Rubric, RubricItem

FALLBACK = "general"
_SUMMARY_STEPS = 3


@dataclass(frozen=True, eq=False)
class Library:
    """One rubric version.

    Attributes:
        version: its name in logs: the packaged name, or the name of the user's folder.
        folder: where it was read from.
        hash: 16 hex digits over its files; changes with any byte of them (see `content_hash`).
        settings: what `version.yaml` says.
        categories: the category files by category (the file's name); always holds "general".
        cues: per category and language (en, zh) the words that speak for it; may be empty.
        summaries: per category what is checked in it, in short, for a judge that routes.
    """

    version: str
    folder: Path
    hash: str
    settings: VersionFile
    categories: dict[str, CategoryFile]
    cues: dict[str, dict[str, tuple[str, ...]]] = field(init=False, repr=False)
    summaries: dict[str, str] = field(init=False, repr=False)
    _coarse: dict[str, Rubric] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        cues = {name: {"en": file.cues.en, "zh": file.cues.zh} for name, file in self.categories.items()}
        coarse = {
            name: Rubric(version=self.version, category=name, items=file.items, output=file.output)
            for name, file in self.categories.items()
        }
        summaries = {
            name: " ".join(entry.text for entry in file.steps[:_SUMMARY_STEPS])
            for name, file in self.categories.items()
        }
        object.__setattr__(self, "cues", cues)
        object.__setattr__(self, "summaries", summaries)
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
    settings = read(_present(source / "version.yaml"), VersionFile)
    files = _category_files(source, settings)
    if FALLBACK not in files:
        raise RubricError(
            f"{source / FALLBACK}.yaml: missing; every rubric version needs one, or extends one"
        )
    return Library(
        version=source.resolve().name,
        folder=source,
        hash=content_hash(version),
        settings=settings,
        categories={category: read(path, CategoryFile) for category, path in sorted(files.items())},
    )


def content_hash(version: str) -> str:
    """16 hex digits over all files a version is made of, those of the version it extends included."""
    source = folder("rubrics", version)
    base = _base(source, read(_present(source / "version.yaml"), VersionFile))
    own = folder_hash(source)
    return own if base is None else sha256(f"{own} {folder_hash(base)}".encode()).hexdigest()[:16]


def _category_files(source: Path, settings: VersionFile) -> dict[str, Path]:
    if misnamed := sorted(path.name for path in source.glob("*.yml")):
        raise RubricError(f"{source / misnamed[0]}: would be ignored; rubric files end in .yaml")
    base = _base(source, settings)
    found = {} if base is None else _category_files(base, VersionFile(description="base"))
    return found | {path.stem: path for path in source.glob("*.yaml") if path.name != "version.yaml"}


def _base(source: Path, settings: VersionFile) -> Path | None:
    """The folder of the version that is extended. One step only: a chain hides where a text comes from."""
    if settings.extends is None:
        return None
    place = f"{source / 'version.yaml'}: extends"
    try:
        base = folder("rubrics", settings.extends)
    except ConfigError as error:
        raise RubricError(f"{place}: {error.message}") from None
    if (further := read(_present(base / "version.yaml"), VersionFile).extends) is not None:
        raise RubricError(f"{place}: {settings.extends} itself extends {further}; extend that one")
    return base


def _present(path: Path) -> Path:
    if not path.is_file():
        raise RubricError(f"{path}: missing; every rubric version needs version.yaml")
    return path
