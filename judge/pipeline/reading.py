"""Replies → verdicts, as the pipeline asked for them."""

from __future__ import annotations

from judge import verdict
from judge.schema import Content, Reply, StepVerdict, TrajectoryVerdict

Graded = tuple[TrajectoryVerdict, list[StepVerdict]]


def read_graded(reply: Reply, content: Content) -> Graded:
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
    if reply.flags:
        judged = judged.model_copy(update={"flags": (*judged.flags, *reply.flags)})
    return judged, steps


def read_check(reply: Reply, content: Content) -> tuple[None, list[StepVerdict]]:
    """The verdict on the one step of mode prefix, and none on the run. Raises JudgeError."""
    finish = reply.finish_reason or "stop"
    return None, verdict.parse_steps(
        reply.text, content.verify, mode="prefix", finish_reason=finish, verdict_id=reply.verdict_id
    )
