from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import urllib.request
from typing import Any

import pytest

from judge.errors import JudgeError
from judge.schema import Content, Reply, Request
from judge.testing import LoopbackServer, ScriptedClient, completion, example, verdict_response


def request(verdict_id: str | None = "t0k3n") -> Request:
    return Request("trajectory", ({"role": "user", "content": "?"},), {}, Content("i"), verdict_id=verdict_id)


def post(base_url: str, body: dict[str, Any], path: str = "/chat/completions") -> tuple[int, dict[str, Any]]:
    asked = urllib.request.Request(base_url + path, json.dumps(body).encode(), {"x-mark": "yes"})
    try:
        with urllib.request.urlopen(asked, timeout=5) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def test_a_script_is_followed_and_its_last_line_repeated() -> None:
    client = ScriptedClient(["first", {"success": True}, lambda asked: asked.purpose])
    replies = [asyncio.run(client.call(request())) for _ in range(4)]
    assert [reply.text for reply in replies] == [
        "first",
        '{"verdict_id": "t0k3n", "success": true}',
        "trajectory",
        "trajectory",
    ]
    assert {reply.verdict_id for reply in replies} == {"t0k3n"}
    assert len(client.requests) == 4


def test_a_script_may_raise_and_may_forge_the_token() -> None:
    client = ScriptedClient(
        [JudgeError("timeout", "late"), {"verdict_id": "forged"}, Reply("r", "m", "length")]
    )
    with pytest.raises(JudgeError, match="late"):
        asyncio.run(client.call(request()))
    assert asyncio.run(client.call(request())).text == '{"verdict_id": "forged"}'
    assert asyncio.run(client.call(request())).finish_reason == "length"


def test_a_request_without_a_token_gets_none() -> None:
    assert asyncio.run(ScriptedClient({"success": True}).call(request(None))).text == '{"success": true}'


def test_responses_come_in_order_and_the_last_repeats() -> None:
    with LoopbackServer([{"status": 503, "body_json": {"error": "busy"}}, {"body_json": {"n": 2}}]) as server:
        got = [post(server.base_url, {"messages": []}) for _ in range(3)]
    assert got == [(503, {"error": "busy"}), (200, {"n": 2}), (200, {"n": 2})]
    assert server.requests[0]["path"] == "/v1/chat/completions"
    assert server.requests[0]["headers"]["x-mark"] == "yes"


def test_models_are_listed_and_other_paths_are_unknown() -> None:
    with LoopbackServer(models=["a", "b"]) as server:
        with urllib.request.urlopen(server.base_url + "/models", timeout=5) as response:
            assert [model["id"] for model in json.load(response)["data"]] == ["a", "b"]
        assert post(server.base_url, {}, "/completions")[0] == 404
    assert server.served == 0


def test_an_answer_fits_the_schema_and_carries_the_token() -> None:
    item = {
        "properties": {"id": {"enum": ["a", "b"]}, "met": {"enum": ["no", "yes"]}, "step": {"type": ["null"]}}
    }
    properties = {
        "reason": {"type": "string"},
        "evidence": {
            "type": "array",
            "items": {"type": "object", "properties": {"quote": {"type": "string"}}},
        },
        "criteria": {"type": "array", "items": {"type": "object", **item}},
        "success": {"type": "boolean"},
        "score": {"type": "number", "maximum": 1},
        "verdict_id": {"type": "string"},
    }
    asked = {
        "messages": [{"role": "user", "content": [{"type": "text", "text": "…\nverdict_id: t0k3n"}]}],
        "response_format": {"json_schema": {"schema": {"type": "object", "properties": properties}}},
    }
    answer = json.loads(verdict_response(asked)["body_json"]["choices"][0]["message"]["content"])
    assert [each["id"] + each["met"] for each in answer["criteria"]] == ["ayes", "byes"]
    assert (answer["success"], answer["score"], answer["evidence"], answer["verdict_id"]) == (
        True,
        1.0,
        [],
        "t0k3n",
    )


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"anyOf": [{"type": "integer", "minimum": 3}, {"type": "null"}]}, 3),
        ({"const": "x"}, "x"),
        ({"type": "boolean"}, True),
        ({"type": ["string", "null"]}, "As asked."),
        ({"type": "array", "items": {"type": "string"}}, []),
    ],
)
def test_examples(schema: dict[str, Any], value: Any) -> None:
    assert example(schema) == value


def test_a_completion_says_what_it_is_told() -> None:
    body = completion("hello", "length", model="other")
    assert body["choices"][0]["message"]["content"] == "hello"
    assert (body["choices"][0]["finish_reason"], body["model"]) == ("length", "other")


def test_the_server_runs_as_a_process_until_its_input_ends() -> None:
    command = [sys.executable, "-m", "judge.testing", "--delay", "0.01"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        status, body = post(server.stdout.readline().strip(), {"messages": []})
        server.communicate()
    assert (status, body["object"], server.returncode) == (200, "chat.completion", 0)
