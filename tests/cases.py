"""The shared case file of inputs that broke other people's judges, as the tests read it.

`http_cases()` yields each http_sequence case and each of its variants alike. The file lies beside the
checkout; where it is absent the parameter list holds one skipped entry that says so.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

SHARED = Path(__file__).resolve().parents[1].parent / "shared"
CASES = SHARED / "cases" / "cases.jsonl"


@dataclass(frozen=True)
class HttpCase:
    """One sequence of responses and what must come of it; `then` answers a second, identical call."""

    id: str
    responses: list[dict[str, Any]]
    expected: dict[str, Any]
    client: dict[str, Any] = field(default_factory=dict)
    then: list[dict[str, Any]] | None = None
    prompt_tokens_estimate: int | None = None

    @property
    def is_refused(self) -> bool:
        """Whether nobody listens at the address."""
        return "connection_refused" in self.responses[0]

    @property
    def timeout_s(self) -> float:
        """The client's time limit: the case's one second scaled down where the server stalls for good.

        Long elsewhere, since no pause of a busy machine may count as an attempt.
        """
        stalls = any(key.endswith("stall_s") for response in self.responses for key in response)
        return 0.5 if stalls else 30.0

    @property
    def first(self) -> dict[str, Any]:
        """What is expected of the first call."""
        return self.expected.get("first", self.expected)

    def accepts(self, kind: str, error_kind: str | None = None) -> bool:
        """Whether a verdict or a named error is among the outcomes the case allows for the first call."""
        allowed = [self.first, *self.first.get("acceptable", [])]
        return any(each["kind"] == kind and each.get("error_kind") == error_kind for each in allowed)


class SwitchingScript:
    """Responses in order, the last repeated, until `switch` puts others in their place."""

    def __init__(self, responses: list[dict[str, Any]]) -> None:
        self.switch(responses)

    def switch(self, responses: list[dict[str, Any]]) -> None:
        self._responses = responses
        self._served = 0

    def __call__(self, _: dict[str, Any]) -> dict[str, Any]:
        self._served += 1
        return self._responses[min(self._served, len(self._responses)) - 1]


def load(kind: str) -> Iterator[dict[str, Any]]:
    """The cases of one input kind, as stored."""
    for line in CASES.read_text(encoding="utf-8").split("\n"):
        if line and (case := json.loads(line))["input"]["kind"] == kind:
            yield case


def http_cases() -> list[Any]:
    """Every http_sequence case and variant as a pytest parameter."""
    if not CASES.is_file():
        absent = pytest.mark.skip(reason="the shared case file is not beside this checkout")
        return [pytest.param(None, id="absent", marks=absent)]
    return [pytest.param(case, id=case.id) for stored in load("http_sequence") for case in _variants(stored)]


def _variants(stored: dict[str, Any]) -> Iterator[HttpCase]:
    base = {**stored["input"], "expected": stored["expected"]}
    for number, variant in enumerate([{}, *base.get("variants", [])]):
        own = {**base, **variant}
        yield HttpCase(
            id=stored["id"] if not number else f"{stored['id']}-{number}",
            responses=own["responses"],
            expected=own["expected"],
            client={**base.get("client", {}), **own.get("client", {})},
            then=own.get("then_second_call_responses"),
            prompt_tokens_estimate=own.get("prompt_tokens_estimate"),
        )


def closed_port() -> int:
    """A port of the loopback interface that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port
