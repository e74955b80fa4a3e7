"""One stored verdict under every scheme that it allows: each reward with its parts, as a sum if it is one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from judge.cli.stored import Stored
from judge.config import RewardSection, TarlSection
from judge.errors import InputError
from judge.pipeline.rewarded import reward_of
from judge.schema import Reward


def side_by_side(row: dict[str, Any]) -> Iterator[str]:
    """A line for each scheme and reading that the row's verdicts allow; none for a row without a verdict.

    Raises InputError for a row whose verdicts cannot be read.
    """
    stored = Stored.read(row, str(row.get("trajectory_id")))
    if stored.verdict is None:
        return
    for name, settings in _allowed(stored):
        try:
            reward = reward_of(stored.outcome, stored.verdict, stored.steps, settings)
        except InputError as error:
            yield f"  {name:<22} none: {error.message}"
        else:
            yield f"  {name:<22} {made_of(reward)}"


def made_of(reward: Reward) -> str:
    """A reward and its parts: as a sum where they add up to it, else as what it was computed from."""
    if reward.value is None:
        return "none"
    parts = [f"{name} {value:g}" for name, value in reward.parts.items()]
    is_sum = abs(sum(reward.parts.values()) - reward.value) < 1e-9
    return f"{reward.value:g} " + (f"= {' + '.join(parts)}" if is_sum else f"from {', '.join(parts)}")


def _allowed(stored: Stored) -> Iterator[tuple[str, RewardSection]]:
    yield "success", RewardSection(scheme="success")
    yield "score", RewardSection(scheme="score")
    if stored.is_labelled:
        for process in ("mean_all", "mean_valid", "sum", "ten_mean"):
            yield f"tarl, {process}", RewardSection(scheme="tarl", tarl=TarlSection(process=process))
    if stored.is_checked:
        for variant in ("bounded", "article"):
            gvpo = {"scheme": "gvpo_process", "gvpo": {"variant": variant}}
            yield f"gvpo_process, {variant}", RewardSection.model_validate(gvpo)
