"""Which category a trajectory's task belongs to, by rule: the same run always gets the same answer.

First what the trajectory says itself, then what kind of task the instruction is or, where it is silent, the
run (`kind`), then the words of the instruction (`words`). Routing by a model is not covered: that is a judge
call, and the pipeline's.
"""

from __future__ import annotations

from judge.route.kind import is_dialogue, settled_by, works_on_code
from judge.route.words import FALLBACK, Cues, Route, by_words
from judge.schema import Trajectory

__all__ = ["FALLBACK", "Cues", "Route", "route"]


def route(trajectory: Trajectory, cues: Cues) -> Route:
    """The category of a trajectory among those of `cues` (category -> language -> words), else "general".

    The trajectory's own category wins where `cues` has it. Then what is plain: a challenge (general), a task
    about code, the script of a simulated user, a dialogue with tools. Then words: the category with the most
    distinct cues that are not negated. Cues that only lead somewhere (find, open, 查找) decide where no
    others do. A tie goes to the cue that comes first, and among those that only lead somewhere to the last:
    it is where they lead. Several kinds of action in a sequence are a composite_workflow.
    """
    if trajectory.category in cues:
        return Route(trajectory.category, reason="given by the trajectory")
    if cues.keys() <= {FALLBACK}:
        return Route(FALLBACK, reason="the only category")
    settled = settled_by(trajectory.instruction)
    if settled and (settled[0] == FALLBACK or settled[0] in cues):
        return Route(settled[0], reason=settled[1])
    routed = by_words(trajectory.instruction, cues)
    if not routed.hits and "code_change" in cues and works_on_code(trajectory.steps):
        return Route("code_change", reason="the run edits and tests code")
    if "tool_dialogue" in cues and is_dialogue(trajectory):
        return Route("tool_dialogue", reason="a dialogue with tools or under a policy")
    return routed
