"""`judge recollapse`: stored verdicts under another scheme are what judging under it would have logged."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from judge import Judge, cli, collapse, resources
from judge.config import EMBEDDED_MODEL, Config
from judge.readers import read_trajectories
from tests.pipeline.judged import rows

CODING = resources.examples() / "coding.jsonl"
STEPS = {"score": "none", "success": "none", "tarl": "whole", "gvpo_process": "prefix"}


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """The log of the coding examples, judged for real under a scheme with a mode of step judging."""
    folder = tmp_path_factory.mktemp("judged")

    def log_of(scheme: str, mode: str | None = None) -> Path:
        mode = mode or STEPS[scheme]
        path = folder / f"{scheme}-{mode}.jsonl"
        if not path.exists():
            sections: dict[str, Any] = {"steps": {"mode": mode}, "reward": {"scheme": scheme}}
            config = Config(
                judge={"model": EMBEDDED_MODEL}, cache={"dir": None}, log={"path": path}, **sections
            )
            with Judge(config) as judge:
                # One after the other, so that logs can be compared line by line.
                for run in read_trajectories(CODING):
                    judge.score(run)
        return path

    return log_of


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JUDGE_CONFIG", raising=False)


@pytest.fixture
def recollapsed(tmp_path: Path) -> Callable[..., list[dict[str, Any]]]:
    """The rows of a new log."""

    def run(*arguments: object) -> list[dict[str, Any]]:
        out = tmp_path / "new" / "out.jsonl"
        assert cli.run(["recollapse", *map(str, arguments), "--log", str(out)]) == 0
        assert [each.name for each in out.parent.iterdir()] == ["out.jsonl"]
        return rows(out)

    return run


def written(path: Path, *new: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in new), encoding="utf-8")
    return path


def but(row: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {**row, **fields}


def untimed(row: dict[str, Any]) -> dict[str, Any]:
    """Without what differs from one judgement to the next."""
    calls = [
        {**call, "latency_ms": 0, "verdict_id": "", "raw": (call["raw"] or "")[:20]} for call in row["calls"]
    ]
    return {**row, "timestamp": "", "latency_ms": 0, "calls": calls}


@pytest.mark.parametrize(
    ("source", "scheme"),
    [("gvpo_process", "score"), ("tarl", "success"), ("score", "tarl"), ("success", "gvpo_process")],
)
def test_the_new_log_is_the_one_that_judging_under_the_scheme_writes(judged, recollapsed, source, scheme):
    mode = STEPS[scheme] if STEPS[source] == "none" else STEPS[source]
    found = recollapsed(judged(source, mode), "--scheme", scheme)
    assert [*map(untimed, found)] == [*map(untimed, rows(judged(scheme, mode)))]
    assert len({row["reward"] for row in found}) > 1


def test_under_its_own_scheme_a_log_stays_the_same_byte_for_byte(judged, tmp_path):
    out = tmp_path / "out.jsonl"
    assert cli.run(["recollapse", str(judged("tarl")), "--scheme", "tarl", "--log", str(out)]) == 0
    assert out.read_bytes() == judged("tarl").read_bytes()


def test_process_chooses_the_term_of_tarl(judged, recollapsed):
    found = recollapsed(judged("tarl"), "--scheme", "tarl", "--process", "sum")
    longest = max(found, key=lambda row: len(row["steps"]))
    labels = [step["label"] for step in longest["steps"]]
    assert longest["reward"] == collapse.tarl(longest["outcome"], labels, "sum").value
    assert longest["reward"] != collapse.tarl(longest["outcome"], labels).value


def test_settings_come_from_the_configuration(judged, recollapsed, tmp_path):
    settings = tmp_path / "judge.yaml"
    settings.write_text("reward: {outcome_from: judge, tarl: {outcome_weight: 100}}\n")
    found = recollapsed(judged("tarl"), "--scheme", "tarl", "--config", settings)
    assert {row["parts"]["outcome"] for row in found} == {0.0, 100.0}
    assert all(row["parts"]["outcome"] == 100.0 * row["success"] for row in found)
    assert all("outcome_from_judge" in row["flags"] for row in found)
    assert not [row for row in found if "outcome_from_verifier" in row["flags"]]


def test_weighted_blends_what_the_configuration_weighs(judged, recollapsed, tmp_path):
    settings = tmp_path / "judge.yaml"
    settings.write_text("reward: {weights: {outcome: 3, score: 1}}\n")
    for row in recollapsed(judged("score"), "--scheme", "weighted", "--config", settings):
        outcome = row["success"] if row["outcome"] is None else row["outcome"]
        assert row["parts"] == {"outcome": outcome, "score": row["score"]}
        assert row["reward"] == pytest.approx((3 * outcome + row["score"]) / 4)


@pytest.mark.parametrize(
    ("weights", "said"),
    [("tarl: 1", "lack a label on every step"), ("luck: 1", "reward.weights.luck")],
)
def test_weights_of_what_is_not_there_are_refused(judged, tmp_path, capsys, weights, said):
    settings, out = tmp_path / "judge.yaml", tmp_path / "out.jsonl"
    settings.write_text(f"reward: {{weights: {{{weights}}}}}\n")
    arguments = ["--scheme", "weighted", "--config", str(settings), "--log", str(out)]
    assert cli.run(["recollapse", str(judged("score")), *arguments]) == 2
    assert said in capsys.readouterr().err
    assert not [*tmp_path.glob("*out*")]


def test_weighted_without_weights_is_refused(judged, tmp_path, capsys):
    arguments = ["--scheme", "weighted", "--log", str(tmp_path / "out.jsonl")]
    assert cli.run(["recollapse", str(judged("score")), *arguments]) == 2
    assert "reward.weights" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("source", "scheme", "lacks"),
    [
        ("score", "tarl", "a label on every step"),
        ("gvpo_process", "tarl", "a label on every step"),
        ("score", "gvpo_process", "checks of single steps"),
        ("tarl", "gvpo_process", "checks of single steps"),
    ],
)
def test_a_scheme_whose_verdicts_are_not_there_is_refused_with_the_rows_that_lack_them(
    judged, tmp_path, capsys, source, scheme, lacks
):
    log, out = judged(source), tmp_path / "out.jsonl"
    assert cli.run(["recollapse", str(log), "--scheme", scheme, "--log", str(out)]) == 2
    said = capsys.readouterr().err
    stored = rows(log)
    lacking = [row for row in stored if "empty_trajectory" not in row["flags"]]
    assert f"{len(lacking)} of {len(stored)} rows lack {lacks}" in said
    assert f"{lacking[0]['trajectory_id']} under adapt_v1" in said
    assert f"and {len(lacking) - 5} more" in said
    assert not out.exists()


def test_one_row_that_lacks_a_label_is_named(judged, tmp_path, capsys):
    whole, *others = rows(judged("tarl"))
    broken = but(whole, steps=[but(whole["steps"][0], label=None), *whole["steps"][1:]])
    log = written(tmp_path / "log.jsonl", broken, *others)
    arguments = ["--scheme", "tarl", "--log", str(tmp_path / "out.jsonl")]
    assert cli.run(["recollapse", str(log), *arguments]) == 2
    said = capsys.readouterr().err
    assert f"1 of {len(others) + 1} rows lack" in said
    assert whole["trajectory_id"] in said


def test_a_run_too_short_for_a_check_needs_none_where_others_show_that_it_was_looked_for(
    judged, recollapsed, tmp_path, capsys
):
    checked = next(row for row in rows(judged("score", "prefix")) if row["steps"])
    short = but(checked, trajectory_id="short", steps=[], outcome=1.0)
    # The proof may come later in the log than the row that needs it.
    assert recollapsed(written(tmp_path / "log.jsonl", short, checked), "--scheme", "gvpo_process")[0][
        "reward"
    ] == pytest.approx(1.0)
    other = written(tmp_path / "other.jsonl", short, but(checked, fingerprint="another"))
    arguments = ["--scheme", "gvpo_process", "--log", str(tmp_path / "refused.jsonl")]
    assert cli.run(["recollapse", str(other), *arguments]) == 2
    assert "1 of 2 rows lack checks" in capsys.readouterr().err


def test_a_failed_row_stays_failed_and_all_else_stays_as_it_was(judged, recollapsed, tmp_path):
    stored = rows(judged("tarl"))[0]
    nothing = {"reward": None, "success": None, "score": None, "parts": {}, "steps": []}
    lost = but(stored, error={"kind": "timeout", "message": "180 s"}, **nothing)
    (found,) = recollapsed(written(tmp_path / "log.jsonl", lost), "--scheme", "score")
    assert found == but(lost, scheme="score")


def test_a_run_that_took_no_judge_keeps_the_reward_of_its_environment(judged, recollapsed, tmp_path):
    stored = rows(judged("score"))[0]
    sound = but(
        stored,
        reward=0.25,
        outcome=0.25,
        parts={"verifier": 0.25},
        success=None,
        score=None,
        flags=["verifier_only"],
    )
    (found,) = recollapsed(written(tmp_path / "log.jsonl", sound), "--scheme", "tarl")
    assert found == but(sound, scheme="tarl")


def test_a_row_with_neither_verdict_nor_error_is_a_gap(judged, tmp_path, capsys):
    stored = but(rows(judged("score"))[0], success=None, score=None)
    log = written(tmp_path / "log.jsonl", stored)
    arguments = ["--scheme", "score", "--log", str(tmp_path / "out.jsonl")]
    assert cli.run(["recollapse", str(log), *arguments]) == 2
    assert "1 of 1 rows lack a verdict" in capsys.readouterr().err


def test_an_outcome_that_the_scheme_cannot_use_fails_the_row_as_judging_would(judged, recollapsed, tmp_path):
    stored = but(rows(judged("tarl"))[0], outcome=7.0)
    (found,) = recollapsed(written(tmp_path / "log.jsonl", stored), "--scheme", "tarl")
    assert (found["reward"], found["error"]["kind"]) == (None, "unusable_input")
    assert "7" in found["error"]["message"]


def test_a_verdict_that_cannot_be_read_is_named(judged, tmp_path, capsys):
    log = written(tmp_path / "log.jsonl", but(rows(judged("score"))[0], score=1.5))
    arguments = ["--scheme", "score", "--log", str(tmp_path / "out.jsonl")]
    assert cli.run(["recollapse", str(log), *arguments]) == 2
    assert f"under adapt_v1 ({log}): score" in capsys.readouterr().err


def test_an_input_is_never_written_to(judged, tmp_path, capsys):
    log = tmp_path / "log.jsonl"
    log.write_bytes(judged("score").read_bytes())
    (tmp_path / "link.jsonl").symlink_to(log)
    for out in (log, tmp_path / "link.jsonl", tmp_path / "." / "log.jsonl"):
        assert cli.run(["recollapse", str(log), "--scheme", "success", "--log", str(out)]) == 2
        assert "is one of the files to be read" in capsys.readouterr().err
    assert log.read_bytes() == judged("score").read_bytes()


def test_a_log_that_exists_is_not_written_over(judged, tmp_path, capsys):
    out = tmp_path / "out.jsonl"
    out.write_text("{}\n")
    assert cli.run(["recollapse", str(judged("score")), "--scheme", "success", "--log", str(out)]) == 2
    assert "exists already" in capsys.readouterr().err
    assert out.read_text() == "{}\n"


def test_a_process_term_is_tarls_alone(judged, tmp_path, capsys):
    arguments = ["--scheme", "score", "--process", "sum", "--log", str(tmp_path / "out.jsonl")]
    assert cli.run(["recollapse", str(judged("score")), *arguments]) == 2
    assert "--process sum" in capsys.readouterr().err


def test_several_logs_become_one_and_unreadable_lines_are_said(judged, recollapsed, tmp_path, capsys):
    torn = tmp_path / "torn.jsonl"
    torn.write_text('{"trajectory_id": "t9", "rew\n')
    found = recollapsed(judged("score"), torn, judged("tarl"), "--scheme", "success")
    assert len(found) == len(rows(judged("score"))) + len(rows(judged("tarl")))
    said = capsys.readouterr().err
    assert said.count(f"Passed over {torn}:1: ") == 1
    assert f"{len(found)} rewards under success" in said
