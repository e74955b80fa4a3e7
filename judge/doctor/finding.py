"""One thing the doctor looked at: how it stands, and what to do where it does not stand well."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Level = Literal["ok", "warn", "fail"]


@dataclass(frozen=True, slots=True)
class Finding:
    """`level` fail means that a judgement cannot work; `facts` are the same for machines, JSON values only.

    `check` is what was looked at: judge, endpoint, key, proxy, models, call, verdict, parameters, images,
    cache or log. `remedy` is "" where nothing need be done.
    """

    level: Level
    check: str
    what: str
    remedy: str = ""
    facts: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        name = "FAIL" if self.level == "fail" else self.level
        return f"{name:<4}  {self.check}: {self.what}" + (f" — {self.remedy}" if self.remedy else "")
