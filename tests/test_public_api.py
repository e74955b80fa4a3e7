"""The public names: exactly those that are documented, each importable, each with a docstring of its own."""

from __future__ import annotations

import inspect

import pytest

import judge

PUBLIC = {
    *("Judge", "Config", "Trajectory", "Step", "Outcome", "Rubric", "Reward"),
    *("TrajectoryVerdict", "StepVerdict", "JudgeError"),
    *("parse_verdict", "parse_steps", "reward_fn", "areward_fn", "read_trajectories", "read_log"),
}
MOST = 20


def test_all_is_exactly_the_public_names():
    assert set(judge.__all__) == PUBLIC
    assert len(judge.__all__) == len(PUBLIC) <= MOST


def test_dir_and_star_import_know_them():
    namespace: dict[str, object] = {}
    exec("from judge import *", namespace)
    assert set(namespace) - {"__builtins__"} == PUBLIC
    assert set(dir(judge)) >= PUBLIC


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_a_name_is_the_object_itself_and_documented(name):
    found = getattr(judge, name)
    assert found.__name__ == name
    assert found.__module__.startswith("judge.")
    # Its own, because a class without one inherits that of pydantic's BaseModel or Exception.
    assert len(inspect.cleandoc(vars(found).get("__doc__") or found.__doc__ or "")) > 40
    assert found.__doc__ not in {base.__doc__ for base in getattr(found, "__mro__", ())[1:]}


def test_what_is_not_public_is_said_like_any_missing_name():
    with pytest.raises(AttributeError, match="module 'judge' has no attribute 'Judgement'"):
        judge.Judgement  # noqa: B018 - looking it up is the test
