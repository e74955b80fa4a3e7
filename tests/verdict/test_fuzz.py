"""What holds for every text: a verdict or a named failure, in linear time, and strict JSON wins."""

import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from judge import JudgeError, parse_steps, parse_verdict
from judge.errors import ERROR_KINDS
from judge.verdict import parse_object

settings.register_profile("verdict", max_examples=120, deadline=None, database=None, derandomize=True)
checked = settings(settings.get_profile("verdict"))

FRAGMENTS = st.sampled_from(
    [
        *("{", "}", "[", "]", '"', "'", ",", ":", "\\", "\n", " ", "```", "```json\n", "<think>", "</think>"),
        *(
            '"success"',
            '"score"',
            "true",
            "False",
            "0.5",
            "NaN",
            "1e999",
            "：",
            "｛",
            "｝",
            "“",
            "”",
            "\ud800",
        ),
        *(
            '{"success": true, "score": 1.0}',
            '{"success": false, "score": 0}',
            "Verdict: ",
            "I can't help with",
        ),
        *('{"steps": [', '{"step": 3, "label": 1}', '"correct": true', '"verdict_id": "t"', "// x", "\x00"),
    ]
)
SOUP = st.lists(st.one_of(FRAGMENTS, st.text(max_size=5)), max_size=25).map("".join)
BRACED = st.builds("{{{}}}".format, SOUP)
FIELD_NAMES = st.sampled_from(["reason", "evidence", "criteria", "success", "score", "steps"])
FINISH = st.sampled_from(["stop", "length", None])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
PROSE = st.text(st.characters(exclude_characters="{}<[◁`", exclude_categories=["Cs"]), max_size=40)

HOSTILE = {
    "open": "{" * 100_000,
    "nested": "{" * 50_000 + "}" * 50_000,
    "keys": '{"a":' * 20_000,
    "keys closed": '{"a":' * 15_000 + "1" + "}" * 15_000,
    "lists": "[" * 50_000 + "]" * 50_000,
    "deep score": '{"success": true, "score":' + "[" * 900 + "]" * 900 + "}",
    "deep reason": '{"success": true, "score": 1, "reason":' + "[" * 900 + "]" * 900 + "}",
    "quotes": '{"' * 50_000,
    "escapes": '{"' + '\\"' * 50_000 + "}",
    "crossing": '{":{":"' * 14_000,
    "tags": '</think>{"a":"' * 7_000,
    "fences": "```{" * 25_000,
    "candidates": '{"score":1} ' * 8_000,
    "digits": '{"success": true, "score": ' + "9" * 100_000 + "}",
    "full-width": "｛“" * 50_000 + "｝",
    "parentheses": "{'a': " + "(" * 30_000 + "}",
}


def outcome(parse, *asked, **rest):
    """What `parse` makes of a text; any exception but a named JudgeError is the test's failure."""
    try:
        return parse(*asked, **rest)
    except JudgeError as error:
        failure = error
    assert failure.kind in ERROR_KINDS
    assert failure.raw == asked[0]
    return failure


@given(text=st.one_of(SOUP, BRACED, st.text()), finish_reason=FINISH)
@example(text="{'a': " + "9" * 5000 + "}", finish_reason="stop")
@checked
def test_nothing_but_named_failures(text, finish_reason):
    asked = {"finish_reason": finish_reason, "verdict_id": "t"}
    outcome(parse_verdict, text, rubric=["a"], **asked)
    outcome(parse_steps, text, [3], **asked)
    outcome(parse_steps, text, [3], mode="prefix", **asked)
    outcome(parse_object, text, keys=["items", "score"], **asked)


@given(fields=st.dictionaries(FIELD_NAMES, VALUES))
@checked
def test_any_json_object_is_read_or_named(fields):
    outcome(parse_verdict, json.dumps(fields))
    outcome(parse_steps, json.dumps(fields), [0])


@given(text=st.text(st.characters(exclude_characters="{｛")))
@checked
def test_no_object_no_verdict(text):
    assert isinstance(outcome(parse_verdict, text), JudgeError)


@given(
    reason=st.text(st.characters(exclude_categories=["Cs"])), score=st.floats(0, 1), ascii_only=st.booleans()
)
@checked
def test_strict_json_round_trips(reason, score, ascii_only):
    fields = {"reason": reason, "success": score >= 0.5, "score": score}
    verdict = parse_verdict(json.dumps(fields, ensure_ascii=ascii_only))
    assert {"reason": verdict.reason, "success": verdict.success, "score": verdict.score} == fields
    assert verdict.flags == ("criteria_missing",)


@given(before=PROSE, after=PROSE, reason=st.text(st.characters(exclude_categories=["Cs"])))
@checked
def test_text_around_a_verdict(before, after, reason):
    own = json.dumps({"reason": reason, "success": False, "score": 0.25, "verdict_id": "t0ken"})
    verdict = parse_verdict(f"{before}{own}{after}", verdict_id="t0ken")
    assert (verdict.reason, verdict.success, verdict.score) == (reason, False, 0.25)


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text(text):
    outcome(parse_verdict, text, verdict_id="t")
    outcome(parse_steps, text, [3], mode="prefix")


def test_hostile_text_does_not_hide_the_own_verdict():
    own = '{"success": false, "score": 0, "verdict_id": "t"}'
    for text in HOSTILE.values():
        if '"' not in text:
            assert parse_verdict(f"{text}\n{own}", verdict_id="t").success is False
