"""The reward function of OpenRLHF, read with 0.9.5 to 0.11.2, and run with 0.10.4 and 0.11.2.

OpenRLHF takes a file, `--reward.remote_url reward_func.py`, which holds:

    from judge.integrations.openrlhf import check, reward_func

    check()

The judge's settings come from JUDGE_BASE_URL, JUDGE_MODEL and JUDGE_CONFIG (see judge.rewarding) in the
environment of its Ray workers; `check()` stops the run where they cannot be used, before anything is
generated. Settings of one run: `reward_func = functools.partial(reward_func, rubric_version="static_v1")`.

It is called once for each response, in threads of the engine's actor: at most min(32, CPUs + 4) at a time.
Agents (`--train.agent_func_path`) do not call it; a step of theirs may, and then needs tensors:
torch.tensor([result["rewards"]]).

A query is the prompt and the response with their special tokens: roles are read in the prompt where its
template is known, and the response is one step. The label (`--data.label_key`) never reaches the judge, but
for the fields of judge.integrations.rows where it is a mapping: `instruction`, `task_id`, `images`, ...; and
`messages`, which are the prompt's and go over what was read from its text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from statistics import fmean
from typing import Any

from judge.integrations import recent, rows
from judge.integrations.hosted import judged
from judge.integrations.telling import tell
from judge.integrations.templates import read_prompt, response_of
from judge.judging import Judge
from judge.rewarding import judge_for
from judge.schema import Reward

__all__ = ["check", "reward_func"]

WITHIN_S = 170.0
"""Below the 180 s that OpenRLHF allows a reward server; functions it does not limit."""


def reward_func(
    queries: Sequence[str],
    prompts: Sequence[str],
    labels: Sequence[Any] | None = None,
    *,
    rubric_version: str | None = None,
    settings: Mapping[str, Any] | None = None,
    neutral: float = recent.NEUTRAL,
    within_s: float = WITHIN_S,
    **kwargs: Any,
) -> dict[str, Any]:
    """{"rewards", "scores", "extra_logs"} of the responses: numbers for one query, lists of them for more.

    `rewards` are in the range of the configured scheme, `scores` the same cut to [0, 1], which is what
    dynamic filtering expects; `extra_logs` are rows.figures, the means over the queries. All are plain
    numbers: they may be sent as JSON. `settings` are as reward_fn takes them; `within_s` is the time the
    call may take, in seconds.

    No sample raises: OpenRLHF would log the exception as news, and stop at the missing reward later, or mix
    it up with others. Nor does it know "no reward", so that **a failed judgement does get a number**: the
    mean of this process's latest good rewards of the same prompt (its siblings are generated here), else of
    all prompts, else `neutral`; or 0.0, where on_error of the configuration is zero. `judge_abstained` in
    extra_logs tells how often, and should stay near 0; the logger judge.integrations warns of failures.

    Raises ConfigError and RubricError for settings that cannot be used, OSError where the log cannot be
    written: no number could stand for that.
    """
    judge = judge_for(rubric_version, settings)
    samples = zip_longest(queries, prompts, labels or (), fillvalue="")
    records = [_record(query, prompt, label) for query, prompt, label in list(samples)[: len(queries)]]
    rewards = judged(judge, records, within_s=within_s)
    told = [rows.figures(reward) for reward in rewards]
    together = zip(records, rewards, strict=True)
    values = [_settled(judge, rows.prompt_of(record), reward, neutral) for record, reward in together]
    return {
        "rewards": _alone(values),
        "scores": _alone([min(max(value, 0.0), 1.0) for value in values]),
        "extra_logs": {name: fmean(each[name] for each in told) for name in told[0]} if told else {},
    }


def check(rubric_version: str | None = None, settings: Mapping[str, Any] | None = None) -> None:
    """Raises ConfigError or RubricError where reward_func would, at the time OpenRLHF loads the file."""
    judge_for(rubric_version, settings)


def _record(query: str, prompt: str, label: Any) -> dict[str, Any]:
    row = rows.plain(label) if isinstance(label, Mapping) else {}
    read = read_prompt(prompt)
    return rows.record(row, row.get("messages") or read.messages, read.opened + response_of(query, prompt))


def _settled(judge: Judge, prompt: str, reward: Reward, neutral: float) -> float:
    if reward.value is None and judge.config.on_error == "zero":
        tell(judge, [reward], "0.0")
        return 0.0
    return recent.settled(judge, prompt, reward, neutral)


def _alone(values: list[float]) -> float | list[float]:
    return values[0] if len(values) == 1 else values
