"""The fingerprint: what can change a verdict changes it; where and how fast it is come by does not."""

from __future__ import annotations

from typing import Any

import pytest

from judge.config import Config
from judge.fingerprint import fingerprint
from tests.pipeline.judged import config


def taken(settings: Config | None = None, rubrics: str = "r", prompts: str = "p", *purposes: str) -> str:
    return fingerprint(settings or config(), rubrics, prompts, purposes or ("trajectory", "fine"))


def test_equal_settings_have_equal_fingerprints() -> None:
    assert taken() == taken()
    assert len(taken()) == 16
    assert int(taken(), 16) >= 0
    assert taken(None, "r", "p", "fine", "trajectory") == taken(None, "r", "p", "trajectory", "fine")


@pytest.mark.parametrize(
    "sections",
    [
        {"judge": {"model": "judge-y"}},
        {"judge": {"base_url": "http://127.0.0.1:10/v1"}},
        {"judge": {"temperature": 0.7}},
        {"judge": {"seed": 1}},
        {"judge": {"max_tokens": 512}},
        {"judge": {"extra_body": {"top_p": 0.9}}},
        {"judge": {"vision": "off"}},
        {"judge": {"max_reask": 0}},
        {"judge": {"purposes": {"fine": {"model": "small"}}}},
        {"rubrics": {"fine": "on"}},
        {"rubrics": {"on_fine_error": "coarse"}},
        {"frames": {"max_frames": 5}},
        {"frames": {"max_chars": 9_000}},
        {"steps": {"mode": "whole"}},
        {"on_empty": "error"},
        {"context_retry": "fewer_frames"},
    ],
)
def test_what_can_change_a_verdict_changes_it(sections: dict[str, Any]) -> None:
    assert taken(config(**sections)) != taken()


@pytest.mark.parametrize(
    "sections",
    [
        {"judge": {"concurrency": 3, "timeout_s": 1, "deadline_s": 2, "max_attempts": 9, "backoff_s": 1}},
        {"judge": {"requests_per_minute": 60, "price_per_million": {"prompt": 1}}},
        {"judge": {"purposes": {"route": {"model": "small"}}}},
        {"reward": {"scheme": "success"}},
        {"steps": {"at": [1]}},
        {"cache": {"dir": "elsewhere"}},
        {"log": {"path": "elsewhere"}},
        {"on_error": "raise"},
    ],
)
def test_what_cannot_change_a_verdict_does_not(sections: dict[str, Any]) -> None:
    assert taken(config(**sections)) == taken()


def test_files_and_purposes_count() -> None:
    assert len({taken(), taken(None, "r2"), taken(None, "r", "p2"), taken(None, "r", "p", "trajectory")}) == 4


def test_a_named_endpoint_may_move() -> None:
    here, there = (
        config(judge={"endpoint_id": "ours", "base_url": f"http://127.0.0.1:{port}/v1"}) for port in (1, 2)
    )
    assert taken(here) == taken(there)
