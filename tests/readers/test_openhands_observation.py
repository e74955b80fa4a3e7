"""What observations of OpenHands hold: texts without the base64 of images, and the images in their places.

Not covered: whose an observation is, errors and exit codes (test_openhands).
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from pydantic import ValidationError

from judge.errors import InputError
from judge.readers.openhands_observation import image_urls
from tests.readers.mangling import mangled
from tests.readers.test_openhands import RUN_LS, SAW_LS, TASK, act, read, see, steps

PNG, JPEG = "iVBORw0KGgoAAA==", "/9j/AAAA"
URL = f"data:image/png;base64,{PNG}"
OTHER = f"data:image/jpeg;base64,{JPEG}"
BROWSE = act(2, "browse_interactive", browser_actions="noop()")


def seen(kind: str, content: str, **extras: Any) -> tuple[str, str | None, list[str]]:
    """Text, screenshot and earlier images of a step with this observation."""
    (step,) = steps(act(2, kind), see(3, kind, content, 2, **extras))
    return step["observation"], step["screenshot"], step.get("earlier_images", [])


@pytest.mark.parametrize(
    ("extras", "shot"),
    [
        ({"screenshot": URL, "set_of_marks": OTHER}, URL),
        ({"screenshot": PNG}, URL),
        ({"screenshot": JPEG}, OTHER),
        ({"screenshot": "", "set_of_marks": OTHER}, OTHER),
        ({"screenshot": None, "screenshot_path": "/workspace/1.png"}, None),
        ({"screenshot": "(removed)", "goal_image_urls": [URL]}, None),
        ({"screenshot": 7}, None),
    ],
)
def test_the_screenshot_of_a_page_is_found_in_all_its_shapes(extras, shot):
    assert seen("browse", "page", **extras) == ("page", shot, [])


def test_images_of_a_cell_are_pictures_and_not_text():
    shown = f"<Figure>\n![image]({URL}\n)\n2\n![image]({OTHER})"
    assert seen("run_ipython", shown) == ("<Figure>\n(image)\n2\n(image)", OTHER, [URL + "\n"])
    assert seen("run_ipython", "", image_urls=[URL, "", None, OTHER]) == ("", OTHER, [URL])
    assert seen("run_ipython", f"![image]({URL})", image_urls=[URL]) == ("(image)", URL, [])
    assert seen("run", f"![image]({URL})") == (f"![image]({URL})", None, [])


def test_a_file_that_is_no_text_is_a_picture_or_told_of():
    assert seen("read", URL) == ("(image)", URL, [])
    assert seen("read", "data:application/pdf;base64,JVBERi0=") == ("(application/pdf: not shown)", None, [])
    assert seen("read", f"src = '{URL}'") == (f"src = '{URL}'", None, [])


def test_images_of_an_mcp_result_are_pictures():
    text, image = {"type": "text", "text": "Took it"}, {"type": "image", "data": PNG, "mimeType": "image/png"}
    content = json.dumps({"content": [text, image], "isError": False})
    told = json.dumps({"content": [text, {**image, "data": "(image)"}], "isError": False})
    assert seen("mcp", content) == (told, URL, [])


@pytest.mark.parametrize(
    "content", ['{"content":[{"type":"text"}]}', '{"content": [1]}', "[1]", "{", "plain", "[" * 100_000]
)
def test_any_other_mcp_result_stays_as_it_is(content):
    assert seen("mcp", content) == (content, None, [])


def test_what_the_user_shows_first_is_seen_before_the_first_step_and_never_judged():
    task = act(1, "message", "user", content="Find this", image_urls=[OTHER, URL])
    history = [task, BROWSE, see(3, "browse", "page", 2, screenshot=URL)]
    *views, step = read({"instance_id": "a", "history": history}).steps
    assert [(view.screenshot, view.is_view, view.observation) for view in views] == [
        (OTHER, True, "(an image from before the first step)"),
        (URL, True, "(an image from before the first step)"),
    ]
    assert (step.index, step.screenshot, step.is_view, step.source_index) == (2, URL, False, 2)
    assert not hasattr(views[0], "source_index")


def test_an_image_without_any_step_makes_none():
    task = act(1, "message", "user", content="Find this", image_urls=[URL])
    run = read({"instance_id": "a", "history": [task], "error": "Timeout"})
    assert (run.steps, run.outcome.status) == ((), "infra_error")


def test_later_images_go_with_their_text_and_the_last_one_is_shown():
    mine = act(7, "message", content="Like this?", images_urls=[OTHER], wait_for_response=True)
    answer = act(8, "message", "user", content="No, this", image_urls=[URL])
    ls, asked = steps(RUN_LS, SAW_LS, mine, answer)
    assert ls["screenshot"] is None
    assert (asked["observation"], asked["screenshot"], asked["earlier_images"]) == ("No, this", URL, [OTHER])


@pytest.mark.parametrize("stored", [None, [], "", {}])
def test_no_images_are_none(stored):
    assert image_urls({"image_urls": stored}, "history.1.args") == []


@pytest.mark.parametrize("stored", [URL, [7], {"url": URL}, [[URL]]])
def test_images_of_another_shape_are_named(stored):
    with pytest.raises(InputError) as raised:
        read({"history": [{**TASK, "args": {"content": "Look", "image_urls": stored}}, RUN_LS]})
    assert raised.value.message == "history.0.args.image_urls: must be a list of data URLs"


MEDLEY = {
    "instance_id": "a",
    "history": [
        act(1, "message", "user", content="Find this", image_urls=[OTHER, URL]),
        BROWSE,
        see(3, "browse", "page", 2, screenshot=PNG, set_of_marks=OTHER),
        act(4, "run_ipython", code="plot()"),
        see(5, "run_ipython", f"![image]({URL})", 4, image_urls=[OTHER]),
        act(6, "call_tool_mcp", name="shot", arguments={}),
        see(7, "mcp", json.dumps({"content": [{"type": "image", "data": PNG}]}), 6),
    ],
}


@settings(max_examples=300, derandomize=True, deadline=None)
@given(mangled(MEDLEY))
def test_mangled_images_are_read_or_refused_and_nothing_else(record):
    with suppress(InputError, ValidationError):
        read(record)
