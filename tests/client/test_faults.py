from __future__ import annotations

import pytest

from judge.client.faults import embedded_status, error_object, settle
from judge.testing import LoopbackServer
from tests.client.asking import ask, error


def told(message: str = "no", **fields: object) -> dict[str, object]:
    return {"error": {"message": message, **fields}}


@pytest.mark.parametrize(
    ("status", "body", "kind", "attempts"),
    [
        (400, told(), "bad_request", 1),
        (400, told(code="context_length_exceeded"), "context_length", 1),
        (400, told("This model's maximum context length is 8192 tokens."), "context_length", 1),
        (400, told(type="exceed_context_size_error"), "context_length", 1),
        (
            400,
            told("`max_tokens` is too large: 1024. This model's maximum context length is 900"),
            "context_length",
            1,
        ),
        (400, told(code="content_filter"), "content_filter", 1),
        (400, told(code="data_inspection_failed"), "content_filter", 1),
        (400, {"code": "DataInspectionFailed", "message": "no"}, "content_filter", 1),
        (401, told(), "auth_error", 1),
        (402, told(), "quota_exhausted", 1),
        (403, told(), "auth_error", 1),
        (404, told(), "bad_request", 1),
        (408, told(), "timeout", 3),
        (409, told(), "upstream_error", 3),
        (413, told(), "context_length", 1),
        (422, {"detail": [{"loc": ["body", "model"], "msg": "field required"}]}, "bad_request", 1),
        (429, told(), "rate_limited", 3),
        (429, told("insufficient quota"), "rate_limited", 3),
        (429, told(type="insufficient_quota"), "quota_exhausted", 1),
        (429, {"error": "INSUFFICIENT QUOTA"}, "rate_limited", 3),
        (500, told(), "upstream_error", 3),
        (503, told(), "upstream_error", 3),
        (529, told(), "upstream_error", 3),
        (200, told(code=429), "rate_limited", 3),
        (200, told(code="429"), "rate_limited", 3),
        (200, told(code="rate_limit_exceeded"), "rate_limited", 3),
        (200, told(type="overloaded_error"), "upstream_error", 3),
        (200, told(code=404), "bad_request", 1),
        (200, told(code=401), "auth_error", 1),
        (200, told(code="context_length_exceeded"), "context_length", 1),
        (200, {"error": "it broke"}, "upstream_error", 3),
        (200, {"object": "error", "message": "no such model", "code": 404}, "bad_request", 1),
    ],
)
def test_kind_and_number_of_requests(status: int, body: dict[str, object], kind: str, attempts: int) -> None:
    with LoopbackServer([{"status": status, "body_json": body}]) as server:
        got = error(ask(server.base_url))
    assert (got.kind, got.attempts, len(server.requests)) == (kind, attempts, attempts)
    assert got.latency_ms > 0


def test_the_body_reaches_the_error_and_its_record() -> None:
    with LoopbackServer([{"status": 500, "body_text": "x" * 5_000}]) as server:
        got = error(ask(server.base_url))
    assert got.raw == "x" * 4_000
    assert "answered 500: xxx" in got.message


def test_what_was_billed_is_kept_with_the_failure() -> None:
    body = {
        "choices": [{"message": {"refusal": "No."}}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 2},
    }
    with LoopbackServer([{"body_json": body}]) as server:
        got = error(ask(server.base_url))
    assert (got.kind, got.usage.prompt_tokens, got.usage.total_tokens) == ("refusal", 7, None)


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        ({"error": {"message": "m"}}, "m"),
        ({"error": "m"}, "m"),
        ({"error": "a", "message": "b"}, "a: b"),
        ({"detail": "m"}, "m"),
        ({"message": "m", "code": 400}, "m"),
        ({"error": ["odd"]}, '["odd"]'),
        ("m", "m"),
        (None, ""),
    ],
)
def test_error_objects_of_every_shape(payload: object, message: str) -> None:
    assert error_object(payload).message == message


def test_an_embedded_code_outside_the_http_range_says_nothing() -> None:
    assert embedded_status(error_object({"error": {"code": 1302}})) == 502


def test_the_message_says_what_to_do() -> None:
    assert "top it up" in settle(402, error_object(None), where="http://judge").message
