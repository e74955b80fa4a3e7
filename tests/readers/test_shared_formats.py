"""Every public file in a format of its own converts, with the runs and steps that were counted in it by hand.

Not covered: whose words are whose in them (the test of each format).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from judge import cli
from judge.readers import read_trajectories

FORMATS = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "formats"

pytestmark = pytest.mark.skipif(not FORMATS.is_dir(), reason="the shared data is not beside this checkout")

PYDICOM = "swe-bench-dev-easy_first_only__default__t-0.00__p-0.95__pydicom__pydicom-1458"
MARSHMALLOW = "marshmallow-code__marshmallow-1867__function_calling__marshmallow-code__marshmallow-1867"
STEPS = {
    "openhands_multi_swe_bench_examples_output.jsonl": [23, 34, 50],
    "openhands_resolver_mock_output.jsonl": [4, 22],
    "sweagent__crypto__BabyEncryption.traj": [16],
    "sweagent__demonstrations__function_calling_simple.traj": [5],
    f"sweagent__gpt4__{PYDICOM}.traj": [12],
    f"sweagent__replay__{MARSHMALLOW}.traj": [11],
}
"""File → the steps of each of its runs."""


def files() -> list[Path]:
    return sorted(path for path in FORMATS.glob("*") if path.suffix in (".traj", ".json", ".jsonl"))


def counts(path: Path) -> list[int]:
    return [len(run.steps) for run in read_trajectories(path)]


def test_all_of_them_hold_what_was_counted():
    found = {path.name: counts(path) for path in files()}
    assert {name: found[name] for name in STEPS} == STEPS
    sweagent = [steps for name, steps in found.items() if name.startswith("sweagent")]
    assert (len(sweagent), sum(map(sum, sweagent))) == (16, 162)
    assert (len(found["tau_bench_raw_sample.json"]), sum(found["tau_bench_raw_sample.json"])) == (6, 85)
    assert len(found) == 19


@pytest.mark.parametrize("path", files(), ids=lambda path: path.stem)
def test_each_is_told_by_its_fields_and_reads_the_same_once_converted(path, tmp_path, capsys):
    out = tmp_path / "out.jsonl"
    assert cli.run(["convert", str(path), str(out)]) == 0
    runs = list(read_trajectories(path))
    assert list(read_trajectories(out, "native")) == runs
    steps = sum(len(run.steps) for run in runs)
    told = f"{len(runs)} trajectories, {steps} steps, read as {path.name.split('_')[0]}\n"
    assert capsys.readouterr().err == told
    assert all(run.instruction.strip() and run.outcome.status == "ok" for run in runs)
