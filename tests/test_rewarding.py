"""reward_fn: two forms of sample, where the settings come from, and what a failure gives."""

from __future__ import annotations

import asyncio
import inspect
import json
import pickle
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from judge import JudgeError, areward_fn, reward_fn
from judge.config import JudgeSection, RubricsSection
from judge.errors import ConfigError
from judge.rewarding import judge_for
from judge.testing import LoopbackServer
from tests.pipeline.judged import FAILURE, rows

FRAMES = {
    "instruction": "Open the archive",
    "frames": [{"action": "click('archive')", "text": "There it is.", "state": "archive open"}],
    "task_id": 7,
    "step": 12,
}
NATIVE = {"instruction": "Open the archive", "steps": [{"action": "click('archive')"}], "trajectory_id": "n"}
QUIET: dict[str, Any] = {"cache": {"dir": None}, "log": {"path": None}, "rubrics": {"fine": "off"}}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopbackServer]:
    """An endpoint that the environment names, in an environment that names no other."""
    for name in ("JUDGE_API_KEY", "JUDGE_CONFIG", "OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    with LoopbackServer() as running:
        # Some tests make no call at all: a server must have started before it can be stopped.
        urlopen(f"{running.base_url}/models").close()
        monkeypatch.setenv("JUDGE_BASE_URL", running.base_url)
        monkeypatch.setenv("JUDGE_MODEL", "from-env")
        yield running


@pytest.mark.parametrize("sample", [FRAMES, NATIVE])
def test_both_forms_of_a_sample(server: LoopbackServer, sample: dict[str, Any]) -> None:
    assert reward_fn(sample, **QUIET) == 1.0
    assert asyncio.run(areward_fn(sample, **QUIET)) == 1.0
    assert server.requests[0]["json"]["model"] == "from-env"


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ("judge.yaml", "not a str; JUDGE_CONFIG names a file"),
        (5, "not a int; JUDGE_CONFIG names a file"),
        ({1: 2}, "unknown key 1"),
        ({"judge": "judge-x"}, "judge: must be an object"),
        ({"rubrics": "static_v1"}, "rubrics: must be an object"),
        ({"modle": "judge-x"}, "modle: unknown key"),
        ({"judge": {1: 2, "model": "judge-x"}}, "judge"),
    ],
)
def test_settings_that_are_none_are_refused_by_name(
    server: LoopbackServer, settings: Any, named: str
) -> None:
    with pytest.raises(ConfigError, match=named):
        judge_for(overrides=settings)


def test_what_is_given_by_itself_goes_over_a_section_that_is_an_object(server: LoopbackServer) -> None:
    sections = {"judge": JudgeSection(model="one", seed=7), "rubrics": RubricsSection(version="adapt_v1")}
    config = judge_for("static_v1", {**sections, "model": "another"}).config
    assert (config.judge.model, config.judge.seed, config.rubrics.version) == ("another", 7, "static_v1")


def test_a_section_that_is_null_is_the_default(server: LoopbackServer) -> None:
    config = judge_for("static_v1", {"judge": None, "rubrics": None, "max_tokens": 77}).config
    assert (config.judge.max_tokens, config.rubrics.version) == (77, "static_v1")


def test_a_sample_keeps_its_ids_and_training_step(server: LoopbackServer, tmp_path: Path) -> None:
    reward_fn(FRAMES, "static_v1", **{**QUIET, "log": {"path": str(tmp_path / "l")}})
    (row,) = rows(tmp_path / "l")
    assert (row["task_id"], row["step"], row["rubric_version"]) == ("7", 12, "static_v1")


def test_a_keyword_goes_over_the_environment(server: LoopbackServer, monkeypatch: pytest.MonkeyPatch) -> None:
    with LoopbackServer() as other:
        assert reward_fn(NATIVE, base_url=other.base_url, model="said", **QUIET) == 1.0
        assert reward_fn(NATIVE, judge={"base_url": other.base_url}, temperature=0.5, **QUIET) == 1.0
        said, half = (request["json"] for request in other.requests)
    assert (said["model"], half["model"], half["temperature"]) == ("said", "from-env", 0.5)
    assert server.served == 0


def test_the_environment_goes_over_the_file_and_the_file_over_openai(
    server: LoopbackServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = {"judge": {"base_url": "http://127.0.0.1:9/v1", "model": "from-file", "max_tokens": 77}}
    (tmp_path / "judge.yaml").write_text(json.dumps(stored))
    monkeypatch.setenv("JUDGE_CONFIG", str(tmp_path / "judge.yaml"))
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "the policy's")
    monkeypatch.setenv("JUDGE_API_KEY", "the judge's own")
    assert reward_fn(NATIVE, **QUIET) == 1.0
    (request,) = server.requests
    assert (request["json"]["model"], request["json"]["max_tokens"]) == ("from-env", 77)
    assert request["headers"]["authorization"] == "Bearer the judge's own"


def test_a_changed_environment_is_another_judge(
    server: LoopbackServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    reward_fn(NATIVE, **QUIET)
    monkeypatch.setenv("JUDGE_MODEL", "another")
    reward_fn(NATIVE, **QUIET)
    assert [request["json"]["model"] for request in server.requests] == ["from-env", "another"]


@pytest.mark.parametrize("on_error", ["none", "zero", "raise"])
def test_without_an_endpoint_it_is_an_error_whatever_on_error_says(
    server: LoopbackServer, monkeypatch: pytest.MonkeyPatch, on_error: Any
) -> None:
    monkeypatch.delenv("JUDGE_BASE_URL")
    with pytest.raises(ConfigError, match="JUDGE_BASE_URL"):
        reward_fn(NATIVE, on_error=on_error, **QUIET)
    with pytest.raises(ConfigError, match="JUDGE_BASE_URL"):
        asyncio.run(areward_fn(NATIVE, on_error=on_error, **QUIET))


def test_nothing_but_its_name_chooses_the_embedded_judge(server: LoopbackServer) -> None:
    assert reward_fn(NATIVE, model="embedded-rules-v1", **QUIET) is not None
    assert server.served == 0


def test_a_failure_is_none_or_zero_or_raised(server: LoopbackServer) -> None:
    server.script = [FAILURE]
    assert reward_fn(NATIVE, **QUIET) is None
    assert reward_fn(NATIVE, on_error="zero", **QUIET) == 0.0
    with pytest.raises(JudgeError) as caught:
        reward_fn(NATIVE, on_error="raise", **QUIET)
    assert caught.value.kind == "bad_request"
    with pytest.raises(JudgeError, match="bad_request"):
        asyncio.run(areward_fn(NATIVE, on_error="raise", **QUIET))


def test_the_configuration_decides_where_the_call_leaves_it_open(
    server: LoopbackServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.script = [FAILURE]
    (tmp_path / "judge.yaml").write_text("on_error: raise\n")
    monkeypatch.setenv("JUDGE_CONFIG", str(tmp_path / "judge.yaml"))
    with pytest.raises(JudgeError, match="bad_request"):
        reward_fn(NATIVE, **QUIET)
    assert reward_fn(NATIVE, on_error="zero", **QUIET) == 0.0


def test_a_misspelt_on_error_is_found_before_the_first_failure(server: LoopbackServer) -> None:
    with pytest.raises(ConfigError, match="on_error is 'nan'; it is one of none, zero, raise"):
        reward_fn(NATIVE, on_error="nan", **QUIET)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="colour"):
        reward_fn(NATIVE, colour="blue", **QUIET)


@pytest.mark.parametrize("sample", [{}, {"frames": [{"action": "x"}]}, {"instruction": "Go", "steps": [3]}])
def test_a_sample_that_is_no_trajectory_is_told_and_treated_as_a_failure(
    server: LoopbackServer, sample: dict[str, Any]
) -> None:
    with pytest.warns(UserWarning, match="no trajectory was not judged"):
        assert reward_fn(sample, **QUIET) is None
    with pytest.warns(UserWarning, match="not judged"):
        assert asyncio.run(areward_fn(sample, on_error="zero", **QUIET)) == 0.0
    with pytest.warns(UserWarning, match="not judged"), pytest.raises(JudgeError, match="unusable_input"):
        reward_fn(sample, on_error="raise", **QUIET)
    assert server.served == 0


def test_calls_of_one_configuration_share_a_judge(server: LoopbackServer) -> None:
    samples = [{**NATIVE, "instruction": f"Task {i}", "trajectory_id": str(i)} for i in range(24)]
    seen: set[int] = set()

    def answer(_: dict[str, Any]) -> dict[str, Any]:
        seen.update(map(id, server.connections))
        return {}

    server.script = answer
    for sample in samples[:8]:
        assert reward_fn(sample, **QUIET) == 1.0
    assert len(seen) == 1
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(lambda sample: reward_fn(sample, **QUIET), samples)) == {1.0}


def test_trainers_can_ship_and_recognise_the_functions() -> None:
    assert pickle.loads(pickle.dumps(reward_fn)) is reward_fn
    assert inspect.iscoroutinefunction(areward_fn)
    assert not inspect.iscoroutinefunction(reward_fn)
