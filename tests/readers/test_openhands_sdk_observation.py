"""What observations of OpenHands' SDK hold: texts in the shapes of its several years, images, failures.

Not covered: whose an observation is (test_openhands_sdk).
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings

from judge.errors import InputError
from judge.readers.openhands_observation import Observed
from judge.readers.openhands_sdk_observation import content_of, result_of, result_of_call
from tests.readers.mangling import mangled

PNG, JPEG = "iVBORw0KGgoAAA==", "/9j/AAAA"
URL, OTHER = f"data:image/png;base64,{PNG}", f"data:image/jpeg;base64,{JPEG}"
TEXT = {"cache_prompt": False, "type": "text", "text": "Took it"}
IMAGE = {"cache_prompt": False, "type": "image", "image_urls": [OTHER, URL]}


def seen(**observation: Any) -> Observed:
    return result_of(observation, "history.1.observation")


@pytest.mark.parametrize(
    ("value", "text", "images"),
    [
        (None, "", []),
        ("plain", "plain", []),
        (TEXT, "Took it", []),
        ([TEXT, "and", {**TEXT, "text": ""}, {"text": "more"}], "Took it\nand\nmore", []),
        ([TEXT, IMAGE, IMAGE], "Took it", [OTHER, URL, OTHER, URL]),
        ([{"type": "image", "image_urls": []}, {"type": "text", "text": None}], "", []),
        ([], "", []),
    ],
)
def test_content_is_a_text_a_part_or_a_list_of_them(value, text, images):
    assert content_of(value, "here") == (text, images)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (7, "here: must be text or a list of parts (it is a int)"),
        ([TEXT, [TEXT]], "here.1: must be text or an object (it is a list)"),
        ([None], "here.0: must be text or an object (it is a NoneType)"),
        ([{"type": "audio"}], "here.0.type: 'audio' is unknown; known are text, image"),
        ({"type": ["text"]}, "here.type: \"['text']\" is unknown"),
        ([{"type": "image", "image_urls": URL}], "here.0.image_urls: must be a list of data URLs"),
    ],
)
def test_content_of_another_shape_is_named(value, message):
    with pytest.raises(InputError) as raised:
        content_of(value, "here")
    assert raised.value.message.startswith(message)


@pytest.mark.parametrize(
    ("observation", "text", "failed"),
    [
        ({"content": [TEXT], "is_error": False}, "Took it", False),
        ({"content": "No such file", "is_error": True}, "No such file", True),
        ({"content": [], "is_error": True}, "", True),
        ({"output": "hi.py", "error": False}, "hi.py", False),
        ({"output": "hi.py", "error": None}, "hi.py", False),
        ({"output": "", "error": True}, "", True),
        ({"output": "", "error": "No such file"}, "No such file", True),
        ({"output": "half", "error": "Timeout"}, "half\n\nTimeout", True),
        ({"output": "hi.py", "error": " "}, "hi.py", False),
        ({"kind": "GlobObservation", "files": ["/a"], "metadata": {}}, '{"files": ["/a"]}', False),
        ({"kind": "TerminalObservation", "content": [], "command": "true"}, "", False),
    ],
)
def test_a_text_and_a_failure_are_found_in_their_several_shapes(observation, text, failed):
    assert seen(**observation) == Observed(text, [], {"error": True} if failed else {})


@pytest.mark.parametrize("message", [{"content": [TEXT]}, {"message": "Took it"}])
def test_what_finish_repeats_is_left_out_unless_it_failed(message):
    assert seen(kind="FinishObservation", **message).text == ""
    failed = seen(kind="FinishObservation", content=[TEXT], is_error=True)
    assert (failed.text, failed.signals) == ("Took it", {"error": True})


@pytest.mark.parametrize(
    ("fields", "note"),
    [
        ({"exit_code": None, "metadata": {"exit_code": 127}}, "\n\n(exit code 127)"),
        ({"exit_code": 1, "metadata": {"exit_code": 0}}, "\n\n(exit code 1)"),
        ({"metadata": {"exit_code": -1}}, "\n\n(exit code -1)"),
        ({"exit_code": 0, "metadata": {"exit_code": 0}}, ""),
        ({"exit_code": "1", "metadata": None}, ""),
    ],
)
def test_an_exit_code_that_is_not_zero_stands_under_the_output_and_is_no_failure(fields, note):
    assert seen(content=[TEXT], **fields) == Observed(f"Took it{note}", [], {})


def test_images_are_pictures_and_a_text_of_them_alone_keeps_their_place():
    assert seen(content=[TEXT, IMAGE, IMAGE]) == Observed("Took it", [OTHER, URL], {})
    assert seen(content=[IMAGE]) == Observed("(image)", [OTHER, URL], {})
    assert seen(content="page", screenshot_data=PNG) == Observed("page", [URL], {})
    assert seen(output="page", screenshot_data=JPEG) == Observed("page", [OTHER], {})
    assert seen(content="page", screenshot_data=None) == Observed("page", [], {})


def called(**fields: Any) -> Observed:
    return result_of_call(fields, "history.1")


def test_what_another_agents_call_gave_is_its_content_else_its_output():
    diff = {"type": "diff", "path": "hi.py", "old_text": None, "new_text": "print()"}
    wrapped = {"type": "content", "content": {"type": "text", "text": "Read it"}}
    assert called(content=[wrapped, diff], raw_output="x").text == f"Read it\n{json.dumps(diff)}"
    assert called(content=[], raw_output={"lines": 2}).text == '{"lines": 2}'
    assert called(content=None, raw_output=None) == Observed("", [], {})
    assert called(raw_output="no", status="failed").signals == {"error": True}
    assert called(raw_output="no", status="completed", is_error=True).signals == {"error": True}
    assert called(raw_output="yes", status="completed", is_error=False).signals == {}


def test_images_of_another_agents_call_are_pictures():
    png = {"type": "image", "data": PNG, "mime_type": "image/png"}
    jpeg = {"type": "image", "data": JPEG, "mimeType": "image/jpeg"}
    shown = called(content=[png, {"type": "content", "content": jpeg}, {"type": "image", "data": PNG}])
    assert shown == Observed("(image)\n(image)\n(image)", [URL, OTHER, URL], {})
    assert called(content=[{"type": "image", "uri": "file:///a"}]).images == []


MEDLEY = {
    "content": [TEXT, IMAGE, {"type": "content", "content": {"type": "image", "data": PNG}}],
    "output": "hi.py",
    "error": "Timeout",
    "is_error": True,
    "exit_code": None,
    "metadata": {"exit_code": 1},
    "screenshot_data": PNG,
    "kind": "BrowserObservation",
    "raw_output": [TEXT],
    "status": "failed",
}


@settings(max_examples=300, derandomize=True, deadline=None)
@given(mangled(MEDLEY) | mangled({**MEDLEY, "content": [TEXT, IMAGE]}))
def test_mangled_results_are_read_or_refused_and_nothing_else(observation):
    for read in (result_of, result_of_call):
        with suppress(InputError):
            found = read(observation, "history.1")
            assert isinstance(found.text, str)
            assert all(isinstance(image, str) for image in found.images)
