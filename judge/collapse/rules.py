"""Rewards of code by execution and by rule: named parts, each with its cap, and their total.

    total([execution("ran", passed, tests), length_penalty(length), forbidden(source, patterns)],
          is_hollow=is_hollow(source, tests))

Source of the numbers: the article on rewards for coding agents. Not covered: running the code and its tests,
which is the environment's.
"""

from __future__ import annotations

import ast
import math
import re
import warnings
from collections.abc import Iterable
from typing import Literal, get_args

from judge.collapse.collapsed import Collapsed

Ending = Literal["ran", "compile_error", "execution_error", "timeout"]

_ERROR = -0.5
_FORBIDDEN = -1.0
_IDLE = (ast.Pass, ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal)


def execution(ending: Ending, passed: int = 0, tests: int = 0) -> Collapsed:
    """What came of running the code, in [-0.5, 1], as the part `tests`, or as one named by its ending.

    - ran: passed / tests, 0.0 without tests
    - compile_error, execution_error: -0.5
    - timeout: 0.0, whatever had passed by then

    Raises ValueError for an unknown ending, and unless 0 <= passed <= tests.
    """
    if ending not in get_args(Ending):
        raise ValueError(f"unknown ending {ending!r}; there are {', '.join(get_args(Ending))}")
    if not 0 <= passed <= tests:
        raise ValueError(f"{passed} of {tests} tests passed; passed must lie in 0 ... tests")
    if ending == "ran":
        return _part("tests", passed / tests if tests else 0.0)
    return _part(ending, 0.0 if ending == "timeout" else _ERROR)


def step_bonus(bonus: float, *, most: float = 0.2) -> Collapsed:
    """The bonus for good steps, cut to [0, `most`]. Raises ValueError for NaN."""
    if math.isnan(bonus):
        raise ValueError("the step bonus is NaN")
    return _part("step_bonus", max(0.0, min(bonus, most)))


def length_penalty(length: float, *, free: float = 200, rate: float = 0.05) -> Collapsed:
    """-rate x max(0, (length - free) / free), 0 or less; `length` in whatever unit `free` counts.

    Raises ValueError unless length is finite and >= 0, and free > 0.
    """
    if not (0 <= length < math.inf and free > 0):
        raise ValueError(f"length is {length} and free is {free}; length must be >= 0 and free > 0")
    return _part("length", rate * min(0.0, (free - length) / free))


def forbidden(text: str, patterns: Iterable[str]) -> Collapsed:
    """-1.0 where any of the regular expressions is found in `text`, once however many are; else 0.0.

    Raises re.error for a pattern that is no regular expression.
    """
    found = any(re.search(pattern, text) for pattern in patterns)
    return _part("forbidden", _FORBIDDEN if found else 0.0)


def total(parts: Iterable[Collapsed], *, is_hollow: bool = False, floor: float = -2.0) -> Collapsed:
    """The sum of all parts, at most 0 for hollow code and never below `floor`.

    The parts always sum to the value: `hollow` (<= 0) and `floor` (>= 0) are what the two limits changed.

    Raises ValueError for two parts of one name, which would hide one another.
    """
    merged: dict[str, float] = {}
    for part in parts:
        if twice := merged.keys() & part.parts.keys():
            raise ValueError(f"two parts are named {min(twice)}")
        merged |= part.parts
    plain = sum(merged.values())
    capped = min(plain, 0.0) if is_hollow else plain
    value = max(capped, floor)
    return Collapsed(value, {**merged, "hollow": capped - plain, "floor": value - capped})


def is_hollow(source: str, tests: int) -> bool:
    """Whether Python code earns nothing: it has no tests, or no statement in it does anything.

    pass, docstrings, `return` or `return None`, imports, `raise NotImplementedError`, and functions and
    classes of nothing else do nothing. Source that does not parse holds no function and is hollow.
    """
    return tests == 0 or _does_nothing(_parsed(source))


def _parsed(source: str) -> list[ast.stmt]:
    with warnings.catch_warnings():
        # A policy's odd escapes are no concern of the trainer's terminal.
        warnings.simplefilter("ignore")
        try:
            return ast.parse(source).body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return []


def _does_nothing(statements: Iterable[ast.stmt]) -> bool:
    return all(_is_idle(statement) for statement in statements)


def _is_idle(statement: ast.stmt) -> bool:
    match statement:
        case ast.FunctionDef(body=body) | ast.AsyncFunctionDef(body=body) | ast.ClassDef(body=body):
            return _does_nothing(body)
        case ast.Return(value=None) | ast.Return(value=ast.Constant(value=None)):
            return True
        case ast.Expr(value=ast.Constant()):
            return True
        case ast.Raise(exc=ast.Name(id="NotImplementedError")):
            return True
        case ast.Raise(exc=ast.Call(func=ast.Name(id="NotImplementedError"))):
            return True
    return isinstance(statement, _IDLE)


def _part(name: str, value: float) -> Collapsed:
    return Collapsed(value, {name: value})
