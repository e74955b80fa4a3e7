"""From a judge's reply text to verdicts, or to one named failure.

Covered: everything that can be wrong with the text. The order is fixed: strict JSON of the whole reply, of
one fence around it, of what follows the reasoning, then objects found in prose, and only then repair. Not
covered: the envelope of the HTTP reply (judge.client settles it) and asking again (judge.pipeline does).

Everything raises JudgeError with `.kind`, `.raw` (the text as received) and `.finish_reason`.
"""

from judge.verdict.extract import parse_object
from judge.verdict.steps import parse_steps
from judge.verdict.trajectory import parse_verdict

__all__ = ["parse_object", "parse_steps", "parse_verdict"]
