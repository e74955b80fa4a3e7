"""The sections of a Config: every setting with its default and its bounds. Times are seconds.

API keys are never settings: `Endpoint.api_key` reads one from the environment when a client is built, so that
no Config can be printed, pickled, logged or cached with one inside.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from judge.config.faults import explain
from judge.errors import ConfigError

EMBEDDED_MODEL = "embedded-rules-v1"
"""The name of the deterministic stand-in judge that needs no endpoint; see judge.embedded."""

DEFAULT_VERSION = "adapt_v1"

_VARIABLE = re.compile("[A-Za-z_][A-Za-z0-9_]*")


def switch(value: Any) -> Any:
    """YAML 1.1 reads a bare on or off as a boolean."""
    return ("on" if value else "off") if isinstance(value, bool) else value


OnOff = Annotated[Literal["auto", "on", "off"], BeforeValidator(switch)]
Place = Annotated[Path, AfterValidator(Path.expanduser)]


class Section(BaseModel):
    """Settings that refuse what they do not know."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, protected_namespaces=())


class Price(Section):
    """What a million tokens cost, in any currency; 0 where a local judge costs nothing."""

    prompt: float = Field(default=0.0, ge=0)
    completion: float = Field(default=0.0, ge=0)


class Endpoint(Section):
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
    vision: OnOff = "auto"
    price_per_million: Price | None = None

    @field_validator("api_key_env")
    @classmethod
    def _names_a_variable(cls, name: str | None) -> str | None:
        # What was given may be the key itself, so the message must not repeat it.
        if name is not None and not _VARIABLE.fullmatch(name):
            raise ValueError("must be the name of an environment variable, never the key itself")
        return name

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


class RubricsSection(Section):
    """Which rubric version judges: a packaged name, or the path of a folder of your own."""

    version: str = DEFAULT_VERSION
    router: Literal["rules", "llm", "joint"] = "rules"
    fine: OnOff = "auto"
    on_fine_error: Literal["fail", "coarse"] = "fail"


class FramesSection(Section):
    """How much of a run the judge is shown. `max_chars` bounds all shown steps together."""

    max_frames: int = Field(default=10, ge=1)
    max_chars: int = Field(default=24_000, ge=500)
    max_image_px: int = Field(default=1024, ge=16)


class StepsSection(Section):
    """Whether and how single steps are judged."""

    mode: Literal["none", "whole", "prefix"] = "none"
    at: list[int] | Literal["all"] = Field(default=[3, 6, 9])
    window: int = Field(default=4, ge=1)


class TarlSection(Section):
    """Parameters of judge.collapse.tarl."""

    process: Literal["mean_all", "mean_valid", "sum", "ten_mean"] = "mean_all"
    outcome_weight: float = 10.0
    deviation_penalty: float = 5.0
    process_clip: float = Field(default=5.0, ge=0)


class GvpoSection(Section):
    """Parameters of judge.collapse.gvpo_process."""

    variant: Literal["bounded", "article"] = "bounded"
    outcome_weight: float = Field(default=0.6, ge=0)
    process_weight: float = Field(default=0.4, ge=0)
    early_error_penalty: float = Field(default=0.3, ge=0)
    late_error_discount: float = Field(default=0.5, ge=0)
    decay: float = Field(default=0.95, gt=0, le=1)
    decay_toward: Literal["early", "late"] = "early"

    @model_validator(mode="after")
    def _weighs_something(self) -> GvpoSection:
        if not self.outcome_weight + self.process_weight > 0:
            raise ValueError("outcome_weight and process_weight must not both be 0")
        return self


Scheme = Literal["score", "success", "tarl", "gvpo_process", "weighted"]

STEPS_MODE = {"tarl": "whole", "gvpo_process": "prefix"}
"""Scheme → the steps.mode that its verdicts come from; the others ask nothing of it."""

Part = Literal["outcome", "success", "score", "tarl", "gvpo_process"]
"""What scheme weighted can blend: R, and the rewards of the other schemes."""


class RewardSection(Section):
    """How verdicts become one number. `weights` are scheme weighted's, by part."""

    scheme: Scheme = "score"
    outcome_from: Literal["auto", "verifier", "judge"] = "auto"
    tarl: TarlSection = TarlSection()
    gvpo: GvpoSection = GvpoSection()
    weights: dict[Part, Annotated[float, Field(ge=0)]] = Field(default_factory=dict)
    tiers: dict[str, float] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _weighs_something(self) -> RewardSection:
        if self.scheme == "weighted" and not sum(self.weights.values()) > 0:
            raise ValueError("scheme weighted needs reward.weights: part names with numbers above 0")
        return self

    @property
    def computed(self) -> tuple[tuple[str, str], ...]:
        """The schemes this needs, each with the key that asks for it: its own, or those it blends."""
        if self.scheme != "weighted":
            return ((self.scheme, "reward.scheme"),)
        return tuple((part, "reward.weights") for part in self.weights)


class CacheSection(Section):
    """Where replies are kept. `dir: null` turns the cache off; keep it on a local disk."""

    dir: Place | None = Field(default_factory=lambda: _cache_home() / "adaptive-judge")
    size_limit_gb: float = Field(default=8.0, gt=0)


class LogSection(Section):
    """Where the reward log goes; `path: null` turns it off. {host} and {pid} are filled in."""

    path: Place | None = Path("reward_log.jsonl")


def _cache_home() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
