"""One small run in each format as it is stored; every one of them holds two steps."""

from __future__ import annotations

from typing import Any

_ASKED = {"role": "user", "content": "Cancel order #W1"}
_POLICY = {"role": "system", "content": "Cancel only pending orders"}
_CALL = {"id": "c1", "type": "function", "function": {"name": "cancel", "arguments": '{"order": "#W1"}'}}
_DIALOGUE = [
    _POLICY,
    _ASKED,
    {"role": "assistant", "content": None, "tool_calls": [_CALL]},
    {"role": "tool", "tool_call_id": "c1", "name": "cancel", "content": "Error: order not found"},
    {"role": "assistant", "content": "There is no such order.", "reward": 0.5},
]

NATIVE: dict[str, Any] = {
    "trajectory_id": "n1",
    "task_id": 7,
    "instruction": "Cancel order #W1",
    "steps": [
        {"index": 0, "action": "cancel", "tool_calls": [_CALL], "error": "not found", "label": 0},
        {"index": 1, "text": "Gone —\u2028 there is no such order.", "state": {"orders": []}, "role": "ai"},
    ],
    "outcome": {"reward": 0, "verifier": "database", "details": [None]},
    "step": 300,
    "category": "communication",
    "labels": {"success": False},
    "metadata": {"policy": "Cancel only pending orders", "group": "g1"},
}
FRAMES: dict[str, Any] = {
    "instruction": "Cancel order #W1",
    "frames": [{"action": "click('Cancel')", "text": "", "state": "Orders"}, {"action": "send", "text": "x"}],
    "task_id": "mail-17",
    "step": 300,
}
ACTIONS: dict[str, Any] = {
    "trajectory_id": "a1",
    "prompt": "Print the first ten primes",
    "actions": [
        {"step": 1, "action_type": "think", "content": "A sieve will do.", "observation": None, "reward": 0},
        {"step": 2, "action_type": "run", "content": "python p.py", "observation": "2 3 5", "reward": -0.5},
    ],
    "final_code": "print(2, 3, 5)",
    "reward": 0.25,
    "done": True,
    "terminal_reason": "max_steps",
    "metadata": {"language": "python"},
}
MESSAGES: dict[str, Any] = {
    "id": "chat-1",
    "messages": _DIALOGUE,
    "tools": [{"type": "function", "function": {"name": "cancel"}}],
    "reward": 1,
    "metadata": {"group": "not the group", "policy": "not shown"},
}
TAU: dict[str, Any] = {
    "task_id": 4,
    "trial": 1,
    "reward": 1.0,
    "traj": _DIALOGUE,
    "info": {"task": {"instruction": "You want to cancel #W1.", "actions": [{"name": "none"}]}},
}
SWEAGENT: dict[str, Any] = {
    "environment": "swe_main",
    "trajectory": [
        {"action": "open hi.py\n", "observation": "[hi.py]", "thought": "Look.", "state": {"open": "hi.py"}},
        {"action": "submit", "observation": "+print('hi')", "thought": None, "response": "Done."},
    ],
    "history": [_POLICY, {"role": "user", "content": "ISSUE: greet() prints nothing"}],
    "info": {"exit_status": "submitted", "submission": "+print('hi')"},
}
EVENTS: list[dict[str, Any]] = [
    {"id": 0, "source": "user", "action": "message", "args": {"content": "Make greet() print hi"}},
    {"id": 1, "source": "agent", "action": "run", "args": {"command": "ls", "thought": "I look."}},
    {"id": 2, "source": "agent", "observation": "run", "content": "hi.py", "cause": 1, "extras": {}},
    {"id": 3, "source": "agent", "action": "finish", "args": {"outputs": {}, "thought": "Done."}},
]
OPENHANDS: dict[str, Any] = {
    "instance_id": "acme__hi-1",
    "history": EVENTS,
    "test_result": {"git_patch": "", "report": {"resolved": False}},
    "error": None,
}
RECORDS = {
    "native": NATIVE,
    "frames": FRAMES,
    "actions": ACTIONS,
    "messages": MESSAGES,
    "tau": TAU,
    "sweagent": SWEAGENT,
    "openhands": OPENHANDS,
}
"""Format → one record."""
