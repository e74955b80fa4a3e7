"""A fine-rubric reply → the items that may be used, and why the others may not."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from judge import rubric, verdict
from judge.errors import JudgeError
from judge.schema import Reply, RubricItem


@dataclass(frozen=True)
class FineItems:
    """At most two items grounded in the instruction's own words; what was dropped, and the reasons."""

    kept: tuple[RubricItem, ...] = ()
    dropped: tuple[dict[str, str], ...] = ()


def read_fine(reply: Reply, instruction: str, coarse: tuple[RubricItem, ...]) -> FineItems:
    """Raises JudgeError for a reply that holds no list of items."""
    return _read(reply.text, reply.finish_reason or "stop", reply.verdict_id, instruction, coarse)


# Every rollout of a task reads the same reply.
@lru_cache(maxsize=1024)
def _read(
    text: str, finish_reason: str, verdict_id: str | None, instruction: str, coarse: tuple[RubricItem, ...]
) -> FineItems:
    found = verdict.parse_object(text, keys=("items",), finish_reason=finish_reason, verdict_id=verdict_id)
    proposed = found.get("items")
    if not isinstance(proposed, list):
        raise JudgeError("invalid_verdict", '"items" must be a list', raw=text)
    examined = rubric.sift(proposed, instruction, coarse)
    kept = tuple(item for item, why in examined if why is None)
    return FineItems(kept, tuple({"item": str(item), "why": why} for item, why in examined if why))
