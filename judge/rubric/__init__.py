"""Rubrics: what success means for a category, and the hints grounded in one instruction.

`load_library` reads and checks a version's folder, `ground` and `sift` examine the fine items that a judge
proposed. Choosing the category is judge.route's, asking for fine items the pipeline's, and wording the prompt
judge.prompt's.
"""

from judge.rubric.files import CategoryFile, VersionFile
from judge.rubric.grounding import LIMIT, force, ground, sift
from judge.rubric.library import Library, content_hash, load_library

__all__ = [
    "LIMIT",
    "CategoryFile",
    "Library",
    "VersionFile",
    "content_hash",
    "force",
    "ground",
    "load_library",
    "sift",
]
