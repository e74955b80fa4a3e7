"""What belongs to an instruction and not to a rollout: its category, and its fine rubrics.

Siblings must be judged by one rubric, so all of this is asked once for a task, and where it cannot be had
the judgement fails (unless on_fine_error says to go on with the coarse rubric alone).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from judge import prompt, route, rubric, verdict
from judge.config import RubricsSection
from judge.errors import JudgeError
from judge.pipeline.version import Version
from judge.schema import Reply, Request, RubricItem, Trajectory

Ask = Callable[[Request, Callable[[Reply], Any]], Awaitable[Any]]
"""Puts a request to a judge and returns what the function makes of the reply; raises JudgeError."""


@dataclass(frozen=True)
class FineItems:
    """At most two items grounded in the instruction's own words; what was dropped, and the reasons."""

    kept: tuple[RubricItem, ...] = ()
    dropped: tuple[dict[str, str], ...] = ()
    failed: bool = False


@dataclass(frozen=True)
class Prepared:
    """A category and how it was chosen, and the fine items that go with its coarse rubric."""

    category: str
    routing: dict[str, Any] = field(default_factory=dict)
    fine: FineItems = FineItems()


async def prepare(run: Trajectory, version: Version, settings: RubricsSection, ask: Ask) -> Prepared:
    """Route a run and refine its rubric. Raises JudgeError where a call that was needed failed."""
    library = version.library
    ruled = route.route(run, library.cues)
    routing = {"reason": ruled.reason, "cues": [list(hit) for hit in ruled.hits], "rules": ruled.category}
    if settings.router == "rules" or run.category in library.cues or len(library.cues) < 2:
        return Prepared(ruled.category, routing, await _refine(run, version, ruled.category, settings, ask))
    joint = settings.router == "joint" and version.fine == "on"
    request = prompt.route_request(version.prompts, run.instruction, library.summaries, refine=joint)
    said, proposed = await ask(request, lambda reply: _read_route(reply, joint))
    category = library.rubric(said).category
    routing |= {"reason": "chosen by the judge", "judge": said}
    if joint:
        return Prepared(category, routing, _examined(proposed, run.instruction, _coarse(version, category)))
    return Prepared(category, routing, await _refine(run, version, category, settings, ask))


def foresee(run: Trajectory, version: Version, settings: RubricsSection) -> list[Request]:
    """The questions `prepare` would ask, none of them asked.

    Where a judge routes, the category that the rules choose stands in for its answer.
    """
    asked: list[Request] = []

    async def note(request: Request, read: Callable[[Reply], Any]) -> Any:
        asked.append(request)
        return (ruled, []) if request.purpose == "route" else FineItems()

    ruled = route.route(run, version.library.cues).category
    # Nothing in `prepare` waits but for an answer, and here every answer is there at once.
    with suppress(StopIteration):
        prepare(run, version, settings, note).send(None)
    return asked


async def _refine(
    run: Trajectory, version: Version, category: str, settings: RubricsSection, ask: Ask
) -> FineItems:
    if version.fine == "off":
        return FineItems()
    forced, coarse = version.fine == "forced", version.library.rubric(category)
    request = prompt.fine_request(version.prompts, run.instruction, coarse, forced=forced)
    try:
        found: FineItems = await ask(
            request, lambda reply: _read_fine(*_read_parts(reply), run.instruction, coarse.coarse, forced)
        )
    except JudgeError:
        if settings.on_fine_error == "fail":
            raise
        return FineItems(failed=True)
    return found


# Every rollout of a task reads the same reply.
@lru_cache(maxsize=1024)
def _read_fine(
    text: str,
    finish_reason: str,
    verdict_id: str | None,
    instruction: str,
    coarse: tuple[RubricItem, ...],
    forced: bool,
) -> FineItems:
    found = verdict.parse_object(text, keys=("items",), finish_reason=finish_reason, verdict_id=verdict_id)
    proposed = _listed(found, text)
    if not forced:
        return _examined(proposed, instruction, coarse)
    kept = rubric.force(proposed)
    if len(kept) < rubric.LIMIT:
        raise JudgeError(
            "invalid_verdict", f"exactly {rubric.LIMIT} items with a text are asked for", raw=text
        )
    return FineItems(tuple(kept))


def _read_route(reply: Reply, joint: bool) -> tuple[str, list[Any]]:
    text, finish_reason, verdict_id = _read_parts(reply)
    found = verdict.parse_object(text, keys=("category",), finish_reason=finish_reason, verdict_id=verdict_id)
    category = found.get("category")
    if not isinstance(category, str) or not category.strip():
        raise JudgeError("invalid_verdict", '"category" must name a category', raw=text)
    return category.strip(), _listed(found, text) if joint else []


def _read_parts(reply: Reply) -> tuple[str, str, str | None]:
    return reply.text, reply.finish_reason or "stop", reply.verdict_id


def _listed(found: dict[str, Any], text: str) -> list[Any]:
    if not isinstance(items := found.get("items"), list):
        raise JudgeError("invalid_verdict", '"items" must be a list', raw=text)
    return items


def _examined(proposed: list[Any], instruction: str, coarse: tuple[RubricItem, ...]) -> FineItems:
    examined = rubric.sift(proposed, instruction, coarse)
    kept = tuple(item for item, why in examined if why is None)
    return FineItems(kept, tuple({"item": str(item), "why": why} for item, why in examined if why))


def _coarse(version: Version, category: str) -> tuple[RubricItem, ...]:
    return version.library.rubric(category).coarse
