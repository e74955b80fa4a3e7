"""The raw text of a prompt, in a model's chat template → its messages; and a generated text without its end.

ChatML (Qwen and others) and the headers of Llama 3 are known; any other prompt is one message of the user.
Roles are read in prompts only. A generated text is the agent's own whatever it spells: read for roles, it
could invent answers of tools and users that never were.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, NamedTuple

__all__ = ["Prompt", "read_prompt", "response_of"]

_ROLES = {
    **{role: role for role in ("system", "developer", "user", "assistant", "tool")},
    "ipython": "tool",
}
_SPECIAL = r"<[|｜][^\s<>|｜]{1,40}[|｜]>|</?s>|<(?:bos|eos|pad|start_of_turn|end_of_turn)>"
_AT_START = re.compile(rf"\A(?:\s|{_SPECIAL})*")
_LAST = re.compile(rf"(?:{_SPECIAL})\Z")
_LONGEST = 44
"""No special token has more characters."""
_TAIL = 80
"""So many characters of a prompt tell where it ends, in a query that begins differently."""


class Prompt(NamedTuple):
    """A prompt's messages, and `opened`: what the template has already put into the agent's mouth."""

    messages: list[dict[str, Any]]
    opened: str = ""


@dataclass(frozen=True)
class _Template:
    opens: str
    named: str
    closes: tuple[str, ...]

    def read(self, text: str) -> Prompt | None:
        """None where the text is not in this template from beginning to end."""
        head, *turns = text.split(self.opens)
        messages = [self._message(turn) for turn in turns]
        if not turns or not _AT_START.fullmatch(head) or None in messages[:-1]:
            return None
        whole = [message for message in messages if message]
        if messages[-1]:
            return Prompt(whole)
        role, _, begun = turns[-1].partition(self.named)
        return Prompt(whole, begun.lstrip()) if role == "assistant" else None

    def _message(self, turn: str) -> dict[str, Any] | None:
        """A closed turn; None for one of an unknown role, or one that is left open."""
        role, _, rest = turn.partition(self.named)
        ended = next(
            (rest.rstrip().removesuffix(end) for end in self.closes if rest.rstrip().endswith(end)), None
        )
        known = _ROLES.get(role.strip())
        return None if ended is None or known is None else {"role": known, "content": ended.strip()}


_TEMPLATES = (
    _Template("<|im_start|>", "\n", ("<|im_end|>",)),
    _Template("<|start_header_id|>", "<|end_header_id|>", ("<|eot_id|>", "<|eom_id|>")),
)


def read_prompt(text: str) -> Prompt:
    """The messages of a prompt; of one in no known template, one of the user without its special tokens."""
    for template in _TEMPLATES:
        if (prompt := template.read(text)) is not None:
            return prompt
    return Prompt([{"role": "user", "content": _without_end(_AT_START.sub("", text))}])


def response_of(query: str, prompt: str) -> str:
    """What follows the prompt in `query`, without the special tokens at its end.

    A prompt that was cut at its beginning, or that decodes differently, is found by its last characters; one
    that is not found at all leaves the whole query.
    """
    tail = prompt[-_TAIL:]
    if query.startswith(prompt):
        text = query[len(prompt) :]
    else:
        text = query.partition(tail)[2] if tail in query else query
    return _without_end(text)


def _without_end(text: str) -> str:
    """Without white space and special tokens at the end, in time that grows with their length alone.

    A policy may well fill its budget with line feeds: one pattern for all of it would try at each of them.
    """
    end = len(text)
    while end:
        if text[end - 1].isspace():
            end -= 1
        elif last := _LAST.search(text, max(end - _LONGEST, 0), end):
            end = last.start()
        else:
            break
    return text[:end]
