"""Content blocks of calls and results → messages of chat completions, and the steps they come to."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings

from judge.errors import InputError
from judge.readers.blocks import unblocked
from judge.readers.dialogue import read
from tests.readers.mangling import mangled

URL = "data:image/png;base64,AAAA"
PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
TALK: list[dict[str, Any]] = [
    {"role": "user", "content": "Sum up"},
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "Two tools will do.", "signature": "x"},
            {"type": "redacted_thinking", "data": "xyz"},
            {"type": "text", "text": "I add."},
            {"type": "tool_use", "id": "t1", "name": "add", "input": {"a": 1}},
            {"type": "tool_use", "id": "t2", "name": "look", "input": {}},
        ],
    },
    {
        "role": "user",
        "content": [
            {
                "type": "tool_result",
                "tool_use_id": "t2",
                "content": [{"type": "text", "text": "seen"}, PICTURE],
            },
            {"type": "tool_result", "tool_use_id": "t1", "content": "overflow", "is_error": True},
            {"type": "text", "text": "Go on"},
        ],
    },
    {"role": "assistant", "content": [{"type": "text", "text": "It is 3"}]},
]


def placed(messages: Any) -> list[tuple[str, Any]]:
    return [(f"messages.{at}", message) for at, message in enumerate(messages)]


def test_a_null_is_no_thought_of_the_messages_own():
    [(_, message)] = unblocked("m", {**TALK[1], "thinking": None, "tool_calls": None})
    assert (message["thinking"], len(message["tool_calls"])) == ("Two tools will do.", 2)


def test_calls_thoughts_and_results_are_found_among_the_parts():
    found = read(placed(TALK))
    called, told = found.steps
    assert (called["action"], called["text"]) == ('add({"a": 1})\nlook({})', "Two tools will do.\n\nI add.")
    assert called["observation"] == "look (call 2): seen\nadd (call 1): overflow\nuser: Go on"
    assert called["error"] is True
    assert (told["action"], told["screenshot"]) == ("It is 3", URL)
    assert (found.request, found.length) == ("Sum up", 4)
    assert [step["source_index"] for step in found.steps] == [1, 3]


def test_a_message_without_such_blocks_is_left_as_it_is():
    for stored in ({"role": "user", "content": [PICTURE, "hi"]}, {"role": "tool", "content": [7]}, {}):
        [(place, message)] = unblocked("messages.3", stored)
        assert (place, message) == ("messages.3", stored)
        assert message is stored


def test_results_alone_leave_no_message_of_the_user():
    results = [{"type": "tool_result", "tool_use_id": "t1"}, {"type": "tool_result", "content": "3"}]
    assert [place for place, _ in unblocked("messages.2", {"role": "user", "content": results})] == [
        "messages.2.content.0",
        "messages.2.content.1",
    ]


def test_calls_and_reasoning_that_a_message_has_itself_are_kept():
    call = {"id": "c1", "function": {"name": "own", "arguments": "{}"}}
    blocks = [{"type": "tool_use", "name": "add"}, {"type": "thinking", "thinking": "block"}]
    stored = {"role": "assistant", "content": blocks, "tool_calls": [call], "thinking": "own"}
    [step] = read(placed([stored])).steps
    assert (step["action"], step["text"]) == ("own({})", "own")


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (
            [{"type": "tool_result", "content": [{"type": "video_clip"}]}, {"type": "text", "text": "hi"}],
            "messages.0.content.0.content.0.type: 'video_clip' is unknown",
        ),
        ([{"type": "tool_result"}, {"type": "clip"}], "messages.0.content.1.type: 'clip' is unknown"),
    ],
)
def test_a_part_that_is_unknown_is_named_by_its_stored_place(content, fault):
    with pytest.raises(InputError) as raised:
        read(placed([{"role": "user", "content": content}]))
    assert raised.value.message.startswith(fault)


@settings(max_examples=300, derandomize=True, deadline=None)
@given(mangled({"messages": TALK}))
def test_mangled_blocks_are_read_or_refused_and_nothing_else(record):
    messages = record.get("messages")
    if isinstance(messages, list) and all(isinstance(message, dict) for message in messages):
        with suppress(InputError):
            read(placed(messages))
