"""Whether runs with screenshots are judged in flat memory, and what their pictures cost.

    python tests/bench/bench_pictures.py [--runs 1000] [--shots 30]

Makes runs of distinct JPEG screenshots in a temporary folder, each file a picture of its own, and judges a
tenth of them and then all of them against the loopback server, with pictures and as text, each in a process
of its own. Printed are runs per second, CPU per run, the peak memory, and how many pictures went out.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


def make(folder: Path, runs: int, shots: int, size: tuple[int, int] = (1280, 720)) -> Path:
    """A file of runs. A few pictures are drawn; each stored one has a comment of its own, and so a hash."""
    from random import Random

    from PIL import Image

    drawn = []
    for seed in range(8):
        noise = Image.frombytes("L", (160, 90), Random(seed).randbytes(160 * 90)).resize(size)
        noise.convert("RGB").save(folder / "drawn.jpg", quality=80)
        drawn.append((folder / "drawn.jpg").read_bytes())
    path = folder / "runs.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for run in range(runs):
            steps = []
            for step in range(shots):
                comment = f"{run}/{step}".encode()
                data = drawn[(run + step) % len(drawn)]
                marked = data[:2] + b"\xff\xfe" + (len(comment) + 2).to_bytes(2, "big") + comment + data[2:]
                (folder / f"{run}-{step}.jpg").write_bytes(marked)
                steps.append({"action": f"click({step})", "screenshot": f"{run}-{step}.jpg"})
            record = {"trajectory_id": f"t{run}", "task_id": f"k{run}", "instruction": f"Open page {run}"}
            file.write(json.dumps({**record, "steps": steps}) + "\n")
    return path


def judge(path: str, base_url: str, runs: int, vision: str) -> None:
    """Judge the first runs of a file; prints seconds, CPU seconds and peak memory (MiB) as JSON."""
    from itertools import islice

    from judge import Config, Judge, read_trajectories

    config = Config(
        judge={"base_url": base_url, "model": "judge-x", "vision": vision},
        rubrics={"version": "static_v1"},
        cache={"dir": None},
        log={"path": None},
    )
    started, cpu = time.perf_counter(), time.process_time()
    with Judge(config) as judging:
        failed = sum(
            reward.value is None for reward in judging.score_iter(islice(read_trajectories(path), runs))
        )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    spent = {"s": time.perf_counter() - started, "cpu": time.process_time() - cpu, "mib": peak}
    print(json.dumps({**spent, "failed": failed}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--shots", type=int, default=30)
    options = parser.parse_args()
    server = subprocess.Popen(
        [sys.executable, "-m", "judge.testing"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert server.stdout
    assert server.stdin
    base_url = server.stdout.readline().strip()
    with tempfile.TemporaryDirectory() as folder:
        path = make(Path(folder), options.runs, options.shots)
        stored = sum(each.stat().st_size for each in Path(folder).glob("*.jpg")) / 1024**2
        print(f"{options.runs} runs of {options.shots} screenshots, {stored:.0f} MiB")
        print(f"{'':<6} {'runs':>6} {'runs/s':>8} {'CPU ms/run':>11} {'peak MiB':>9} {'failed':>7}")
        for vision in ("auto", "off"):
            for runs in (options.runs // 10, options.runs):
                call = f"judge({str(path)!r}, {base_url!r}, {runs}, {vision!r})"
                code = f"from bench_pictures import judge; {call}"
                done = subprocess.run(
                    [sys.executable, "-c", code],
                    cwd=Path(__file__).parent,
                    capture_output=True,
                    text=True,
                    check=True,
                    env={"PYTHONPATH": str(REPOSITORY), "PATH": ""},
                )
                found = json.loads(done.stdout)
                rate, cpu = runs / found["s"], 1000 * found["cpu"] / runs
                row = f"{rate:>8.1f} {cpu:>11.1f} {found['mib']:>9.0f} {found['failed']:>7}"
                print(f"{vision:<6} {runs:>6} {row}")
    server.stdin.close()
    server.wait()


if __name__ == "__main__":
    main()
