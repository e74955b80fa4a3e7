"""Single chat messages: who speaks, content in all its shapes, calls and their arguments."""

from __future__ import annotations

import pytest

from judge.errors import InputError
from judge.readers.chat import calls_of, read_message


def message(**stored):
    return read_message(3, "messages.3", {"role": "assistant", **stored})


@pytest.mark.parametrize(
    ("role", "speaker"),
    [
        *((role, "agent") for role in ("assistant", "ai", "gpt", "model", " Assistant ")),
        *((role, "user") for role in ("user", "human", "USER")),
        *((role, "system") for role in ("system", "developer")),
        *((role, "tool") for role in ("tool", "function", "observation")),
        ("exit", "exit"),
    ],
)
def test_roles_have_aliases(role, speaker):
    assert message(role=role).speaker == speaker


@pytest.mark.parametrize(
    ("role", "fault"),
    [("critic", "'critic' is unknown"), (None, "missing"), (7, "must be text"), ("", "'' is unknown")],
)
def test_an_unknown_role_is_named_with_those_that_are_known(role, fault):
    with pytest.raises(InputError, match=rf"^messages\.3\.role: {fault}.*known are assistant, ai"):
        message(role=role)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, ""),
        ("as it is \n", "as it is \n"),
        ([], ""),
        (["one", "two"], "one\ntwo"),
        ([{"type": "text", "text": "one"}, {"type": "output_text", "text": "two"}], "one\ntwo"),
        ([{"type": "text", "text": None, "image_url": None}], ""),
        ([{"text": "no type"}], "no type"),
        ([{"type": "refusal", "refusal": "I won't"}], "I won't"),
        (
            [{"type": "text", "text": "hear"}, {"type": "input_audio", "data": "UklGR"}],
            "hear\n(input_audio: not shown)",
        ),
    ],
)
def test_content_is_text_or_parts(content, text):
    assert message(content=content).text == text


@pytest.mark.parametrize(
    ("content", "text"),
    [({"ok": True}, '{"ok": true}'), ([{"id": 1}], '[{"id": 1}]'), ([1, 2], "[1, 2]"), (13.46, "13.46")],
)
def test_content_of_a_tool_that_is_no_text_is_its_json(content, text):
    assert message(role="tool", content=content).text == text


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (7, r"messages\.3\.content: must be text or a list of parts \(it is a int\)"),
        ({"a": 1}, r"messages\.3\.content: must be text or a list of parts \(it is a dict\)"),
        (["a", 7], r"messages\.3\.content\.1: must be text or an object \(it is a int\)"),
        ([{"type": "tool_use", "name": "a"}], r"messages\.3\.content\.0\.type: 'tool_use' is unknown"),
        ([{"type": [1]}], r"messages\.3\.content\.0\.type: must be text"),
        (
            [{"type": "image_url", "image_url": 7}],
            r"messages\.3\.content\.0: an image is a data URL or a path",
        ),
    ],
)
def test_content_that_cannot_be_used_is_named(content, fault):
    with pytest.raises(InputError, match=f"^{fault}"):
        message(content=content)


@pytest.mark.parametrize(
    ("part", "image"),
    [
        ({"type": "image_url", "image_url": {"url": "data:image/png;base64,aa"}}, "data:image/png;base64,aa"),
        ({"type": "input_image", "image_url": "shot.png"}, "shot.png"),
        ({"type": "image", "image": "shot.png", "text": None}, "shot.png"),
        ({"type": "image", "image": {"bytes": b"png", "path": None}}, {"bytes": b"png", "path": None}),
        ({"type": "image", "url": "shot.png"}, "shot.png"),
        ({"type": "image", "path": "shot.png"}, "shot.png"),
        ({"type": "image", "base64": "aa"}, "data:image/png;base64,aa"),
        ({"type": "image", "data": "aa", "mimeType": "image/webp"}, "data:image/webp;base64,aa"),
        (
            {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": "aa"}},
            "data:image/jpeg;base64,aa",
        ),
        ({"type": "image", "source": {"type": "url", "url": "https://a/b.png"}}, "https://a/b.png"),
    ],
)
def test_images_are_kept_as_a_step_takes_them(part, image):
    read = message(role="user", content=[part])
    assert (read.images, read.text, read.seen) == ((image,), "", "(image)")


@pytest.mark.parametrize("part", [{"type": "image"}, {"type": "image", "text": None, "image": None}])
def test_the_place_of_an_image_is_told_of_unless_the_message_has_one(part):
    said = {"type": "text", "text": "hi"}
    read = message(role="user", content=[part, said])
    assert (read.images, read.text) == ((), "hi\n(image: not shown)")
    read = message(role="user", content=[part, said, {"type": "image", "image": "shot.png"}])
    assert (read.images, read.text) == (("shot.png",), "hi")


def test_an_image_that_is_stored_elsewhere_is_told_of():
    read = message(role="user", content=[{"type": "input_image", "file_id": "file-1"}])
    assert (read.images, read.text) == ((), "(input_image: not shown)")


def call(arguments, **more):
    (found,) = calls_of(
        message(tool_calls=[{"id": "c1", "function": {"name": "add", "arguments": arguments}, **more}])
    )
    return found


@pytest.mark.parametrize(
    ("stored", "arguments", "spelled"),
    [
        ('{"a":1,"b":null}', {"a": 1, "b": None}, 'add({"a": 1, "b": null})'),
        ({"a": 1}, {"a": 1}, 'add({"a": 1})'),
        ("{}", {}, "add({})"),
        ("{'a': 'it\\'s', 'b': True}", {"a": "it's", "b": True}, 'add({"a": "it\'s", "b": true})'),
        ("{'path': 'C:\\d'}", {"path": "C:\\d"}, 'add({"path": "C:\\\\d"})'),
        (None, None, "add()"),
        ("", "", "add()"),
        ('{"a": "He said "hi""}', '{"a": "He said "hi""}', 'add({"a": "He said "hi""})'),
        ("{1: {2, 3}}", "{1: {2, 3}}", "add({1: {2, 3}})"),
        ("{[]: 1}", "{[]: 1}", "add({[]: 1})"),
        ("{'a': " + "(" * 300, "{'a': " + "(" * 300, "add({'a': " + "(" * 300 + ")"),
        ("[1, 2]", "[1, 2]", "add([1, 2])"),
        ([1, 2], [1, 2], "add([1, 2])"),
    ],
)
def test_arguments_become_a_mapping_or_stay_verbatim(stored, arguments, spelled):
    assert call(stored) == ({"name": "add", "arguments": arguments, "id": "c1"}, spelled)


def test_calls_are_nested_flat_custom_or_of_the_older_kind():
    calls = [
        {"name": "a", "arguments": {}},
        {"type": "custom", "custom": {"name": "b", "input": "x"}, "function": None},
    ]
    assert [spelled for _, spelled in calls_of(message(tool_calls=calls))] == ["a({})", "b(x)"]
    older = message(tool_calls=None, function_call={"name": "c", "arguments": "{}"})
    assert calls_of(older) == [({"name": "c", "arguments": {}, "id": None}, "c({})")]


@pytest.mark.parametrize("name", ["arguments", "input", "args", "parameters"])
def test_arguments_go_by_many_names(name):
    calls = [{"name": "f", "arguments": None, name: {"a": 1}}, {"function": {"name": "g", name: "{'a': 1}"}}]
    assert [spelled for _, spelled in calls_of(message(tool_calls=calls))] == ['f({"a": 1})', 'g({"a": 1})']


@pytest.mark.parametrize(
    ("stored", "spelled"),
    [('[{"id": "c1", "function": {"name": "f", "arguments": "{}"}}]', ["f({})"]), ("[]", []), ("null", [])],
)
def test_calls_may_be_stored_as_json(stored, spelled):
    assert [each for _, each in calls_of(message(tool_calls=stored))] == spelled


@pytest.mark.parametrize(
    ("stored", "fault"),
    [
        ({"tool_calls": '[{"id": '}, r"messages\.3\.tool_calls: must be a list \(it is a str\)"),
        ({"tool_calls": '{"id": "c1"}'}, r"messages\.3\.tool_calls: must be a list \(it is a str\)"),
        ({"tool_calls": "add"}, r"messages\.3\.tool_calls: must be a list \(it is a str\)"),
        ({"tool_calls": [{}, 7]}, r"messages\.3\.tool_calls\.1: must be an object"),
        ({"function_call": "add"}, r"messages\.3\.function_call: must be an object"),
    ],
)
def test_calls_that_cannot_be_used_are_named(stored, fault):
    with pytest.raises(InputError, match=f"^{fault}"):
        calls_of(message(**stored))


def test_arguments_nested_beyond_reading_are_named():
    deep: object = 1
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(InputError, match=r"^messages\.3\.tool_calls\.0\.arguments: nested too deeply"):
        call({"a": deep})
