"""Who is compared with whom: the judges of a log, their roles, and what their rewards rest on.

A judge is a model under a rubric version. Covers the view compare's first table; the pairs are `paired`'s.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pandas as pd

from analysis.compare import breakdown, summarise
from judge.errors import InputError

__all__ = ["BASIS", "BASIS_COLUMNS", "Judging", "Versus", "choose_judges", "compared_versions", "judges"]

BASIS_COLUMNS = ("scheme", "fine_rubrics")
"""What `load_frame` has to load besides its own columns."""

BASIS = ["schemes", "categories", "fine_share"]

_KEY = ["rubric_version", "judge_model"]


class Judging(NamedTuple):
    """One judge: a model under a rubric version."""

    rubric_version: str
    judge_model: str


class Versus(NamedTuple):
    """A comparison to make."""

    baseline: Judging
    candidate: Judging


def judges(frame: pd.DataFrame) -> list[Judging]:
    """The judges of a frame, in order of first appearance."""
    there = frame[_KEY].drop_duplicates()
    return [Judging(*map(str, each)) for each in there.itertuples(index=False)]


def choose_judges(
    frame: pd.DataFrame, baseline: str | None = None, candidate: str | None = None
) -> list[Versus]:
    """The comparisons to make: each candidate with one baseline.

    A name is a rubric version or, where no version is called so, a judge model. Without a `baseline` it is
    the first version in the log that is not the candidate, or the first model where there is one version
    only; without a `candidate` all others are candidates. Of several judges of the baseline, that of the
    candidate's own model is taken, else that under its own version, else the first.

    Empty for fewer than two judges. Raises InputError, listing the names there are, for an unknown name and
    for a name against itself.
    """
    there = judges(frame)
    for name in (baseline, candidate):
        if name is not None and not _called(name, there):
            raise InputError(f"unknown rubric version or judge model {name!r}: {_names(there)}")
    if baseline is not None and baseline == candidate:
        raise InputError(f"baseline and candidate are both {baseline!r}: {_names(there)}")
    theirs = there if candidate is None else _called(candidate, there)
    ours = _baseline(there, candidate, theirs) if baseline is None else _called(baseline, there)
    return [Versus(_opponent(each, ours), each) for each in theirs if ours and each not in ours]


def compared_versions(frame: pd.DataFrame, versus: Sequence[Versus], by: str | None = None) -> pd.DataFrame:
    """The figures of `summarise`, or of `breakdown`, with intervals; before them role and BASIS of the judge.

    `role` is baseline, candidate or other. What the reward rests on is read from the rows, unreadable values
    aside: `schemes` (joined by commas, None without any), the number of different `categories`, and
    `fine_share`, the share of rows with at least one fine rubric, in [0, 1].

    Raises InputError where `by` bears the name of a figure.
    """
    if by in {"role", *BASIS}:
        raise InputError(f"cannot group by {by!r}: a figure of the table has this name")
    table = summarise(frame, intervals=True) if by is None else breakdown(frame, by, intervals=True)
    part = {each.candidate: "candidate" for each in versus} | {each.baseline: "baseline" for each in versus}
    keys = [Judging(*each) for each in table[_KEY].itertuples(index=False)]
    table.insert(0, "role", pd.Series([part.get(key, "other") for key in keys], dtype=object))
    basis = _basis(frame).reindex(pd.MultiIndex.from_tuples(keys, names=_KEY)) if keys else _basis(frame)
    for name in reversed(BASIS):
        table.insert(list(table).index("n"), name, basis[name].to_list())
    return table


def _basis(frame: pd.DataFrame) -> pd.DataFrame:
    """BASIS of each judge, under its key."""
    keys = [frame[name].astype(object) for name in _KEY]
    has_fine = frame["fine_rubrics"].notna() & (frame["fine_rubrics"] != "[]")
    table = has_fine.rename("fine_share").groupby(keys, sort=False).mean().to_frame()
    table["categories"] = frame["category"].astype(object).groupby(keys).nunique()
    pairs = frame[[*_KEY, "scheme"]].dropna().drop_duplicates().astype(object)
    table["schemes"] = pairs.groupby(_KEY)["scheme"].agg(", ".join).astype(object)
    return table


def _called(name: str, there: Sequence[Judging]) -> list[Judging]:
    """The judges of the version of that name, else of the model."""
    of_version = [each for each in there if each.rubric_version == name]
    return of_version or [each for each in there if each.judge_model == name]


def _baseline(there: Sequence[Judging], candidate: str | None, theirs: Sequence[Judging]) -> list[Judging]:
    """The judges to compare with where none is named: of the first version, or model, that is none."""
    rest = [each for each in there if candidate is None or each not in theirs]
    versions = {each.rubric_version for each in there}
    if len(versions) > 1 and (candidate is None or candidate in versions):
        return [each for each in rest if each.rubric_version == rest[0].rubric_version]
    return [each for each in rest if each.judge_model == rest[0].judge_model]


def _opponent(candidate: Judging, ours: Sequence[Judging]) -> Judging:
    of_model = [each for each in ours if each.judge_model == candidate.judge_model]
    of_version = [each for each in ours if each.rubric_version == candidate.rubric_version]
    return [*of_model, *of_version, *ours][0]


def _names(there: Sequence[Judging]) -> str:
    names = dict.fromkeys([each.rubric_version for each in there] + [each.judge_model for each in there])
    return f"there are {', '.join(names)}" if names else "the log holds none"
