"""One trajectory becomes one number, with its parts. Pure arithmetic, no model behind it.

    success, score, tarl, gvpo_process    from a judge's verdicts
    execution, step_bonus, length_penalty, forbidden, is_hollow, total    from running code, and rules on it
    database_state, state_hash, golden_call    from a reference
    fission_reward    of a recovery rollout
    weighted    the blend of any of them

The group's view of rewards is judge.advantage's.
"""

from __future__ import annotations

from judge.collapse.collapsed import Collapsed, weighted
from judge.collapse.equality import database_state, golden_call, state_hash
from judge.collapse.fission import fission_reward
from judge.collapse.gvpo import gvpo_process
from judge.collapse.rules import execution, forbidden, is_hollow, length_penalty, step_bonus, total
from judge.collapse.schemes import TarlProcess, score, success, tarl

__all__ = [
    "Collapsed",
    "TarlProcess",
    "database_state",
    "execution",
    "fission_reward",
    "forbidden",
    "golden_call",
    "gvpo_process",
    "is_hollow",
    "length_penalty",
    "score",
    "state_hash",
    "step_bonus",
    "success",
    "tarl",
    "total",
    "weighted",
]
