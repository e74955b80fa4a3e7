"""`reward_fn` and `areward_fn`: one sample in, one number out, for any trainer that takes a callable.

Module-level, picklable and safe to call from threads, event loops, and forked or spawned workers. Judges
are kept per process and configuration, so that connections and caches are shared between calls.
"""

from __future__ import annotations

import json
import os
import threading
import warnings
from collections.abc import Mapping
from typing import Any, Literal, get_args

from judge.config import DEFAULT_VERSION, Config, Endpoint
from judge.config.sections import Section
from judge.errors import ConfigError, InputError, JudgeError
from judge.judging import Judge
from judge.readers import trajectory_from
from judge.schema import Reward

OnError = Literal["none", "zero", "raise"]

_ENVIRONMENT = (
    "JUDGE_BASE_URL",
    "JUDGE_MODEL",
    "JUDGE_CONFIG",
    "JUDGE_API_KEY",
    "OPENAI_BASE_URL",
    "OPENAI_API_KEY",
)

_judges: dict[tuple[Any, ...], Judge] = {}
_lock = threading.Lock()


def reward_fn(
    sample: Mapping[str, Any],
    rubric_version: str = DEFAULT_VERSION,
    *,
    on_error: OnError = "none",
    **overrides: Any,
) -> float | None:
    """The reward of one sample, in the range of the configured scheme (`score` by default: [0, 1]).

    `sample` is a native trajectory or {"instruction", "frames": [{"action", "text", "state", ...}],
    "task_id", "step"}. `overrides` are sections of Config (judge={...}, frames={...}) or, for short, keys of
    its judge section (model=..., base_url=...). What is not given comes from JUDGE_BASE_URL, JUDGE_API_KEY
    and JUDGE_MODEL, then the file JUDGE_CONFIG names, then OPENAI_BASE_URL and OPENAI_API_KEY.

    A failed judgement is no score: by `on_error` it gives None (none), 0.0 (zero) or raises JudgeError
    (raise); where `on_error` is left at none, the configuration's own decides. Raises ConfigError, whatever
    `on_error` says, where no endpoint is configured.
    """
    _check(on_error)
    judge = judge_for(rubric_version, overrides)
    try:
        reward = judge.score(trajectory_from(sample))
    except InputError as error:
        reward = _unusable(error)
    return _settle(reward, judge.config.on_error if on_error == "none" else on_error)


async def areward_fn(
    sample: Mapping[str, Any],
    rubric_version: str = DEFAULT_VERSION,
    *,
    on_error: OnError = "none",
    **overrides: Any,
) -> float | None:
    """As reward_fn, without blocking the caller's event loop."""
    _check(on_error)
    judge = judge_for(rubric_version, overrides)
    try:
        reward = await judge.ascore(trajectory_from(sample))
    except InputError as error:
        reward = _unusable(error)
    return _settle(reward, judge.config.on_error if on_error == "none" else on_error)


def judge_for(
    rubric_version: str | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> Judge:
    """The Judge of this process for these settings (`overrides`: see reward_fn), made on first use.

    Without a `rubric_version` the configured one is used. Raises ConfigError, as Judge does.
    """
    _check_settings(overrides)
    key = (
        os.getpid(),
        rubric_version,
        _spelled(overrides or {}),
        *(os.environ.get(name) for name in _ENVIRONMENT),
    )
    with _lock:
        if key not in _judges:
            _judges[key] = Judge(Config.load(**_sections(overrides or {}, rubric_version)))
        return _judges[key]


def _spelled(overrides: Mapping[str, Any]) -> str:
    try:
        return json.dumps(overrides, sort_keys=True, default=str)
    except TypeError:  # Keys that JSON cannot hold or sort: whether they may be is for Config to say.
        return repr(overrides)


def _check(on_error: str) -> None:
    if on_error not in get_args(OnError):
        raise ConfigError(f"on_error is {on_error!r}; it is one of {', '.join(get_args(OnError))}")


def _check_settings(overrides: Any) -> None:
    if overrides is not None and not isinstance(overrides, Mapping):
        kind = type(overrides).__name__
        raise ConfigError(f"settings are keys and their values, not a {kind}; JUDGE_CONFIG names a file")
    for key in overrides or {}:
        if not isinstance(key, str):
            raise ConfigError(f"settings: unknown key {key!r}")


def _sections(overrides: Mapping[str, Any], rubric_version: str | None) -> dict[str, Any]:
    flat = {key: value for key, value in overrides.items() if key in Endpoint.model_fields}
    sections = {key: value for key, value in overrides.items() if key not in flat}
    version = {"version": rubric_version} if rubric_version else {}
    over = {"judge": flat, "rubrics": version}
    return {**sections, **{name: _under(sections.get(name), keys) for name, keys in over.items()}}


def _under(section: Any, keys: Mapping[str, Any]) -> Any:
    """The section with `keys` over its own; what is no section stays, for Config to refuse by its name."""
    if isinstance(section, Section):
        section = section.model_dump(exclude_unset=True)
    return {**(section or {}), **keys} if isinstance(section, Mapping | None) else section


def _settle(reward: Reward, on_error: OnError) -> float | None:
    if reward.error_kind is None or on_error == "none":
        return reward.value
    if on_error == "zero":
        return 0.0
    raise JudgeError(reward.error_kind, reward.error or "the judgement failed")


def _unusable(error: InputError) -> Reward:
    warnings.warn(f"a sample that is no trajectory was not judged: {error}", stacklevel=3)
    return Reward(value=None, error_kind=error.kind, error=error.message)


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
