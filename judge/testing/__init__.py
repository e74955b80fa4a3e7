"""Fakes to test against: a scripted client, and a real OpenAI-compatible server on the loopback interface.

    with LoopbackServer([{"status": 503}, verdict_response()]) as server:
        Judge(Config(judge={"base_url": server.base_url, "model": "judge-x"})).score(trajectory)
    assert len(server.requests) == 2

`python -m judge.testing` serves in a process of its own, for benchmarks: it prints its base URL and runs
until its standard input ends. Not covered: TLS, HTTP/2, streaming and chunked requests.
"""

from __future__ import annotations

from judge.testing.answers import completion, example, verdict_response
from judge.testing.scripted import ScriptedClient
from judge.testing.server import LoopbackServer

__all__ = ["LoopbackServer", "ScriptedClient", "completion", "example", "verdict_response"]
