"""`judge rubrics list | show V [CATEGORY] | check PATH`: look at rubric versions and test your own."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click

from judge import resources
from judge.errors import ConfigError
from judge.rubric import CategoryFile, load_library


@click.group("rubrics")
def rubrics() -> None:
    """List, show and check rubric versions."""


@rubrics.command("list")
def list_() -> None:
    """The packaged versions, what each is, and its categories."""
    for name in resources.names("rubrics"):
        library = load_library(name)
        settings = library.settings
        click.echo(f"{name}: {settings.description}")
        click.echo(f"  fine {settings.fine}, frames {settings.frames}, prompts {settings.prompts}")
        click.echo(f"  {', '.join(library.categories)}")


@rubrics.command("show")
@click.argument("version")
@click.argument("category", required=False)
def show(version: str, category: str | None) -> None:
    """The items of VERSION (a packaged name or a folder), of one CATEGORY or of all."""
    library = load_library(version)
    if category is not None and category not in library.categories:
        raise ConfigError(f"{version} has no category {category!r}; it has {', '.join(library.categories)}")
    for name in [category] if category else library.categories:
        click.echo("\n".join(_described(name, library.categories[name])))


@rubrics.command("check")
@click.argument("path", type=click.Path(path_type=Path))
def check(path: Path) -> None:
    """Load every file of your own rubric folder and say what is wrong with it, or that nothing is."""
    if not path.is_dir():
        raise ConfigError(
            f"{path}: not a folder; a rubric version is a folder with version.yaml and general.yaml"
        )
    library = load_library(str(path.resolve()))
    items = sum(len(library.rubric(name).items) for name in library.categories)
    click.echo(f"{path}: good. {len(library.categories)} categories, {items} items, hash {library.hash}")


def _described(name: str, file: CategoryFile) -> Iterable[str]:
    yield f"# {name}: {file.name}"
    for kind, entries in (("step", file.steps), ("pitfall", file.pitfalls), ("rule", file.rules)):
        for entry in entries:
            yield f"  [{entry.id}] {kind}: {entry.text}"
    yield f"  output: {file.output}"
    for language, cues in file.cues.model_dump().items():
        yield f"  cues ({language}): {', '.join(cues) or 'none'}"
    yield ""
