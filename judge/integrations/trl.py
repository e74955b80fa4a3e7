"""TRL: a reward for each completion, for GRPOTrainer, RLOOTrainer, AsyncGRPOTrainer and `trl grpo`.

    GRPOTrainer(..., reward_funcs=judge_reward)
    GRPOTrainer(..., reward_funcs=partial(judge_reward, rubric_version="static_v1", on_abstain="raise"))
    trl grpo --reward_funcs judge.integrations.trl.judge_reward ...

`judge_reward` is for a TRL that awaits reward functions (0.29 and newer), `judge_reward_sync` for any. Before
1.9 TRL takes a partial only with a name: `rewarding.__name__ = "judge_reward"`. Since then it names it by its
function, and puts the rewards of two of one name into one column: a second judge is a function of your own.

    async def strict(*args, **kwargs):
        return await judge_reward(*args, rubric_version="static_v1", log_as="strict", **kwargs)

What prompts, completions, columns and environments mean is said in `completions`.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, get_args

from judge.errors import ConfigError, JudgeError
from judge.integrations.abstaining import group_mean
from judge.integrations.completions import records
from judge.integrations.hosted import ajudged, judged
from judge.integrations.recent import typical
from judge.integrations.telling import tell, why
from judge.judging import Judge
from judge.rewarding import judge_for
from judge.schema import Reward

__all__ = ["judge_reward", "judge_reward_sync"]

OnAbstain = Literal["group_mean", "none", "zero", "raise"]
_INSTEAD: dict[OnAbstain, str] = {
    **{"group_mean": "the mean of the group", "none": "None"},
    **{"zero": "0.0", "raise": "an exception"},
}
LogExtra = Callable[[str, list[Any]], None]
LogMetric = Callable[[str, float], None]

WITHIN_S = 900.0
"""Half of the 30 minutes that ranks wait for each other (ddp_timeout): they do not all begin at once."""


async def judge_reward(
    prompts: Sequence[Any],
    completions: Sequence[Any],
    completion_ids: Sequence[Any] | None = None,
    trainer_state: Any = None,
    log_extra: LogExtra | None = None,
    log_metric: LogMetric | None = None,
    environments: Sequence[Any] | None = None,
    *,
    rubric_version: str | None = None,
    on_abstain: OnAbstain = "group_mean",
    within_s: float = WITHIN_S,
    settings: Mapping[str, Any] | None = None,
    log_as: str = "judge",
    **columns: Any,
) -> list[float | None]:
    """A reward for each completion, in their order, in the range of the configured scheme ([0, 1] for score).

    The trainer gives the arguments before the star, as far as it has them, and the columns; functools.partial
    sets the others. `settings` are sections or keys of Config, as reward_fn takes them; what they and
    `rubric_version` leave open, JUDGE_BASE_URL, JUDGE_MODEL and JUDGE_CONFIG say. No completion waits longer
    than `within_s` seconds.

    `on_abstain` says what a completion gets whose judgement failed, which is no score. Where it is left at
    group_mean, an on_error of zero or raise in the configuration goes over it.

    - group_mean: the mean of its group's rewards, so that its advantage is 0, or what other reward functions
      make of it. A group is the completions of one `group` column, or else of equal prompts (with equal
      `task_id` and `id`, if there are such columns). Where environments add observations that differ to one
      prompt, name its group in a column. Completions of a group without any reward get the mean of this
      judge's latest rewards, 0.5 before its first. A rank sees its own completions only: where ranks hold
      parts of groups, a failed completion has the mean of a part, and so an advantage. Take none there. On
      the std: `abstaining`.
    - none: None. Safe in TRL 1.6 and newer, which leaves it out of mean and std, over all ranks, and there as
      the only reward function or with multi_objective_aggregation="normalize_then_sum"; in any other case it
      counts as 0.
    - zero: 0.0, as if the run had failed: only for who wants just that.
    - raise: JudgeError, which ends the training. Of several ranks, the others wait until ddp_timeout.

    Each call logs the columns judge_trajectory_id, judge_explanation and judge_error ("" where all went well)
    and the metrics judge/abstain_frac (the share that failed), judge/cost (of the batch; 0 without
    judge.price_per_million) and judge/seconds. `log_as` replaces "judge" in them, for a trainer with two of
    these functions. The logger judge.integrations warns of failures, for as long as there are any.

    Raises ConfigError or RubricError for settings that cannot be used, such as no endpoint.
    """
    judge = _judge(rubric_version, settings, within_s, on_abstain, log_as)
    step = getattr(trainer_state, "global_step", None)
    samples = records(prompts, completions, columns, environments, step)
    started = time.perf_counter()
    rewards = await ajudged(judge, samples, within_s=within_s)
    _tell(log_extra, log_metric, log_as, samples, rewards, time.perf_counter() - started)
    return _settled(judge, rewards, samples, _chosen(on_abstain, judge))


def judge_reward_sync(
    prompts: Sequence[Any],
    completions: Sequence[Any],
    completion_ids: Sequence[Any] | None = None,
    trainer_state: Any = None,
    log_extra: LogExtra | None = None,
    log_metric: LogMetric | None = None,
    environments: Sequence[Any] | None = None,
    *,
    rubric_version: str | None = None,
    on_abstain: OnAbstain = "group_mean",
    within_s: float = WITHIN_S,
    settings: Mapping[str, Any] | None = None,
    log_as: str = "judge",
    **columns: Any,
) -> list[float | None]:
    """As judge_reward, for a trainer that awaits nothing. The judge's calls are as concurrent as there."""
    judge = _judge(rubric_version, settings, within_s, on_abstain, log_as)
    step = getattr(trainer_state, "global_step", None)
    samples = records(prompts, completions, columns, environments, step)
    started = time.perf_counter()
    rewards = judged(judge, samples, within_s=within_s)
    _tell(log_extra, log_metric, log_as, samples, rewards, time.perf_counter() - started)
    return _settled(judge, rewards, samples, _chosen(on_abstain, judge))


def _judge(rubric_version: Any, settings: Any, within_s: Any, on_abstain: Any, log_as: Any) -> Judge:
    # A dataset's column of the same name arrives here as a list, in place of what a partial had set.
    given = {
        **{"rubric_version": rubric_version, "settings": settings, "within_s": within_s},
        **{"on_abstain": on_abstain, "log_as": log_as},
    }
    for name, value in given.items():
        if isinstance(value, list):
            raise ConfigError(f"{name} is a list; is it a column? Rename that")
    if on_abstain not in get_args(OnAbstain):
        raise ConfigError(f"on_abstain is {on_abstain!r}; it is one of {', '.join(get_args(OnAbstain))}")
    return judge_for(rubric_version, settings)


def _chosen(on_abstain: OnAbstain, judge: Judge) -> OnAbstain:
    of_config = judge.config.on_error
    return of_config if on_abstain == "group_mean" and of_config != "none" else on_abstain


def _tell(
    log_extra: LogExtra | None,
    log_metric: LogMetric | None,
    name: str,
    samples: Sequence[Mapping[str, Any]],
    rewards: Sequence[Reward],
    seconds: float,
) -> None:
    """The same columns and metrics in every call: ranks gather them in step with each other."""
    if log_extra is not None:
        log_extra(f"{name}_trajectory_id", [sample["trajectory_id"] for sample in samples])
        log_extra(f"{name}_explanation", [each.verdict.reason if each.verdict else "" for each in rewards])
        log_extra(f"{name}_error", [why(each) for each in rewards])
    if log_metric is not None:
        failed = sum(each.value is None for each in rewards)
        log_metric(f"{name}/abstain_frac", failed / max(len(rewards), 1))
        log_metric(f"{name}/cost", sum(each.cost or 0.0 for each in rewards))
        log_metric(f"{name}/seconds", seconds)


def _settled(
    judge: Judge, rewards: Sequence[Reward], samples: Sequence[Mapping[str, Any]], on_abstain: OnAbstain
) -> list[float | None]:
    values, usual = [each.value for each in rewards], typical(judge, [each.value for each in rewards])
    failed = [each for each in rewards if each.value is None]
    tell(judge, rewards, _INSTEAD[on_abstain])
    if failed and on_abstain == "raise":
        raise JudgeError(failed[0].error_kind or "", failed[0].error or "the judgement failed")
    if not failed or on_abstain == "none":
        return values
    if on_abstain == "zero":
        return [0.0 if value is None else value for value in values]
    return [*group_mean(values, [_group(sample) for sample in samples], usual)]


def _group(sample: Mapping[str, Any]) -> str:
    """What the completions of one prompt have in common."""
    if "group" in sample:
        return json.dumps(["group", sample["group"]], default=repr)
    named = [sample.get("task_id"), sample.get("id"), sample["prompt"]]
    return json.dumps(named, sort_keys=True, default=_content)


def _content(value: Any) -> str:
    """An image by its pixels, since each rollout may hold a copy of its own."""
    return hashlib.sha256(value.tobytes()).hexdigest() if hasattr(value, "tobytes") else repr(value)
