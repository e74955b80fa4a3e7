"""What a real server refuses: a prompt beyond its context, a wrong key, an image; and at what cost."""

from __future__ import annotations

import pytest

from judge.schema import Reply
from tests.client.asking import PICTURE, ask, error, request

from .small import MODEL

pytestmark = pytest.mark.slow


def test_a_prompt_beyond_the_context_is_not_tried_again(base_url: str) -> None:
    found = error(ask(base_url, request("word " * 3_000), model=MODEL))
    assert (found.kind, found.attempts) == ("context_length", 1)
    assert "exceed_context_size_error" in (found.raw or "")
    assert "answered 400" in found.message


def test_a_wrong_key_costs_one_request(base_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUDGE_API_KEY", "e2e-not-this-one")
    outcomes = ask(base_url, request(), request(), model=MODEL)
    assert [(error([each]).kind, error([each]).attempts) for each in outcomes] == [
        ("auth_error", 1),
        ("auth_error", 0),
    ]
    assert not any("e2e-not-this-one" in f"{each} {error([each]).raw}" for each in outcomes)


def test_a_text_model_is_sent_no_second_image(base_url: str) -> None:
    pictured = request([{"type": "text", "text": "Did it work?"}, PICTURE])
    replies = ask(base_url, pictured, pictured, model=MODEL, max_tokens=4)
    assert [(reply.attempts, reply.flags) for reply in replies if isinstance(reply, Reply)] == [
        (2, ("images_not_sent",)),
        (1, ("images_not_sent",)),
    ]


def test_an_image_that_must_be_seen_is_an_error(base_url: str) -> None:
    pictured = request([{"type": "text", "text": "Did it work?"}, PICTURE])
    found = error(ask(base_url, pictured, model=MODEL, max_tokens=4, vision="on", max_attempts=1))
    assert (found.kind, found.attempts) == ("upstream_error", 1)
