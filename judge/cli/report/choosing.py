"""The options of `judge report --view tasks` by which tasks to train on are chosen."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

__all__ = ["CHOOSING", "choosing_options"]

_SHARE = click.FloatRange(0, 1)

_OPTIONS: dict[str, dict[str, Any]] = {
    "k": {
        "metavar": "K",
        "type": click.IntRange(min=1),
        "multiple": True,
        "help": "Tasks: k of pass@k and pass^k; give it again for each further one.  "
        "[default: powers of 2 up to the fewest rollouts of a task]",
    },
    "min-pass-rate": {"type": _SHARE, "help": "Tasks: only those solved at least this often."},
    "max-pass-rate": {"type": _SHARE, "help": "Tasks: only those solved at most this often, such as .25."},
    "min-steps": {
        "type": click.FloatRange(min=0),
        "help": "Tasks: only those whose runs are this long on average.",
    },
    "max-steps": {
        "type": click.FloatRange(min=0),
        "help": "Tasks: only those whose runs are at most this long.",
    },
    "min-tools": {
        "type": click.IntRange(min=0),
        "help": "Tasks: only those whose runs called this many different tools in all (needs --input).",
    },
    "alive": {
        "type": click.Choice(["grpo", "dr_grpo", "gvpo", "gtpo"]),
        "help": "Tasks: only those with an advantage that is not 0 under this method; the last two take step "
        "labels, and twice the time.",
    },
    "drop-duplicates": {
        "type": click.Choice(["exact", "template", "near"]),
        "help": "Tasks: of those that ask the same only the first: equal texts, also where only numbers, "
        "names and quoted values differ, also similar ones (the last two need --input).",
    },
    "exclude": {
        "metavar": "FILE",
        "multiple": True,
        "type": click.Path(exists=True, dir_okay=False),
        "help": "Tasks: none that is the same as, or similar to, one of FILE, which training must not see: "
        "stored runs, JSONL objects with an instruction, or .txt with one on each line. Can be given again.",
    },
    "similarity": {
        "metavar": "J",
        "type": click.FloatRange(0, 1, min_open=True),
        "help": "Tasks: least Jaccard similarity of similar instructions.  [default: 0.7]",
    },
    "ids": {
        "metavar": "FILE",
        "type": click.Path(dir_okay=False, path_type=Path),
        "help": "Tasks: also write the task_ids kept into FILE, one on each line; JSON objects for .jsonl.",
    },
}

CHOOSING = tuple(name.replace("-", "_") for name in _OPTIONS)
"""The names of these options as parameters."""


def choosing_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for name, settings in reversed(_OPTIONS.items()):
        command = click.option(f"--{name}", **settings)(command)
    return command
