"""What is answered: the rubric a judge grades by, its verdicts, and the Reward they become."""

from __future__ import annotations

from functools import cached_property
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

ItemKind = Literal["step", "pitfall", "rule", "fine"]


class RubricItem(BaseModel):
    """One thing to check. `quote` is the instruction's own words, and only fine items have one."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str = Field(min_length=1)
    text: str = Field(min_length=1)
    kind: ItemKind
    quote: str | None = None


class Rubric(BaseModel):
    """What the judge is told success means: the coarse items of a category, and 0 to 2 fine ones."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: str
    category: str
    items: tuple[RubricItem, ...]
    output: str = ""

    @cached_property
    def coarse(self) -> tuple[RubricItem, ...]:
        """The items that every verdict with criteria must answer, in file order."""
        return tuple(item for item in self.items if item.kind != "fine")

    @cached_property
    def fine(self) -> tuple[RubricItem, ...]:
        """The attention hints grounded in this instruction; a verdict may leave them out."""
        return tuple(item for item in self.items if item.kind == "fine")


class Evidence(BaseModel):
    """A quote from one step (its 0-based index; None where the judge named none)."""

    model_config = ConfigDict(frozen=True)

    step: int | None = None
    quote: str


class Criterion(BaseModel):
    """The answer to one rubric item. `yes` means satisfied, and for a pitfall avoided."""

    model_config = ConfigDict(frozen=True)

    id: str
    met: Literal["yes", "no", "unclear"]
    step: int | None = None


class TrajectoryVerdict(BaseModel):
    """The judge's verdict on a whole run; `flags` say what was coerced, repaired or looks odd."""

    model_config = ConfigDict(frozen=True)

    reason: str = ""
    evidence: tuple[Evidence, ...] = ()
    criteria: tuple[Criterion, ...] = ()
    success: bool
    score: float = Field(ge=0.0, le=1.0, allow_inf_nan=False)
    verdict_id: str | None = None
    flags: tuple[str, ...] = ()


class StepVerdict(BaseModel):
    """The judge's verdict on one step (0-based index).

    Mode `whole` fills `label` (-1 the one most serious deviation, 0 a step with a problem, +1 a step that
    helps); mode `prefix` fills `correct`, `error_type` and `confidence` (in [0, 1]).
    """

    model_config = ConfigDict(frozen=True)

    step: int = Field(ge=0)
    reason: str = ""
    label: Literal[-1, 0, 1] | None = None
    correct: bool | None = None
    error_type: Literal["logic", "syntax", "tool", "policy", "none"] | None = None
    confidence: float | None = Field(default=None, ge=0.0, le=1.0, allow_inf_nan=False)


class Reward(BaseModel):
    """One judged trajectory as a number.

    `value` is None exactly when the judgement failed, and then `error_kind` and `error` say why; its range
    is the scheme's (success and score: [0, 1]; tarl: see judge.collapse). `parts` are what it was made of.
    `cost` is what its calls were billed, in the currency of judge.price_per_million, None without a price.
    """

    model_config = ConfigDict(frozen=True)

    value: float | None
    parts: dict[str, float] = Field(default_factory=dict)
    verdict: TrajectoryVerdict | None = None
    steps: tuple[StepVerdict, ...] = ()
    error_kind: str | None = None
    error: str | None = None
    flags: tuple[str, ...] = ()
    fingerprint: str = ""
    cost: float | None = None
    trajectory_id: str = ""
    rubric_version: str = ""
