"""The reward log: what a line holds, that nothing breaks or glues one, what a reader makes of it.

Not covered: figures over many rows (tests of analysis) and which jobs a rerun makes of the settled keys (the
command line's).
"""

from __future__ import annotations

import datetime
import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.log import (
    Judgement,
    RewardLog,
    encode_line,
    is_settled,
    line_of,
    read_log,
    settled_keys,
)
from judge.schema import (
    Call,
    Criterion,
    Evidence,
    Reward,
    Rubric,
    RubricItem,
    StepVerdict,
    Trajectory,
    TrajectoryVerdict,
    Usage,
)

REPOSITORY = Path(__file__).resolve().parents[1]

KEYS = """
schema timestamp trajectory_id task_id group step source dataset_version agent instruction_hash category
rubric_version rubric_hash fine_rubrics prompt_set frame_count judge_model repeat fingerprint scheme reward
parts outcome outcome_status success score reason evidence criteria rubric_hits steps flags error attempts
cached latency_ms usage cost calls
"""
CALL_KEYS = """
purpose model attempts cached latency_ms usage finish_reason response_format verdict_id raw error
"""

CRITERIA = (Criterion(id="step_1", met="yes", step=2), Criterion(id="pitfall_1", met="no"))
VERDICT = TrajectoryVerdict(
    reason="Sent.", evidence=(Evidence(step=2, quote="sent"),), criteria=CRITERIA, success=True, score=0.9
)
FINE = RubricItem(id="fine_1", text="By Friday", kind="fine", quote="Friday")
RUBRIC = Rubric(version="adapt_v1", category="mail", items=(RubricItem(id="s", text="x", kind="step"), FINE))
CALL = Call(
    purpose="trajectory",
    model="judge-a",
    attempts=2,
    latency_ms=812.34567,
    usage=Usage(40, 10, 50, None),
    cost=0.5,
    finish_reason="stop",
    response_format="json_schema",
    verdict_id="abc",
    raw='{"success": true, "calls": [1], "flags": []}',
)


def judgement(
    run: dict[str, Any] | None = None, reward: dict[str, Any] | None = None, **fields: Any
) -> Judgement:
    trajectory = {"trajectory_id": "t1", "task_id": "018", "instruction": "Send it", "group": "g"}
    outcome = {"value": 0.9, "parts": {"score": 0.9}, "verdict": VERDICT, "fingerprint": "f00d"}
    values: dict[str, Any] = {
        "trajectory": Trajectory(**{**trajectory, **(run or {})}),
        "rubric": RUBRIC,
        "category": "mail",
        "rubric_version": "adapt_v1",
        "rubric_hash": "beef",
        "prompt_set": "v1",
        "frame_count": 3,
        "judge_model": "judge-a",
        "repeat": 0,
        "scheme": "score",
        "reward": Reward(**{**outcome, **(reward or {})}),
        "calls": (CALL,),
    }
    return Judgement(**{**values, **fields})


def failed(kind: str, **fields: Any) -> Judgement:
    return judgement(
        reward={"value": None, "parts": {}, "verdict": None, "error_kind": kind, "error": "why"}, **fields
    )


def stored(row: dict[str, Any]) -> Any:
    """What a reader of the encoded line gets."""
    line = encode_line(row)
    assert line.endswith(b"\n")
    assert len(line.decode().splitlines()) == 1
    return json.loads(line)


class TestLine:
    def test_it_holds_every_key_in_order(self):
        row = stored(line_of(judgement()))
        assert [key for key in row if key in KEYS.split()] == KEYS.split()
        (call,) = row["calls"]
        assert [key for key in call if key in CALL_KEYS.split()] == CALL_KEYS.split()
        assert list(row)[-1] == "calls"

    def test_the_values_of_a_judged_run(self):
        run = {
            "step": 300,
            "outcome": {"reward": 1},
            "metadata": {"source": "web", "dataset_version": 3, "agent": "a1"},
        }
        steps = (StepVerdict(step=2, label=1),)
        row = stored(line_of(judgement(run, {"steps": steps, "flags": ("repaired",)})))
        assert (row["schema"], row["task_id"], row["group"], row["step"]) == (1, "018", "g", 300)
        assert (row["source"], row["dataset_version"], row["agent"]) == ("web", 3, "a1")
        assert (row["reward"], row["success"], row["score"], row["outcome"]) == (0.9, True, 0.9, 1.0)
        assert (row["outcome_status"], row["error"], row["flags"]) == ("ok", None, ["repaired"])
        assert row["fine_rubrics"] == [{"id": "fine_1", "text": "By Friday", "quote": "Friday"}]
        assert row["evidence"] == [{"step": 2, "quote": "sent"}]
        assert row["criteria"][0] == {"id": "step_1", "met": "yes", "step": 2}
        assert row["rubric_hits"] == ["step_1"]
        assert row["steps"][0]["label"] == 1
        assert row["calls"][0]["raw"] == CALL.raw
        assert datetime.datetime.fromisoformat(row["timestamp"]).tzinfo is not None

    def test_a_failed_judgement_has_no_reward_and_no_score(self):
        row = stored(line_of(failed("timeout")))
        assert (row["reward"], row["success"], row["score"]) == (None, None, None)
        assert row["error"] == {"kind": "timeout", "message": "why"}
        assert row["attempts"] == 2

    def test_figures_add_up_over_the_calls(self):
        unpriced = Call(
            "fine", "judge-b", attempts=1, latency_ms=0.6, usage=Usage(1, None, 1, 5), cached=True
        )
        row = line_of(judgement(calls=(CALL, unpriced, Call("route", "judge-b"))))
        assert (row["attempts"], row["latency_ms"], row["cost"], row["cached"]) == (3, 812.946, 0.5, False)
        assert row["usage"] == {
            "prompt_tokens": 41,
            "completion_tokens": 10,
            "total_tokens": 51,
            "cached_tokens": 5,
        }
        assert line_of(judgement(calls=(unpriced,)))["cached"] is True

    def test_what_no_endpoint_gave_is_null_and_never_0(self):
        row = line_of(judgement(calls=(Call("trajectory", "judge-a"),)))
        assert (row["usage"], row["cost"]) == (None, None)
        row = line_of(judgement(calls=()))
        assert (row["usage"], row["cost"], row["attempts"], row["cached"]) == (None, None, 0, False)

    def test_images_labels_and_other_metadata_stay_out(self):
        run = {
            "steps": [
                {"action": "a", "screenshot": b"\x89PNG"},
                {"screenshot": "data:image/png;base64,iVBOR"},
            ],
            "metadata": {"source": b"\x89PNG", "gold_actions": ["s3cret"], "labels": {"x": "s3cret"}},
        }
        line = encode_line(line_of(judgement(run)))
        assert not [word for word in (b"PNG", b"base64", b"iVBOR", b"s3cret") if word in line]
        assert json.loads(line)["source"].startswith("4 bytes, sha256 ")


class TestEncoding:
    @pytest.mark.parametrize(
        "text", ["a\u2028b\u2029c\x85d\x0be\x0cf\x1cg\r\n", "\U0001f600 é 中文", '"], "']
    )
    def test_any_character_survives_on_one_line(self, text):
        assert stored({"reason": text}) == {"reason": text}

    def test_a_lone_surrogate_becomes_the_replacement_character(self):
        assert stored({"reason": "cut \ud83d end", "\udc80": 1}) == {"reason": "cut \ufffd end", "\ufffd": 1}

    @given(
        st.recursive(
            st.none() | st.floats() | st.text(),
            lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        )
    )
    def test_whatever_python_holds_one_line_holds(self, value):
        assert "v" in stored({"v": value})

    @pytest.mark.parametrize(
        ("value", "kept"),
        [
            (float("nan"), None),
            ([1.5, float("-inf")], [1.5, None]),
            (np.int64(3), 3),
            (np.float32(0.5), 0.5),
            (np.float32("nan"), None),
            (np.float64("nan"), None),
            (np.bool_(True), True),
            (np.array([[1, 2]]), [[1, 2]]),
            ({"b", "a"}, ["a", "b"]),
            ((1, {2: None}), [1, {"2": None}]),
            ({(1, 2): "pair"}, {"(1, 2)": "pair"}),
            (datetime.datetime(2026, 1, 1), "2026-01-01T00:00:00"),
            (datetime.date(2026, 1, 1), "2026-01-01"),
            (
                bytearray(b"\x00\xff"),
                "2 bytes, sha256 " + "06eb7d6a69ee19e5fbdf749018d3d2abfa04bcbd1365db312eb86dc7169389b8",
            ),
        ],
    )
    def test_values_json_has_no_word_for(self, value, kept):
        assert stored({"v": value})["v"] == kept
        row = stored(line_of(judgement({"metadata": {"source": {"v": value}}})))
        assert (row["source"]["v"], row["score"], row["flags"]) == (kept, 0.9, [])

    def test_what_becomes_text_is_flagged_and_never_loses_the_verdict(self):
        circular: list[Any] = []
        circular.append(circular)
        for value in (object, {"a": object()}, circular, {1: [range(2)]}):
            row = stored(line_of(judgement({"metadata": {"source": value}})))
            assert (row["score"], row["flags"]) == (0.9, ["metadata_as_text"])

    def test_a_reward_that_is_not_finite_is_null(self):
        row = stored(line_of(judgement(reward={"value": float("nan"), "parts": {"p": float("inf")}})))
        assert (row["reward"], row["parts"], row["score"]) == (None, {"p": None}, 0.9)


class TestAppend:
    def test_nothing_is_created_before_the_first_line_and_folders_are_with_it(self, tmp_path):
        log = RewardLog(tmp_path / "new" / "log.jsonl")
        assert not list(tmp_path.iterdir())
        log.append(judgement())
        log.append(judgement({"trajectory_id": "t2"}))
        log.close()
        log.append(judgement({"trajectory_id": "t3"}))
        log.close()
        assert [row["trajectory_id"] for row in read_log(log.path)] == ["t1", "t2", "t3"]

    def test_host_and_pid_are_filled_in_and_other_braces_left_alone(self, tmp_path):
        log = RewardLog(tmp_path / "{host}-{pid}-{x}.jsonl")
        assert log.path == tmp_path / f"{socket.gethostname()}-{os.getpid()}-{{x}}.jsonl"

    @pytest.mark.parametrize("ending", ["", "\n\n"])
    def test_a_torn_last_line_stands_alone(self, tmp_path, ending):
        path = tmp_path / "log.jsonl"
        whole = '{"task_id":"t1","score":1.0,"error":null}\n'
        path.write_text(whole + '{"task_id":"t2","sco' + ending)
        log = RewardLog(path)
        if ending:
            log.append(judgement())
        else:
            with pytest.warns(UserWarning, match=r"log\.jsonl: the last line was cut off"):
                log.append(judgement())
        log.append(judgement())
        log.close()
        lines = [line for line in path.read_text().split("\n") if line]
        assert lines[:2] == [whole.strip(), '{"task_id":"t2","sco']
        bad: list[str] = []
        assert [row["task_id"] for row in read_log(path, on_bad=bad.append)] == ["t1", "018", "018"]
        assert [message.partition(": not JSON")[0] for message in bad] == [f"{path}:2"]

    def test_a_path_that_cannot_be_written_raises(self, tmp_path):
        with pytest.raises(OSError, match="directory"):
            RewardLog(tmp_path).append(judgement())


SCRIPT = """
import os, sys, warnings
from judge.log import Judgement, RewardLog
from judge.schema import Reward, Trajectory
from pathlib import Path

log = RewardLog(Path(sys.argv[1]))
def append(name, length=9_000):
    run = Trajectory(trajectory_id=name, instruction="i", metadata={"source": "x" * length})
    reward = Reward(value=1.0, fingerprint="f")
    log.append(Judgement(run, None, "c", "v", "h", "p", 0, "m", 0, "score", reward))
"""


def run_script(body: str, path: Path, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", SCRIPT + body, str(path), *arguments]
    return subprocess.Popen(command, cwd=REPOSITORY, stderr=subprocess.PIPE, text=True)


def finish(*processes: subprocess.Popen[str]) -> list[str]:
    said = [process.communicate(timeout=120)[1] for process in processes]
    assert [process.returncode for process in processes] == [0] * len(processes), said
    return said


class TestProcesses:
    def test_lines_of_two_processes_are_whole(self, tmp_path):
        path = tmp_path / "log.jsonl"
        body = "for i in range(500): append(f'{sys.argv[2]}{i}', 100 * (i % 90))"
        finish(run_script(body, path, "a"), run_script(body, path, "b"))
        rows = list(read_log(path))
        assert sorted(row["trajectory_id"] for row in rows) == sorted(
            f"{p}{i}" for p in "ab" for i in range(500)
        )

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
    def test_a_forked_child_opens_its_own_part(self, tmp_path):
        body = """
append("parent")
if (child := os.fork()) == 0:
    append("child")
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
append("parent")
"""
        finish(run_script(body, tmp_path / "{pid}.jsonl"))
        parts = [[row["trajectory_id"] for row in read_log(part)] for part in tmp_path.iterdir()]
        assert sorted(parts) == [["child"], ["parent", "parent"]]

    @pytest.mark.skipif(sys.platform == "win32", reason="there are no resource limits here")
    def test_a_line_cut_by_a_full_disk_is_not_glued_to_the_next(self, tmp_path):
        body = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
append("t1")
resource.setrlimit(resource.RLIMIT_FSIZE, (12_000, unlimited[1]))
try:
    append("t2")
except OSError:
    resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
    append("t3")
"""
        path = tmp_path / "log.jsonl"
        (said,) = finish(run_script(body, path))
        assert "the last line was cut off" in said
        bad: list[str] = []
        assert [row["trajectory_id"] for row in read_log(path, on_bad=bad.append)] == ["t1", "t3"]
        assert len(bad) == 1

    def test_a_file_that_can_no_longer_be_closed_either_is_named_and_opened_anew(self, tmp_path):
        body = """
append("t1")
os.closerange(3, 100)
try:
    append("t2")
except OSError as error:
    assert error.filename == sys.argv[1], error
    append("t3")
"""
        path = tmp_path / "log.jsonl"
        finish(run_script(body, path))
        assert [row["trajectory_id"] for row in read_log(path)] == ["t1", "t3"]


@pytest.fixture
def written(tmp_path):
    """Writes these lines, bytes as they are and judgements as the log would, and gives the path."""

    def write(*lines: bytes | Judgement, name: str = "log.jsonl") -> Path:
        path = tmp_path / name
        path.write_bytes(b"".join(x if isinstance(x, bytes) else encode_line(line_of(x)) for x in lines))
        return path

    return write


class TestReading:
    def test_logs_are_read_in_order(self, written):
        first, second = written(judgement()), written(judgement({"trajectory_id": "t2"}), name="other.jsonl")
        assert [row["trajectory_id"] for row in read_log(second, first)] == ["t2", "t1"]

    def test_bad_lines_are_reported_with_their_number_and_are_never_fatal(self, written):
        path = written(
            b'{"torn": \n', judgement(), b"[1]\n", b"\n \n", b"\xff\n", b"[" * 200_000 + b"\n", judgement()
        )
        bad: list[str] = []
        assert len(list(read_log(path, on_bad=bad.append))) == 2
        assert [message.removeprefix(f"{path}:").split(":")[0] for message in bad] == ["1", "3", "6", "7"]

    def test_without_on_bad_one_warning_counts_them(self, written):
        path = written(b"torn\n", judgement(), b"torn\n")
        with pytest.warns(
            UserWarning, match=r"2 unreadable lines passed over, the first: .*:1: not JSON"
        ) as warned:
            assert len(list(read_log(path))) == 1
        assert len(warned) == 1

    def test_other_peoples_line_separators_end_no_line(self, written):
        path = written('{"reason": "a\u2028b\x85c"}\n{"reason": "ok"}'.encode())
        assert list(read_log(path)) == [{"reason": "a\u2028b\x85c"}, {"reason": "ok"}]

    def test_ids_stay_as_they_were_written(self, written):
        ids = ["18_19", "007", "1819", "1e5", "2026-01-05", str(2**63 + 1)]
        path = written(*(judgement({"task_id": each}) for each in ids))
        assert [row["task_id"] for row in read_log(path)] == ids

    def test_a_missing_file_raises(self, tmp_path):
        with pytest.raises(FileNotFoundError):
            list(read_log(tmp_path / "absent.jsonl"))


SHORT = set(line_of(judgement())) - {"evidence", "criteria", "rubric_hits", "steps", "calls"}


class TestFields:
    def rows(self, path: Path) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        return list(zip(read_log(path), read_log(path, fields=SHORT), strict=True))

    def test_rows_of_our_own_writer_lack_the_long_fields_and_nothing_else(self, written):
        nested = judgement({"metadata": {"source": {"evidence": [], "flags": [], "calls": [1]}}})
        for full, brief in self.rows(written(judgement(), nested, judgement({"instruction": "\u2028 é"}))):
            assert brief == {key: value for key, value in full.items() if key in SHORT}

    @pytest.mark.parametrize(
        "fields", [(), ("reward",), ("timestamp", "group", "agent", "steps", "cost"), ("omitted", "flags")]
    )
    def test_rows_hold_the_fields_asked_for_and_no_more(self, written, fields):
        path = written(judgement(), judgement({"instruction": "\u2028 é"}))
        for full, row in zip(read_log(path), read_log(path, fields=fields), strict=True):
            assert row == {name: full[name] for name in ("schema", *fields)}

    @pytest.mark.parametrize("field", ["calls", "mine"])
    def test_a_field_that_cannot_be_cut_around_is_read_with_all_others(self, written, field):
        path = written(judgement(), encode_line({**line_of(judgement()), "mine": 1}))
        assert list(read_log(path, fields=[field])) == list(read_log(path))

    @pytest.mark.parametrize("field", ["source", "agent", "trajectory_id"])
    def test_a_field_that_looks_like_the_line_around_it_is_not_cut(self, written, field):
        inner = {"x": 1, "evidence": [], "criteria": [], "flags": [], "error": None, "calls": []}
        path = written(judgement({"metadata": {"source": inner, "agent": [inner]}}))
        ((full, brief),) = self.rows(path)
        (row,) = read_log(path, fields=[field])
        assert (brief[field], row[field]) == (full[field], full[field])

    @pytest.mark.parametrize("fields", [("trajectory_id", "reward", "cost"), ("source", "steps")])
    def test_a_line_glued_to_a_torn_one_is_unreadable_wherever_that_was_cut(self, written, fields):
        line, bad = encode_line(line_of(judgement())), list[str]()
        path = written(*(line[:length] + line for length in range(1, len(line) - 1)))
        assert list(read_log(path, on_bad=bad.append, fields=fields)) == []
        assert len(bad) == (len(line) - 2)

    def test_rows_it_does_not_know_are_whole(self, written):
        ours = line_of(judgement())
        foreign = [
            {key: value for key, value in ours.items() if key != "schema"},
            {**ours, "mine": [1]},
            {**ours, "mine": {"error": None}},
            {"schema": 1, "x": 1, "sub": {"evidence": [1], "flags": [], "calls": [{"error": None}]}},
            {"schema": 1, "evidence": [{"a": 1, "flags": []}], "calls": [{"error": None}]},
        ]
        path = written(
            *(encode_line(row) for row in foreign),
            json.dumps(ours, indent=None, separators=(",", ":")).encode(),
        )
        for full, brief in self.rows(path):
            assert brief == full

    def test_a_failed_call_costs_time_and_no_data(self, written):
        ((full, brief),) = self.rows(
            written(failed("timeout", calls=(Call("trajectory", "m", error={"kind": "timeout"}),)))
        )
        assert brief["error"] == full["error"] == {"kind": "timeout", "message": "why"}

    def test_a_torn_line_is_torn_wherever_it_was_cut(self, written):
        line = encode_line(line_of(judgement()))
        for length in range(1, len(line) - 1):
            path, bad = written(line[:length] + b"\n", judgement()), list[str]()
            assert len(list(read_log(path, on_bad=bad.append, fields=SHORT))) == 1
            assert len(bad) == 1


class TestSettled:
    def test_verdicts_and_unusable_runs_are_settled_and_failures_are_not(self, tmp_path):
        log = RewardLog(tmp_path / "log.jsonl")
        log.append(judgement())
        log.append(judgement(repeat=1))
        log.append(failed("unusable_input", run={"trajectory_id": "t2"}))
        log.append(failed("timeout", run={"trajectory_id": "t3"}))
        log.close()
        assert settled_keys([log.path]) == {
            ("t1", "adapt_v1", 0, "f00d"),
            ("t1", "adapt_v1", 1, "f00d"),
            ("t2", "adapt_v1", 0, "f00d"),
        }

    def test_a_run_that_failed_once_and_was_judged_later_is_settled(self, tmp_path):
        log = RewardLog(tmp_path / "log.jsonl")
        log.append(failed("timeout"))
        assert settled_keys([log.path]) == set()
        log.append(judgement())
        log.close()
        assert settled_keys([log.path]) == {("t1", "adapt_v1", 0, "f00d")}

    def test_rows_without_a_key_settle_nothing(self, tmp_path):
        path = tmp_path / "log.jsonl"
        key = {"trajectory_id": "t", "rubric_version": "v", "repeat": 0, "fingerprint": "f"}
        rows = [{**key, name: value} for name in key for value in (None, ["t"])]
        path.write_text("".join(json.dumps(row) + "\n" for row in [*rows, {}, "torn"][:-1]) + "torn\n")
        bad: list[str] = []
        assert settled_keys([path], bad.append) == set()
        assert len(bad) == 1

    @pytest.mark.parametrize(
        ("error", "settled"),
        [(None, True), ({"kind": "unusable_input"}, True), ({"kind": "refusal"}, False), ("timeout", False)],
    )
    def test_an_error_of_another_tool_is_not_settled(self, error, settled):
        assert is_settled({"error": error}) is settled
