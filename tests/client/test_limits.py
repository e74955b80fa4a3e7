from __future__ import annotations

import asyncio

import pytest

from judge.client.faults import Fault
from judge.client.limits import PROBE_EVERY_S, Breaker, Limits, TokenBucket
from judge.config import Endpoint


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_bucket_lets_a_second_through_and_then_keeps_the_rate() -> None:
    bucket = TokenBucket(120, Clock())
    assert [bucket.reserve(1) for _ in range(5)] == [0.0, 0.0, 0.5, 1.0, 1.5]


def test_a_bucket_fills_with_time_and_not_beyond_its_brim() -> None:
    clock = Clock()
    bucket = TokenBucket(60, clock)
    bucket.reserve(1)
    clock.now += 3600
    assert [bucket.reserve(1), bucket.reserve(1)] == [0.0, 1.0]


def test_a_request_larger_than_the_bucket_is_let_through_and_paid_for_later() -> None:
    bucket = TokenBucket(60_000, Clock())
    assert [bucket.reserve(6_000), bucket.reserve(1_000)] == [0.0, 6.0]


def test_what_was_given_back_can_be_had_again() -> None:
    bucket = TokenBucket(60, Clock())
    bucket.reserve(1)
    bucket.give_back(1)
    assert bucket.reserve(1) == 0.0


def test_a_cancelled_wait_gives_its_reservation_back() -> None:
    async def run() -> float:
        bucket = TokenBucket(60, Clock())
        bucket.reserve(1)
        waiter = asyncio.ensure_future(bucket.take(1))
        await asyncio.sleep(0)
        waiter.cancel()
        await asyncio.gather(waiter, return_exceptions=True)
        return bucket.reserve(1)

    assert asyncio.run(run()) == 1.0


def test_slots_are_bounded_and_free_again_after_a_failure() -> None:
    async def run() -> tuple[int, bool]:
        limits, held, most = Limits(Endpoint(concurrency=2)), 0, 0

        async def use() -> None:
            nonlocal held, most
            async with limits.slot(1):
                held += 1
                most = max(most, held)
                await asyncio.sleep(0)
                held -= 1
                raise RuntimeError

        await asyncio.gather(*(use() for _ in range(6)), return_exceptions=True)
        async with limits.slot(1), limits.slot(1):
            return most, True

    assert asyncio.run(run()) == (2, True)


@pytest.mark.parametrize(
    ("kind", "status", "opens"),
    [
        ("quota_exhausted", 429, True),
        ("auth_error", 401, True),
        ("auth_error", 403, False),
        ("rate_limited", 429, False),
    ],
)
def test_what_opens_the_breaker(kind: str, status: int, opens: bool) -> None:
    breaker = Breaker(Clock())
    breaker.note(Fault(kind, "why", status=status))
    if not opens:
        breaker.check()
        return
    with pytest.raises(Fault) as caught:
        breaker.check()
    assert (caught.value.kind, "why" in caught.value.message) == (kind, True)


def test_an_open_breaker_lets_one_call_in_a_while_through() -> None:
    clock = Clock()
    breaker = Breaker(clock)
    breaker.note(Fault("quota_exhausted", "no credit"))
    clock.now += PROBE_EVERY_S
    breaker.check()
    assert "no credit" in _said(breaker)
    breaker.note(Fault("auth_error", "another", status=401))
    clock.now += PROBE_EVERY_S - 1
    assert "no credit" in _said(breaker)
    breaker.close()
    breaker.check()


def _said(breaker: Breaker) -> str:
    with pytest.raises(Fault) as caught:
        breaker.check()
    return caught.value.message
