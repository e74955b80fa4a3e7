"""verl's reward function, called as its reward managers call it: what is judged, and what a failure gives."""

from __future__ import annotations

import asyncio
import inspect
import math
import multiprocessing
import pickle
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from judge.errors import ConfigError, JudgeError
from judge.integrations.verl import compute_score
from judge.testing import LoopbackServer
from tests.integrations.grading import FIGURES, graded, settings, shown
from tests.pipeline.judged import rows

MESSAGES = [
    {"role": "system", "content": "You book flights."},
    {"role": "user", "content": "Book a flight to Oslo"},
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"function": {"name": "find", "arguments": '{"to": "OSL"}'}}],
    },
    {"role": "tool", "content": "SK4035, 120 EUR"},
    {"role": "assistant", "content": "Booked SK4035."},
]


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    with LoopbackServer(graded) as running:
        yield running


async def scored(
    server: LoopbackServer, text: str = "Done.", info: Any = None, **given: Any
) -> dict[str, float]:
    """The call of a reward manager that has a reward model deployed, with reward_kwargs merged in."""
    return await compute_score(
        data_source="travel",
        solution_str=text,
        ground_truth="GOLD",
        extra_info={"question": "Say grade 1.0"} if info is None else info,
        reward_router_address="127.0.0.1:1",
        reward_model_tokenizer=None,
        **{"settings": settings(server), **given},
    )


def test_it_is_what_verl_looks_for() -> None:
    assert inspect.iscoroutinefunction(compute_score)
    assert pickle.loads(pickle.dumps(compute_score)) is compute_score
    assert compute_score.__name__ == "compute_score"


def test_a_dict_of_numbers(server: LoopbackServer) -> None:
    result = asyncio.run(scored(server, "grade 0.25", invented_in_a_later_version=1))
    assert result.keys() == {"score", *FIGURES}
    assert all(type(value) is float and math.isfinite(value) for value in result.values())
    assert (result["score"], result["judge_score"], result["judge_success"]) == (0.25, 0.25, 0.0)
    assert (result["judge_met"], result["judge_abstained"]) == (1.0, 0.0)


def test_what_it_cost(server: LoopbackServer) -> None:
    judge = {**settings(server)["judge"], "price_per_million": {"prompt": 1000, "completion": 2000}}
    result = asyncio.run(scored(server, settings=settings(server, judge=judge)))
    assert result["judge_cost"] == pytest.approx(0.9 + 0.06)


def test_the_decoded_text_is_one_step_after_the_question(server: LoopbackServer) -> None:
    asyncio.run(
        scored(server, "It is Oslo.", {"question": "Where is the opera?", "answer": "SECRET", "index": 3})
    )
    assert "Where is the opera?" in shown(server)
    assert "It is Oslo." in shown(server)
    assert "GOLD" not in shown(server)
    assert "SECRET" not in shown(server)


@pytest.mark.parametrize("name", ["raw_prompt", "messages"])
def test_the_prompt_says_what_was_asked(server: LoopbackServer, name: str) -> None:
    asyncio.run(scored(server, "Booked SK4035.", {name: np.array(MESSAGES[:2], dtype=object)}))
    for told in ("You book flights.", "Book a flight to Oslo", "Booked SK4035."):
        assert told in shown(server)


def test_the_whole_run_goes_over_the_decoded_text(server: LoopbackServer, tmp_path: Path) -> None:
    info = {
        "messages": np.array(MESSAGES, dtype=object),
        "raw_prompt": MESSAGES[:2],
        "task_id": np.int64(7),
        "group": "g",
        "max_global_steps": 12,
    }
    logged = settings(server, log={"path": str(tmp_path / "log")})
    asyncio.run(scored(server, "find(OSL) SK4035, 120 EUR Booked, glued together", info, settings=logged))
    assert "SK4035, 120 EUR" in shown(server)
    assert "glued" not in shown(server)
    (row,) = rows(tmp_path / "log")
    assert (row["task_id"], row["group"], row["step"], row["source"]) == ("7", "g", 12, "travel")
    assert row["frame_count"] == 2


def test_equal_texts_are_different_runs(server: LoopbackServer, tmp_path: Path) -> None:
    logged = settings(server, log={"path": str(tmp_path / "log")})
    for _ in range(2):
        asyncio.run(scored(server, settings=logged))
    assert len({row["trajectory_id"] for row in rows(tmp_path / "log")}) == 2


def test_the_row_is_left_as_it_was(server: LoopbackServer) -> None:
    info = {"question": "Go", "messages": MESSAGES[:2], "images": []}
    asyncio.run(scored(server, info=info))
    assert info == {"question": "Go", "messages": MESSAGES[:2], "images": []}


def test_a_verifiers_number_is_the_outcome(server: LoopbackServer) -> None:
    blended = settings(server, reward={"scheme": "weighted", "weights": {"outcome": 1.0}})
    info = {"question": "Go", "outcome": 0.0}
    result = asyncio.run(scored(server, "grade 0.75", info, settings=blended))
    assert (result["score"], result["judge_score"]) == (0.0, 0.75)


def test_a_failure_raises_by_default(server: LoopbackServer) -> None:
    with pytest.raises(JudgeError, match="no such thing") as caught:
        asyncio.run(scored(server, "no verdict"))
    assert caught.value.kind == "bad_request"


def test_a_run_without_instruction_is_a_failure_that_says_so(server: LoopbackServer) -> None:
    with pytest.raises(JudgeError, match="instruction: missing"):
        asyncio.run(scored(server, info={}))
    assert server.served == 0


def test_a_number_stands_for_a_failure_and_is_marked(
    server: LoopbackServer, caplog: pytest.LogCaptureFixture
) -> None:
    result = asyncio.run(scored(server, "no verdict", on_abstain=0.125))
    assert result == {"score": 0.125, **dict.fromkeys(FIGURES, 0.0), "judge_abstained": 1.0}
    assert "1 of the last 1 judgements failed (0.125 instead): bad_request: " in caplog.text


def test_zero_where_the_configuration_wants_that(server: LoopbackServer) -> None:
    zero = settings(server, on_error="zero")
    assert asyncio.run(scored(server, "no verdict", settings=zero))["score"] == 0.0
    assert asyncio.run(scored(server, "no verdict", settings=zero, on_abstain=0.125))["score"] == 0.125


def test_a_mean_stands_for_a_failure(server: LoopbackServer) -> None:
    async def one(text: str, task: str) -> float:
        info = {"question": "Go", "task_id": task}
        return (await scored(server, text, info, on_abstain="mean"))["score"]

    async def all_in_order() -> list[float]:
        texts = [("no verdict", "a"), ("grade 0.25", "a"), ("grade 0.75", "a"), ("grade 0.0", "b")]
        return [await one(*each) for each in [*texts, ("no verdict", "a"), ("no verdict", "c")]]

    first, *_, of_its_prompt, of_all = asyncio.run(all_in_order())
    assert first == 0.5
    assert of_its_prompt == 0.5
    assert of_all == pytest.approx(1 / 3)


def test_judges_do_not_mix_their_means(server: LoopbackServer) -> None:
    other = settings(server, reward={"scheme": "success"})
    asyncio.run(scored(server, "grade 0.25", on_abstain="mean"))
    assert asyncio.run(scored(server, "no verdict", on_abstain="mean"))["score"] == 0.25
    assert asyncio.run(scored(server, "no verdict", on_abstain="mean", settings=other))["score"] == 0.5


def test_a_judge_that_hangs_fails_in_time(server: LoopbackServer) -> None:
    server.script = [{"accept_then_stall_s": 60}]
    with pytest.raises(JudgeError) as caught:
        asyncio.run(scored(server, within_s=0.2))
    assert caught.value.kind == "timeout"
    assert asyncio.run(scored(server, within_s=0.2, on_abstain="mean"))["judge_abstained"] == 1.0


@pytest.mark.parametrize("wrong", ["zero", None, math.nan, True])
def test_a_misspelt_on_abstain_is_found_before_the_first_failure(server: LoopbackServer, wrong: Any) -> None:
    with pytest.raises(ConfigError, match="raise, mean or a finite number"):
        asyncio.run(scored(server, on_abstain=wrong))


def test_settings_that_cannot_be_used_raise_whatever_on_abstain_says(server: LoopbackServer) -> None:
    with pytest.raises(ConfigError, match="colour"):
        asyncio.run(scored(server, on_abstain="mean", settings={**settings(server), "colour": "blue"}))


def test_many_at_once_on_several_loops(server: LoopbackServer) -> None:
    async def batch(_: int) -> list[float]:
        results = await asyncio.gather(*(scored(server, f"grade 0.{n}") for n in range(1, 9)))
        return [result["score"] for result in results]

    with ThreadPoolExecutor(4) as pool:
        for scores in pool.map(lambda number: asyncio.run(batch(number)), range(4)):
            assert scores == [n / 10 for n in range(1, 9)]


def waited(call: partial[Any]) -> dict[str, float]:
    return asyncio.run(call())


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_forked_after_first_use_or_spawned(server: LoopbackServer, method: str) -> None:
    call = partial(compute_score, "travel", "grade 0.25", "", {"question": "Go"}, settings=settings(server))
    assert waited(call)["score"] == 0.25
    with ProcessPoolExecutor(1, multiprocessing.get_context(method)) as pool:
        assert pool.submit(waited, call).result()["score"] == 0.25


@pytest.mark.parametrize("name", ["verl", "openrlhf"])
def test_importing_loads_no_trainer_and_nothing_heavy(name: str) -> None:
    heavy = {"torch", "ray", "verl", "openrlhf", "openai", "pandas", "numpy", "PIL"}
    body = f"import sys, judge.integrations.{name}; print(sorted({heavy} & set(sys.modules)))"
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run([sys.executable, "-c", body], cwd=root, capture_output=True, check=True, text=True)
    assert done.stdout == "[]\n"
