"""What the events of an OpenHands history come to, whatever form they are stored in.

Steps and what came back to them; and before the first step what was asked, said and shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from judge.readers.dialogue import joined

__all__ = ["Run"]

_VIEW = {
    **{"role": "environment", "action_type": "message"},
    "observation": "(an image from before the first step)",
}


class Run:
    """Events taken one at a time and in order.

    `steps` and `views` are keyword arguments of Step, `asked` and `strays` what was said and seen before the
    first step, `turn` counts messages. `stopped` is what ended the run, where no step followed it, and
    `broke` whether that was its environment's fault.
    """

    def __init__(self) -> None:
        self.steps: list[dict[str, Any]] = []
        self.views: list[dict[str, Any]] = []
        self.context: dict[str, str] = {}
        self.asked: list[str] = []
        self.strays: list[str] = []
        self.turn = 0
        self.stopped, self.broke = "", False
        self.waiting: dict[str, Any] | None = None
        self._named: dict[int | str, dict[str, Any]] = {}

    def begin(
        self, step: dict[str, Any], names: Iterable[Any] = (), images: Sequence[str] = ()
    ) -> dict[str, Any]:
        """A new step, which waits for its observation; observations ask for it by any of `names`."""
        self.steps.append(step)
        self.waiting, self.stopped, self.broke = step, "", False
        self._named |= {name: step for name in names if isinstance(name, int | str)}
        return _illustrate(step, images)

    def named(self, *names: Any) -> dict[str, Any] | None:
        """The step with the first of these names that a step has."""
        known = (self._named.get(name) for name in names if isinstance(name, int | str))
        return next((step for step in known if step is not None), None)

    def hear(self, text: str, images: Sequence[str], early: list[str]) -> None:
        """What answers no action joins the step before; before the first step it goes to `early`."""
        if self.steps:
            self.answer(self.steps[-1], text, images)
        else:
            early.append(text)
            self.views += [{**_VIEW, "screenshot": image} for image in images]

    def answer(self, step: dict[str, Any], text: str, images: Sequence[str] = ()) -> None:
        step["observation"] = joined([step["observation"], text])
        _illustrate(step, images)
        if step is self.waiting:
            self.waiting = None


def _illustrate(step: dict[str, Any], images: Sequence[str]) -> dict[str, Any]:
    """Let the step show the last of its images, and keep the others."""
    if images:
        before = [*step.get("earlier_images", ()), step.get("screenshot"), *images[:-1]]
        earlier = [image for image in before if image is not None]
        step |= {"screenshot": images[-1]} | ({"earlier_images": earlier} if earlier else {})
    return step
