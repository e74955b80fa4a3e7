"""What passes between the stages: coercion of messy stored values, ids, step numbers, requests on the wire.

Not covered: which records become trajectories (tests of the readers) and what a verdict may hold (verdict's).
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from judge.schema import (
    Frame,
    Outcome,
    Request,
    Reward,
    Rubric,
    RubricItem,
    Step,
    StepVerdict,
    ToolCall,
    Trajectory,
    TrajectoryVerdict,
    as_text,
    clean_text,
)
from judge.schema.exchange import Content


def run(**fields: object) -> Trajectory:
    return Trajectory(**{"instruction": "Book a table for two", **fields})


class TestText:
    @pytest.mark.parametrize(
        ("value", "text"),
        [
            (None, ""),
            ("as it is ", "as it is "),
            (0, "0"),
            (False, "false"),
            ({"stdout": "", "code": 0}, '{"stdout": "", "code": 0}'),
            (["é"], '["é"]'),
        ],
    )
    def test_any_stored_value_becomes_text(self, value, text):
        assert as_text(value) == text

    def test_what_json_cannot_say_is_its_repr(self):
        assert as_text({1, 2}) == "{1, 2}"

    def test_lone_surrogates_are_replaced_and_pairs_left_alone(self):
        assert clean_text("cut \ud83d end \U0001f600") == "cut \ufffd end \U0001f600"
        assert as_text({"a": "\udc80"}) == '{"a": "\ufffd"}'


class TestStep:
    def test_messy_values_are_kept_as_text(self):
        step = Step(text=None, observation={"stdout": "", "code": 0}, action=["a", 1], state=3)
        assert (step.text, step.observation) == ("", '{"stdout": "", "code": 0}')
        assert (step.action, step.state) == ('["a", 1]', "3")

    @pytest.mark.parametrize(
        ("stored", "error"),
        [(None, False), ("", False), (True, True), ("boom", "boom"), ({"code": 1}, '{"code": 1}')],
    )
    def test_error_is_a_flag_or_a_message(self, stored, error):
        assert Step(error=stored).error == error

    def test_labels_and_rewards_of_a_step_are_kept_and_never_shown(self):
        step = Step(action="click", label=-1, reward=0.5)
        assert step.model_dump()["label"] == -1
        assert not {"label", "reward"} & set(Frame.__slots__)
        assert "0.5" not in repr(Frame.of(step))

    @pytest.mark.parametrize("index", [-1, 1.5, "two"])
    def test_an_index_is_a_whole_number_from_0(self, index):
        with pytest.raises(ValidationError, match="index"):
            Step(index=index)

    @pytest.mark.parametrize(
        ("fields", "blank"),
        [
            ({}, True),
            ({"action": " \n", "text": None, "tool_calls": None}, True),
            ({"observation": "the page"}, True),
            ({"text": "thinking"}, False),
            ({"tool_calls": [{"name": "noop"}]}, False),
        ],
    )
    def test_a_step_is_blank_where_the_agent_did_nothing(self, fields, blank):
        assert Step(**fields).is_blank is blank


class TestDeed:
    def test_broken_arguments_are_evidence_and_stay_verbatim(self):
        broken = '{"path": "a.txt", "text": "He said "hi""}'
        assert Step(tool_calls=[{"name": "write", "arguments": broken}]).deed == f"write({broken})"

    def test_chat_completions_nest_the_call(self):
        stored = {"id": "c1", "type": "function", "function": {"name": "noop", "arguments": None}}
        call = Step(tool_calls=[stored]).tool_calls[0]
        assert (call.id, call.spelled) == ("c1", "noop()")

    def test_a_call_without_a_name_is_still_shown(self):
        assert ToolCall(arguments={"a": 1}).spelled == '(no name)({"a": 1})'

    @pytest.mark.parametrize("name", ["args", "input", "parameters"])
    def test_arguments_by_another_name_are_not_lost(self, name):
        stored = {"name": "f", "arguments": None, name: {"a": 1}}
        assert ToolCall.model_validate(stored).spelled == 'f({"a": 1})'
        both = {"function": {"name": "f", "arguments": ""}, name: {"a": 1}}
        assert ToolCall.model_validate(both).spelled == "f()"

    def test_an_action_that_spells_the_call_is_not_repeated(self):
        step = Step(action="find(a=1)", tool_calls=[{"name": "find", "arguments": {"a": 1}}])
        assert step.deed == "find(a=1)"

    def test_an_action_that_only_names_the_tool_gets_its_arguments(self):
        step = Step(action="find", tool_calls=[{"name": "find", "arguments": {"a": 1}}])
        assert step.deed == 'find\nfind({"a": 1})'

    def test_a_second_call_of_the_same_tool_is_not_lost(self):
        step = Step(action="f(1)", tool_calls=[{"name": "f", "arguments": n} for n in (1, 2)])
        assert step.deed == "f(1)\nf(2)"


class TestTrajectory:
    def test_unknown_fields_move_to_metadata(self):
        stored = run(labels={"a": 1}, source="web", metadata={"source": "old", "gold_actions": []})
        assert stored.metadata == {"labels": {"a": 1}, "source": "web", "gold_actions": []}

    def test_metadata_that_is_no_mapping_is_refused_whatever_else_is_unknown(self):
        with pytest.raises(ValidationError, match="metadata"):
            run(metadata="text", labels={})

    def test_null_is_the_default(self):
        assert run(steps=None, context=None, outcome=None, metadata=None) == run()

    def test_a_context_that_is_a_text_stays_context(self):
        assert run(context="policy text").context == {"context": "policy text"}

    @pytest.mark.parametrize(("stored", "kept"), [(7, "7"), (0, "0"), ("007", "007"), ("12_13", "12_13")])
    def test_ids_are_strings_and_stay_strings(self, stored, kept):
        ids = run(trajectory_id=stored, task_id=stored, group=stored)
        assert (ids.trajectory_id, ids.task_id, ids.group) == (kept, kept, kept)

    def test_big_whole_numbers_survive_as_ids(self):
        assert run(task_id=2**63 + 1).task_id == "9223372036854775809"

    @pytest.mark.parametrize("stored", [1.0, 2.5, True, ["a"]])
    def test_a_float_is_no_id(self, stored):
        with pytest.raises(ValidationError, match="task_id"):
            run(task_id=stored)

    def test_ids_that_are_missing_are_found_again_by_a_rerun(self):
        steps = [{"action": "click"}]
        first, again, other = run(steps=steps), run(steps=steps), run(steps=[{"action": "type"}])
        assert first.trajectory_id == again.trajectory_id != other.trajectory_id
        assert first.task_id == other.task_id != run(instruction="Another").task_id
        assert first.trajectory_id.startswith("sha256:")

    def test_keys_that_json_cannot_hold_make_an_id_too(self):
        found = [run(steps=[{"extra": {1: "a", "b": value}}]).trajectory_id for value in "cdc"]
        assert found[0] == found[2] != found[1]

    def test_steps_without_an_index_are_counted_from_0(self):
        stored = run(steps=[{"action": "a"}, {"action": "b", "index": None}, {"action": "c"}])
        assert [step.index for step in stored.steps] == [0, 1, 2]

    @pytest.mark.parametrize("indices", [(1, 2), (0, 0), (0, 2), (1, 0)])
    def test_indices_are_0_based_and_count_every_step(self, indices):
        with pytest.raises(ValidationError, match="indices are 0-based and count every step"):
            run(steps=[{"index": index} for index in indices])

    @pytest.mark.parametrize("instruction", ["", " \n", None])
    def test_the_judge_must_know_what_was_asked(self, instruction):
        with pytest.raises(ValidationError, match="instruction"):
            run(instruction=instruction)

    def test_it_is_empty_where_no_step_holds_a_deed(self):
        assert run().is_empty
        assert run(steps=[{"observation": "page"}, {"action": " "}]).is_empty
        assert not run(steps=[{}, {"text": "hello"}]).is_empty

    def test_the_instruction_hash_groups_rollouts_of_one_prompt(self):
        assert run(task_id="1").instruction_hash == run(task_id="2").instruction_hash
        assert len(run().instruction_hash) == 16

    def test_a_lone_surrogate_does_not_stop_the_hash(self):
        assert run(instruction="cut \ud83d").instruction == "cut \ufffd"

    def test_it_is_frozen(self):
        with pytest.raises(ValidationError):
            run().instruction = "another"


class Pixels:
    """What a PIL image is here: an object whose content is its bytes."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def tobytes(self) -> bytes:
        return self.data


class TestScreenshots:
    @pytest.mark.parametrize(
        ("screenshot", "path"),
        [
            (None, None),
            ("", None),
            ("shots/1.png", "shots/1.png"),
            ("/there/1.png", "/there/1.png"),
            ({"bytes": None, "path": "1.png"}, "1.png"),
            ({"url": "shots/1.png"}, "shots/1.png"),
            ({"bytes": b"\xff", "path": "1.png"}, None),
            ({"url": "https://example.com/1.png"}, None),
            ({}, None),
            ("data:image/png;base64,AA", None),
            ("https://example.com/1.png", None),
            ("file:///there/1.png", "/there/1.png"),
            ("iVBORw0KGgo" + "A" * 300, None),
            ("/9j/" + "A/+\n" * 100, None),
            ("R0lGOD.gif", "R0lGOD.gif"),
            ("a" * 5000, None),
            (b"shots/1.png", None),
            (7, None),
        ],
    )
    def test_a_path_is_told_from_an_image_and_an_address(self, screenshot, path):
        assert Step(screenshot=screenshot).screenshot_path == path

    def test_relative_paths_are_taken_from_a_folder_and_nothing_else_changes(self):
        shots = [
            "1.png",
            "/there/2.png",
            "../3.png",
            "data:,x",
            b"\xff",
            None,
            {"path": "7.png", "bytes": None},
        ]
        stored = run(steps=[{"action": "look", "screenshot": shot, "label": 1} for shot in shots])
        moved = stored.beside(Path("data"))
        assert [step.screenshot for step in moved.steps] == [
            *("data/1.png", "/there/2.png", "data/../3.png", "data:,x", b"\xff", None, "data/7.png")
        ]
        assert [step.screenshot for step in stored.steps] == shots
        same = {"exclude": {"steps": {"__all__": {"screenshot"}}}}
        assert moved.model_dump(**same) == stored.model_dump(**same)

    def test_a_run_without_paths_is_the_same_object_beside_any_folder(self):
        stored = run(steps=[{"action": "look"}])
        assert stored.beside(Path("data")) is stored
        stored = run(steps=[{"screenshot": b"\xff"}, {"action": "look"}])
        assert stored.beside(Path("data")) == stored

    def test_earlier_images_of_a_step_move_with_its_screenshot(self):
        step = {"screenshot": "2.png", "earlier_images": ["1.png", "data:,x"]}
        [moved] = run(steps=[step]).beside(Path("data")).steps
        assert (moved.screenshot, moved.earlier_images) == ("data/2.png", ["data/1.png", "data:,x"])

    @pytest.mark.parametrize("stored", [None, "", b"", {}, {"bytes": None, "path": None}, {"path": ""}])
    def test_a_blank_screenshot_is_none(self, stored):
        assert Step(screenshot=stored).screenshot is None

    def test_a_view_is_a_step_without_a_deed_of_the_agents(self):
        assert Step(role="environment", screenshot="end.png").is_view
        assert not Step(role="environment", text="The page is gone").is_view
        assert not Step(screenshot="end.png").is_view

    @pytest.mark.parametrize("held", [bytes, bytearray, memoryview, Pixels])
    @pytest.mark.parametrize("step", [dict, Step])
    def test_runs_that_differ_in_an_image_alone_have_names_of_their_own(self, held, step):
        names = [
            run(steps=[step(index=0, screenshot=held(data))]).trajectory_id for data in (b"\0", b"\1", b"\1")
        ]
        assert names[0] != names[1] == names[2]

    def test_a_run_with_images_is_found_again_by_another_process(self):
        code = "import sys; from judge import Trajectory as T; print(T(**eval(sys.argv[1])).trajectory_id)"
        fields = {"instruction": "Look", "steps": [{"screenshot": b"\xff"}, {"state": {"a": 1}}]}
        command = [sys.executable, "-c", code, repr(fields)]
        root = Path(__file__).resolve().parents[1]
        other = subprocess.run(command, cwd=root, capture_output=True, check=True, text=True)
        assert other.stdout.strip() == Trajectory(**fields).trajectory_id


class TestOutcome:
    def test_a_broken_environment_says_nothing_about_the_agent(self):
        assert Outcome(reward=0, status="infra_error").known is None
        assert Outcome(reward=0).known == 0.0
        assert Outcome().known is None

    @pytest.mark.parametrize("reward", [float("nan"), float("inf"), "high"])
    def test_a_reward_is_a_finite_number(self, reward):
        with pytest.raises(ValidationError, match="reward"):
            Outcome(reward=reward)

    def test_fields_of_other_tools_are_kept(self):
        assert Outcome(reward=1, details={"db": "same"}).model_dump()["details"] == {"db": "same"}


class TestVerdicts:
    @pytest.mark.parametrize("score", [-0.01, 1.01, float("nan")])
    def test_a_score_lies_in_the_unit_interval(self, score):
        with pytest.raises(ValidationError, match="score"):
            TrajectoryVerdict(success=True, score=score)

    @pytest.mark.parametrize("fields", [{"label": 2}, {"confidence": 1.5}, {"error_type": "typo"}])
    def test_a_step_verdict_takes_only_its_own_values(self, fields):
        with pytest.raises(ValidationError, match=next(iter(fields))):
            StepVerdict(step=0, **fields)

    def test_a_rubric_tells_coarse_from_fine(self):
        items = tuple(
            RubricItem(id=f"{kind}_1", text="It is done.", kind=kind) for kind in ("step", "fine", "rule")
        )
        rubric = Rubric(version="v", category="general", items=items)
        assert [item.id for item in rubric.coarse] == ["step_1", "rule_1"]
        assert [item.id for item in rubric.fine] == ["fine_1"]

    def test_a_failed_reward_has_no_value(self):
        assert Reward(value=None, error_kind="timeout").model_dump()["value"] is None


class TestRequest:
    def request(self, content: object) -> Request:
        messages = ({"role": "system", "content": "s"}, {"role": "user", "content": content})
        return Request("trajectory", messages, {}, Content(instruction="i"))

    def test_the_token_stands_at_the_very_end(self):
        asked = self.request("question").with_verdict_id("abc")
        assert asked.wire_messages()[-1]["content"] == "question\nverdict_id: abc"
        assert asked.wire_messages()[0] == {"role": "system", "content": "s"}

    def test_a_message_with_images_gets_it_as_its_last_part(self):
        image = {"type": "image_url", "image_url": {"url": "data:"}}
        parts = self.request([image]).with_verdict_id("abc").wire_messages()[-1]["content"]
        assert parts == [image, {"type": "text", "text": "\nverdict_id: abc"}]

    def test_equal_questions_stay_equal_without_the_token(self):
        one, two = (self.request("question").with_verdict_id(token) for token in ("a", "b"))
        assert json.dumps(one.messages) == json.dumps(two.messages)
        assert self.request("question").wire_messages()[-1]["content"] == "question"
