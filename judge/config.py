"""Settings: `Config(...)`, `Config.load(path, ...)`, and what each key means.

Precedence: keyword over JUDGE_BASE_URL and JUDGE_MODEL over the file over OPENAI_BASE_URL. API keys are never
settings: they are read from the environment at the moment a client is built, so that no Config can be
printed, pickled, logged or cached with one inside.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from judge.errors import ConfigError

EMBEDDED_MODEL = "embedded-rules-v1"
"""The name of the deterministic stand-in judge that needs no endpoint; see judge.embedded."""

DEFAULT_VERSION = "adapt_v1"


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, protected_namespaces=())


class Price(_Section):
    """What a million tokens cost, in any currency; 0 where a local judge costs nothing."""

    prompt: float = Field(default=0.0, ge=0)
    completion: float = Field(default=0.0, ge=0)


class Endpoint(_Section):
    """One OpenAI-compatible endpoint and how to call it. Times are seconds."""

    base_url: str | None = None
    endpoint_id: str | None = None
    api_key_env: str | None = None
    model: str | None = None
    temperature: float | None = Field(default=0.0, ge=0)
    seed: int | None = 0
    max_tokens: int = Field(default=1024, gt=0)
    extra_body: dict[str, Any] = Field(default_factory=dict)
    timeout_s: float = Field(default=60.0, gt=0)
    deadline_s: float = Field(default=180.0, gt=0)
    max_attempts: int = Field(default=4, ge=1)
    max_reask: int = Field(default=1, ge=0)
    backoff_s: float = Field(default=0.5, ge=0)
    max_retry_after_s: float = Field(default=60.0, ge=0)
    concurrency: int = Field(default=32, ge=1)
    requests_per_minute: float | None = Field(default=None, gt=0)
    tokens_per_minute: float | None = Field(default=None, gt=0)
    vision: Literal["auto", "on", "off"] = "auto"
    price_per_million: Price | None = None

    @property
    def is_embedded(self) -> bool:
        return self.model == EMBEDDED_MODEL

    @property
    def identity(self) -> str:
        """The name of the endpoint in cache keys and fingerprints."""
        return "embedded" if self.is_embedded else (self.endpoint_id or self.base_url or "")

    def api_key(self) -> str | None:
        """The key from `api_key_env`, else JUDGE_API_KEY, else OPENAI_API_KEY; None where none is set.

        Raises ConfigError where `api_key_env` names a variable that is not set: a typo must not quietly
        send another endpoint's key.
        """
        if self.api_key_env:
            key = (os.environ.get(self.api_key_env) or "").strip()
            if not key:
                raise ConfigError(f"judge.api_key_env names {self.api_key_env}, which is not set")
            return key
        for name in ("JUDGE_API_KEY", "OPENAI_API_KEY"):
            if key := (os.environ.get(name) or "").strip():
                return key
        return None


class JudgeSection(Endpoint):
    """The judge's endpoint, and per purpose whatever differs from it."""

    purposes: dict[Literal["route", "fine", "steps", "trajectory"], dict[str, Any]] = Field(
        default_factory=dict
    )

    @model_validator(mode="after")
    def _purposes_hold(self) -> JudgeSection:
        for purpose in self.purposes:
            self.endpoint(purpose)
        return self

    def endpoint(self, purpose: str) -> Endpoint:
        """The endpoint that answers `purpose`: these settings with the purpose's own on top.

        A purpose with a base_url of its own shares neither the endpoint_id nor the extra_body of the rest.
        """
        own = self.purposes.get(purpose, {})  # type: ignore[call-overload]
        shared = self.model_dump(exclude={"purposes"})
        if "base_url" in own:
            shared.update(endpoint_id=None, extra_body={}, api_key_env=None)
        try:
            return Endpoint(**{**shared, **own})
        except ValidationError as error:
            raise ValueError(f"purposes.{purpose}: {explain(error)}") from None


class RubricsSection(_Section):
    """Which rubric version judges: a packaged name, or the path of a folder of your own."""

    version: str = DEFAULT_VERSION
    router: Literal["rules", "llm"] = "rules"
    fine: Literal["auto", "on", "off"] = "auto"
    on_fine_error: Literal["fail", "coarse"] = "fail"


class FramesSection(_Section):
    """How much of a run the judge is shown. `max_chars` bounds all shown steps together."""

    max_frames: int = Field(default=10, ge=1)
    max_chars: int = Field(default=24_000, ge=500)
    max_image_px: int = Field(default=1024, ge=16)


class StepsSection(_Section):
    """Whether and how single steps are judged."""

    mode: Literal["none", "whole", "prefix"] = "none"
    at: list[int] | Literal["all"] = Field(default=[3, 6, 9])
    window: int = Field(default=4, ge=1)


class TarlSection(_Section):
    """Parameters of judge.collapse.tarl."""

    process: Literal["mean_all", "mean_valid", "sum", "ten_mean"] = "mean_all"
    outcome_weight: float = 10.0
    deviation_penalty: float = 5.0
    process_clip: float = Field(default=5.0, ge=0)


class GvpoSection(_Section):
    """Parameters of judge.collapse.gvpo_process."""

    variant: Literal["bounded", "article"] = "bounded"
    outcome_weight: float = Field(default=0.6, ge=0)
    process_weight: float = Field(default=0.4, ge=0)
    early_error_penalty: float = Field(default=0.3, ge=0)
    late_error_discount: float = Field(default=0.5, ge=0)
    decay: float = Field(default=0.95, gt=0, le=1)
    decay_toward: Literal["early", "late"] = "early"


class RewardSection(_Section):
    """How verdicts become one number."""

    scheme: Literal["score", "success", "tarl", "gvpo_process", "weighted"] = "score"
    outcome_from: Literal["auto", "verifier", "judge"] = "auto"
    tarl: TarlSection = TarlSection()
    gvpo: GvpoSection = GvpoSection()
    weights: dict[str, float] = Field(default_factory=dict)
    tiers: dict[str, float] = Field(default_factory=dict)


class CacheSection(_Section):
    """Where replies are kept. `dir: null` turns the cache off; keep it on a local disk."""

    dir: Path | None = Field(default_factory=lambda: _cache_home() / "adaptive-judge")
    size_limit_gb: float = Field(default=8.0, gt=0)


class LogSection(_Section):
    """Where the reward log goes; `path: null` turns it off. {host} and {pid} are filled in."""

    path: Path | None = Path("reward_log.jsonl")


class Config(_Section):
    """All settings of a Judge. Sections are given as mappings: Config(judge={"model": ...}).

    Raises ConfigError that names the key (and, from `load`, the file) for anything it does not know.
    """

    judge: JudgeSection = Field(default_factory=JudgeSection)
    rubrics: RubricsSection = RubricsSection()
    frames: FramesSection = FramesSection()
    steps: StepsSection = StepsSection()
    reward: RewardSection = RewardSection()
    cache: CacheSection = Field(default_factory=CacheSection)
    log: LogSection = LogSection()
    on_empty: Literal["fail", "error"] = "fail"
    on_error: Literal["none", "zero", "raise"] = "none"
    context_retry: Literal["off", "fewer_frames"] = "off"

    def __init__(self, **settings: Any) -> None:
        try:
            super().__init__(**_with_environment(settings, {}))
        except ValidationError as error:
            raise ConfigError(explain(error)) from None

    @classmethod
    def load(cls, path: str | Path | None = None, **overrides: Any) -> Config:
        """Read a YAML (or JSON) file and lay `overrides`, nested mappings like the file's, over it.

        Without `path`, the file that JUDGE_CONFIG names, if any.
        """
        path = path or os.environ.get("JUDGE_CONFIG") or None
        stored = load_yaml(Path(path)) if path else {}
        try:
            return cls(**_with_environment(overrides, stored))
        except ConfigError as error:
            raise ConfigError(f"{path}: {error.message}" if path else error.message) from None

    @field_validator("reward")
    @classmethod
    def _weights_for_weighted(cls, reward: RewardSection) -> RewardSection:
        if reward.scheme == "weighted" and not reward.weights:
            raise ValueError("scheme weighted needs reward.weights, a mapping of part names to numbers")
        return reward

    @model_validator(mode="after")
    def _steps_for_scheme(self) -> Config:
        needed = {"tarl": "whole", "gvpo_process": "prefix"}.get(self.reward.scheme)
        if needed and self.steps.mode != needed:
            raise ValueError(
                f"reward.scheme {self.reward.scheme} needs step verdicts: set steps.mode to {needed} "
                f"(it is {self.steps.mode})"
            )
        return self


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


class _UniqueKeys(yaml.SafeLoader):
    """SafeLoader that refuses a key given twice instead of keeping the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key_node, _ in node.value:
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


def _with_environment(keywords: Mapping[str, Any], stored: Mapping[str, Any]) -> dict[str, Any]:
    merged = _merge(stored, keywords)
    judge = merged.get("judge") or {}
    if not isinstance(judge, Mapping):
        return merged
    given = keywords.get("judge") or {}
    chosen = dict(judge)
    for key, name in (("base_url", "JUDGE_BASE_URL"), ("model", "JUDGE_MODEL")):
        if (value := os.environ.get(name)) and not (isinstance(given, Mapping) and given.get(key)):
            chosen[key] = value.strip()
    if not chosen.get("base_url") and (value := os.environ.get("OPENAI_BASE_URL")):
        chosen["base_url"] = value.strip()
    return {**merged, "judge": chosen}


def _merge(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(below)
    for key, value in above.items():
        old = result.get(key)
        if isinstance(old, Mapping) and isinstance(value, Mapping):
            value = _merge(old, value)
        result[key] = value
    return result


def explain(error: ValidationError) -> str:
    """A pydantic error as one line: each fault with its key, unknown and missing keys in plain words."""
    return "; ".join(_fault(fault) for fault in error.errors(include_url=False))


_PLAIN_WORDS = {
    "model_type": "must be an object",
    "dict_type": "must be an object",
    "tuple_type": "must be a list",
    "list_type": "must be a list",
    "string_type": "must be text",
}


def _fault(fault: Any) -> str:
    where = ".".join(str(part) for part in fault["loc"])
    if fault["type"] == "extra_forbidden":
        return f"{where}: unknown key"
    if fault["type"] == "missing":
        return f"{where}: missing"
    message = _PLAIN_WORDS.get(fault["type"]) or str(fault["msg"]).removeprefix("Value error, ")
    given = fault.get("input")
    shown = "" if fault["type"] == "value_error" or isinstance(given, dict | list) else f" (it is {given!r})"
    return f"{where}: {message}{shown}" if where else message


def _cache_home() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
