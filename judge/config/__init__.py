"""Settings: `Config(...)`, `Config.load(path, ...)`, and what each key means.

Precedence: keyword over JUDGE_BASE_URL and JUDGE_MODEL over the file over OPENAI_BASE_URL. The sections are
judge.config.sections', reading files and the environment is judge.config.loading's. No API key is a setting.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from judge.config.faults import explain
from judge.config.loading import load_yaml, with_environment
from judge.config.sections import (
    DEFAULT_VERSION,
    EMBEDDED_MODEL,
    STEPS_MODE,
    CacheSection,
    Endpoint,
    FramesSection,
    GvpoSection,
    JudgeSection,
    LogSection,
    Price,
    RewardSection,
    RubricsSection,
    Scheme,
    Section,
    StepsSection,
    TarlSection,
    switch,
)
from judge.errors import ConfigError

__all__ = [
    "DEFAULT_VERSION",
    "EMBEDDED_MODEL",
    "STEPS_MODE",
    "CacheSection",
    "Config",
    "Endpoint",
    "FramesSection",
    "GvpoSection",
    "JudgeSection",
    "LogSection",
    "Price",
    "RewardSection",
    "RubricsSection",
    "Scheme",
    "StepsSection",
    "TarlSection",
    "explain",
    "load_yaml",
]


class Config(Section):
    """All settings of a Judge. Sections are given as mappings: Config(judge={"model": ...}).

    Raises ConfigError for anything it does not know: it names the key and, from `load`, the file at fault.
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
    context_retry: Annotated[Literal["off", "fewer_frames"], BeforeValidator(switch)] = "off"

    def __init__(self, **settings: Any) -> None:
        try:
            super().__init__(**with_environment(settings, {}))
        except ValidationError as error:
            raise ConfigError(explain(error)) from None

    @classmethod
    def load(cls, path: str | Path | None = None, **overrides: Any) -> Config:
        """Read a YAML (or JSON) file and lay `overrides`, nested mappings like the file's, over it.

        Without `path`, the file that JUDGE_CONFIG names, if any.
        """
        path = path or os.environ.get("JUDGE_CONFIG") or None
        stored = load_yaml(Path(path)) if path else {}
        if stray := [key for key in stored if not isinstance(key, str)]:
            raise ConfigError(f"{path}: {stray[0]!r}: unknown key")
        try:
            return cls(**with_environment(overrides, stored))
        except ConfigError as error:
            where = f"{path}: " if path and not cls._takes(stored) else ""
            raise ConfigError(where + error.message) from None

    @classmethod
    def _takes(cls, stored: dict[str, Any]) -> bool:
        """Whether a file's settings can be used as they are: if so, a fault is in what was laid over them."""
        try:
            cls(**stored)
        except ConfigError:
            return False
        return True

    @model_validator(mode="before")
    @classmethod
    def _empty_sections(cls, settings: Any) -> Any:
        """An empty section is its defaults, but `cache: null` and `log: null` turn them off."""
        if not isinstance(settings, dict):
            return settings
        off = {"cache": {"dir": None}, "log": {"path": None}}
        filled = {key: off.get(key) if value is None else value for key, value in settings.items()}
        return {key: value for key, value in filled.items() if value is not None}

    @model_validator(mode="after")
    def _steps_for_scheme(self) -> Config:
        for scheme, key in self.reward.computed:
            needed = STEPS_MODE.get(scheme)
            if needed and self.steps.mode != needed:
                wanted = f"set steps.mode to {needed} (it is {self.steps.mode})"
                raise ValueError(f"{key} {scheme} needs step verdicts: {wanted}")
        return self
