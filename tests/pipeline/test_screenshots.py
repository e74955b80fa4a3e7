"""Runs with screenshots, judged over HTTP: what goes out, what is told instead, what is kept in the log."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from base64 import b64decode
from io import BytesIO
from pathlib import Path

import pytest

from judge import Config, Judge, Step, Trajectory, read_trajectories
from judge.integrations.advantages import gtpo_steps
from judge.testing import LoopbackServer
from tests.pipeline.judged import scripted

Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")

REPOSITORY = Path(__file__).resolve().parents[2]
SHARED = REPOSITORY.parent / "shared" / "data" / "web_gui.jsonl"


@pytest.fixture
def shots(tmp_path: Path):
    """Paths of screenshots, one for each colour; equal colours are equal files of two names."""

    def make(*colours: int, size=(64, 32)) -> list[str]:
        paths = []
        for number, colour in enumerate(colours):
            path = tmp_path / f"{number}-{colour}-{size[0]}.png"
            Image.new("RGB", size, (colour, 0, 0)).save(path)
            paths.append(str(path))
        return paths

    return make


@pytest.fixture
def judged(tmp_path: Path):
    """Judges runs through a server; gives rewards, the bodies that reached it and the log."""

    def judge(runs, script=None, *, cache=None, **settings):
        log = tmp_path / "log.jsonl"
        log.unlink(missing_ok=True)
        section = {"model": "judge-x", "backoff_s": 0.0, **settings.pop("judge", {})}
        with LoopbackServer(script) as server:
            config = Config(
                judge={**section, "base_url": server.base_url, "endpoint_id": "loopback"},
                **{
                    "rubrics": {"version": "static_v1"},
                    "cache": {"dir": cache},
                    "log": {"path": log},
                    **settings,
                },
            )
            with Judge(config) as judge:
                rewards = judge.score_many(runs)
            bodies = [request["json"] for request in server.requests]
        return rewards, bodies, [json.loads(line) for line in log.read_text().splitlines()]

    return judge


def gui_run(*screenshots, **fields) -> Trajectory:
    steps = [Step(index=i, action=f"click({i})", screenshot=shot) for i, shot in enumerate(screenshots)]
    return Trajectory(trajectory_id="t", task_id="k", instruction="Open it", steps=steps, **fields)


def parts(body) -> list[dict]:
    content = body["messages"][-1]["content"]
    return content if isinstance(content, list) else [{"type": "text", "text": content}]


def images(body) -> list[Image.Image]:
    urls = [part["image_url"]["url"] for part in parts(body) if part["type"] == "image_url"]
    return [Image.open(BytesIO(b64decode(url.partition(",")[2]))) for url in urls]


def refuses_images(asked):
    if not any(part["type"] == "image_url" for part in parts(asked)):
        return {}
    return {"status": 400, "body_json": {"error": {"message": "This model does not support image input."}}}


def test_pictures_go_out_in_time_order_and_scaled(judged, shots):
    [reward], [body], [line] = judged(
        [gui_run(*shots(10, 20, 30, size=(200, 100)))], frames={"max_image_px": 50}
    )
    assert reward.value == 1.0
    assert [image.size for image in images(body)] == [(50, 25)] * 3
    assert [image.convert("RGB").getpixel((0, 0))[0] for image in images(body)] == [10, 20, 30]
    assert [image["step"] for image in line["images"]] == [0, 1, 2]
    assert {image["width"] for image in line["images"]} == {200}
    assert "base64" not in json.dumps(line)


def test_identical_neighbours_are_folded_by_content(judged, shots):
    same, again, other = shots(10, 10, 20)
    steps = [Step(index=i, action="wait", screenshot=shot) for i, shot in enumerate([same, again, other])]
    run = Trajectory(trajectory_id="t", instruction="Wait", steps=steps)
    _, [body], [line] = judged([run])
    assert len(images(body)) == 2
    assert line["frame_count"] == 2


def test_a_judge_that_does_not_see_is_told_type_and_size(judged, shots):
    [shot] = shots(10)
    _, [body], [line] = judged([gui_run(shot)], judge={"vision": "off"})
    [part] = parts(body)
    assert f"screenshot: image/png, {Path(shot).stat().st_size} bytes (not shown)" in part["text"]
    assert line["images"] == []
    assert line["flags"] == []


def test_a_refusal_is_learned_once(judged, shots):
    runs = [
        gui_run(shot).model_copy(update={"trajectory_id": f"t{i}"}) for i, shot in enumerate(shots(1, 2, 3))
    ]
    rewards, bodies, _ = judged(runs, refuses_images, judge={"concurrency": 1})
    assert [reward.value for reward in rewards] == [1.0] * 3
    assert all("images_not_sent" in reward.flags for reward in rewards)
    assert [len(images(body)) for body in bodies] == [1, 0, 0, 0]
    assert "[image not shown]" in bodies[-1]["messages"][-1]["content"]


def test_a_refusal_is_a_failure_where_pictures_are_demanded(judged, shots):
    [reward], _, _ = judged([gui_run(*shots(1))], refuses_images, judge={"vision": "on"})
    assert (reward.value, reward.error_kind) == (None, "bad_request")


@pytest.mark.parametrize(("vision", "kind"), [("auto", None), ("on", "unusable_input"), ("off", None)])
def test_an_unreadable_picture(judged, shots, vision, kind):
    [shot] = shots(1)
    Path(shot).write_bytes(Path(shot).read_bytes()[:40])
    [reward], bodies, [line] = judged([gui_run(shot)], judge={"vision": vision})
    assert reward.error_kind == kind
    assert ("screenshot_unreadable" in reward.flags) == (vision == "auto")
    assert len(bodies) == (0 if kind else 1)
    if kind:
        assert line["error"]["message"].startswith("steps.0.screenshot: cannot be read: ")


def test_a_picture_that_goes_away_before_it_is_sent_fails_its_run_alone(judged, shots):
    fleeting, there = shots(1, 2)
    image = Image.open(fleeting)
    image.load()

    class Fleeting(Image.Image):
        def convert(self, mode):
            raise OSError("gone")

    image.__class__ = Fleeting
    runs = [gui_run(image), gui_run(there).model_copy(update={"trajectory_id": "t2"})]
    rewards, _, _ = judged(runs)
    assert [reward.error_kind for reward in rewards] == ["bad_request", None]


def test_another_picture_is_another_question_and_the_same_is_cached(judged, shots, tmp_path):
    one, again, other = shots(1, 1, 2)
    counts = [
        len(judged([gui_run(shot)], cache=tmp_path / "cache", frames={"max_image_px": max_px})[1])
        for shot, max_px in ((one, 64), (one, 64), (again, 64), (other, 64), (one, 32))
    ]
    assert counts == [1, 0, 0, 1, 1]


def test_the_judges_of_steps_see_only_what_their_step_saw(judged, shots):
    run = gui_run(*shots(10, 20, 30))
    _, bodies, _ = judged([run], steps={"mode": "prefix", "at": "all", "window": 2})
    seen = sorted([image.convert("RGB").getpixel((0, 0))[0] for image in images(body)] for body in bodies)
    assert seen == [[10], [10, 20], [10, 20, 30], [20, 30]]


def test_what_the_judges_of_steps_could_not_be_shown_is_flagged(judged, shots):
    seen, lost = shots(10, 20)
    Path(lost).unlink()
    settings = {"steps": {"mode": "prefix", "at": [0]}, "frames": {"max_frames": 1}}
    for vision in ("auto", "off"):
        purposes = {"trajectory": {"vision": vision}}
        [reward], bodies, _ = judged([gui_run(lost, seen)], judge={"purposes": purposes}, **settings)
        assert (reward.error_kind, len(bodies)) == (None, 2)
        assert "screenshot_unreadable" in reward.flags


@pytest.mark.parametrize("mode", ["whole", "prefix"])
def test_the_image_that_a_run_ended_with_is_shown_and_is_no_step_to_judge(shots, mode):
    act, end = shots(1, 2)
    run = Trajectory(
        instruction="Open it",
        steps=[{"action": "click", "screenshot": act}, {"role": "environment", "screenshot": end}],
    )
    judge, client = scripted(steps={"mode": mode, "at": "all"})
    with judge:
        judge.score(run)
    of_steps = [request.content for request in client.requests if request.purpose == "steps"]
    assert {content.verify for content in of_steps} == {(0,)}
    assert [frame.index for frame in client.requests[-1].content.frames] == [0, 1]


def test_a_pil_image_in_a_sample_is_judged(judged, shots):
    [shot] = shots(10)
    with Image.open(shot) as image:
        _, [body], [line] = judged([gui_run(image)])
    assert len(images(body)) == 1
    assert line["images"][0]["media_type"] == "image/png"


def test_public_runs_go_out_with_their_pictures_and_as_text(judged):
    if not SHARED.exists():
        pytest.skip("the shared runs with screenshots are not here")
    runs = {run.trajectory_id: run for run in read_trajectories(SHARED)}
    rewards, bodies, lines = judged(runs.values())
    assert [reward.error_kind for reward in rewards] == [None] * len(runs)
    by_token = {parts(body)[-1]["text"].rpartition(" ")[2]: body for body in bodies}
    for line in lines:
        logged, run = line["images"], runs[line["trajectory_id"]]
        shown = images(by_token[line["calls"][-1]["verdict_id"]])
        assert [image.size for image in shown] == [(each["width"], each["height"]) for each in logged]
        stored = [Path(run.steps[each["step"]].screenshot).read_bytes() for each in logged]
        assert [hashlib.sha256(data).hexdigest() for data in stored] == [each["sha256"] for each in logged]
    assert sum(len(images(body)) for body in bodies) > 50
    as_text = judged(runs.values(), judge={"vision": "off"})[1]
    assert [images(body) for body in as_text] == [[]] * len(runs)
    told = sum(parts(body)[0]["text"].count("screenshot: image/jpeg, ") for body in as_text)
    assert told == sum(len(images(body)) for body in bodies)


def test_what_the_judges_of_steps_did_not_see_is_flagged_too(judged, shots):
    def refuses_steps(asked):
        is_step = "correct" in asked["response_format"]["json_schema"]["schema"]["properties"]
        return refuses_images(asked) if is_step else {}

    purposes = {"purposes": {"steps": {"model": "judge-y"}}}
    run = gui_run(*shots(10, 20))
    [reward], _, [line] = judged([run], refuses_steps, judge=purposes, steps={"mode": "prefix", "at": "all"})
    assert reward.value == 1.0
    assert "images_not_sent" in line["flags"]


def test_pictures_that_were_refused_are_not_logged_as_shown(judged, shots):
    _, _, [line] = judged([gui_run(*shots(10))], refuses_images)
    assert (line["images"], line["flags"]) == ([], ["images_not_sent"])


def test_the_view_that_a_run_ended_with_is_shown_and_not_labelled(judged, shots):
    run = gui_run(*shots(10, 20))
    end = Step(index=2, role="environment", action_type="end", screenshot=shots(30)[0])
    ended = run.model_copy(update={"steps": (*run.steps, end)})
    [reward], [body], _ = judged([ended], steps={"mode": "whole"}, reward={"scheme": "tarl"})
    assert len(images(body)) == 3
    assert [step.step for step in reward.steps] == [0, 1]
    assert len(gtpo_steps([reward], [ended])[0]) == 3


WITHOUT_PILLOW = """
import json, sys
sys.modules["PIL"] = None
from judge import Config, Judge, Trajectory
from judge.errors import ConfigError
from judge.testing import LoopbackServer

run = Trajectory(instruction="Open it", steps=[{"action": "click", "screenshot": sys.argv[1]}])
with LoopbackServer() as server:
    def settings(vision):
        judge = {"base_url": server.base_url, "model": "judge-x", "vision": vision}
        return Config(judge=judge, rubrics={"version": "static_v1"}, cache={"dir": None}, log={"path": None})

    with Judge(settings("auto")) as judge:
        reward = judge.score(run)
    try:
        Judge(settings("on"))
        refused = None
    except ConfigError as error:
        refused = error.message
    content = server.requests[0]["json"]["messages"][-1]["content"]
print(json.dumps({"flags": reward.flags, "content": content, "refused": refused}))
"""


def test_without_pillow_a_judge_is_told_of_pictures_and_on_is_refused(shots):
    [shot] = shots(1)
    command = [sys.executable, "-c", WITHOUT_PILLOW, shot]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=REPOSITORY)
    found = json.loads(done.stdout)
    assert found["flags"] == ["images_not_sent"]
    assert "screenshot: image/png, " in found["content"]
    assert "adaptive-judge[vision]" in found["refused"]
