"""The API key: where it comes from and whether it looks like one. Never the key itself.

Of a key is told its variable, its length and, where it is long enough to spare them, its last two characters.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from judge.config import Endpoint
from judge.doctor.finding import Finding

_VARIABLES = ("JUDGE_API_KEY", "OPENAI_API_KEY")
_TAIL_FROM = 20
_SIGN_IN = {
    "ya29.": "a Google OAuth access token",
    "sk-ant-oat": "an Anthropic OAuth token, from signing in to Claude",
    "gho_": "a GitHub OAuth token",
    "ghu_": "a GitHub user token, from signing in to an app",
}


class Key(NamedTuple):
    """A key as the environment holds it, white space included."""

    variable: str
    raw: str

    def __repr__(self) -> str:
        return f"Key({self.described})"

    @property
    def described(self) -> str:
        value = self.raw.strip()
        tail = f", ends in …{value[-2:]}" if len(value) >= _TAIL_FROM else ""
        return f"{self.variable} ({len(value)} characters{tail})"

    @property
    def sign_in(self) -> str:
        """What kind of sign-in token it looks like; "" where it looks like none."""
        value = self.raw.strip().removeprefix("Bearer ")
        if value.startswith("eyJ") and value.count(".") == 2:
            return "a JSON web token, such as signing in hands out"
        return next((kind for start, kind in _SIGN_IN.items() if value.startswith(start)), "")


def key_of(endpoint: Endpoint) -> Key | None:
    """The key that `Endpoint.api_key` would read; None where it would read none."""
    names = (endpoint.api_key_env,) if endpoint.api_key_env else _VARIABLES
    for name in names:
        if (raw := os.environ.get(name, "")).strip():
            return Key(name, raw)
    return None


def check_key(endpoint: Endpoint, is_local: bool) -> Finding:
    """`is_local`: the endpoint is on this machine, where servers mostly want no key."""
    key = key_of(endpoint)
    if key is not None:
        what, remedy = _oddity(key)
        described = f"{key.described}{what}"
        return Finding("warn" if what else "ok", "key", described, remedy, {"variable": key.variable})
    if name := endpoint.api_key_env:
        return Finding("fail", "key", f"judge.api_key_env names {name}, which is not set", f"export {name}=…")
    if is_local:
        return Finding("ok", "key", "none set, which a server on this machine mostly does not mind")
    return Finding("warn", "key", "none set", "if the endpoint wants one, export JUDGE_API_KEY=…")


def _oddity(key: Key) -> tuple[str, str]:
    """What is odd about a key, and what to do; two empty texts where nothing is."""
    value, again = key.raw.strip(), f"set {key.variable} again to the key alone"
    if value.startswith("Bearer "):
        return ' begins with "Bearer"', f"{again}: that word is added when it is sent"
    if value[0] in "\"'":
        return " is in quotation marks", f"{again}: the marks are sent too"
    if kind := key.sign_in:
        return f" looks like {kind}", sign_in_remedy(key)
    if len(value.split()) > 1:
        return " holds white space", f"{again}: something else was pasted with it"
    if value != key.raw:
        return " has white space around it, which is not sent", f"{again}, for the sake of other tools"
    return "", ""


def sign_in_remedy(key: Key) -> str:
    return (
        "a sign-in token expires within hours, and few endpoints take it for a key: create an API key in "
        f"the provider's console and set {key.variable} to it"
    )
