"""The stages in order: route, rubric, key frames, prompt, call, verdict, collapse.

The only package that calls a client. A judgement that fails here becomes a Reward without a value and a
line in the log that says why; it never becomes a number.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, TypeVar

from judge.cache import ReplyCache
from judge.config import Config, FramesSection, RubricsSection
from judge.errors import ConfigError, InputError, JudgeError
from judge.log import Judgement
from judge.pipeline.asking import Answer, Asking, Client
from judge.pipeline.preparing import Prepared, prepare
from judge.pipeline.preview import Nobody, Preview, Unasked, asking_less
from judge.pipeline.questions import Question, Terms, questions, verdict_question
from judge.pipeline.reading import Graded, together
from judge.pipeline.rewarded import DID_NOTHING, failed, reward_of, verifier_reward
from judge.pipeline.shown import Shown
from judge.pipeline.version import Version
from judge.schema import (
    Call,
    Deadline,
    Reply,
    Request,
    Reward,
    Rubric,
    Trajectory,
)

__all__ = ["Answer", "Client", "Nobody", "Pipeline", "Prepared", "Preview", "Version"]

T = TypeVar("T")

_FOR_CALLS = 0.95
"""The share of a caller's limit that calls may take: one that ends by itself can say what it took."""


@dataclass
class _Notes:
    """What one judgement has found out so far, for its log line."""

    deadline: Deadline
    category: str = "general"
    rubric: Rubric | None = None
    shown: Shown | None = None
    calls: list[Call] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)
    fine_dropped: tuple[dict[str, str], ...] = ()
    routing: dict[str, Any] | None = None


class Pipeline:
    """Judges trajectories, any number of them concurrently, on one event loop."""

    def __init__(self, config: Config, client: Client, cache: ReplyCache) -> None:
        self._config = config
        self._asking = Asking(config.judge, client, cache)
        self._versions: dict[str, Version] = {}

    def version(self, name: str) -> Version:
        """The rubric version of that name, loaded on first use; raises ConfigError or RubricError."""
        if name not in self._versions:
            self._versions[name] = Version.load(self._config, name)
        return self._versions[name]

    async def judge(
        self, run: Trajectory, version_name: str, repeat: int = 0, within_s: float | None = None
    ) -> Judgement:
        """Judge one run. A failure of any kind named in ERROR_KINDS is in the Judgement, not raised.

        `within_s` seconds from now, by the clock on the wall, the judgement has failed with kind timeout.
        """
        version, notes = self.version(version_name), _Notes(self._deadline(within_s))
        limit = asyncio.timeout(within_s)
        try:
            async with limit:
                reward = await self._reward(run, version, notes, repeat)
        except ConfigError:
            raise  # Not this run's fault, and no other run would fare better.
        except JudgeError as error:
            reward = failed(error)
        except TimeoutError:
            if not limit.expired():
                raise
            reward = failed(JudgeError("timeout", f"no verdict within the {within_s:g} s that were allowed"))
        return self._judgement(run, version, notes, reward, repeat)

    async def prepare(self, run: Trajectory, version_name: str) -> Answer[Prepared]:
        """Ask what belongs to the run's instruction, as judging it would, and judge nothing."""
        version, notes = self.version(version_name), _Notes(Deadline(self._config.judge.deadline_s))
        # Going on with the coarse rubric alone is for judging: here it would hide what is missing.
        settings = self._config.rubrics.model_copy(update={"on_fine_error": "fail"})
        try:
            prepared = await self._prepare(run, version, notes, settings)
        except ConfigError:
            raise
        except JudgeError as error:
            return Answer(error=error, calls=tuple(notes.calls))
        return Answer(prepared, calls=tuple(notes.calls))

    async def preview(self, run: Trajectory, version_name: str) -> Preview:
        """What `judge` would ask about one run, made by the same steps; the verdict itself is not asked for.

        Fine rubrics come from the cache or from the client: on `Nobody`, no call is made.
        """
        version, notes = self.version(version_name), _Notes(Deadline(self._config.judge.deadline_s))
        try:
            reward = self._uncalled(run)
        except JudgeError as error:
            reward = failed(error)
        if reward is not None:
            return Preview(run, version, notes.category, self._config.frames, reward=reward)
        unasked = await self._prepare_as_known(run, version, notes)
        request, shown = verdict_question(run, self._terms(version, notes, 0, self._config.frames))
        return Preview(
            run,
            version,
            notes.category,
            self._config.frames,
            routing=notes.routing,
            rubric=notes.rubric,
            request=request,
            unasked=unasked,
            fine_dropped=notes.fine_dropped,
            suspicions=shown.suspicions,
        )

    def _deadline(self, within_s: float | None) -> Deadline:
        return Deadline(self._config.judge.deadline_s, None if within_s is None else _FOR_CALLS * within_s)

    async def _reward(self, run: Trajectory, version: Version, notes: _Notes, repeat: int) -> Reward:
        if (reward := self._uncalled(run)) is not None:
            return reward
        await self._prepare(run, version, notes, self._config.rubrics)
        try:
            judged, steps = await self._grade(run, version, notes, repeat, self._config.frames)
        except JudgeError as error:
            if error.kind != "context_length" or self._config.context_retry == "off":
                raise
            notes.flags.append("fewer_frames")
            judged, steps = await self._grade(run, version, notes, repeat, _halved(self._config.frames))
        return reward_of(run.outcome, judged, steps, self._config.reward)

    async def _grade(
        self, run: Trajectory, version: Version, notes: _Notes, repeat: int, limits: FramesSection
    ) -> Graded:
        """The verdict on the run, and on its steps where they are judged too."""
        asked = await self._questions(run, version, notes, repeat, limits)
        if len(asked) == 1:
            [(request, read)] = asked
            answer = await self._ask(request, lambda reply: read(reply, request.content), version, notes)
            return together([answer])
        # Every part of a long run was asked about the run as a whole; the last has its end before its eyes.
        return together(await self._ask_together(asked, version, notes))

    async def _questions(
        self, run: Trajectory, version: Version, notes: _Notes, repeat: int, limits: FramesSection
    ) -> list[Question]:
        """All that has to be asked about a run once its rubric stands; the last one asks for the verdict."""
        terms = self._terms(version, notes, repeat, limits)
        # Opening pictures takes milliseconds each: other runs go on meanwhile.
        pictured = [step for step in run.steps if step.screenshot is not None]
        made = await asyncio.to_thread(questions, run, terms) if pictured else questions(run, terms)
        found, notes.shown = made
        return found

    def _terms(self, version: Version, notes: _Notes, repeat: int, limits: FramesSection) -> Terms:
        assert notes.rubric is not None
        return Terms(self._config, self._asking.endpoint, version, notes.rubric, limits, repeat)

    async def _ask_together(self, asked: Sequence[Question], version: Version, notes: _Notes) -> list[Any]:
        """The answers to several questions put at once, in their order; the first failure ends the others."""
        calls: list[list[Call]] = [[] for _ in asked]

        async def ask(question: Question, its_calls: list[Call]) -> Any:
            request, read = question
            timed = replace(request, deadline=notes.deadline.rest())
            return await self._asking.ask(
                timed, lambda reply: read(reply, request.content), version.prompts, its_calls
            )

        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(ask(*each)) for each in zip(asked, calls, strict=True)]
        except BaseExceptionGroup as failures:
            raise failures.exceptions[0] from None
        finally:
            notes.calls.extend(chain.from_iterable(calls))
        return [task.result() for task in tasks]

    async def _ask(self, request: Request, read: Callable[[Reply], T], version: Version, notes: _Notes) -> T:
        timed = replace(request, deadline=notes.deadline)
        return await self._asking.ask(timed, read, version.prompts, notes.calls)

    def _uncalled(self, run: Trajectory) -> Reward | None:
        """The reward of a run that needs no judge; None where one has to be asked."""
        if run.verifier_only:
            return verifier_reward(run.outcome)
        return self._empty(run) if run.is_empty else None

    def _empty(self, run: Trajectory) -> Reward:
        """An agent that did nothing failed; a run that never took place says nothing about the agent."""
        if run.outcome.status != "ok" and not run.steps:
            raise InputError(
                f"outcome.status is {run.outcome.status!r} and there is no step: nothing to judge"
            )
        if self._config.on_empty == "error":
            raise JudgeError("empty_trajectory", "the agent did nothing, and on_empty is error")
        return reward_of(run.outcome, DID_NOTHING, [], self._config.reward)

    async def _prepare(
        self, run: Trajectory, version: Version, notes: _Notes, settings: RubricsSection
    ) -> Prepared:
        """Category and rubric: the same for every run of a task."""

        async def ask(request: Request, read: Callable[[Reply], T]) -> T:
            return await self._ask(request, read, version, notes)

        prepared = await prepare(run, version, settings, ask)
        notes.category, notes.routing = prepared.category, prepared.routing
        notes.rubric = version.library.rubric(prepared.category, prepared.fine.kept)
        notes.fine_dropped = prepared.fine.dropped
        if prepared.fine.failed:
            notes.flags.append("fine_failed")
        return prepared

    async def _prepare_as_known(self, run: Trajectory, version: Version, notes: _Notes) -> Request | None:
        """As _prepare, as far as that goes without an answer nobody has given; the first question for one."""
        unasked: Request | None = None
        for lenient, settings in asking_less(version, self._config.rubrics):
            try:
                await self._prepare(run, lenient, notes, settings)
                break
            except Unasked as question:
                unasked = unasked or question.request
        return unasked

    def _judgement(
        self, run: Trajectory, version: Version, notes: _Notes, reward: Reward, repeat: int
    ) -> Judgement:
        shown_flags = notes.shown.flags if notes.shown else []
        costs = [call.cost for call in notes.calls if call.cost is not None]
        reward = reward.model_copy(
            update={
                "flags": tuple(dict.fromkeys([*reward.flags, *notes.flags, *shown_flags])),
                "fingerprint": version.fingerprint,
                "cost": sum(costs) if costs else None,
                "trajectory_id": run.trajectory_id,
                "rubric_version": version.library.version,
            }
        )
        purpose = "steps" if self._config.steps.mode == "whole" else "trajectory"
        shown = notes.shown
        return Judgement(
            trajectory=run,
            rubric=notes.rubric,
            category=notes.category,
            rubric_version=version.library.version,
            rubric_hash=version.library.hash,
            prompt_set=version.prompts.name,
            frame_count=len(shown.content.frames) if shown else 0,
            omitted_steps=shown.omitted_steps if shown else 0,
            omitted_chars=shown.omitted_chars if shown else 0,
            images=shown.logged_images if shown and "images_not_sent" not in reward.flags else (),
            judge_model=self._asking.endpoint(purpose).model or "",
            repeat=repeat,
            scheme=self._config.reward.scheme,
            reward=reward,
            calls=tuple(notes.calls),
            fine_dropped=notes.fine_dropped,
            routing=notes.routing,
        )


def _halved(limits: FramesSection) -> FramesSection:
    """Half the frames and half their text, for an endpoint whose context could not hold them."""
    return limits.model_copy(
        update={"max_frames": max(1, limits.max_frames // 2), "max_chars": limits.max_chars // 2}
    )
