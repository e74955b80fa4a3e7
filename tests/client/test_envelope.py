from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judge.client.envelope import Answer, read
from judge.client.faults import Fault
from judge.client.wire import Received
from judge.errors import ERROR_KINDS
from judge.testing import completion


def received(body: Any, status: int = 200, content_type: str = "application/json") -> Received:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Received(status, content_type, None, raw)


def fault(got: Received) -> Fault:
    with pytest.raises(Fault) as caught:
        read(got, "http://judge/v1")
    return caught.value


def outcome(got: Received) -> Answer | Fault:
    try:
        return read(got, "")
    except Fault as fault:
        return fault


def message(**fields: Any) -> dict[str, Any]:
    return {"choices": [{"message": fields, "finish_reason": fields.pop("finish_reason", "stop")}]}


def test_a_plain_answer() -> None:
    usage = {"prompt_tokens": 9, "completion_tokens": 1.0, "prompt_tokens_details": {"cached_tokens": 4}}
    answer = read(received(completion("yes", usage=usage)), "")
    assert (answer.text, answer.finish_reason, answer.model, answer.flags) == ("yes", "stop", "judge-x", ())
    assert answer.usage is not None
    assert (answer.usage.prompt_tokens, answer.usage.total_tokens, answer.usage.cached_tokens) == (9, None, 4)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, ""),
        ("", ""),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "ab"),
        ([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "b"}, None], "b"),
        ("cut \ud83d", "cut �"),
    ],
)
def test_content_of_every_shape(content: Any, text: str) -> None:
    assert read(received(message(content=content)), "").text == text


@pytest.mark.parametrize("field", ["reasoning", "reasoning_content"])
def test_an_answer_only_in_a_reasoning_field_is_reported_and_never_read(field: str) -> None:
    answer = read(received(message(content=None, **{field: '{"success": true}'}, finish_reason="length")), "")
    assert (answer.text, answer.finish_reason, answer.flags) == ("", "length", ("reasoning_only",))


def test_reasoning_beside_an_answer_is_nothing_special() -> None:
    assert read(received(message(content="x", reasoning="y")), "").flags == ()


@pytest.mark.parametrize(
    ("given_", "name"), [("max_tokens", "length"), ("EOS", "eos"), (None, None), (7, None)]
)
def test_finish_reasons(given_: Any, name: str | None) -> None:
    assert read(received(completion("x", given_)), "").finish_reason == name


@pytest.mark.parametrize(
    ("body", "kind", "retryable"),
    [
        ({}, "bad_response", True),
        ({"choices": None}, "bad_response", True),
        ({"choices": []}, "bad_response", True),
        ({"choices": [None]}, "bad_response", True),
        ({"choices": [{"message": None}]}, "bad_response", True),
        (message(content={"success": True}), "bad_response", True),
        ([1], "bad_response", True),
        (b"", "bad_response", True),
        (b" \n\n", "bad_response", True),
        (b'{"choices": [', "bad_response", True),
        (b"\xff\xfe\x00", "bad_response", True),
        (b"[" * 100_000, "bad_response", True),
        (b"<!DOCTYPE html><p>Welcome", "bad_response", False),
        (message(refusal="I will not."), "refusal", False),
        (message(content=[{"type": "refusal", "refusal": "No."}]), "refusal", False),
        (message(content="{}", finish_reason="content_filter"), "content_filter", False),
        (message(content="{}", finish_reason="content_filter: SAFETY"), "content_filter", False),
        (message(content="{}", finish_reason="error"), "upstream_error", True),
        (message(content="", finish_reason="tool_calls"), "bad_response", False),
        ({**completion("{}"), "error": {"code": 429}}, "rate_limited", True),
        ({"choices": [{"message": {"content": "{}"}, "error": {"code": 400}}]}, "bad_request", False),
    ],
)
def test_envelopes_that_hold_no_answer(body: Any, kind: str, retryable: bool) -> None:
    got = fault(received(body))
    assert (got.kind, got.retryable) == (kind, retryable)
    assert got.raw is not None


def test_text_beside_a_tool_call_counts() -> None:
    assert read(received(message(content="{}", finish_reason="tool_calls")), "").text == "{}"


@pytest.mark.parametrize(("status", "kind"), [(200, "bad_response"), (404, "bad_request")])
def test_a_web_page_is_blamed_on_the_address(status: int, kind: str) -> None:
    got = fault(received(b"<html>nginx</html>", status, "text/html"))
    assert (got.kind, got.retryable) == (kind, False)
    assert "base_url" in got.message


def test_a_web_page_from_a_failing_gateway_is_tried_again() -> None:
    got = fault(received(b"<html>Bad gateway</html>", 502, "text/html"))
    assert (got.kind, got.retryable) == ("upstream_error", True)
    assert "base_url" not in got.message


def test_a_byte_order_mark_and_blank_lines_are_harmless() -> None:
    assert read(received(b"\n\n" + json.dumps(completion("x")).encode()), "").text == "x"
    assert read(received(json.dumps(completion("x")).encode("utf-8-sig")), "").text == "x"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
parts = st.fixed_dictionaries(
    {},
    optional={
        "error": json_values,
        "usage": json_values,
        "model": json_values,
        "choices": st.lists(
            st.fixed_dictionaries(
                {},
                optional={
                    "message": st.fixed_dictionaries(
                        {}, optional={"content": json_values, "refusal": json_values}
                    ),
                    "finish_reason": json_values,
                    "error": json_values,
                },
            ),
            max_size=2,
        ),
    },
)


@settings(max_examples=200, deadline=None)
@given(body=json_values | parts, status=st.sampled_from([200, 400, 404, 422, 429, 500]))
def test_every_body_is_an_answer_or_a_named_fault(body: Any, status: int) -> None:
    got = outcome(received(body, status))
    if isinstance(got, Fault):
        assert got.kind in ERROR_KINDS
    else:
        assert status == 200
        assert isinstance(got.text, str)
