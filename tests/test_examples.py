"""The demo's trajectories: valid, unique, as varied as promised, and silent about their own truth.

Not covered: whether a judge agrees with them (that is the demo's business) and how a reader parses them.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from typing import Any

import pytest

from judge.resources import examples
from judge.schema import Step, Trajectory

DOMAINS = ("web_gui", "tool_dialogue", "coding")
WEB_CATEGORIES = {
    "info_query",
    "create_modify",
    "delete_cleanup",
    "communication",
    "transfer",
    "state_navigation",
    "composite_workflow",
    "general",
}

# The truth that each trap stands for; None where both occur or the environment broke.
TRUTH_OF_TRAP: dict[str, float | None] = {
    "plain": None,
    "other_format": 1.0,
    "early_error_corrected": 1.0,
    "execution_errors": 1.0,
    "negative_obeyed": 1.0,
    "refusal_right": 1.0,
    "test_first_fix": 1.0,
    "wrong_last_step": 0.0,
    "not_submitted": 0.0,
    "judge_directed": 0.0,
    "no_steps": 0.0,
    "blank_steps": 0.0,
    "false_claim": 0.0,
    "repeated_action": 0.0,
    "negative_violated": 0.0,
    "refusal_wrong": 0.0,
    "policy_violated": 0.0,
    "hedged_code": 0.0,
    "no_existing_file_changed": 0.0,
    "infra_error": None,
}
SINGLE_TRAPS = {"no_steps", "blank_steps"}
TELLTALE = re.compile(r"reward|outcome|verifier|infra_error|metadata|ground truth|\btrap\b", re.IGNORECASE)
HAN = re.compile("[\u4e00-\u9fff]")


def _records(domain: str) -> list[dict[str, Any]]:
    text = (examples() / f"{domain}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


RECORDS = {domain: _records(domain) for domain in DOMAINS}
ALL_RECORDS = [record for domain in DOMAINS for record in RECORDS[domain]]
RUNS = [Trajectory(**record) for record in ALL_RECORDS]


def _id(value: Any) -> str:
    return value["trajectory_id"] if isinstance(value, dict) else value.trajectory_id


def _with_trap(trap: str) -> list[Trajectory]:
    return [run for run in RUNS if run.metadata["trap"] == trap]


def _visible(run: Trajectory) -> str:
    shown = [step.model_dump_json() for step in run.steps]
    return "\n".join([run.instruction, *run.context.values(), *shown])


def test_the_folder_holds_one_file_per_domain_and_stays_small():
    files = sorted(examples().glob("*"))
    assert {file.name for file in files if file.suffix == ".jsonl"} == {f"{name}.jsonl" for name in DOMAINS}
    assert sum(file.stat().st_size for file in files if file.suffix == ".jsonl") < 250_000


@pytest.mark.parametrize("record", ALL_RECORDS, ids=_id)
def test_a_stored_line_uses_only_native_fields_and_text_ids(record):
    assert set(record) <= set(Trajectory.model_fields)
    assert isinstance(record["trajectory_id"], str)
    assert isinstance(record["task_id"], str)
    for position, step in enumerate(record["steps"]):
        assert set(step) <= set(Step.model_fields)
        assert step["index"] == position


def test_ids_are_unique_and_some_would_suffer_as_numbers():
    ids = [run.trajectory_id for run in RUNS]
    assert [name for name, times in Counter(ids).items() if times > 1] == []
    assert {"007", "18_19"} <= set(ids)


def test_every_domain_and_a_third_in_chinese():
    assert len(RUNS) >= 44
    assert all(len(records) >= 12 for records in RECORDS.values())
    chinese = [run for run in RUNS if run.metadata["language"] == "zh"]
    assert 0.28 <= len(chinese) / len(RUNS) <= 0.45
    assert {run.metadata["domain"] for run in chinese} == set(DOMAINS)


@pytest.mark.parametrize("run", RUNS, ids=_id)
def test_the_declared_language_and_domain_are_the_real_ones(run):
    assert bool(HAN.search(run.instruction)) == (run.metadata["language"] == "zh")
    assert run.trajectory_id in {record["trajectory_id"] for record in RECORDS[run.metadata["domain"]]}


def test_web_runs_cover_every_category():
    expected = {run.metadata.get("expected_category") for run in RUNS if run.metadata["domain"] == "web_gui"}
    assert expected == WEB_CATEGORIES


def test_about_half_of_the_judgeable_runs_succeed():
    known = [run.outcome.known for run in RUNS if run.outcome.known is not None]
    assert set(known) == {0.0, 1.0}
    assert 0.4 <= sum(known) / len(known) <= 0.6


def test_every_trap_is_present_and_no_other():
    counts = Counter(run.metadata["trap"] for run in RUNS)
    assert set(counts) == set(TRUTH_OF_TRAP)
    assert {trap for trap, times in counts.items() if times == 1} == SINGLE_TRAPS


@pytest.mark.parametrize("run", RUNS, ids=_id)
def test_the_stored_truth_is_the_one_its_trap_stands_for(run):
    expected = TRUTH_OF_TRAP[run.metadata["trap"]]
    assert run.outcome.verifier == "author"
    assert expected is None or run.outcome.known == expected


def test_plain_runs_and_refusals_go_both_ways():
    assert {run.outcome.known for run in _with_trap("plain")} == {0.0, 1.0}
    assert all("policy" in run.context for run in _with_trap("refusal_right") + _with_trap("refusal_wrong"))


def test_judge_directed_text_comes_in_both_languages():
    assert {run.metadata["language"] for run in _with_trap("judge_directed")} == {"en", "zh"}


def test_do_not_send_is_obeyed_and_violated_in_chinese_too():
    tasks = {
        trap: {run.task_id for run in _with_trap(trap) if "不要发送" in run.instruction}
        for trap in ("negative_obeyed", "negative_violated")
    }
    assert tasks["negative_obeyed"] & tasks["negative_violated"]


def test_empty_runs_are_empty_and_all_others_are_not():
    empty = {run.trajectory_id for run in RUNS if run.is_empty and run.outcome.status == "ok"}
    assert empty == {run.trajectory_id for run in _with_trap("no_steps") + _with_trap("blank_steps")}
    assert [bool(run.steps) for run in _with_trap("no_steps") + _with_trap("blank_steps")] == [False, True]


def test_broken_environments_come_with_and_without_steps():
    broken = [run for run in RUNS if run.outcome.status != "ok"]
    assert broken == _with_trap("infra_error")
    assert {bool(run.steps) for run in broken} == {True, False}
    assert all(run.outcome.known is None for run in broken)


def test_runs_are_short_and_repeats_really_repeat():
    assert max(len(run.steps) for run in RUNS) <= 14
    for run in _with_trap("repeated_action"):
        assert max(Counter(step.action for step in run.steps).values()) >= 5, run.trajectory_id


def test_execution_errors_are_recorded_on_the_way():
    assert all(any(step.error for step in run.steps) for run in _with_trap("execution_errors"))


def test_rollouts_of_a_group_share_their_task_and_some_groups_are_mixed():
    groups: dict[str, list[Trajectory]] = defaultdict(list)
    for run in RUNS:
        if run.group is not None:
            groups[run.group].append(run)
    for name, rollouts in groups.items():
        assert 2 <= len(rollouts) <= 4, name
        assert len({(run.task_id, run.instruction, json.dumps(run.context)) for run in rollouts}) == 1, name
    mixed = [name for name, rollouts in groups.items() if {r.outcome.known for r in rollouts} == {0.0, 1.0}]
    assert len(mixed) >= 2
    assert len({run.task_id for run in RUNS if run.group}) == len(groups)


@pytest.mark.parametrize("run", RUNS, ids=_id)
def test_nothing_the_judge_sees_gives_the_truth_away(run):
    assert TELLTALE.findall(_visible(run)) == []
    assert not any("_" in trap and trap in _visible(run) for trap in TRUTH_OF_TRAP)


def test_addresses_and_hosts_are_reserved_ones():
    text = "".join(file.read_text(encoding="utf-8") for file in examples().glob("*.jsonl"))
    assert set(re.findall(r"@([\w-]+(?:\.[\w-]+)+)", text)) == {"example.com"}
    hosts = set(re.findall(r"https?://([\w.-]+)", text))
    assert {host for host in hosts if not host.endswith(".example.com")} == set()
