"""The files of a rubric version: strict models of `version.yaml` and `<category>.yaml`, and reading them.

Every value in these files is text. YAML 1.1 reads many a plain text as something else (no, 12:30, 010, a
date), and item ids join logs, so such a value is refused and never converted. Whether a version is complete
is judge.rubric.library's to say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from judge.config import explain, load_yaml
from judge.errors import ConfigError, RubricError
from judge.schema import ItemKind, RubricItem

Text = Annotated[str, StringConstraints(strict=True, strip_whitespace=True, min_length=1)]
Model = TypeVar("Model", bound="_File")

_TEXT_TAG = "tag:yaml.org,2002:str"
_LISTS: dict[str, ItemKind] = {"steps": "step", "pitfalls": "pitfall", "rules": "rule"}


class _File(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Entry(_File):
    """One item as the file holds it; its kind is the list it stands in."""

    id: Text
    text: Text


class Cues(_File):
    """Words that speak for a category: whole words in English, substrings in Chinese."""

    en: tuple[Text, ...] = ()
    zh: tuple[Text, ...] = ()


class CategoryFile(_File):
    """`<category>.yaml`: what success means for one kind of task.

    `steps` must hold at least one entry. An entry is `{id, text}` or a plain text, whose id is then made from
    its kind and its 1-based position: step_1, pitfall_2, rule_1. Ids are unique across the file, and those
    that begin with fine_ are kept for items grounded in an instruction.
    """

    name: Text
    cues: Cues = Cues()
    steps: tuple[Entry, ...] = Field(min_length=1)
    pitfalls: tuple[Entry, ...] = ()
    rules: tuple[Entry, ...] = ()
    output: Text = ""

    @model_validator(mode="before")
    @classmethod
    def _name_entries(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        return {key: _entries(value, _LISTS[key]) if key in _LISTS else value for key, value in data.items()}

    @model_validator(mode="after")
    def _distinct_ids(self) -> CategoryFile:
        for item_id, count in Counter(item.id for item in self.items).items():
            if count > 1:
                raise ValueError(f"id {item_id!r} is given {count} times; every item needs an id of its own")
            if item_id.startswith("fine_"):
                raise ValueError(f"id {item_id!r}: ids that begin with fine_ are kept for fine items")
        return self

    @property
    def items(self) -> tuple[RubricItem, ...]:
        """The coarse items in the order a judge is shown them: steps, pitfalls, rules."""
        return tuple(
            RubricItem(id=entry.id, text=entry.text, kind=kind)
            for key, kind in _LISTS.items()
            for entry in getattr(self, key)
        )


class VersionFile(_File):
    """`version.yaml`: how a version wants to be used. `prompts` names a prompt set.

    `extends` names a packaged version whose category files serve where the folder has none of its own, so
    that two versions that are to differ in one setting cannot come to differ in their texts.
    """

    description: Text
    extends: Text | None = None
    prompts: Text = "v1"
    fine: Literal["on", "off", "forced"] = "on"
    frames: Literal["key", "all"] = "key"


def read(path: Path, model: type[Model]) -> Model:
    """The checked content of one file.

    Raises RubricError that names the file and the key, and the line where YAML is at fault.
    """
    try:
        return model.model_validate(load_yaml(path))
    except ConfigError as error:
        raise RubricError(error.message) from None
    except ValidationError as error:
        # No field takes anything but text, so whatever YAML changed is among the faults.
        raise RubricError(f"{path}: {'; '.join([*_changed(path), explain(error)])}") from None


def _entries(value: Any, kind: ItemKind) -> Any:
    if not isinstance(value, Sequence) or isinstance(value, str):
        return value
    return [
        {"id": f"{kind}_{position}", "text": entry} if isinstance(entry, str) else entry
        for position, entry in enumerate(value, 1)
    ]


def _changed(path: Path) -> Iterator[str]:
    """What YAML reads as something other than text, each with its line, its key and the way out."""
    document = yaml.compose(path.read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
    for key, scalar in _scalars(document, ""):
        if scalar.tag == _TEXT_TAG:
            continue
        where = f"line {scalar.start_mark.line + 1}: {key}"
        kind = scalar.tag.rpartition(":")[2]
        way_out = f'YAML reads {scalar.value} as {kind}; quote this value: "{scalar.value}"'
        yield f"{where}: {way_out if scalar.value else 'is empty'}"


def _scalars(node: yaml.Node | None, key: str) -> Iterator[tuple[str, yaml.ScalarNode]]:
    """Every scalar of a document, keys included, with the dotted key under which it stands."""
    if isinstance(node, yaml.ScalarNode):
        yield key, node
    elif isinstance(node, yaml.SequenceNode):
        for position, child in enumerate(node.value):
            yield from _scalars(child, f"{key}.{position}")
    elif isinstance(node, yaml.MappingNode):
        for name, child in node.value:
            inner = f"{key}.{name.value}".lstrip(".")
            yield from _scalars(name, inner)
            yield from _scalars(child, inner)
