"""The `frames` sample: frames become steps, and a fault names the frame by the caller's own word for it."""

from __future__ import annotations

import pytest

from judge.errors import InputError
from judge.readers import trajectory_from

FRAMES = [{"action": "type", "text": "I type", "state": "form"}, {"action": "send", "screenshot": b"\xff"}]
SAMPLE = {"instruction": "Send it", "frames": FRAMES, "task_id": 12, "step": 300}


def test_frames_become_steps_and_step_is_the_training_step():
    run = trajectory_from(SAMPLE)
    assert [(step.index, step.action, step.state) for step in run.steps] == [
        (0, "type", "form"),
        (1, "send", ""),
    ]
    assert (run.task_id, run.step, run.steps[1].screenshot) == ("12", 300, b"\xff")


def test_fields_of_frames_and_sample_that_are_unknown_are_kept():
    run = trajectory_from({**SAMPLE, "frames": [{"action": "a", "label": 1}], "source": "web"})
    assert (run.steps[0].model_dump()["label"], run.metadata) == (1, {"source": "web"})


def test_a_record_with_steps_is_native_whatever_else_it_has():
    run = trajectory_from({**SAMPLE, "steps": [{"action": "a"}]})
    assert (len(run.steps), run.metadata["frames"]) == (1, FRAMES)


def test_no_frames_at_all_is_a_run_in_which_nothing_was_done():
    run = trajectory_from({**SAMPLE, "frames": []})
    assert (run.is_empty, run.outcome.status) == (True, "ok")


def test_no_frames_beside_a_traceback_are_the_environments_failure():
    run = trajectory_from({**SAMPLE, "frames": [], "info": {"traceback": "Traceback ..."}})
    assert run.outcome.status == "infra_error"


@pytest.mark.parametrize(
    ("frames", "message"),
    [
        (None, "frames: must be a list (it is a NoneType)"),
        ("click", "frames: must be a list (it is a str)"),
        ({"action": "a"}, "frames: must be a list (it is a dict)"),
        ([{}, "click"], "frames.1: must be an object (it is a str)"),
    ],
)
def test_a_frame_that_is_none_is_named(frames, message):
    with pytest.raises(InputError) as raised:
        trajectory_from({**SAMPLE, "frames": frames})
    assert raised.value.message == f"sample: {message}"
