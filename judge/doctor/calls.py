"""What an endpoint does when asked: models it lists, a tiny judgement, parameters and images it takes."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from judge import verdict
from judge.client.probe import Failure, Probe
from judge.config import Endpoint
from judge.doctor.advice import near, remedy, unknown_model
from judge.doctor.finding import Finding, Level
from judge.errors import JudgeError
from judge.pictures import can_show
from judge.schema import Reply, Request

CALLS = 3
"""How many judgements an endpoint is asked for, to tell how long one takes."""

# A grey square of 32 × 32: several models refuse pictures of less than some ten pixels.
_PICTURE = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAACAAAAAgCAAAAABWESUoAAAAFklEQVR42mNoIAAYRhWMKhhVMFIVAABCAAAf"
    "N5c2AAAAAABJRU5ErkJggg=="
)
_NO_LIST = "no harm in itself: some endpoints that judge well have no list"
_FORMATS = {
    "json_object": "replies are JSON, but their fields are held to by the prompt alone",
    "plain": "replies are held to a form by the prompt alone: serve the model with structured output",
}


@dataclass(frozen=True)
class Examination:
    """An endpoint under examination with one tiny judgement as the question."""

    endpoint: Endpoint
    probe: Probe
    question: Request

    async def findings(self) -> list[Finding]:
        """What was found, in the order it was asked. The first call that fails ends the examination."""
        listed = await self.probe.models()
        models = [] if isinstance(listed, Failure) else listed
        replies, failure = await self._ask()
        found = []
        if replies or not (isinstance(listed, Failure) and listed.is_silent):
            found.append(_models(self.endpoint, listed))
        if failure is not None:
            advice = await asyncio.to_thread(remedy, failure, self.endpoint, models)
            found.append(_failed(failure, len(replies), advice))
        if replies:
            found += [_cost(replies), _verdicts(self.endpoint, self.question, replies), self._parameters()]
            found.append(await self._images())
        return found

    async def _ask(self) -> tuple[list[Reply], Failure | None]:
        replies: list[Reply] = []
        for _ in range(CALLS):
            answer = await self.probe.ask(self.question.with_verdict_id(secrets.token_hex(8)))
            if isinstance(answer, Failure):
                return replies, answer
            replies.append(answer)
        return replies, None

    def _parameters(self) -> Finding:
        accepted = self.probe.accepted(self.question)
        taken = [accepted.response_format, accepted.token_limit or "no token limit", *accepted.sent]
        refused = [name for name in accepted.refused if name != "images"]
        what = f"{', '.join(taken)}{'; refuses ' + ' and '.join(refused) if refused else ''}"
        advice = _FORMATS.get(accepted.response_format, "")
        level: Level = "warn" if accepted.response_format == "plain" else "ok"
        return Finding(level, "parameters", what, advice, {**accepted._asdict(), "refused": refused})

    async def _images(self) -> Finding:
        if self.endpoint.vision == "off":
            return Finding("ok", "images", "not tried (judge.vision is off)", facts={"taken": None})
        answer = await self.probe.ask(with_picture(self.question).with_verdict_id(secrets.token_hex(8)))
        if isinstance(answer, Reply) and "images_not_sent" not in answer.flags:
            if can_show():
                return Finding("ok", "images", "taken", facts={"taken": True})
            what, advice = "taken, but Pillow is not installed", "pip install 'adaptive-judge[vision]'"
            return Finding("warn", "images", f"{what}: screenshots are not shown", advice, {"taken": True})
        if isinstance(answer, Reply):
            what, advice = "refused; judged without them", "for screenshots, serve a model that sees"
            return Finding("warn", "images", what, advice, {"taken": False})
        level: Level = "fail" if self.endpoint.vision == "on" else "warn"
        advice = "set judge.vision to auto or off, or serve a model that sees"
        return Finding(level, "images", answer.message, advice, {"taken": False, "kind": answer.kind})


def with_picture(request: Request) -> Request:
    """The request with a picture behind the text of its last message."""
    *before, last = request.messages
    parts: list[dict[str, Any]] = [
        {"type": "text", "text": last["content"]},
        {"type": "image_url", "image_url": {"url": _PICTURE}},
    ]
    return replace(request, messages=(*before, {**last, "content": parts}))


def _models(endpoint: Endpoint, listed: list[str] | Failure) -> Finding:
    if isinstance(listed, Failure):
        return Finding("warn", "models", listed.message, _NO_LIST, {"listed": None})
    facts = {"listed": listed, "configured": endpoint.model in listed}
    if advice := unknown_model(endpoint, listed):
        facts["near"] = near(endpoint.model, listed)
        return Finding(
            "warn", "models", f"{endpoint.model} is not among the {len(listed)} listed", advice, facts
        )
    what = f"{len(listed)} listed, {endpoint.model} among them" if listed else "an empty list"
    return Finding("ok", "models", what, facts=facts)


def _failed(failure: Failure, answered: int, advice: str) -> Finding:
    facts = {"kind": failure.kind, "status": failure.status or None}
    if answered:
        what = f"the call after {answered} good ones failed: {failure.message}"
        return Finding("warn", "call", what, advice, facts)
    return Finding("fail", "call", failure.message, advice, facts)


def _cost(replies: Sequence[Reply]) -> Finding:
    """What a call takes: the first, which may hold refusals of parameters, weighs little in a median."""
    latencies = [round(reply.latency_ms) for reply in replies]
    usage = replies[-1].usage
    prompt, completion = (usage.prompt_tokens, usage.completion_tokens) if usage else (None, None)
    facts = {
        "latency_ms": median(latencies),
        "latencies_ms": latencies,
        "prompt_tokens": prompt,
        "completion_tokens": completion,
    }
    tokens = (
        f"{prompt} prompt and {completion} completion tokens" if usage else "the endpoint counts no tokens"
    )
    return Finding(
        "ok", "call", f"{median(latencies):g} ms (median of {len(replies)}), {tokens}", facts=facts
    )


def _verdicts(endpoint: Endpoint, question: Request, replies: Sequence[Reply]) -> Finding:
    errors = [error for reply in replies if (error := _unread(question, reply))]
    facts: dict[str, Any] = {"replies": len(replies), "readable": len(replies) - len(errors)}
    if not errors:
        return Finding(
            "ok", "verdict", f"{len(replies)} of {len(replies)} replies read as verdicts", facts=facts
        )
    what = f"{len(errors)} of {len(replies)} replies are no verdict, the last: {errors[-1]}"
    advice = "serve the model with structured output, or take a stronger one"
    if errors[-1].finish_reason == "length" or any("reasoning_only" in reply.flags for reply in replies):
        advice = (
            f"raise judge.max_tokens (it is {endpoint.max_tokens}), or turn thinking off by judge.extra_body"
        )
    facts["kind"] = errors[-1].kind
    return Finding("fail" if len(errors) == len(replies) else "warn", "verdict", what, advice, facts)


def _unread(question: Request, reply: Reply) -> JudgeError | None:
    """Why the reply is no verdict; None where it is one."""
    try:
        verdict.parse_verdict(
            reply.text,
            finish_reason=reply.finish_reason,
            rubric=question.content.rubric,
            verdict_id=reply.verdict_id,
        )
    except JudgeError as error:
        return error
    return None
