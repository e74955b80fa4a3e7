"""One JSON document → objects: what is a document, what a list comes to, and what is said of a broken one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from judge.errors import InputError
from judge.readers.documents import is_document, read_document
from tests.readers.samples import EVENTS, MESSAGES

RUN = {"instruction": "Book", "steps": []}
OTHER = {"instruction": "Cancel", "steps": [{"action": "click"}]}


def objects(text: str, on_bad: Any = None) -> list[tuple[str, Any]]:
    return list(read_document("runs.json", text.encode(), on_bad))


def fault(text: str) -> str:
    with pytest.raises(InputError) as raised:
        objects(text)
    return raised.value.message


@pytest.mark.parametrize(
    "text",
    [
        json.dumps([RUN, OTHER]),
        json.dumps(RUN, indent=2),
        json.dumps([RUN, OTHER], indent=1),
        json.dumps([RUN], indent=None, separators=(",\n", ": ")),
        f"[\n{json.dumps(RUN)},\n{json.dumps(OTHER)}\n]",
        f"[\n{json.dumps(RUN)}\n]",
        f"[{json.dumps(RUN)}\n,{json.dumps(OTHER)}\n]",
        '{"data": [\n{"steps": []},\n{"steps": []}\n]}',
        '{"steps":\n[]\n}',
        '{\n"steps": []}',
        '\ufeff{\r\n  "steps": []\r\n}\r\n',
        "[]",
        '[{"steps": [], "instr',
    ],
)
def test_a_document_is_known_by_its_first_two_lines(text):
    first, second, *_ = [line for line in text.encode().split(b"\n") if line.strip()] + [b"", b""]
    assert is_document(first, second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (b'{"steps": []}', b'{"steps": []}'),
        (b'{"steps": []}', b""),
        (b'{"steps": [', b'{"steps": []}'),
        (b'{"text": "torn', b'{"steps": []}'),
        (b'{"text": "a line feed', b' in a text", "steps": []}'),
        (b'{"steps": [}', b"no JSON"),
        (b'{"steps": []} and more', b"no JSON"),
        (b'{"text": "\xff', b"no JSON"),
        (b"[INFO] 12 runs", b'{"steps": []}'),
        (b"[2026-01-31 12:00] begin", b'{"steps": []}'),
        (b"[1, 2]", b'{"steps": []}'),
        pytest.param(b"[" * 100_000, b'{"steps": []}', id="deep"),
        (b"step,action", b"0,click"),
        (b"", b""),
    ],
)
def test_lines_of_which_the_first_is_broken_are_no_document(first, second):
    assert not is_document(first, second)


def test_an_object_is_one_record_of_the_file():
    assert objects(json.dumps(RUN, indent=2)) == [("runs.json", RUN)]


@pytest.mark.parametrize("indent", [None, 2])
def test_each_object_of_a_list_is_a_record_with_its_place(indent):
    text = json.dumps([RUN, OTHER], indent=indent)
    assert objects(f"\ufeff \n{text}\r\n") == [("runs.json[0]", RUN), ("runs.json[1]", OTHER)]


def test_an_empty_list_holds_no_record():
    assert objects(" [ ]\n") == []


def test_the_records_of_a_list_come_one_at_a_time():
    records = read_document("runs.json", (json.dumps([RUN, OTHER])[:-1] + ", broken").encode())
    assert [next(records)[1], next(records)[1]] == [RUN, OTHER]
    with pytest.raises(InputError, match=r"runs\.json\[2\]: not JSON"):
        next(records)


@pytest.mark.parametrize(
    ("events", "name"),
    [
        (MESSAGES["messages"], "messages"),
        ([{"role": "user", "content": None}], "messages"),
        ([{"role": "assistant", "tool_calls": []}], "messages"),
        (EVENTS, "history"),
        ([{"observation": "run", "content": "hi.py", "command": "ls"}], "history"),
        ([{"kind": "SystemPromptEvent", "source": "agent", "tools": []}, EVENTS[0]], "history"),
        ([{"kind": "ConversationStateUpdateEvent", "key": "full_state"}], "history"),
    ],
)
def test_a_list_of_messages_or_events_is_one_run(events, name):
    assert objects(json.dumps(events)) == [("runs.json", {name: events})]


@pytest.mark.parametrize(
    "record",
    [{"role": "user"}, {"role": 1, "content": ""}, {"action": "click"}, {"content": "a", "source": "web"}],
)
def test_a_list_whose_first_object_is_neither_holds_records(record):
    assert objects(json.dumps([record, RUN])) == [("runs.json[0]", record), ("runs.json[1]", RUN)]


@pytest.mark.parametrize(("element", "kind"), [([RUN], "list"), (None, "NoneType"), ("a", "str")])
def test_an_element_that_is_no_object_is_named_and_may_be_passed_over(element, kind):
    text, bad = json.dumps([element, RUN, element]), list[str]()
    message = f"a trajectory is an object, this is a {kind}"
    assert fault(text) == f"runs.json[0]: {message}"
    assert objects(text, bad.append) == [("runs.json[1]", RUN)]
    assert bad == [f"runs.json[0]: {message}", f"runs.json[2]: {message}"]


CUT = "the file ends without its"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{\n"steps": [', f": not JSON: Expecting value at line 2, column 11; {CUT} }}: it was cut short"),
        ('{\n"steps": [}', ": not JSON: Expecting value at line 2, column 11"),
        ('{\n"a": 1\n}\n{\n"a": 2\n}', ": not JSON: Extra data at line 4, column 1; several objects stand"),
        ('[{"steps": "a', f"[0]: not JSON: Unterminated string starting at column 12; {CUT} ]"),
        ('[\n{"a": 1},\n', f"[1]: not JSON: Expecting value at line 3, column 1; {CUT} ]: it was cut short"),
        ('[{"a": 1}', f": not JSON: no comma after element 0; {CUT} ]: it was cut short"),
        ('[{"a": 1} {"a": 2}]', ": not JSON: no comma after element 0"),
        ('[{"a": 1},]', "[1]: not JSON: Expecting value at column 11"),
        ('[{"a": 1}] []', ": not JSON: more text after the end of the list"),
        ('[{"role": "user", "content": "a"}, {"ro', "[1]: not JSON: Unterminated string"),
        pytest.param('[{"a": ' + "9" * 5000 + "}]", "[0]: not JSON: Exceeds the limit", id="huge number"),
        pytest.param('{\n"a": ' + "[" * 100_000, ": not JSON: nested too deeply", id="deep object"),
        pytest.param("[" * 100_000, "[0]: not JSON: nested too deeply", id="deep list"),
    ],
)
def test_a_broken_document_says_where_and_why_whatever_on_bad_says(text, message):
    assert fault(text).startswith(f"runs.json{message}")
    with pytest.raises(InputError):
        objects(text, lambda message: None)


def test_bytes_that_are_no_utf_8_are_named():
    with pytest.raises(InputError, match=r"^runs\.json: not UTF-8 text: byte 3: invalid start byte"):
        list(read_document("runs.json", b'[{"\xff": 1}]'))


def test_nan_is_a_number_and_of_a_double_key_the_last_counts():
    [(_, record)] = objects('[{"a": 1, "a": 2, "b": NaN, "c": "\\ud800"}]')
    assert (record["a"], record["b"] != record["b"], record["c"]) == (2, True, "\ud800")
