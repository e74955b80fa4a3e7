"""What is said of failures: each kind, and then less and less often, but never nothing while they go on."""

from __future__ import annotations

import pytest

from judge import Reward
from judge.integrations.telling import tell, why
from tests.pipeline.judged import scripted

GOOD = Reward(value=1.0)
LATE = Reward(value=None, error_kind="timeout", error="no verdict in time")
REFUSED = Reward(value=None, error_kind="refusal", error="no")


def said(caplog: pytest.LogCaptureFixture, *batches: list[Reward]) -> list[str]:
    judge, _ = scripted()
    for batch in batches:
        tell(judge, batch, "0.0")
    return [record.getMessage().partition(" judgements failed")[0] for record in caplog.records]


def test_nothing_where_nothing_failed(caplog):
    assert said(caplog, [GOOD] * 9, []) == []


def test_a_batch_with_its_commonest_failure(caplog):
    assert said(caplog, [GOOD, LATE, REFUSED, LATE]) == ["3 of the last 4"]
    assert caplog.messages[0].endswith("judgements failed (0.0 instead): timeout: no verdict in time")


def test_a_kind_that_is_new_at_once_and_the_others_at_twice_as_many(caplog):
    batches = [[LATE], [GOOD, LATE], [LATE], [LATE], [LATE, REFUSED], *[[LATE]] * 4]
    assert said(caplog, *batches) == [
        "1 of the last 1",
        "2 of the last 3",
        "3 of the last 3",
        "4 of the last 4",
    ]


def test_one_that_is_down_for_long_is_told_of_every_thousand(caplog):
    told = said(caplog, *[[LATE] * 64] * 200)
    assert told[-3:] == ["1024 of the last 1024"] * 3
    assert len(told) < 25


def test_rare_failures_are_hardly_heard_of(caplog):
    told = said(caplog, *[[GOOD] * 99 + [LATE]] * 1000)
    assert told[:3] == ["1 of the last 100", "2 of the last 200", "4 of the last 400"]
    assert len(told) == 9


def test_a_judge_that_goes_down_again_is_told_of_at_once(caplog):
    down, up = [[LATE] * 64] * 32, [[GOOD] * 64] * 16
    before = said(caplog, *down)
    caplog.clear()
    assert len(said(caplog, *down, *up, [LATE])) == len(before) + 1


def test_what_a_judgement_failed_of():
    assert (why(GOOD), why(REFUSED)) == ("", "refusal: no")
