"""Where settings come from: YAML files without duplicate keys, and the environment laid over them.

Also used for rubric files. What each key means is judge.config.sections'.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from judge.errors import ConfigError


def load_yaml(path: Path) -> dict[str, Any]:
    """The mapping in a YAML file. Raises ConfigError that names file and line, duplicate keys included."""
    try:
        value = yaml.load(path.read_text(encoding="utf-8"), Loader=_UniqueKeys)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror or error}") from None
    except (yaml.YAMLError, UnicodeDecodeError, ValueError) as error:
        raise ConfigError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from None
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ConfigError(f"{path}: holds a {type(value).__name__}, not a mapping of keys to values")
    return value


_MERGE_KEY = "tag:yaml.org,2002:merge"


class _UniqueKeys(yaml.SafeLoader):
    """SafeLoader that refuses a key given twice instead of keeping the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key_node, _ in node.value:
            if key_node.tag == _MERGE_KEY:
                continue
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, list | dict):
                raise yaml.constructor.ConstructorError(
                    None, None, "a key must be a plain value", key_node.start_mark
                )
            if key in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"key {key!r} is given twice", key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep)


def with_environment(keywords: Mapping[str, Any], stored: Mapping[str, Any]) -> dict[str, Any]:
    """`keywords` over JUDGE_BASE_URL and JUDGE_MODEL over `stored` over OPENAI_BASE_URL."""
    merged = _merge(stored, keywords)
    judge, given = merged.get("judge"), keywords.get("judge")
    if not isinstance(judge, Mapping | None):
        return merged
    chosen, said = dict(judge or {}), given if isinstance(given, Mapping) else {}
    for key, name in (("base_url", "JUDGE_BASE_URL"), ("model", "JUDGE_MODEL")):
        if not said.get(key) and (value := _environment(name)):
            chosen[key] = value
    if not chosen.get("base_url") and (value := _environment("OPENAI_BASE_URL")):
        chosen["base_url"] = value
    return {**merged, "judge": chosen}


def _environment(name: str) -> str:
    return os.environ.get(name, "").strip()


def _merge(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for key, value in above.items():
        if isinstance(old := merged.get(key), Mapping) and isinstance(value, Mapping):
            value = _merge(old, value)
        merged[key] = value
    return merged
