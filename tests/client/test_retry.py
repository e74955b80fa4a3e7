from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from judge.client.faults import Fault
from judge.client.retry import least_wait, retry_after_s
from judge.config import Endpoint
from judge.testing import LoopbackServer
from tests.client.asking import ask, error, reply

NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": format_datetime(NOW + timedelta(seconds=9), usegmt=True)}, 9.0),
        ({"retry-after": format_datetime(NOW - timedelta(hours=1), usegmt=True)}, 0.0),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": ""}, None),
    ],
)
def test_retry_after(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_s(headers, now=NOW.timestamp()) == seconds


def test_retry_after_is_a_floor_with_a_ceiling() -> None:
    endpoint = Endpoint(backoff_s=0.5, max_retry_after_s=60)
    waits = [
        least_wait(endpoint, 2, Fault("rate_limited", "", retry_after_s=s)) for s in (None, 0.1, 20.0, 900.0)
    ]
    assert waits == [1.0, 1.0, 20.0, 60.0]


def test_backoff_doubles_up_to_half_a_minute() -> None:
    endpoint, fault = Endpoint(backoff_s=0.5), Fault("upstream_error", "")
    assert [least_wait(endpoint, attempt, fault) for attempt in (1, 2, 3, 40)] == [0.5, 1.0, 2.0, 30.0]


@pytest.mark.parametrize("after", ["900", format_datetime(NOW + timedelta(days=9_000), usegmt=True)])
def test_a_long_retry_after_is_capped(after: str) -> None:
    busy = {"status": 429, "headers": {"retry-after": after}, "body_json": {}}
    with LoopbackServer([busy, {}]) as server:
        got = reply(ask(server.base_url, max_retry_after_s=0.01, deadline_s=5))
    assert got.attempts == 2


def test_a_wait_beyond_the_deadline_is_not_begun() -> None:
    busy = {"status": 429, "headers": {"retry-after": "50"}, "body_json": {}}
    with LoopbackServer([busy]) as server:
        got = error(ask(server.base_url, deadline_s=20))
    assert (got.kind, got.attempts) == ("rate_limited", 1)


def test_one_attempt_means_one_request() -> None:
    with LoopbackServer([{"status": 503, "body_json": {}}]) as server:
        ask(server.base_url, max_attempts=1)
    assert len(server.requests) == 1
