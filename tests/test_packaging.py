"""What is shipped: wheel and sdist hold the checkout's files where judge.resources looks, and no more.

Not covered: installing the wheel and running the command from it (CI's).
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
PACKAGED = {
    "judge": "judge",
    "analysis": "analysis",
    "rubrics": "judge/rubrics",
    "prompts": "judge/prompts",
}
"""Folder of the checkout → where a wheel has it."""


def files(folder: str) -> set[str]:
    """The files below a folder of the checkout, relative to it, without caches and hidden files."""
    root = REPOSITORY / folder
    found = (path.relative_to(root) for path in root.rglob("*") if path.is_file())
    return {
        path.as_posix()
        for path in found
        if path.suffix != ".pyc" and not any(part.startswith(".") for part in path.parts)
    }


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """A folder with the sdist and the wheel made from it, as `python -m build` makes them."""
    pytest.importorskip("build", reason="building needs the package `build`")
    out = tmp_path_factory.mktemp("dist")
    # Without the backend at hand the build fetches one of its own.
    alone = ["--no-isolation"] if importlib.util.find_spec("hatchling") else []
    command = [sys.executable, "-m", "build", *alone, "--outdir", str(out), str(REPOSITORY)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return out


@pytest.mark.slow
def test_the_wheel_holds_the_packages_and_their_data_and_nothing_else(built):
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        listed = archive.namelist()
    expected = {f"{place}/{name}" for folder, place in PACKAGED.items() for name in files(folder)}
    assert {name for name in listed if ".dist-info/" not in name} == expected
    assert {"judge/py.typed", "judge/rubrics/adapt_v1/version.yaml", "judge/prompts/v1/judge.md"} <= expected
    assert len(listed) == len(set(listed))


@pytest.mark.slow
def test_the_sdist_is_whole(built):
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        listed = {name.partition("/")[2] for name in archive.getnames()}
    expected = {f"{folder}/{name}" for folder in (*PACKAGED, "tests") for name in files(folder)}
    assert listed >= expected | {"pyproject.toml", "LICENSE", "README.md", "CHANGELOG.md"}
    assert not [name for name in listed if name.endswith(".pyc") or name.startswith("judge/rubrics")]
