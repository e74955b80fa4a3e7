"""The tree of named failures: the names, what an error carries, and that it survives a process boundary."""

from __future__ import annotations

import pickle

import pytest

from judge.errors import ERROR_KINDS, ConfigError, InputError, JudgeError, RubricError
from judge.schema import Usage

KINDS = """
parse_error invalid_verdict ambiguous_verdict inconsistent_verdict judge_abstained refusal truncated
empty_response content_filter context_length rate_limited quota_exhausted auth_error bad_request
bad_response upstream_error connection_error timeout incomplete_steps empty_trajectory unusable_input
invalid_rubric
"""


def test_the_kinds_are_exactly_those_that_logs_hold():
    assert frozenset(KINDS.split()) == ERROR_KINDS


def test_a_judge_error_says_its_kind():
    error = JudgeError("timeout", "no answer within 60 s")
    assert (error.kind, error.raw, error.attempts, error.usage) == ("timeout", None, 0, None)
    assert str(error) == "timeout: no answer within 60 s"


@pytest.mark.parametrize(
    ("error", "kind"),
    [(InputError, "unusable_input"), (ConfigError, "bad_config"), (RubricError, "invalid_rubric")],
)
def test_a_fault_of_the_caller_is_a_judge_error_in_plain_words(error, kind):
    raised = error("runs.jsonl:3: steps: missing")
    assert isinstance(raised, JudgeError)
    assert raised.kind == kind
    assert str(raised) == "runs.jsonl:3: steps: missing"


def test_an_error_crosses_a_process_boundary_whole():
    error = JudgeError("truncated", "cut", raw="{", attempts=2, latency_ms=9.5, usage=Usage(1, 2, 3, None))
    error.finish_reason = "length"
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is JudgeError
    assert str(copy) == str(error)
    assert vars(copy) == vars(error)


@pytest.mark.parametrize("kind", [InputError, ConfigError, RubricError])
def test_its_subclasses_do_too(kind):
    copy = pickle.loads(pickle.dumps(kind("here: that")))
    assert type(copy) is kind
    assert (str(copy), copy.kind) == ("here: that", kind("").kind)
