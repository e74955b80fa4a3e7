"""How long `judge report` takes over a large log, beside the plain script that a user would write.

    python tests/bench/bench_report.py               # 200,000 rows, in a temporary folder
    python tests/bench/bench_report.py --rows 1000000 --only report,tasks,sqlite
    python tests/bench/bench_report.py --only report,plain,arrow

The log is written by judge.log's own line writer: the rows of real judgements of the packaged examples, under
other ids, with other rewards, outcomes and verdicts, one in a hundred of them failed. Each variant reads it
in a process of its own, once it has been read to warm the file cache:

    report     judge report LOG --json
    tasks      judge report LOG --view tasks --json
    groups     judge report LOG --view groups --json
    sqlite     judge report LOG --json --sqlite FILE
    plain      json.loads of each line, pd.DataFrame of all rows, groupby
    arrow      pyarrow.json with the columns of the report named, groupby; odd rows make it fail

Figures are wall-clock and CPU seconds, peak memory, and the ratios to `report`. Nothing here is asserted.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from judge import Config, Judge, read_trajectories
from judge.log import encode_line, read_log
from judge.resources import examples

REPORT = "import sys; from judge.cli import main; main(['report', *sys.argv[1:]])"
PLAIN = """
import json, sys
import pandas as pd
with open(sys.argv[1], encoding="utf-8") as lines:
    frame = pd.DataFrame([json.loads(line) for line in lines])
sound = frame[frame["error"].isna()].astype({"success": float})
sound["fn"] = (sound["success"] == 0) & (sound["outcome"] == 1)
sound["fp"] = (sound["success"] == 1) & (sound["outcome"] != 1)
groups = sound.groupby(["rubric_version", "judge_model"])
print(groups.agg({"reward": "mean", "success": "mean", "fn": "sum", "fp": "sum", "latency_ms": "mean"}))
"""
ARROW = """
import sys
import pyarrow as pa
import pyarrow.json as pj
text = ["trajectory_id", "task_id", "category", "rubric_version", "judge_model", "outcome_status"]
numbers = ["reward", "score", "outcome", "latency_ms", "cost"]
fields = [(name, pa.string()) for name in text] + [(name, pa.float64()) for name in numbers]
fields += [("success", pa.bool_()), ("repeat", pa.int64())]
fields += [("error", pa.struct([("kind", pa.string())]))]
fields += [("usage", pa.struct([("total_tokens", pa.int64())]))]
options = pj.ParseOptions(explicit_schema=pa.schema(fields), unexpected_field_behavior="ignore")
table = pj.read_json(sys.argv[1], pj.ReadOptions(block_size=1 << 24), options)
frame = table.to_pandas(strings_to_categorical=True, self_destruct=True)
sound = frame[frame["error"].isna()].astype({"success": float})
sound["fn"] = (sound["success"] == 0) & (sound["outcome"] == 1)
sound["fp"] = (sound["success"] == 1) & (sound["outcome"] != 1)
groups = sound.groupby(["rubric_version", "judge_model"], observed=True)
print(groups.agg({"reward": "mean", "success": "mean", "fn": "sum", "fp": "sum", "latency_ms": "mean"}))
"""
VARIANTS = {
    "report": (REPORT, ["{log}", "--json"]),
    "tasks": (REPORT, ["{log}", "--view", "tasks", "--json"]),
    "groups": (REPORT, ["{log}", "--view", "groups", "--json"]),
    "sqlite": (REPORT, ["{log}", "--json", "--sqlite", "{folder}/log.db"]),
    "plain": (PLAIN, ["{log}"]),
    "arrow": (ARROW, ["{log}"]),
}
"""Name → the code and its arguments."""

GROUP = 8


def judged_rows(folder: Path) -> list[dict[str, Any]]:
    """A row for each packaged example and rubric version, as the embedded judge left it in a log."""
    log = folder / "judged.jsonl"
    for version in ("static_v1", "adapt_v1"):
        settings = Config(
            judge={"model": "embedded-rules-v1"},
            rubrics={"version": version},
            cache={"dir": None},
            log={"path": str(log)},
        )
        with Judge(settings) as judge:
            for path in sorted(examples().glob("*.jsonl")):
                judge.score_many(read_trajectories(path))
    return [row for row in read_log(log) if row["calls"]]


def varied(rows: list[dict[str, Any]], count: int) -> Iterator[dict[str, Any]]:
    """`count` rows: each run judged under two versions, in groups of eight runs."""
    chance = random.Random(0)
    for number in range(count):
        run, task = number // 2, number // 2 // GROUP
        outcome = float(chance.random() < 0.4)
        success = bool(outcome) if chance.random() < 0.8 else not outcome
        score = round(chance.uniform(0.5, 1) if success else chance.uniform(0, 0.49), 3)
        prompt = chance.randrange(900, 4000)
        changed: dict[str, Any] = {
            **{"trajectory_id": f"run/{run}", "task_id": f"task/{task}", "group": f"task/{task}"},
            **{"instruction_hash": f"{task:016x}", "rubric_version": ("static_v1", "adapt_v1")[number % 2]},
            **{"reward": score, "parts": {"score": score}, "score": score},
            **{"outcome": outcome, "success": success},
            "latency_ms": round(chance.uniform(300, 9000), 3),
            "usage": {"prompt_tokens": prompt, "completion_tokens": 300, "total_tokens": prompt + 300},
            "cost": 0.001,
        }
        row = {**rows[number % len(rows)], **changed}
        yield failed(row) if chance.random() < 0.01 else row


def failed(row: dict[str, Any]) -> dict[str, Any]:
    error = {"kind": "timeout", "message": "no reply within 60 s"}
    empty: dict[str, Any] = dict.fromkeys(("success", "score", "reward", "reason"))
    lists: dict[str, Any] = {name: [] for name in ("evidence", "criteria", "rubric_hits")}
    return {**row, **empty, **lists, "calls": [{**row["calls"][0], "error": error}], "error": error}


def write(log: Path, rows: list[dict[str, Any]], count: int) -> None:
    with log.open("wb") as file:
        file.writelines(map(encode_line, varied(rows, count)))


def measure(name: str, log: Path) -> dict[str, float]:
    """Wall-clock and CPU seconds and peak MB of one variant, in a process of its own."""
    code, arguments = VARIANTS[name]
    filled = [each.format(log=log, folder=log.parent) for each in arguments]
    start = time.perf_counter()
    child = os.posix_spawn(
        sys.executable,
        [sys.executable, "-c", code, *filled],
        {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])},
        file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)],
    )
    # wait4 and not getrusage of all children, whose peak would be that of the largest one so far.
    _, status, usage = os.wait4(child, 0)
    if status:
        sys.exit(f"{name} failed with exit status {os.waitstatus_to_exitcode(status)}")
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "cpu": usage.ru_utime + usage.ru_stime, "mb": usage.ru_maxrss / 1024}


def compare(names: list[str], log: Path) -> None:
    print(f"{'variant':<8} {'seconds':>8} {'x report':>9} {'CPU s':>7} {'peak MB':>8} {'x report':>9}")
    base: dict[str, float] = {}
    for name in names:
        found = measure(name, log)
        base = base or found
        slower, larger = found["seconds"] / base["seconds"], found["mb"] / base["mb"]
        figures = (
            f"{found['seconds']:>8.1f} {slower:>9.2f} {found['cpu']:>7.1f} {found['mb']:>8.0f} {larger:>9.2f}"
        )
        print(f"{name:<8} {figures}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument(
        "--only", default=",".join(VARIANTS), help="variants, comma-separated; report comes first"
    )
    options = parser.parse_args()
    names = ["report", *(name for name in options.only.split(",") if name != "report")]
    if importlib.util.find_spec("pyarrow") is None:
        names = [name for name in names if name != "arrow"]
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log.jsonl"
        write(log, judged_rows(Path(folder)), options.rows)
        size = log.stat().st_size
        print(f"{options.rows} rows, {size / 1e9:.2f} GB, {size / options.rows:.0f} bytes a row")
        with log.open("rb") as lines:
            sum(map(len, lines))
        compare(names, log)


if __name__ == "__main__":
    main()
