from __future__ import annotations

import json
from typing import Any

from judge.client.stream import assemble
from judge.testing import LoopbackServer
from tests.client.asking import ask, error, reply


def stream(*chunks: dict[str, Any], end: str = "data: [DONE]\n\n") -> str:
    return "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + end


def delta(finish_reason: str | None = None, index: int = 0, **fields: Any) -> dict[str, Any]:
    return {"model": "m", "choices": [{"index": index, "delta": fields, "finish_reason": finish_reason}]}


def sse(text: str) -> dict[str, Any]:
    return {"headers": {"content-type": "text/event-stream"}, "body_text": text}


def test_deltas_are_put_together() -> None:
    usage = {"choices": [], "usage": {"total_tokens": 5}}
    text = ": keep-alive\n\n" + stream(
        delta(role="assistant", content="a"), delta(content="b\u2028"), delta("stop"), usage
    )
    with LoopbackServer([sse(text)]) as server:
        got = reply(ask(server.base_url))
    assert (got.text, got.finish_reason, got.model, got.attempts) == ("ab\u2028", "stop", "m", 1)
    assert got.usage is not None
    assert got.usage.total_tokens == 5


def test_only_the_first_choice_counts() -> None:
    whole = assemble(stream(delta(content="a"), delta(content="x", index=1), delta("stop")))
    assert whole is not None
    assert whole["choices"][0]["message"] == {"content": "a"}


def test_a_stream_that_broke_off_is_tried_again() -> None:
    with LoopbackServer([sse(stream(delta(content='{"success": true}'), end=""))]) as server:
        got = error(ask(server.base_url))
    assert (got.kind, got.attempts) == ("bad_response", 3)


def test_an_error_in_the_stream_is_settled_by_its_code() -> None:
    with LoopbackServer(
        [sse(stream(delta(content="{"), {"error": {"code": 400, "message": "no"}}))]
    ) as server:
        assert error(ask(server.base_url)).kind == "bad_request"


def test_reasoning_deltas_stay_apart_from_the_answer() -> None:
    whole = assemble(stream(delta(reasoning_content="h"), delta(reasoning_content="m"), delta("length")))
    assert whole is not None
    assert whole["choices"][0]["message"] == {"reasoning_content": "hm"}


def test_lines_that_are_no_chunks_are_passed_over() -> None:
    assert assemble("data: {broken\n\ndata: 5\n\ndata:\n\nevent: ping\n\n") is None
