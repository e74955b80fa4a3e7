"""The reward function of verl, read and run with 0.9.1.

    reward.custom_reward_function.path=pkg://judge.integrations.verl
    +reward.custom_reward_function.reward_kwargs.on_abstain=mean       # only where compute_score says so

It runs in verl's reward actors, one sample at a time. The judge's settings come from JUDGE_BASE_URL,
JUDGE_MODEL and JUDGE_CONFIG (see judge.rewarding) in their environment, or from reward_kwargs.settings. Each
actor has a Judge, and a limit on concurrency, of its own. The manager `remote` takes no async function.

What is judged is told by `extra_info`: the row's own, and what tools put into agent_data.extra_fields (which
`dapo` and `gdpo` leave out).
- `messages` is the whole run, if one of the agent's is among them. In a tool of verl's tool agent
  `agent_data.extra_fields["messages"] = agent_data.messages` does it: that list grows until the run ends.
  Only a reply that one of the agent's limits cuts off is not in it.
- Else the decoded response is one step, after `messages` or `raw_prompt` (verl's v0 loop adds the latter).
- `instruction` or `question` is needed where no message says what was asked.
- `images`, `screens`, `task_id`, `group` and more: see judge.integrations.rows. `step` is by default
  max_global_steps, which V1 records.
`ground_truth` is not looked at.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

from judge.errors import ConfigError, JudgeError
from judge.integrations import recent, rows
from judge.integrations.hosted import ajudged
from judge.integrations.telling import tell
from judge.rewarding import judge_for

__all__ = ["compute_score"]

OnAbstain = float | Literal["raise", "mean"]

WITHIN_S = 280.0
"""Below the 300 s after which verl's `rate_limited` scores a sample 0."""


async def compute_score(
    data_source: str | None = None,
    solution_str: str = "",
    ground_truth: Any = None,
    extra_info: Mapping[str, Any] | None = None,
    reward_router_address: str | None = None,
    reward_model_tokenizer: Any = None,
    *,
    rubric_version: str | None = None,
    settings: Mapping[str, Any] | None = None,
    on_abstain: OnAbstain = "raise",
    within_s: float = WITHIN_S,
    **kwargs: Any,
) -> dict[str, float]:
    """The reward of one sample as `score`, in the range of the configured scheme, and rows.figures beside it.

    The keys never change and their values are finite, because verl collates them by those of the first
    sample. `settings` are sections of Config or keys of its judge section, as reward_fn takes them;
    `within_s` is the time one sample may take, in seconds: keep it below reward.timeout of `rate_limited`.

    `on_abstain` says what a failed judgement becomes; where it is left at "raise", an on_error of zero in the
    configuration makes it 0.0:
    - "raise", the default: JudgeError. verl's V1 trainer (the default of 0.9) trains without the sample:
      async modes replace its whole prompt, sync keeps the siblings and stops only at a batch without one.
      The v0 trainer stops. **Not with `rate_limited`, which turns any exception into a score of 0.**
    - "mean": the mean of this actor's latest good rewards of the same prompt, else of all, else 0.5. For v0
      and `rate_limited`. verl sends each sample to an actor by chance, so that siblings are often elsewhere.
    - a number: that one, which punishes or favours the sample; `judge_abstained` says which those were.

    The logger judge.integrations warns of failures.

    Raises ConfigError and RubricError for settings that cannot be used, whatever `on_abstain` says.
    """
    _check(on_abstain)
    judge = judge_for(rubric_version, rows.plain(settings or {}))
    record = _record(data_source, solution_str, rows.plain(extra_info or {}))
    (reward,) = await ajudged(judge, [record], within_s=within_s)
    if on_abstain == "raise" and judge.config.on_error == "zero":
        on_abstain = 0.0
    if reward.value is None and on_abstain != "mean":
        tell(judge, [reward], "an exception" if on_abstain == "raise" else str(on_abstain))
        if isinstance(on_abstain, str):
            raise JudgeError(reward.error_kind or "", reward.error or "the judgement failed")
        score = float(on_abstain)
    else:
        score = recent.settled(judge, rows.prompt_of(record), reward)
    return {"score": score, **rows.figures(reward)}


def _check(on_abstain: Any) -> None:
    is_number = isinstance(on_abstain, int | float) and not isinstance(on_abstain, bool)
    if on_abstain not in ("raise", "mean") and not (is_number and math.isfinite(on_abstain)):
        raise ConfigError(f"on_abstain is {on_abstain!r}; it is raise, mean or a finite number")


def _record(data_source: str | None, text: str, row: dict[str, Any]) -> dict[str, Any]:
    row.setdefault("step", row.get("max_global_steps"))
    messages = row.get("messages") or row.get("raw_prompt") or []
    told = rows.record(row, messages, None if row.get("messages") and _has_agent(messages) else text)
    return {**told, "metadata": {"source": data_source}}


def _has_agent(messages: Any) -> bool:
    return any(isinstance(each, Mapping) and each.get("role") == "assistant" for each in messages)
