"""What a judged trajectory costs in CPU, beside the bare SDK doing the same calls.

    python tests/bench/bench_call.py                 # all variants, with no delay and with 50 ms
    python tests/bench/bench_call.py --only b,c --delay 0 --trajectories 500

Every variant runs in a process of its own, pinned to one core; the loopback server runs on another. All
send the same requests: those the pipeline makes of the same trajectories (12 steps, groups of 8).

    bare       AsyncOpenAI().chat.completions.create, typed
    pipeline   Judge.score_many, cache and log off
    logged     Judge.score_many, cache and log on
    warm       the same again: every reply from the cache
    autoevals, openevals   two judge libraries, where they are installed

Figures are CPU seconds of the whole process (user and system) per 1,000 trajectories, wall-clock rate and
peak memory. Nothing here is asserted: a figure belongs to the machine it was taken on, a ratio to its run.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from judge import Config, Judge, Step, Trajectory
from judge.client.dialect import Dialect, body
from judge.schema import Request
from judge.testing import LoopbackServer, ScriptedClient, completion, verdict_response

VARIANTS = ("bare", "pipeline", "logged", "warm", "autoevals", "openevals")
CONCURRENCY = 64
GROUP = 8


def trajectories(count: int) -> list[Trajectory]:
    """Runs of 12 steps, eight of each task, whose requests hold about 6 kB."""
    return [_trajectory(number) for number in range(count)]


def _trajectory(number: int) -> Trajectory:
    task = number // GROUP
    steps = [
        Step(
            index=index,
            action=f"click('a{number + index}')",
            action_type="click",
            text=f"The list is open; entry {number + index} is the next to look at.",
            observation=f"Page {index} of the order list for customer {task}: {number} entries are shown.",
        )
        for index in range(12)
    ]
    instruction = (
        f"Change the delivery date of order #{1000 + task} to 2026-12-{1 + task % 28:02d}, not earlier."
    )
    return Trajectory(trajectory_id=str(number), task_id=str(task), instruction=instruction, steps=steps)


def config(base_url: str, folder: str | None) -> Config:
    return Config(
        judge={"base_url": base_url, "model": "judge-x", "concurrency": CONCURRENCY},
        cache={"dir": None if folder is None else f"{folder}/cache"},
        log={"path": None if folder is None else f"{folder}/log.jsonl"},
    )


def requests_of(runs: list[Trajectory], settings: Config) -> list[dict[str, Any]]:
    """The bodies the pipeline sends for these runs, fine-rubric calls included, in its own order."""
    client = ScriptedClient(lambda request: _answer(request, settings))
    offline = settings.model_copy(update={"cache": config("", None).cache, "log": config("", None).log})
    with Judge(offline, client=client) as judge:
        judge.score_many(runs)
    return [body(settings.judge.endpoint(each.purpose), each, Dialect()) for each in client.requests]


def _answer(request: Request, settings: Config) -> str:
    sent = body(settings.judge.endpoint(request.purpose), request, Dialect())
    return str(verdict_response(sent)["body_json"]["choices"][0]["message"]["content"])


@contextmanager
def measured(judged: int) -> Iterator[dict[str, float]]:
    """What judging `judged` trajectories takes, filled in at the end of the block.

    Imports and the first connection come before it and are no part of any variant's figures.
    """
    figures: dict[str, float] = {}
    cpu, wall = time.process_time(), time.perf_counter()
    yield figures
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    figures.update(cpu_s_per_1000=cpu / judged * 1000, rate=judged / wall, peak_mb=peak_mb)


def bare(runs: list[Trajectory], base_url: str) -> dict[str, float]:
    from openai import AsyncOpenAI

    async def call_all(bodies: list[dict[str, Any]]) -> dict[str, float]:
        async with AsyncOpenAI(base_url=base_url, api_key="none", max_retries=0) as client:

            async def call(sent: dict[str, Any]) -> None:
                answer = await client.chat.completions.create(**sent)
                json.loads(answer.choices[0].message.content or "")

            await call(bodies[0])
            with measured(len(runs)) as figures:
                await _concurrently(call, bodies)
            return figures

    return asyncio.run(call_all(requests_of(runs, config(base_url, None))))


def pipeline(runs: list[Trajectory], base_url: str, folder: str | None = None) -> dict[str, float]:
    with Judge(config(base_url, folder)) as judge:
        _judged(judge, trajectories(len(runs) + 1)[-1:])
        with measured(len(runs)) as figures:
            _judged(judge, runs)
    return figures


def logged(runs: list[Trajectory], base_url: str) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        return pipeline(runs, base_url, folder)


def warm(runs: list[Trajectory], base_url: str) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder, Judge(config(base_url, folder)) as judge:
        _judged(judge, runs)
        with measured(len(runs)) as figures:
            _judged(judge, runs)
    return figures


def autoevals(runs: list[Trajectory], base_url: str) -> dict[str, float]:
    from autoevals import LLMClassifier
    from openai import AsyncOpenAI

    async def call_all(texts: list[str]) -> dict[str, float]:
        async with AsyncOpenAI(base_url=base_url, api_key="none", max_retries=0) as client:
            judge = LLMClassifier(
                "success", "{{{input}}}", {"Y": 1, "N": 0}, model="judge-x", use_cot=True, client=client
            )

            async def call(text: str) -> None:
                await judge.eval_async(output="", input=text)

            await call(texts[0])
            with measured(len(runs)) as figures:
                await _concurrently(call, texts)
            return figures

    return asyncio.run(call_all(_texts(runs, base_url)))


def openevals(runs: list[Trajectory], base_url: str) -> dict[str, float]:
    from openai import AsyncOpenAI
    from openevals.llm import create_async_llm_as_judge

    async def call_all(texts: list[str]) -> dict[str, float]:
        async with AsyncOpenAI(base_url=base_url, api_key="none", max_retries=0) as client:
            judge = create_async_llm_as_judge(prompt="{inputs}", judge=client, model="judge-x")

            async def call(text: str) -> None:
                await judge(inputs=text)

            await call(texts[0])
            with measured(len(runs)) as figures:
                await _concurrently(call, texts)
            return figures

    return asyncio.run(call_all(_texts(runs, base_url)))


def _texts(runs: list[Trajectory], base_url: str) -> list[str]:
    """Each request as one text, for libraries that take a prompt and not messages."""
    sent = requests_of(runs, config(base_url, None))
    return ["\n".join(message["content"] for message in each["messages"]) for each in sent]


def serve(delay_s: float) -> None:
    """Answer until standard input ends; the other libraries ask for a tool call where ours asks for JSON."""
    with LoopbackServer(_respond, delay_s=delay_s, record=False) as server:
        print(server.base_url, flush=True)
        sys.stdin.read()


def _respond(asked: dict[str, Any]) -> dict[str, Any]:
    if not asked.get("tools"):
        return verdict_response(asked)
    name = asked["tools"][0]["function"]["name"]
    function = {"name": name, "arguments": json.dumps({"reasons": "As asked.", "choice": "Y"})}
    message = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "1", "type": "function", "function": function}],
    }
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    return {"body_json": completion("", choices=[choice])}


def _judged(judge: Judge, runs: list[Trajectory]) -> int:
    failed = [reward for reward in judge.score_many(runs) if reward.value is None]
    if failed:
        sys.exit(f"{len(failed)} of {len(runs)} judgements failed, the first: {failed[0].error}")
    return len(runs)


async def _concurrently(call: Callable[[Any], Awaitable[None]], items: list[Any]) -> None:
    todo = iter(items)

    async def work() -> None:
        for item in todo:
            await call(item)

    await asyncio.gather(*(work() for _ in range(CONCURRENCY)))


def run_variant(name: str, count: int, base_url: str) -> None:
    _pin(0)
    figures = globals()[name](trajectories(count), base_url)
    json.dump(figures, sys.stdout)


def _pin(core: int) -> None:
    """Client and server on cores of their own, where the system lets us choose."""
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[core % len(cores)]})


def compare(names: list[str], count: int, delay_s: float) -> None:
    """Run the variants one after the other against one server and print their figures and ratios."""
    server = subprocess.Popen(
        [sys.executable, __file__, "--serve", "--delay", str(delay_s)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=_environment(),
        preexec_fn=lambda: _pin(1),
    )
    assert server.stdin is not None
    assert server.stdout is not None
    base_url = server.stdout.readline().strip()
    print(f"\n{count} trajectories, concurrency {CONCURRENCY}, server delay {delay_s * 1000:g} ms")
    print(f"{'variant':<10} {'CPU s/1000':>10} {'x bare':>7} {'runs/s':>8} {'peak MB':>8}")
    base: float | None = None
    for name in names:
        figures = _in_own_process(name, count, base_url)
        base = figures["cpu_s_per_1000"] if name == "bare" else base
        ratio = "" if base is None else f"{figures['cpu_s_per_1000'] / base:.2f}"
        print(
            f"{name:<10} {figures['cpu_s_per_1000']:>10.3f} {ratio:>7} {figures['rate']:>8.0f} "
            f"{figures['peak_mb']:>8.0f}",
            flush=True,
        )
    server.stdin.close()
    server.wait()


def _in_own_process(name: str, count: int, base_url: str) -> dict[str, float]:
    command = [
        sys.executable,
        __file__,
        "--variant",
        name,
        "--trajectories",
        str(count),
        "--base-url",
        base_url,
    ]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=_environment())
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def _environment() -> dict[str, str]:
    here = str(Path(__file__).resolve().parents[2])
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH")]))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--trajectories", type=int, default=2000)
    parser.add_argument("--delay", type=float, nargs="*", default=[0.0, 0.05], help="seconds, each a table")
    parser.add_argument("--only", help=f"variants, comma-separated, of {', '.join(VARIANTS)}")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--variant", choices=VARIANTS, help=argparse.SUPPRESS)
    parser.add_argument("--base-url", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.delay[0])
        return
    if options.variant:
        run_variant(options.variant, options.trajectories, options.base_url)
        return
    wanted = options.only.split(",") if options.only else list(VARIANTS)
    missing = [name for name in wanted if name.endswith("evals") and not importlib.util.find_spec(name)]
    for delay_s in options.delay:
        compare([name for name in wanted if name not in missing], options.trajectories, delay_s)
    if missing:
        print(f"\nnot installed, left out: {', '.join(missing)}")


if __name__ == "__main__":
    main()
