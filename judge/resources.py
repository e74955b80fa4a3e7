"""Where the packaged data lies: rubric versions, prompt sets and the demo's trajectories.

In a wheel they are `judge/rubrics` and `judge/prompts`; in a checkout they stand beside the package.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Literal

from judge.errors import ConfigError

_PACKAGE = Path(__file__).resolve().parent

Kind = Literal["rubrics", "prompts"]


def root(kind: Kind) -> Path:
    """The folder that holds all packaged rubric versions, or all prompt sets."""
    installed = _PACKAGE / kind
    return installed if installed.is_dir() else _PACKAGE.parent / kind


def names(kind: Kind) -> list[str]:
    """The packaged rubric versions, or prompt sets, in alphabetical order."""
    return sorted(
        path.name for path in root(kind).iterdir() if path.is_dir() and not path.name.startswith(".")
    )


def folder(kind: Kind, name: str) -> Path:
    """The folder of a packaged version or set, or of the user's own where `name` is a path.

    Raises ConfigError that lists what there is.
    """
    packaged = root(kind) / name
    if "/" not in name and "\\" not in name and name not in ("", ".", "..") and packaged.is_dir():
        return packaged
    own = Path(name).expanduser()
    if own.is_dir() and ("/" in name or "\\" in name or own.is_absolute()):
        return own
    what = "rubric version" if kind == "rubrics" else "prompt set"
    raise ConfigError(
        f"unknown {what} {name!r}: there are {', '.join(names(kind))}; "
        f"for a folder of your own give its path, such as ./{Path(name).name or kind}"
    )


def examples() -> Path:
    """The demo's trajectories, one JSONL file per domain."""
    return _PACKAGE / "examples"


def folder_hash(path: Path) -> str:
    """First 16 hex digits of a SHA-256 over the names and bytes of a folder's files, hidden ones left out."""
    digest = hashlib.sha256()
    for file in sorted(path.rglob("*")):
        name = file.relative_to(path)
        if file.is_file() and not any(part.startswith(".") for part in name.parts):
            digest.update(f"{name.as_posix()}\0{file.stat().st_size}\0".encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]
