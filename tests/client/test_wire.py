from __future__ import annotations

import pickle
from typing import Any

import pytest

from judge.client.wire import shown_url
from judge.config import Endpoint
from judge.errors import ConfigError
from judge.testing import LoopbackServer, completion
from tests.cases import closed_port
from tests.client.asking import ask, error, reply, request

KEY = "sk-live-0123456789"


def test_nobody_listening_is_a_connection_error() -> None:
    got = error(ask(f"http://127.0.0.1:{closed_port()}/v1", max_attempts=2))
    assert (got.kind, got.attempts) == ("connection_error", 2)
    assert "is the server running" in got.message


@pytest.mark.parametrize("fault", ["accept_then_stall_s", "headers_then_stall_s"])
def test_a_server_that_stalls_is_a_timeout(fault: str) -> None:
    with LoopbackServer([{fault: 3600}]) as server:
        got = error(ask(server.base_url, timeout_s=0.5, max_attempts=2))
    assert (got.kind, got.attempts, len(server.requests)) == ("timeout", 2, 2)


@pytest.mark.parametrize("bytes_", [0, 40])
def test_a_reset_is_tried_again(bytes_: int) -> None:
    with LoopbackServer([{"reset_after_bytes": bytes_}, {}]) as server:
        assert reply(ask(server.base_url)).attempts == 2


def test_a_reset_for_good_is_a_connection_error() -> None:
    with LoopbackServer([{"reset_after_bytes": 40}]) as server:
        got = error(ask(server.base_url))
    assert (got.kind, got.attempts) == ("connection_error", 3)


@pytest.mark.parametrize("name", ["JUDGE_API_KEY", "OPENAI_API_KEY", "MY_KEY"])
def test_the_key_goes_to_the_endpoint_without_white_space(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JUDGE_API_KEY", raising=False)
    monkeypatch.setenv(name, f" {KEY}\n")
    with LoopbackServer() as server:
        reply(ask(server.base_url, api_key_env="MY_KEY" if name == "MY_KEY" else None))
    assert server.requests[0]["headers"]["authorization"] == f"Bearer {KEY}"


def test_no_key_is_no_obstacle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JUDGE_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with LoopbackServer() as server:
        reply(ask(server.base_url))
    assert server.requests[0]["headers"]["authorization"] == "Bearer no-key-needed"


@pytest.mark.parametrize("status", [200, 401, 500])
def test_a_key_that_the_endpoint_echoes_is_blotted_out(status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUDGE_API_KEY", KEY)
    body: dict[str, Any] = {"error": {"message": f"bad key {KEY}", "code": status if status > 200 else 400}}
    with LoopbackServer([{"status": status, "body_json": body}]) as server:
        got = error(ask(server.base_url, max_attempts=1))
    assert KEY not in f"{got} {got!r} {got.raw} {vars(got)}"
    assert KEY.encode() not in pickle.dumps(got)
    assert "bad key [key]" in got.message


def test_a_placeholder_key_does_not_blot_out_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUDGE_API_KEY", "EMPTY")
    with LoopbackServer([{"body_json": completion("The cart is EMPTY.")}]) as server:
        assert reply(ask(server.base_url)).text == "The cart is EMPTY."


@pytest.mark.parametrize("key", ["sk-live\n0123456789", "sk-live-“0123456789”"])
def test_a_key_no_header_can_carry_is_refused_without_showing_it(
    key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUDGE_API_KEY", key)
    got = error(ask("http://127.0.0.1:9/v1"))
    assert isinstance(got, ConfigError)
    assert "0123456789" not in got.message


def test_a_body_that_cannot_be_encoded_is_not_retried() -> None:
    with LoopbackServer() as server:
        got = error(ask(server.base_url, request("cut \ud83d")))
    assert (got.kind, got.attempts, len(server.requests)) == ("bad_request", 1, 0)


def test_the_address_is_shown_without_its_secrets() -> None:
    assert (
        shown_url(Endpoint(base_url="https://me:pw@judge.example:8443/v1?sig=1"))
        == "https://judge.example:8443/v1"
    )


def test_the_body_is_utf8() -> None:
    with LoopbackServer() as server:
        reply(ask(server.base_url, request("订单 17 已取消 🎉")))
    assert server.requests[0]["json"]["messages"][1]["content"] == "订单 17 已取消 🎉"


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("sk-live-0123456789", "must begin with http"),
        ("http://h:80a/v1", "no usable host and port"),
        ("http://[::1/v1", "no usable host and port"),
        ("http://user:secret@127.0.0.1/v1", "no user or password"),
    ],
)
def test_an_address_no_request_can_be_made_with_is_a_setting_to_mend_and_not_shown(
    url: str, says: str
) -> None:
    got = error(ask(url))
    assert isinstance(got, ConfigError)
    assert says in got.message
    assert url not in got.message
    assert "secret" not in got.message
