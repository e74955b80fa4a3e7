"""`judge export` and `judge report --view groups`: the rows that are wanted, with the same advantages."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from judge import Judge, cli, resources
from judge.advantage import dr_grpo
from judge.config import EMBEDDED_MODEL, Config
from judge.judging import Job
from judge.readers import read_trajectories
from tests.pipeline.judged import rows

EXAMPLES = resources.examples()
CODING, WEB = EXAMPLES / "coding.jsonl", EXAMPLES / "web_gui.jsonl"
VERSIONS = ("static_v1", "adapt_v1")


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The coding and web examples, judged for real under two versions, steps labelled."""
    path = tmp_path_factory.mktemp("judged") / "log.jsonl"
    sections: dict[str, Any] = {"steps": {"mode": "whole"}, "reward": {"scheme": "tarl"}}
    config = Config(judge={"model": EMBEDDED_MODEL}, cache={"dir": None}, log={"path": path}, **sections)
    runs = [run for source in (CODING, WEB) for run in read_trajectories(source)]
    with Judge(config) as judge:
        judge.score_many([Job(run, version) for run in runs for version in VERSIONS])
    return path


Exported = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def exported(tmp_path: Path) -> Exported:
    """The rows of an export to JSONL."""

    def run(*arguments: object) -> list[dict[str, Any]]:
        out = tmp_path / "out.jsonl"
        assert cli.run(["export", *map(str, arguments), "--out", str(out)]) == 0
        return rows(out)

    return run


def key(row: dict[str, Any]) -> tuple[str, str]:
    return row["trajectory_id"], row["rubric_version"]


def groups_of(log: Path, capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, Any]:
    assert cli.run(["report", str(log), "--view", "groups", "--json", *options]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_every_reward_is_exported_in_log_order_as_the_log_has_it(log, exported):
    stored = [row for row in rows(log) if row["error"] is None]
    found = exported(log)
    assert [*map(key, found)] == [*map(key, stored)]
    for row, was in zip(found, stored, strict=True):
        assert row["step_verdicts"] == was["steps"]
        assert all(row[name] == was[name] for name in row.keys() - {"advantage", "step_verdicts"})
    assert "calls" not in found[0]


@pytest.mark.parametrize("method", ["grpo", "dr_grpo"])
def test_advantages_are_those_of_the_groups_view(log, exported, capsys, method):
    found = {key(row): row["advantage"] for row in exported(log, "--advantage", method)}
    for group in groups_of(log, capsys)["groups"]:
        for run, advantage in zip(group["trajectory_ids"], group[method], strict=True):
            assert found.get((run, group["rubric_version"])) == advantage
    assert max(found.values()) > 0 > min(found.values())


def test_a_filter_by_reward_leaves_the_advantages_of_whole_groups(log, exported):
    everyone = {key(row): row for row in exported(log)}
    best = exported(log, "--min-reward", 10, "--max-reward", 10.9)
    assert 0 < len(best) < len(everyone)
    assert all(10 <= row["reward"] <= 10.9 for row in best)
    assert {key(row) for row in best} == {k for k, row in everyone.items() if 10 <= row["reward"] <= 10.9}
    assert all(row == everyone[key(row)] for row in best)


def test_bounds_are_inclusive(log, exported):
    some = exported(log)[0]["reward"]
    found = exported(log, "--min-reward", some, "--max-reward", some)
    assert {row["reward"] for row in found} == {some}


def test_a_version_is_picked_by_name(log, exported, tmp_path, capsys):
    found = exported(log, "--rubric-version", "adapt_v1")
    assert {row["rubric_version"] for row in found} == {"adapt_v1"}
    capsys.readouterr()
    out = str(tmp_path / "other.jsonl")
    assert cli.run(["export", str(log), "--rubric-version", "adapt_v9", "--out", out]) == 2
    assert "'adapt_v9': there are static_v1, adapt_v1" in capsys.readouterr().err


def test_trajectories_are_joined_in_by_their_id(log, exported, tmp_path):
    runs = {run.trajectory_id: run for source in (CODING, WEB) for run in read_trajectories(source)}
    found = exported(log, "--input", CODING, "--input", WEB)
    assert len(found) == len(exported(log))
    for row in found:
        run = runs[row["trajectory_id"]]
        assert (row["instruction"], row["context"]) == (run.instruction, run.context)
        assert [step["action"] for step in row["steps"]] == [step.action for step in run.steps]
        assert len(row["step_verdicts"]) in (0, len(row["steps"]))


def test_runs_that_are_not_in_the_input_are_left_out_and_said_to_be(log, exported, capsys):
    found = exported(log, "--input", CODING)
    assert {row["trajectory_id"] for row in found} <= {r.trajectory_id for r in read_trajectories(CODING)}
    said = capsys.readouterr().err
    assert "left out: " in said
    assert str(CODING) in said


def test_an_input_that_holds_none_of_the_runs_is_refused(log, tmp_path, capsys):
    out = tmp_path / "out.jsonl"
    other = str(EXAMPLES / "tool_dialogue.jsonl")
    assert cli.run(["export", str(log), "--input", other, "--out", str(out)]) == 2
    assert "are not in" in capsys.readouterr().err
    assert not [*tmp_path.iterdir()]


def test_a_trajectory_that_occurs_twice_is_refused(log, tmp_path, capsys):
    out = str(tmp_path / "out.jsonl")
    assert cli.run(["export", str(log), "--input", str(CODING), "--input", str(CODING), "--out", out]) == 2
    assert "occurs twice" in capsys.readouterr().err


def test_failed_and_superseded_rows_are_left_out_and_weigh_nothing(log, exported, tmp_path):
    stored = next(row for row in rows(log) if row["error"] is None)
    lost = {**stored, "reward": None, "error": {"kind": "timeout", "message": ""}}
    again = [
        {**stored, "trajectory_id": name, "reward": r} for name, r in [("b", 9.0), ("c", 0.0), ("b", 1.0)]
    ]
    path = tmp_path / "some.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\nno JSON\n" for row in [lost, *again]))
    found = exported(path, "--advantage", "dr_grpo")
    assert [(row["trajectory_id"], row["reward"], row["advantage"]) for row in found] == [
        ("c", 0.0, -0.5),
        ("b", 1.0, 0.5),
    ]
    assert dr_grpo([None, 0.0, 1.0])[1:] == [-0.5, 0.5]


def test_what_is_read_is_never_written_to(log, tmp_path, capsys):
    before = log.read_bytes()
    assert cli.run(["export", str(log), "--out", str(log)]) == 2
    assert cli.run(["export", str(log), "--input", str(CODING), "--out", str(CODING)]) == 2
    assert capsys.readouterr().err.count("is one of the files to be read") == 2
    assert log.read_bytes() == before


def test_no_row_makes_an_empty_file(log, exported):
    assert exported(log, "--min-reward", 1000) == []


@pytest.mark.skipif(find_spec("pyarrow") is not None, reason="pyarrow is installed")
@pytest.mark.parametrize("options", [["--out", "x.parquet"], ["--out", "x", "--format", "parquet"]])
def test_parquet_without_pyarrow_names_the_extra(log, tmp_path, monkeypatch, capsys, options):
    monkeypatch.chdir(tmp_path)
    assert cli.run(["export", str(log), *options]) == 2
    assert "adaptive-judge[parquet]" in capsys.readouterr().err
    assert not [*tmp_path.iterdir()]


def test_parquet_holds_the_same_rows_with_nested_values_as_json(log, exported, tmp_path):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    import pandas as pd

    out = tmp_path / "out.parquet"
    assert cli.run(["export", str(log), "--input", str(CODING), "--out", str(out)]) == 0
    table = pd.read_parquet(out)
    wanted = exported(log, "--input", CODING)
    assert list(table.columns) == list(wanted[0])
    assert table["advantage"].tolist() == [row["advantage"] for row in wanted]
    assert [json.loads(text) for text in table["steps"]] == [row["steps"] for row in wanted]


def test_the_groups_view_promises_its_keys(log, capsys):
    found = groups_of(log, capsys)
    assert list(found) == ["groups", "versions"]
    assert [list(each) for each in found["versions"]] == [
        ["rubric_version", "groups", "dead", "dead_share"]
    ] * 2
    for version in found["versions"]:
        own = [group for group in found["groups"] if group["rubric_version"] == version["rubric_version"]]
        rewarded = [group for group in own if group["rewarded"]]
        assert version["groups"] == len(rewarded)
        assert version["dead"] == sum(len({*group["rewards"]} - {None}) == 1 for group in rewarded)
        assert version["dead_share"] == version["dead"] / version["groups"]


def test_the_groups_view_writes_one_line_for_each_rollout(log, tmp_path, capsys):
    found = groups_of(log, capsys, "--csv", str(tmp_path / "tables"))
    lines = list(csv.DictReader((tmp_path / "tables" / "groups.csv").read_text().splitlines()))
    assert len(lines) == sum(group["n"] for group in found["groups"])
    assert {line["dead"] for line in lines} == {"True", "False"}
    assert {"group", "reward", "grpo", "dr_grpo", "trajectory_id"} <= lines[0].keys()


def test_the_groups_view_is_a_table_and_takes_no_options_of_the_summary(log, capsys):
    assert cli.run(["report", str(log), "--view", "groups"]) == 0
    assert "dead" in capsys.readouterr().out
    assert cli.run(["report", str(log), "--view", "groups", "--by", "category"]) == 2
    assert "--view summary" in capsys.readouterr().err
