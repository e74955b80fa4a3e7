"""Each situation the doctor knows, against a real server on the loopback interface."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from judge.config import CacheSection, Config, Endpoint, LogSection
from judge.doctor import Finding, diagnose
from judge.doctor.address import suspicion
from judge.doctor.advice import near
from judge.doctor.key import Key, check_key
from judge.doctor.places import check_cache, check_log
from judge.testing import LoopbackServer, completion, verdict_response
from tests.cases import closed_port

KEY = "sk-live-0123456789-abcdefghijkl"
PAGE = {"body_text": "<!DOCTYPE html><title>Welcome</title>", "headers": {"content-type": "text/html"}}


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.upper().startswith(("JUDGE_", "OPENAI_")) or name.upper().endswith("_PROXY"):
            monkeypatch.delenv(name)


def examine(base_url: str | None, judge: dict[str, Any] | None = None, **settings: Any) -> list[Finding]:
    given = {"base_url": base_url, "model": "judge-x", "timeout_s": 5.0, **(judge or {})}
    config = Config(judge=given, **{"cache": {"dir": None}, "log": {"path": None}, **settings})
    return list(diagnose(config))


def by_check(findings: list[Finding]) -> dict[str, Finding]:
    return {finding.check: finding for finding in findings}


def answering(*script: Any, **options: Any) -> dict[str, Finding]:
    """What is found at a server that answers so."""
    responses = script[0] if callable(script[0]) else list(script)
    with LoopbackServer(responses, **options) as server:
        return by_check(examine(server.base_url))


def failed(status: int, message: str = "no", **error: Any) -> dict[str, Any]:
    return {"status": status, "body_json": {"error": {"message": message, **error}}}


def test_a_good_endpoint_costs_four_calls_and_all_is_fine() -> None:
    with LoopbackServer(models=("other", "judge-x")) as server:
        findings = examine(server.base_url)
    assert [finding.level for finding in findings] == ["ok"] * len(findings)
    found = by_check(findings)
    assert list(found) == [
        *("endpoint", "key", "models", "call", "verdict", "parameters", "images", "cache", "log")
    ]
    assert len(server.requests) == 4
    assert found["models"].facts == {"listed": ["other", "judge-x"], "configured": True}
    assert (found["call"].facts["prompt_tokens"], found["call"].facts["completion_tokens"]) == (900, 30)
    assert len(found["call"].facts["latencies_ms"]) == 3
    assert found["parameters"].facts["response_format"] == "json_schema"
    assert found["images"].facts == {"taken": True}


def test_the_median_of_three_calls_is_told() -> None:
    delays = iter([0.1, 0.0, 0.03, 0.0])
    found = answering(lambda asked: {**verdict_response(asked), "delay_s": next(delays)})
    assert found["call"].facts["latency_ms"] == sorted(found["call"].facts["latencies_ms"])[1]


@pytest.mark.parametrize(
    ("response", "words"),
    [
        (failed(401), "wants a key and none is set"),
        (failed(402), "out of credit"),
        (failed(404), "check the base URL"),
        (failed(413), "longer context"),
        (failed(429), "judge.requests_per_minute"),
        (failed(503), "still loading"),
        (PAGE, "a web page answers there"),
        ({**PAGE, "status": 403}, "sign-in page"),
        ({"body_json": completion("", choices=[])}, "empty choices"),
        ({"body_json": completion("", choices=None)}, "empty choices"),
        ({"body_json": {"hello": 1}}, "no OpenAI-compatible chat endpoint"),
        ({"reset_after_bytes": 0}, "breaks the connection"),
    ],
)
def test_a_call_that_fails_says_what_to_do(response: dict[str, Any], words: str) -> None:
    call = answering(response)["call"]
    assert call.level == "fail"
    assert words in call.remedy


def test_a_failing_call_is_made_once() -> None:
    with LoopbackServer([failed(503)]) as server:
        found = by_check(examine(server.base_url))
    assert len(server.requests) == 1
    assert "503" in found["call"].what
    assert "verdict" not in found


def test_a_failure_after_good_calls_is_a_warning() -> None:
    with LoopbackServer([{}, failed(429), {}]) as server:
        findings = examine(server.base_url)
    first, second = [finding for finding in findings if finding.check == "call"]
    assert (first.level, "after 1 good" in first.what) == ("warn", True)
    assert (second.level, len(second.facts["latencies_ms"])) == ("ok", 1)


def test_silence_is_told_with_the_time_out() -> None:
    with LoopbackServer([{"accept_then_stall_s": 3600}]) as server:
        call = by_check(examine(server.base_url, {"timeout_s": 0.2}))["call"]
    assert (call.level, call.facts["kind"]) == ("fail", "timeout")
    assert "judge.timeout_s = 0.2" in call.remedy


def test_nobody_listening() -> None:
    found = by_check(examine(f"http://127.0.0.1:{closed_port()}/v1"))
    assert "nothing listens" in found["call"].remedy
    assert "models" not in found


def test_a_host_that_does_not_exist() -> None:
    assert "no such host: judge.invalid" in by_check(examine("http://judge.invalid/v1"))["call"].remedy


def test_no_endpoint_and_no_model() -> None:
    nowhere = by_check(examine(None))["endpoint"]
    assert (nowhere.level, "JUDGE_BASE_URL" in nowhere.remedy) == ("fail", True)
    unnamed = by_check(examine("http://127.0.0.1:1/v1", {"model": None}))["endpoint"]
    assert (unnamed.level, "JUDGE_MODEL" in unnamed.remedy) == ("fail", True)


@pytest.mark.parametrize(
    "text", [KEY, "localhost:8000/v1", "http://:80/v1", "http://h:80a/v1", "http://[::1"]
)
def test_what_is_no_url_is_refused_and_not_shown(text: str) -> None:
    endpoint = by_check(examine(text))["endpoint"]
    assert (endpoint.level, "no URL" in endpoint.what) == ("fail", True)
    assert text not in str(endpoint)


def test_the_embedded_judge_leaves_nothing_to_ask() -> None:
    found = by_check(examine(None, {"model": "embedded-rules-v1"}))
    assert list(found) == ["judge", "cache", "log"]
    assert "not a training reward" in found["judge"].what


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("", "try http://127.0.0.1/v1"),
        ("/v1/chat/completions", "which the client adds: http://127.0.0.1/v1"),
        ("/api/v3", ""),
        ("/v1beta/openai/", ""),
    ],
)
def test_what_looks_wrong_about_a_base_url(path: str, words: str) -> None:
    hint = suspicion(Endpoint(base_url=f"http://127.0.0.1{path}"))
    assert hint.endswith(words)
    assert bool(hint) == bool(words)


@pytest.mark.parametrize("change", [("/v1", ""), ("/v1", "/v1/chat/completions")])
def test_a_wrong_base_url_is_told_once_it_has_failed(change: tuple[str, str]) -> None:
    with LoopbackServer() as server:
        right = server.base_url
        call = by_check(examine(right.replace(*change)))["call"]
    assert call.level == "fail"
    assert call.remedy.endswith(f" {right}")


def test_an_unknown_model_is_told_with_names_near_it() -> None:
    with LoopbackServer([failed(404, "no such model")], models=("qwen3-8b", "judge-xl")) as server:
        found = by_check(examine(server.base_url))
    assert (found["models"].level, found["models"].facts["near"]) == ("warn", ["judge-xl"])
    assert (found["call"].level, "judge-xl" in found["call"].remedy) == ("fail", True)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("llama-3.1-8b", ["meta-llama/Llama-3.1-8B-Instruct"]),
        ("gpt4o", ["gpt-4o", "gpt-4o-mini"]),
        ("zzz", ["gpt-4o", "gpt-4o-mini", "meta-llama/Llama-3.1-8B-Instruct"]),
    ],
)
def test_near_names(asked: str, expected: list[str]) -> None:
    listed = ["gpt-4o", "gpt-4o-mini", "meta-llama/Llama-3.1-8B-Instruct"]
    assert near(asked, listed) == expected


def test_an_unlisted_model_that_answers_is_a_warning() -> None:
    found = answering({}, models=("judge-y",))
    assert (found["models"].level, found["call"].level) == ("warn", "ok")


def test_what_the_endpoint_stepped_down_to_is_told() -> None:
    def script(asked: dict[str, Any]) -> dict[str, Any]:
        for name in ("temperature", "seed", "max_tokens"):
            if name in asked:
                return failed(400, f"Unsupported parameter: {name} is not supported", param=name)
        if asked.get("response_format", {}).get("type") == "json_schema":
            return failed(400, "response_format json_schema is not supported")
        return verdict_response(asked)

    facts = answering(script)["parameters"].facts
    assert (facts["response_format"], facts["token_limit"]) == ("json_object", "max_completion_tokens")
    assert (facts["sent"], facts["refused"]) == ((), ["temperature", "seed"])


def test_no_structured_output_is_a_warning() -> None:
    def script(asked: dict[str, Any]) -> dict[str, Any]:
        if "response_format" in asked:
            return failed(400, "response_format is not supported")
        return {"body_json": completion('{"success": true, "score": 1, "reason": "It is set."}')}

    parameters = answering(script)["parameters"]
    assert (parameters.level, parameters.facts["response_format"]) == ("warn", "plain")


def no_images(asked: dict[str, Any]) -> dict[str, Any]:
    if any(isinstance(message["content"], list) for message in asked["messages"]):
        return failed(400, "image_url is not supported by this model")
    return verdict_response(asked)


@pytest.mark.parametrize(
    ("vision", "level", "taken"), [("auto", "warn", False), ("on", "fail", False), ("off", "ok", None)]
)
def test_images_refused(vision: str, level: str, taken: bool | None) -> None:
    with LoopbackServer(no_images) as server:
        images = by_check(examine(server.base_url, {"vision": vision}))["images"]
    assert (images.level, images.facts["taken"]) == (level, taken)


def test_replies_that_are_no_verdict_fail() -> None:
    found = answering({"body_json": completion("Looks good to me.")})
    assert (found["call"].level, found["verdict"].level) == ("ok", "fail")
    assert found["verdict"].facts == {"replies": 3, "readable": 0, "kind": "parse_error"}


def test_one_unreadable_reply_is_a_warning() -> None:
    assert answering({"body_json": completion("Hm.")}, {})["verdict"].level == "warn"


def test_a_reply_cut_by_the_budget_names_it() -> None:
    assert (
        "judge.max_tokens (it is 1024)"
        in answering({"body_json": completion('{"reason": "lo', "length")})["verdict"].remedy
    )


def test_purposes_with_endpoints_of_their_own_are_examined_each() -> None:
    with LoopbackServer() as judge, LoopbackServer(models=("small",)) as small:
        purposes = {"fine": {"base_url": small.base_url, "model": "small"}, "route": {"model": "judge-x"}}
        findings = examine(judge.base_url, {"purposes": purposes})
    asked = [finding.facts["purposes"] for finding in findings if finding.check == "endpoint"]
    assert asked == [["trajectory", "route"], ["fine"]]
    assert (len(judge.requests), len(small.requests)) == (4, 4)


def test_a_purpose_without_an_endpoint_fails_while_the_other_is_examined() -> None:
    with LoopbackServer() as server:
        purposes = {"trajectory": {"base_url": server.base_url}}
        findings = examine(None, {"purposes": purposes})
    assert [finding.level for finding in findings if finding.check == "endpoint"] == ["ok", "fail"]


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ("ya29.a0AfB_byC-0123456789", "Google OAuth"),
        ("sk-ant-oat01-0123456789abcdef", "Anthropic OAuth"),
        ("gho_0123456789abcdefghij", "GitHub OAuth"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl", "JSON web token"),
        ("sk-live-0123 456789", "holds white space"),
        ("sk-live-0123456789\n", "white space around it"),
        ('"sk-live-0123456789"', "quotation marks"),
        ("Bearer sk-live-0123456789", '"Bearer"'),
    ],
)
def test_a_key_that_looks_wrong(raw: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUDGE_API_KEY", raw)
    finding = check_key(Endpoint(), is_local=False)
    assert (finding.level, words in finding.what) == ("warn", True)
    assert "JUDGE_API_KEY" in finding.remedy
    assert raw.strip()[:8] not in str(finding)


def test_of_a_key_only_name_length_and_tail_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert check_key(Endpoint(), False).what == f"OPENAI_API_KEY ({len(KEY)} characters, ends in …kl)"
    assert Key("X", "short-key").described == "X (9 characters)"
    assert KEY not in repr(Key("X", KEY))


def test_a_key_variable_that_is_not_set_stops_the_examination() -> None:
    with LoopbackServer() as server:
        found = by_check(examine(server.base_url, {"api_key_env": "NO_SUCH_KEY"}))
    assert (found["key"].level, found["key"].remedy) == ("fail", "export NO_SUCH_KEY=…")
    assert not server.requests


def test_a_key_is_missed_only_away_from_this_machine() -> None:
    assert check_key(Endpoint(), is_local=True).level == "ok"
    assert check_key(Endpoint(), is_local=False).level == "warn"


@pytest.mark.parametrize(
    ("status", "key", "words"),
    [
        (401, KEY, "is not accepted"),
        (403, KEY, "its account may use judge-x"),
        (401, "ya29.0123456789", "create an API key in the provider's console"),
    ],
)
def test_a_refused_key_is_never_shown(
    status: int, key: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUDGE_API_KEY", key)
    with LoopbackServer([failed(status, f"Incorrect API key provided: {key}")]) as server:
        findings = examine(server.base_url)
    call = by_check(findings)["call"]
    assert (call.level, words in call.remedy) == ("fail", True)
    assert key not in json.dumps([[str(finding), finding.facts] for finding in findings])


def test_a_proxy_before_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{closed_port()}")
    with LoopbackServer() as server:
        found = by_check(examine(server.base_url))
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        spared = by_check(examine(server.base_url))
    assert (found["proxy"].level, found["proxy"].remedy) == ("warn", "add 127.0.0.1 to NO_PROXY")
    assert (found["call"].level, "the proxy of HTTP_PROXY" in found["call"].remedy) == ("fail", True)
    assert (spared.get("proxy"), spared["call"].level) == (None, "ok")


def test_a_proxy_no_client_can_use_is_named_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "ftp://user:hunter2@127.0.0.1:1")
    findings = examine("http://127.0.0.1:1/v1")
    assert "ALL_PROXY" in by_check(findings)["call"].remedy
    assert "hunter2" not in "".join(map(str, findings))


def test_places_that_can_be_written_are_left_as_they_were(tmp_path: Path) -> None:
    assert check_cache(CacheSection(dir=tmp_path / "not" / "yet")).level == "ok"
    assert check_log(LogSection(path=tmp_path / "logs" / "{host}-{pid}.jsonl")).level == "ok"
    assert list(tmp_path.iterdir()) == []


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    (file := tmp_path / "file").write_text("")
    cache, log = check_cache(CacheSection(dir=file / "cache")), check_log(LogSection(path=file / "log.jsonl"))
    assert (cache.level, log.level) == ("warn", "fail")
    assert "is a file" in cache.what
    assert check_log(LogSection(path=tmp_path)).level == "fail"


def test_places_on_a_network_file_system(tmp_path: Path) -> None:
    (mounts := tmp_path / "mounts").write_text(f"server:/x {tmp_path} nfs4 rw 0 0\n")
    cache = check_cache(CacheSection(dir=tmp_path / "cache"), mounts)
    log = check_log(LogSection(path=tmp_path / "log.jsonl"), mounts)
    part = check_log(LogSection(path=tmp_path / "log-{host}-{pid}.jsonl"), mounts)
    assert [cache.level, log.level, part.level] == ["warn", "warn", "ok"]
    assert "nfs4" in cache.what
