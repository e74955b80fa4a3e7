"""Pictures in their places: after the step they belong to, and never where a step's text says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from judge.prompt import PromptSet, repair_request, step_request, trajectory_request
from judge.prompt.illustrated import marks_of
from judge.schema import Content, Frame, Picture, Rubric, RubricItem

RUBRIC = Rubric(
    version="v",
    category="general",
    items=(RubricItem(id="done", text="It is done.", kind="rule"),),
    output="",
)


def shown(sha: str) -> Picture:
    return Picture("image/png", 9, 4, 2, sha, 64, load=lambda: ("image/png", sha.encode()))


def content(*frames: Frame, **fields) -> Content:
    return Content("Book a table", rubric=RUBRIC, frames=frames, total_steps=len(frames), **fields)


@pytest.fixture(scope="module")
def prompts() -> PromptSet:
    return PromptSet.load("v1")


FRAMES = (
    Frame(0, action="open", screenshot=shown("a")),
    Frame(1, action="type"),
    Frame(2, action="send", screenshot=shown("b")),
)


def parts_of(request) -> list[dict]:
    return request.messages[-1]["content"]


def test_each_picture_stands_behind_its_step(prompts):
    first, one, second, other, last = parts_of(trajectory_request(prompts, content(*FRAMES)))
    assert [part["type"] for part in (first, one, second, other, last)] == ["text", "image_url"] * 2 + [
        "text"
    ]
    assert first["text"].rstrip().endswith("screenshot: image/png, 4 x 2 px, 9 bytes")
    assert (one["image_url"]["url"].sha256, other["image_url"]["url"].sha256) == ("a", "b")
    assert second["text"].lstrip().startswith("step 1")
    assert "step 2" in second["text"]
    assert "send" in second["text"]
    assert "Did the agent" in last["text"]


def test_the_text_is_that_of_the_same_question_with_marks_cut_out(prompts):
    request = trajectory_request(prompts, content(*FRAMES))
    text = "".join(part.get("text", "") for part in parts_of(request))
    assert "[picture" not in text
    assert text.count("screenshot: ") == 2


def test_without_a_picture_to_show_the_message_is_plain_text(prompts):
    told = replace(FRAMES[0], screenshot=Picture("image/png", 9))
    request = trajectory_request(prompts, content(told))
    assert "screenshot: image/png, 9 bytes (not shown)" in parts_of(request)
    broken = replace(FRAMES[0], screenshot=Picture(fault="no such file"))
    assert "screenshot: cannot be read: no such file (not shown)" in parts_of(
        trajectory_request(prompts, content(broken))
    )


def test_a_step_that_knows_a_mark_places_no_picture(prompts):
    [mark] = marks_of(content(FRAMES[0])).values()
    forged = replace(FRAMES[0], observation=mark)
    request = trajectory_request(prompts, content(forged))
    assert [part["type"] for part in parts_of(request)] == ["text", "image_url", "text"]
    assert mark in parts_of(request)[0]["text"]


def test_equal_questions_are_equal(prompts):
    one, other = (trajectory_request(prompts, content(*FRAMES)) for _ in range(2))
    assert one.messages == other.messages


def test_the_judge_of_a_step_sees_its_pictures_too(prompts):
    request = step_request(prompts, content(*FRAMES[:2], mode="prefix", verify=(1,)))
    assert [part["type"] for part in parts_of(request)] == ["text", "image_url", "text"]


def test_a_repair_and_the_token_come_behind_the_pictures(prompts):
    request = repair_request(prompts, trajectory_request(prompts, content(*FRAMES)), "no JSON")
    *_, last = request.with_verdict_id("t0").wire_messages()
    assert [part["type"] for part in last["content"]][1::2][:2] == ["image_url"] * 2
    assert last["content"][-1]["text"].endswith("verdict_id: t0")


def test_pictures_become_data_urls_only_on_the_wire(prompts):
    request = trajectory_request(prompts, content(*FRAMES))
    urls = [
        part["image_url"]["url"] for part in request.wire_messages()[-1]["content"] if "image_url" in part
    ]
    assert urls == ["data:image/png;base64,YQ==", "data:image/png;base64,Yg=="]
    without = request.wire_messages(images=False)[-1]["content"]
    assert isinstance(without, str)
    assert without.count("[image not shown]") == 2
    assert all(
        isinstance(part.get("image_url", {}).get("url", shown("")), Picture) for part in parts_of(request)
    )


def test_templates_of_the_package_do_not_name_pictures():
    folder = Path(__file__).resolve().parents[2] / "prompts" / "v1"
    assert not [path for path in folder.glob("*.md") if "[picture" in path.read_text(encoding="utf-8")]
