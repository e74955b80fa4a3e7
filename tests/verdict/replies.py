"""Builders of judge replies, so that each test states only what it is about."""

import json

import pytest

from judge import JudgeError, TrajectoryVerdict, parse_verdict


def reply(**changes):
    """A sound reply of a judge as JSON text; a field given as `...` is left out."""
    fields = {"reason": "The booking number is shown.", "success": True, "score": 0.9, **changes}
    return json.dumps({key: value for key, value in fields.items() if value is not ...}, ensure_ascii=False)


def criteria(**answers):
    """A criteria list in which each id is answered as given."""
    return [{"id": key, "met": value} for key, value in answers.items()]


def read(text, **asked) -> TrajectoryVerdict:
    return parse_verdict(text, **asked)


def failure(text, parse=parse_verdict, **asked) -> JudgeError:
    """The JudgeError that reading `text` raises, checked to carry the raw text."""
    with pytest.raises(JudgeError) as caught:
        parse(text, **asked)
    assert caught.value.raw == text
    assert caught.value.finish_reason == asked.get("finish_reason", "stop")
    return caught.value


def kind(text, **asked) -> str:
    return failure(text, **asked).kind
