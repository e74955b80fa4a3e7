"""A command called as a user calls it: its exit status, and what it printed where."""

from __future__ import annotations

import io
from contextlib import redirect_stderr, redirect_stdout
from typing import NamedTuple

from judge import cli


class Result(NamedTuple):
    exit_code: int
    stdout: str
    stderr: str


def called(*arguments: object) -> Result:
    """The command line `judge ARGUMENTS`, in this process."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = cli.run([str(each) for each in arguments])
    return Result(status, out.getvalue(), err.getvalue())
