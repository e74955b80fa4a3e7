"""`Judge`: a configuration that scores trajectories, from any kind of caller.

All judging runs on one background loop per process (judge.loops). Nothing that belongs to a loop or a
process travels when a Judge is pickled or forked: clients, caches and logs are built again on first use.
"""

from __future__ import annotations

import asyncio
import os
import queue
import weakref
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, TypeVar

from judge import loops, pictures
from judge.config import Config
from judge.errors import ConfigError
from judge.log import Judgement
from judge.pipeline import Answer, Client, Prepared, Version
from judge.readers import trajectory_from
from judge.schema import Reward, Trajectory
from judge.workshop import Workshop, release

T = TypeVar("T")

_AHEAD = 8
"""How many trajectories per concurrent call a stream reads ahead of its consumer."""

_AT_WORK = 4
"""Runs at work per concurrent call: while some wait for their task's fine rubrics, others make calls."""

_BROKEN = -1
"""The position of an exception that ends a stream at once, whatever is still missing before it."""


@dataclass(frozen=True, slots=True)
class Job:
    """One judgement to make: a run, the rubric version (None: the configured one), which repeat.

    `within_s` is the time that the caller allows, waiting for slots and rate limits of our own included, in
    seconds by the clock on the wall since the job was begun (by score_many and score_iter when its turn has
    come): after it the judgement has failed with kind timeout, and is logged as any other.

    Raises ConfigError for a `within_s` that is no number above 0.
    """

    run: Trajectory
    rubric_version: str | None = None
    repeat: int = 0
    within_s: float | None = None

    def __post_init__(self) -> None:
        if self.within_s is not None and not _is_time(self.within_s):
            raise ConfigError(f"within_s is {self.within_s!r}; it is a number of seconds above 0")


def _is_time(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and float(value) > 0


Judgeable = Trajectory | Mapping[str, Any] | Job


class Judge:
    """Scores trajectories as `config` says; `client` replaces the configured endpoint (tests, own judges).

    A failed judgement is a Reward with value None and an error_kind, never an exception. What raises, at
    once, are settings and rubric files that cannot be used (ConfigError, RubricError) and samples that are
    no trajectory (InputError). `observe` sees every Judgement as it is logged.
    """

    def __init__(
        self,
        config: Config | None = None,
        client: Client | None = None,
        *,
        observe: Callable[[Judgement], None] | None = None,
    ) -> None:
        self.config = config if config is not None else Config.load()
        self._client = client
        self._observe = observe
        self._workshop: Workshop | None = None
        _check_possible(self.config)
        version = self.version()
        if client is None and not self.config.judge.is_embedded:
            _check(self.config, version)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_workshop": None}

    def __enter__(self) -> Judge:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def version(self, name: str | None = None) -> Version:
        """A rubric version as this Judge uses it: library, prompts, fingerprint. None: the configured one."""
        return Version.load(self.config, name or self.config.rubrics.version)

    def score(self, run: Judgeable) -> Reward:
        """Judge one run and wait for its reward."""
        return loops.run(self._score(_job(run)))

    async def ascore(self, run: Judgeable) -> Reward:
        """Judge one run without blocking the caller's event loop."""
        return await asyncio.wrap_future(loops.submit(self._score(_job(run))))

    def score_many(self, runs: Iterable[Judgeable]) -> list[Reward]:
        """Judge many runs concurrently; the rewards come in the order of the runs."""
        return loops.run(self._score_all([_job(run) for run in runs]))

    async def ascore_many(self, runs: Iterable[Judgeable]) -> list[Reward]:
        """As score_many, without blocking the caller's event loop."""
        return await asyncio.wrap_future(loops.submit(self._score_all([_job(run) for run in runs])))

    def score_iter(self, runs: Iterable[Judgeable]) -> Iterator[Reward]:
        """Judge a stream: rewards in the order of the runs, while at most a few hundred runs are held.

        `runs` is read on the judging thread, and only as fast as the rewards are taken. Closing the
        iterator, or leaving the loop over it, cancels what is still being judged.
        """
        return self._in_order(runs, self._score)

    def prepare_iter(self, runs: Iterable[Judgeable]) -> Iterator[tuple[Job, Answer[Prepared]]]:
        """Ask for category and fine rubrics as judging the runs will, and judge none; a stream as score_iter.

        With a cache, a later run finds them there. A failure is in the Answer, not raised.
        """
        return self._in_order(runs, self._prepare)

    def _in_order(self, runs: Iterable[Judgeable], act: Callable[[Job], Awaitable[T]]) -> Iterator[T]:
        ready: queue.SimpleQueue[tuple[int, T | BaseException]] = queue.SimpleQueue()
        slots = asyncio.Semaphore(_AHEAD * self.config.judge.concurrency)
        stream = loops.Work(self._stream(map(_job, runs), act, ready, slots))
        loop, held, expected = loops.background_loop(), dict[int, T | BaseException](), 0
        try:
            while True:
                while expected not in held:
                    position, result = ready.get()
                    held[expected if position == _BROKEN else position] = result
                result = held.pop(expected)
                if isinstance(result, StopIteration):
                    return
                if isinstance(result, BaseException):
                    raise result
                expected += 1
                yield result
                loop.call_soon_threadsafe(slots.release)
        finally:
            stream.cancel()

    def close(self) -> None:
        """Close connections, cache and log; a later call opens them again."""
        workshop, self._workshop = self._workshop, None
        if workshop is not None and workshop.pid == os.getpid():
            loops.run(workshop.aclose())

    async def aclose(self) -> None:
        """As close, without blocking the caller's event loop."""
        workshop, self._workshop = self._workshop, None
        if workshop is not None and workshop.pid == os.getpid():
            await asyncio.wrap_future(loops.submit(workshop.aclose()))

    async def _score(self, job: Job) -> Reward:
        workshop = self._opened()
        version = job.rubric_version or self.config.rubrics.version
        judgement = await workshop.pipeline.judge(job.run, version, job.repeat, job.within_s)
        if workshop.log is not None:
            workshop.log.append(judgement)
        if self._observe is not None:
            self._observe(judgement)
        return judgement.reward

    async def _prepare(self, job: Job) -> tuple[Job, Answer[Prepared]]:
        version = job.rubric_version or self.config.rubrics.version
        return job, await self._opened().pipeline.prepare(job.run, version)

    async def _score_all(self, jobs: list[Job]) -> list[Reward]:
        rewards: list[Reward | None] = [None] * len(jobs)
        todo = iter(enumerate(jobs))

        async def work() -> None:
            for position, job in todo:
                rewards[position] = await self._score(job)

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(len(jobs), _AT_WORK * self.config.judge.concurrency)):
                    group.create_task(work())
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None
        return [reward for reward in rewards if reward is not None]

    async def _stream(
        self,
        jobs: Iterator[Job],
        act: Callable[[Job], Awaitable[T]],
        ready: queue.SimpleQueue[tuple[int, T | BaseException]],
        slots: asyncio.Semaphore,
    ) -> None:
        taken = 0
        broken: BaseException | None = None

        async def work() -> None:
            nonlocal taken, broken
            while broken is None:
                await slots.acquire()
                position = taken
                try:
                    job = next(jobs)
                except BaseException as error:
                    broken = broken or error
                    slots.release()
                    return
                taken += 1
                ready.put((position, await act(job)))

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(_AT_WORK * self.config.judge.concurrency):
                    group.create_task(work())
        except BaseException as error:
            ready.put((_BROKEN, error.exceptions[0] if isinstance(error, BaseExceptionGroup) else error))
            raise
        ready.put((taken, broken or StopIteration()))

    def _opened(self) -> Workshop:
        if self._workshop is None or self._workshop.pid != os.getpid():
            self._workshop = Workshop(self.config, self._client)
            weakref.finalize(self, release, self._workshop).atexit = False
        return self._workshop


def _check_possible(config: Config) -> None:
    """A setting that cannot be honoured here is refused, never passed over."""
    shown_to = [config.judge.endpoint(purpose) for purpose in ("trajectory", "steps")]
    if any(endpoint.vision == "on" for endpoint in shown_to) and not pictures.can_show():
        raise ConfigError("judge.vision on needs Pillow: pip install 'adaptive-judge[vision]'")
    if config.judge.endpoint("route").is_embedded and config.rubrics.router != "rules":
        raise ConfigError(f"rubrics.router {config.rubrics.router}: the embedded judge routes by rules only")


def _check(config: Config, version: Version) -> None:
    """Settings that would fail every single call are refused before the first."""
    from judge.client.wire import checked

    for purpose in version.asked:
        checked(config.judge.endpoint(purpose)).api_key()


def _job(run: Judgeable) -> Job:
    if isinstance(run, Job):
        return run
    return Job(run if isinstance(run, Trajectory) else trajectory_from(run))
