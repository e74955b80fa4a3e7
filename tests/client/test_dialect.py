from __future__ import annotations

from typing import Any

import pytest

from judge.client.dialect import Dialect, body
from judge.config import Endpoint
from judge.testing import LoopbackServer, verdict_response
from tests.client.asking import PICTURE, ask, error, reply, request


def refusing(rule: Any, status: int = 400, **said: Any) -> Any:
    """A server script that refuses the bodies `rule` holds for."""
    refusal = {"status": status, "body_json": {"error": said}}
    return lambda asked: refusal if rule(asked) else verdict_response(asked)


def kind(asked: dict[str, Any]) -> str:
    return str(asked.get("response_format", {}).get("type", "plain"))


def sends_image(asked: dict[str, Any]) -> bool:
    return any(isinstance(message["content"], list) for message in asked["messages"])


REFUSALS = {
    "schema": (
        refusing(
            lambda asked: kind(asked) == "json_schema", message="This response_format type is unavailable now"
        ),
        {"response_format": {"type": "json_object"}},
    ),
    "json": (
        refusing(
            lambda asked: kind(asked) != "plain",
            message="json mode is not supported",
            param="response_format",
        ),
        {"response_format": None},
    ),
    "tokens": (
        refusing(
            lambda asked: "max_tokens" in asked,
            message="Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
            param="max_tokens",
        ),
        {"max_tokens": None, "max_completion_tokens": 1024},
    ),
    "temperature": (
        refusing(
            lambda asked: "temperature" in asked,
            message="Only the default (1) is supported",
            param="temperature",
        ),
        {"temperature": None, "seed": 0},
    ),
    "seed": (
        refusing(
            lambda asked: "seed" in asked, 422, message='[{"loc": ["body", "seed"], "msg": "not permitted"}]'
        ),
        {"temperature": 0.0, "seed": None},
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_a_refused_parameter_is_dropped_once_and_for_all(name: str) -> None:
    script, last = REFUSALS[name]
    with LoopbackServer(script) as server:
        first, second = ask(server.base_url, request(), request(), max_attempts=1)
    assert first.attempts in (2, 3)
    assert second.attempts == 1
    assert {key: server.requests[-1]["json"].get(key) for key in last} == last


def test_steps_down_add_up() -> None:
    def script(asked: dict[str, Any]) -> dict[str, Any]:
        for name in ("temperature", "seed", "max_tokens"):
            if name in asked:
                return {
                    "status": 400,
                    "body_json": {"error": {"message": f"unknown field {name}", "param": name}},
                }
        return verdict_response(asked)

    with LoopbackServer(script) as server:
        first, second = ask(server.base_url, request(), request())
    assert (first.attempts, second.attempts) == (4, 1)


def test_images_are_left_out_where_they_are_refused() -> None:
    said = "image input is not supported - hint: you may need to provide the mmproj"
    with LoopbackServer(refusing(sends_image, 500, message=said)) as server:
        asked = request([{"type": "text", "text": "Look:"}, PICTURE], verdict_id="t0k3n")
        first, second = ask(server.base_url, asked, asked)
    assert (first.attempts, second.attempts) == (2, 1)
    assert "images_not_sent" in second.flags
    assert (
        server.requests[-1]["json"]["messages"][1]["content"]
        == "Look:\n[image not shown]\n\nverdict_id: t0k3n"
    )


@pytest.mark.parametrize(
    "said",
    [
        "At most 1 image(s) may be provided in one prompt.",
        "Invalid image: cannot decode image data",
        "image aspect ratio must be smaller than 200",
    ],
)
def test_what_is_wrong_with_these_images_is_not_held_against_the_endpoint(said: str) -> None:
    with LoopbackServer(refusing(sends_image, message=said)) as server:
        asked = request([{"type": "text", "text": "Look:"}, PICTURE])
        first, second = ask(server.base_url, asked, asked)
    assert (first.attempts, second.attempts) == (2, 2)
    assert "images_not_sent" in second.flags


def test_vision_on_and_off_are_taken_at_their_word() -> None:
    with LoopbackServer(refusing(sends_image, message="images are not supported")) as server:
        asked = request([PICTURE])
        assert error(ask(server.base_url, asked, vision="on")).kind == "bad_request"
        assert reply(ask(server.base_url, asked, vision="off")).attempts == 1


def test_what_the_user_put_in_extra_body_is_sent_and_never_dropped() -> None:
    extra = {"seed": 5, "enable_thinking": False, "max_completion_tokens": 9}
    with LoopbackServer(refusing(lambda asked: True, message="unknown field seed", param="seed")) as server:
        assert error(ask(server.base_url, extra_body=extra)).attempts == 1
    sent = server.requests[0]["json"]
    assert {key: sent[key] for key in extra} == extra
    assert "max_tokens" not in sent


def test_a_value_out_of_range_is_no_refusal() -> None:
    said = "max_tokens must be at most 512"
    with LoopbackServer(refusing(lambda asked: True, message=said, param="max_tokens")) as server:
        assert error(ask(server.base_url)).attempts == 1


def test_a_step_down_that_did_not_help_is_not_remembered() -> None:
    script = refusing(
        lambda asked: "bad" in asked["messages"][1]["content"], message="unexpected temperature"
    )
    with LoopbackServer(script) as server:
        bad, good = ask(server.base_url, request("bad"), request("good"))
    assert (bad.attempts, good.attempts) == (2, 1)
    assert "temperature" in server.requests[-1]["json"]


def test_a_step_down_survives_a_retry_of_the_same_call() -> None:
    served: list[str] = []

    def script(asked: dict[str, Any]) -> dict[str, Any]:
        served.append(kind(asked))
        if served[-1] == "json_schema":
            return {"status": 400, "body_json": {"error": {"message": "json_schema is not supported"}}}
        return verdict_response(asked) if len(served) > 2 else {"status": 503, "body_json": {}}

    with LoopbackServer(script) as server:
        assert reply(ask(server.base_url)).response_format == "json_object"
    assert served == ["json_schema", "json_object", "json_object"]


def test_the_budget_multiplies_the_token_limit() -> None:
    assert body(Endpoint(model="m", max_tokens=100), request(budget=2), Dialect())["max_tokens"] == 200


def test_the_schema_goes_out_strict() -> None:
    sent = body(Endpoint(model="m"), request(), Dialect())["response_format"]
    assert (sent["json_schema"]["name"], sent["json_schema"]["strict"]) == ("verdict", True)
    assert "response_format" not in body(Endpoint(model="m"), request(schema={}), Dialect())


def test_concurrent_discoveries_meet() -> None:
    assert Dialect(response_format=1).meet(Dialect(seed=1)) == Dialect(response_format=1, seed=1)
