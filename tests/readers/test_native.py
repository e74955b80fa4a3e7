"""Native records → trajectories: what is refused, by file, line and field, and what messy records become.

Not covered: the coercions of the single fields (test_schema) and lines that hold no object (test_lines).
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from judge.errors import InputError
from judge.readers import read_trajectories, trajectory_from

SHARED = Path(__file__).resolve().parents[2].parent / "shared"
GOOD = {"instruction": "Book a table", "steps": [{"index": 0, "action": "click"}]}


@pytest.fixture
def stored(tmp_path: Path):
    def write(*records: dict) -> Path:
        path = tmp_path / "runs.jsonl"
        path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
        return path

    return write


BAD_RECORDS = [
    ({"steps": []}, "instruction: missing"),
    ({**GOOD, "instruction": "  "}, "instruction: is blank"),
    ({**GOOD, "instruction": None}, "instruction: missing"),
    ({**GOOD, "steps": None}, "steps: is null"),
    ({**GOOD, "steps": "click"}, "steps: must be a list (it is 'click')"),
    ({**GOOD, "steps": [{}, "click"]}, "steps.1: must be an object (it is 'click')"),
    ({**GOOD, "steps": [{"index": 1}, {"index": 1}]}, "steps: step 0 has index 1"),
    ({**GOOD, "steps": [{"index": -1}]}, "steps.0.index: "),
    ({**GOOD, "steps": [{"tool_calls": ["click"]}]}, "steps.0.tool_calls.0: must be an object"),
    ({**GOOD, "trajectory_id": 1.0}, "trajectory_id: must be text (it is 1.0)"),
    ({**GOOD, "task_id": True}, "task_id: must be text (it is True)"),
    ({**GOOD, "metadata": [1]}, "metadata: must be an object (it is a list)"),
    ({**GOOD, "outcome": 1.0}, "outcome: must be an object (it is 1.0)"),
    ({**GOOD, "outcome": {"reward": float("nan")}}, "outcome.reward: "),
    ({"instruction": "Book", "events": []}, "unknown format: it has events, instruction"),
    ({}, "unknown format: it has no fields at all"),
]


@pytest.mark.parametrize(("record", "message"), BAD_RECORDS)
def test_a_bad_record_names_file_line_and_field(stored, record, message):
    path = stored(GOOD, record, GOOD)
    with pytest.raises(InputError) as raised:
        list(read_trajectories(path))
    assert raised.value.message.startswith(f"{path}:2: {message}")


def test_on_bad_goes_on_and_hears_of_every_fault_in_order(stored):
    path, bad = stored(GOOD, *(record for record, _ in BAD_RECORDS), GOOD), list[str]()
    assert len(list(read_trajectories(path, on_bad=bad.append))) == 2
    assert [message.split(": ")[0] for message in bad] == [f"{path}:{n + 2}" for n in range(len(BAD_RECORDS))]


def test_bad_lines_and_bad_records_are_told_alike(stored):
    path, bad = stored(GOOD, {"steps": []}), list[str]()
    path.write_text("torn {\n" + path.read_text())
    assert len(list(read_trajectories(path, on_bad=bad.append))) == 1
    assert [message.split(": ")[1] for message in bad] == ["not JSON", "instruction"]


def test_two_faults_of_one_record_are_one_message():
    with pytest.raises(InputError, match=r"^sample: instruction: missing; steps\.0: must be an object"):
        trajectory_from({"steps": [1]})


def test_an_unknown_format_lists_what_there_is(stored):
    with pytest.raises(InputError, match="unknown format 'xml'; there are auto, native"):
        list(read_trajectories(stored(GOOD), "xml"))


def test_native_by_name_still_wants_steps():
    with pytest.raises(InputError, match="steps: missing"):
        trajectory_from({"instruction": "Book"}, "native")


def test_a_sample_that_is_no_mapping_is_refused():
    with pytest.raises(InputError, match="sample: must be an object"):
        trajectory_from([GOOD])


def test_context_and_group_come_from_metadata_only_where_the_record_has_none():
    metadata = {"policy": "Be kind", "initial_observation": "page", "group": 7, "gold": "secret"}
    filled = trajectory_from({**GOOD, "metadata": metadata})
    assert filled.context == {"policy": "Be kind", "first_observation": "page"}
    assert (filled.group, filled.metadata) == ("7", metadata)
    own = trajectory_from({**GOOD, "metadata": metadata, "context": {"tools": ["a"]}, "group": "g"})
    assert (own.context, own.group) == ({"tools": '["a"]'}, "g")


def test_labels_and_references_stay_out_of_what_is_judged():
    stored = trajectory_from({**GOOD, "labels": {"success": True}, "reference_answer": "42"})
    assert stored.metadata == {"labels": {"success": True}, "reference_answer": "42"}


def test_messy_steps_are_read_and_lose_nothing():
    broken = '{"path": "a.txt", "text": "He said "hi""}'
    steps = [
        {"action": None, "tool_calls": [{"function": {"name": "write", "arguments": broken}}]},
        {"role": "tool", "observation": [{"type": "text", "text": "error: bad arguments"}]},
        {"text": None, "tool_calls": [{"function": {"name": "noop", "arguments": None}}]},
        {"role": "observation", "observation": {"stdout": "", "code": 0}},
        {"text": "no role"},
    ]
    run = trajectory_from({"instruction": "Write a file", "steps": steps})
    assert [step.deed for step in run.steps] == [f"write({broken})", "", "noop()", "", ""]
    assert run.steps[1].observation == '[{"type": "text", "text": "error: bad arguments"}]'
    assert run.steps[3].observation == '{"stdout": "", "code": 0}'
    assert [step.role for step in run.steps] == ["assistant", "tool", "assistant", "observation", "assistant"]


def test_an_observation_of_900_000_characters_is_kept_whole(stored):
    observation = "é\n" * 450_000
    (run,) = read_trajectories(stored({**GOOD, "steps": [{"action": "cat", "observation": observation}]}))
    assert run.steps[0].observation == observation


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared data is not beside this checkout")
@pytest.mark.parametrize(
    ("name", "runs", "steps", "broken_environments"),
    [("tau_airline", 200, 2454, 0), ("tau_retail", 402, 5156, 39), ("web_gui", 24, 334, 0)],
)
def test_public_data_is_read_to_the_last_step(name, runs, steps, broken_environments):
    read = list(read_trajectories(SHARED / "data" / f"{name}.jsonl"))
    assert (len(read), sum(len(run.steps) for run in read)) == (runs, steps)
    assert sum(run.outcome.status != "ok" for run in read) == broken_environments
    assert len({run.trajectory_id for run in read}) == runs
    assert all(run.group and run.metadata["source"] for run in read if name != "web_gui")


@pytest.mark.parametrize(
    ("told", "status"),
    [
        ({"traceback": "Traceback ..."}, "infra_error"),
        ({"metadata": {"error": "no browser"}, "outcome": None}, "infra_error"),
        ({"info": {"exception": "no browser"}, "outcome": {"reward": 0, "status": None}}, "infra_error"),
        ({"error": "no browser", "outcome": {"status": "ok"}}, "ok"),
        ({"error": "no browser", "steps": [{"action": "click"}]}, "ok"),
        ({"error": None, "metadata": {"traceback": ""}}, "ok"),
        ({}, "ok"),
    ],
)
def test_a_traceback_without_a_step_is_the_environments_failure(told, status):
    assert trajectory_from({"instruction": "Book", "steps": [], **told}).outcome.status == status
