"""Replies → verdicts, as the pipeline asked for them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from judge import verdict
from judge.schema import Content, Reply, StepVerdict, TrajectoryVerdict

Graded = tuple[TrajectoryVerdict, list[StepVerdict]]
Read = tuple[TrajectoryVerdict | None, list[StepVerdict], tuple[str, ...]]
"""The verdict on the run, those on steps, and the flags of the reply."""


def read_graded(reply: Reply, content: Content) -> Read:
    """The verdict on a run, and in mode whole the labels of its steps. Raises JudgeError."""
    finish = reply.finish_reason or "stop"
    judged = verdict.parse_verdict(
        reply.text, finish_reason=finish, rubric=content.rubric, verdict_id=reply.verdict_id
    )
    steps: list[StepVerdict] = []
    if content.mode == "whole":
        steps = verdict.parse_steps(
            reply.text, content.verify, mode="whole", finish_reason=finish, verdict_id=reply.verdict_id
        )
    return judged, steps, reply.flags


def read_check(reply: Reply, content: Content) -> Read:
    """The verdict on the one step of mode prefix, and none on the run. Raises JudgeError."""
    finish = reply.finish_reason or "stop"
    steps = verdict.parse_steps(
        reply.text, content.verify, mode="prefix", finish_reason=finish, verdict_id=reply.verdict_id
    )
    return None, steps, reply.flags


def together(answers: Sequence[Read]) -> Graded:
    """All answers about a run as one: the verdict is the last one's, the flags are those of every reply."""
    judged = answers[-1][0]
    assert judged is not None
    flags = dict.fromkeys([*judged.flags, *chain.from_iterable(flags for _, _, flags in answers)])
    if len(flags) > len(judged.flags):
        judged = judged.model_copy(update={"flags": tuple(flags)})
    return judged, [step for _, steps, _ in answers for step in steps]
