"""The health of a run, from its log: what may be wrong with the rewards before anybody trains on them.

Covers the findings of `judge report --view health`, one list for each judge (a model under a rubric
version), and their tables. The rules for counts are `finding`'s; what the rewards pay for is `incentives`'.
Not covered: whether the judge is right, which is compare's, and whether it is noisy or strict, which is
noise's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pandas as pd

from analysis.columns import flagged
from analysis.finding import FLAGGED, Finding, constant_rewards, failures, share_finding
from analysis.groups import dead_groups, group_rollouts
from analysis.incentives import length_bias, part_findings, reward_hacking, training_step, verified
from analysis.marks import mark

__all__ = ["FINDINGS", "HEALTH_COLUMNS", "failure_kinds", "health", "training_steps"]

HEALTH_COLUMNS = ("group", "step", "flags", "parts", "omitted_steps", "frame_count", "attempts", "cached")
"""What `load_frame` has to load besides its own columns."""

FINDINGS = ["rubric_version", "judge_model", "finding", "severity", "figure", "n", "meaning"]

_JUDGE = ["rubric_version", "judge_model"]


def health(frame: pd.DataFrame) -> pd.DataFrame:
    """The findings about each judge of a `load_frame(also=HEALTH_COLUMNS)` frame; columns FINDINGS.

    severity is ok, note, warn or unknown (not enough data); figure is NaN where there is none. The rules:

    - failures: the share failed, warn above 5 %. constant_rewards: share at 0 or at 1, warn where all are
      equal, note above 95 %; 20 rewards or more
    - dead_groups: of groups of two rewards or more, the share whose rewards are equal; note where the lower
      end of its 95 % interval (Wilson) is above 0.25, warn above 0.5
    - process_variance: what process parts add to the reward against what outcome parts add, as a ratio of
      variances; note where the 95 % interval (bootstrap by task) lies above 1, warn above 4
    - dominant_part: the greatest share of one part in the variance of the reward, by the same interval above
      0.95: warn for a part of the process, note for any other; both take 50 rows of 20 tasks
    - reward_hacking: `trends.diverging`, warn; the figure is the change of the pass rate in the stretch, or
      of the mean outcome, where outcomes are fractions
    - length_bias: how much the score rises for each doubling of the steps among runs of one task and one
      outcome (of one category and outcome where less than 20 tasks have such runs); note where it surely
      rises (one-sided 1 %, errors clustered by task), warn where by 0.05 or more
    - shares of flagged rows: the levels of `finding.FLAGGED`, by the lower end of the Wilson interval
    - retries: the share of rows, cached ones aside, that took more attempts than the median row; note where
      surely above 0.1. cached_share, cost: for the record, always ok
    """
    groups = dead_groups(group_rollouts(frame, methods={}))
    found: list[list[Any]] = []
    for judge, rows in frame.groupby(_JUDGE, observed=True, sort=False):
        marks = mark(rows)
        mine = groups[(groups[_JUDGE[0]] == judge[0]) & (groups[_JUDGE[1]] == judge[1])]
        checks: list[Finding] = [_dead_groups(mine)]
        for check in _CHECKS:
            checks.extend(check(rows, marks))
        found.extend([*judge, each.name, each.severity, each.figure, each.n, each.meaning] for each in checks)
    return pd.DataFrame(found, columns=FINDINGS)


def failure_kinds(frame: pd.DataFrame) -> pd.DataFrame:
    """How often each judge failed in which way: rubric_version, judge_model, kind, n, the commonest first.

    Skipped rows (unusable_input) are among them.
    """
    failed = frame[frame["error_kind"].notna()]
    counts = failed.groupby([*_JUDGE, "error_kind"], observed=True, sort=False).size().reset_index(name="n")
    return counts.rename(columns={"error_kind": "kind"}).sort_values("n", ascending=False, kind="stable")


def training_steps(frame: pd.DataFrame) -> pd.DataFrame:
    """Each judge's rows by training step, rising: n with a verdict, failed, reward_mean, pass_rate, cost.

    pass_rate is over the rows with a known outcome, by the verifier; cost is a sum. Rows without a step that
    is a number are left out.
    """
    marks = mark(frame)
    table = frame[_JUDGE].assign(
        step=training_step(frame),
        n=marks["n"],
        failed=marks["failed"],
        reward_mean=marks["reward_mean"],
        pass_rate=verified(frame),
        cost=marks["cost"],
    )
    groups = table[table["step"].notna()].groupby([*_JUDGE, "step"], observed=True)
    sums = groups[["n", "failed"]].sum().astype("int64")
    means = groups[["reward_mean", "pass_rate"]].mean()
    return sums.join(means).assign(cost=groups["cost"].sum(min_count=1)).reset_index()


def _failures(rows: pd.DataFrame, marks: pd.DataFrame) -> list[Finding]:
    kinds = rows.loc[marks["failed"], "error_kind"].value_counts()
    by_kind = {str(kind): int(count) for kind, count in kinds.items() if count}
    rewards = marks.loc[marks["rewarded"], "reward_mean"]
    counts = int((rewards == 0).sum()), int((rewards == 1).sum())
    return [
        failures(by_kind, int(rows["error_kind"].isna().sum())),
        constant_rewards(len(rewards), *counts, float(rewards.min()), float(rewards.max())),
    ]


def _dead_groups(groups: pd.DataFrame) -> Finding:
    alive = groups[groups["rewarded"] > 1]
    if alive.empty:
        return Finding("dead_groups", "unknown", math.nan, 0, "No group has two rewards.")
    what = "groups of two rewards or more have equal rewards"
    advice = (
        "Nothing is learned from them: choose other tasks (--view tasks), or use a reward with more grades."
    )
    return share_finding(
        "dead_groups", int(alive["dead"].sum()), len(alive), what, advice, note=0.25, warn=0.5
    )


def _flags(rows: pd.DataFrame, marks: pd.DataFrame) -> list[Finding]:
    tried = rows[~marks["skipped"]]
    return [each.finding(int(flagged(tried, *each.flags).sum()), len(tried)) for each in FLAGGED]


def _calls(rows: pd.DataFrame, marks: pd.DataFrame) -> list[Finding]:
    called = rows[(rows["attempts"] > 0) & (rows["cached"] != 1)]["attempts"]
    more = int((called > called.median()).sum())
    what = "judgements took more attempts than usual"
    retries = share_finding("retries", more, len(called), what, _SLOW, note=0.1, warn=None)
    known = rows["cached"].dropna()
    if known.empty:
        return [retries]
    from_cache = f"{known.mean():.1%} of the rows came from the cache."
    return [retries, Finding("cached_share", "ok", float(known.mean()), len(known), from_cache)]


def _cost(rows: pd.DataFrame, marks: pd.DataFrame) -> list[Finding]:
    costs = marks["cost"].dropna()
    if costs.empty:
        return [Finding("cost", "unknown", math.nan, 0, "No row has a cost: set judge.price_per_million.")]
    steps = pd.Series(training_step(rows), rows.index).loc[costs.index].nunique()
    by_step = f", {costs.sum() / steps:.4g} a training step ({steps})" if steps else ""
    meaning = f"{costs.sum():.4g} in all, {costs.mean():.4g} a run{by_step}."
    return [Finding("cost", "ok", float(costs.mean()), len(costs), meaning)]


_SLOW = (
    "Look at the rate limits and time-outs of the endpoint, and at replies that had to be asked for again."
)
_CHECKS: tuple[Callable[[pd.DataFrame, pd.DataFrame], list[Finding]], ...] = (
    *(_failures, part_findings, reward_hacking, length_bias, _flags, _calls, _cost),
)
