"""The stages in order: route, rubric, key frames, prompt, call, verdict, collapse.

The only package that calls a client. A judgement that fails here becomes a Reward without a value and a
line in the log that says why; it never becomes a number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from judge import frames, injection, prompt, route, verdict
from judge.cache import ReplyCache
from judge.config import Config, FramesSection
from judge.errors import ConfigError, InputError, JudgeError
from judge.log import Judgement
from judge.pipeline.asking import Asking, Client
from judge.pipeline.fine import FineItems, read_fine
from judge.pipeline.rewarded import DID_NOTHING, failed, reward_of, verifier_reward
from judge.pipeline.version import Version
from judge.schema import (
    Call,
    Content,
    Deadline,
    Frame,
    Reply,
    Request,
    Reward,
    Rubric,
    StepVerdict,
    Trajectory,
    TrajectoryVerdict,
)

__all__ = ["Client", "Pipeline", "Version"]

T = TypeVar("T")
Graded = tuple[TrajectoryVerdict, list[StepVerdict]]


@dataclass
class _Notes:
    """What one judgement has found out so far, for its log line."""

    deadline: Deadline
    category: str = "general"
    rubric: Rubric | None = None
    frame_count: int = 0
    omitted_steps: int = 0
    omitted_chars: int = 0
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

    async def judge(self, run: Trajectory, version_name: str, repeat: int = 0) -> Judgement:
        """Judge one run. A failure of any kind named in ERROR_KINDS is in the Judgement, not raised."""
        version, notes = self.version(version_name), _Notes(Deadline(self._config.judge.deadline_s))
        try:
            reward = await self._reward(run, version, notes, repeat)
        except ConfigError:
            raise  # Not this run's fault, and no other run would fare better.
        except JudgeError as error:
            reward = failed(error)
        return self._judgement(run, version, notes, reward, repeat)

    async def _reward(self, run: Trajectory, version: Version, notes: _Notes, repeat: int) -> Reward:
        if run.verifier_only:
            return verifier_reward(run)
        if run.is_empty:
            return self._empty(run)
        coarse = self._route(run, version, notes)
        fine = await self._fine(run, version, coarse, notes)
        notes.rubric, notes.fine_dropped = version.library.rubric(coarse.category, fine.kept), fine.dropped
        try:
            judged, steps = await self._grade(run, version, notes, repeat, self._config.frames)
        except JudgeError as error:
            if error.kind != "context_length" or self._config.context_retry == "off":
                raise
            notes.flags.append("fewer_frames")
            judged, steps = await self._grade(run, version, notes, repeat, _halved(self._config.frames))
        return reward_of(run, judged, steps, self._config.reward)

    async def _grade(
        self, run: Trajectory, version: Version, notes: _Notes, repeat: int, limits: FramesSection
    ) -> Graded:
        content = self._content(run, version, notes, limits)
        request = prompt.trajectory_request(version.prompts, content, repeat)
        return await self._ask(request, lambda reply: _read_graded(reply, content), version, notes)

    async def _ask(self, request: Request, read: Callable[[Reply], T], version: Version, notes: _Notes) -> T:
        timed = replace(request, deadline=notes.deadline)
        return await self._asking.ask(timed, read, version.prompts, notes.calls)

    def _empty(self, run: Trajectory) -> Reward:
        """An agent that did nothing failed; a run that never took place says nothing about the agent."""
        if run.outcome.status != "ok" and not run.steps:
            raise InputError(
                f"outcome.status is {run.outcome.status!r} and there is no step: nothing to judge"
            )
        if self._config.on_empty == "error":
            raise JudgeError("empty_trajectory", "the agent did nothing, and on_empty is error")
        return reward_of(run, DID_NOTHING, [], self._config.reward)

    def _route(self, run: Trajectory, version: Version, notes: _Notes) -> Rubric:
        routed = route.route(run, version.library.cues)
        notes.category = routed.category
        notes.routing = {"reason": routed.reason, "cues": [list(hit) for hit in routed.hits]}
        return version.library.rubric(routed.category)

    async def _fine(self, run: Trajectory, version: Version, coarse: Rubric, notes: _Notes) -> FineItems:
        """The same for every run of a task, or siblings would be judged by different rubrics."""
        if version.fine == "off":
            return FineItems()
        request = prompt.fine_request(version.prompts, run.instruction, coarse)
        try:
            return await self._ask(
                request, lambda reply: read_fine(reply, run.instruction, coarse.coarse), version, notes
            )
        except JudgeError:
            if self._config.rubrics.on_fine_error == "fail":
                raise
            notes.flags.append("fine_failed")
            return FineItems()

    def _content(self, run: Trajectory, version: Version, notes: _Notes, limits: FramesSection) -> Content:
        mode = self._config.steps.mode
        max_frames = None if version.library.settings.frames == "all" else limits.max_frames
        shown = frames.select_key_frames(run.steps, notes.category, max_frames, limits.max_chars)
        notes.frame_count = len(shown)
        notes.omitted_steps = len(run.steps) - sum(1 + frame.repeats for frame in shown)
        notes.omitted_chars = sum(frame.cut for frame in shown)
        if notes.omitted_steps or notes.omitted_chars:
            notes.flags.append("trajectory_truncated")
        if injection.suspicions([run.instruction, *_shown_texts(shown)]):
            notes.flags.append("injection_suspected")
        whole = mode == "whole"
        return Content(
            instruction=run.instruction,
            context=run.context,
            rubric=notes.rubric,
            frames=tuple(shown),
            total_steps=len(run.steps),
            lines=prompt.step_lines(run.steps) if whole else (),
            verify=tuple(step.index for step in run.steps) if whole else (),
            mode=mode,
        )

    def _judgement(
        self, run: Trajectory, version: Version, notes: _Notes, reward: Reward, repeat: int
    ) -> Judgement:
        costs = [call.cost for call in notes.calls if call.cost is not None]
        reward = reward.model_copy(
            update={
                "flags": tuple(dict.fromkeys([*reward.flags, *notes.flags])),
                "fingerprint": version.fingerprint,
                "cost": sum(costs) if costs else None,
                "trajectory_id": run.trajectory_id,
                "rubric_version": version.library.version,
            }
        )
        purpose = "trajectory" if self._config.steps.mode == "none" else "steps"
        return Judgement(
            trajectory=run,
            rubric=notes.rubric,
            category=notes.category,
            rubric_version=version.library.version,
            rubric_hash=version.library.hash,
            prompt_set=version.prompts.name,
            frame_count=notes.frame_count,
            omitted_steps=notes.omitted_steps,
            omitted_chars=notes.omitted_chars,
            judge_model=self._asking.endpoint(purpose).model or "",
            repeat=repeat,
            scheme=self._config.reward.scheme,
            reward=reward,
            calls=tuple(notes.calls),
            fine_dropped=notes.fine_dropped,
            routing=notes.routing,
        )


def _shown_texts(shown: Sequence[Frame]) -> Iterator[str]:
    for frame in shown:
        yield from (frame.text, frame.action, frame.observation, frame.state)
        if isinstance(frame.error, str):
            yield frame.error


def _halved(limits: FramesSection) -> FramesSection:
    """Half the frames and half their text, for an endpoint whose context could not hold them."""
    return limits.model_copy(
        update={"max_frames": max(1, limits.max_frames // 2), "max_chars": limits.max_chars // 2}
    )


def _read_graded(reply: Reply, content: Content) -> Graded:
    finish = reply.finish_reason or "stop"
    judged = verdict.parse_verdict(
        reply.text, finish_reason=finish, rubric=content.rubric, verdict_id=reply.verdict_id
    )
    steps: list[StepVerdict] = []
    if content.mode != "none":
        steps = verdict.parse_steps(
            reply.text, content.verify, mode=content.mode, finish_reason=finish, verdict_id=reply.verdict_id
        )
    if reply.flags:
        judged = judged.model_copy(update={"flags": (*judged.flags, *reply.flags)})
    return judged, steps
