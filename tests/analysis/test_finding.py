import math
import subprocess
import sys

import pytest
from scipy.stats import binomtest

from analysis.finding import FLAGGED, constant_rewards, failures, share_finding


@pytest.mark.parametrize(("failed", "judged", "severity"), [(5, 95, "ok"), (6, 94, "warn"), (1, 1, "warn")])
def test_more_than_five_per_cent_of_failures_are_a_warning(failed, judged, severity):
    found = failures({"timeout": failed - 1, "parse_error": 1}, judged)
    assert (found.severity, found.figure, found.n) == (severity, failed / (failed + judged), failed + judged)
    assert "parse_error 1" in found.meaning


def test_nothing_tried_is_unknown():
    assert failures({}, 0).severity == "unknown"


@pytest.mark.parametrize(
    ("n", "zeros", "ones", "low", "high", "severity", "figure"),
    [
        (20, 20, 0, 0, 0, "warn", 1.0),
        (20, 0, 20, 1, 1, "warn", 1.0),
        (20, 0, 0, 0.4, 0.4, "warn", 1.0),
        (100, 1, 96, 0, 1, "note", 0.96),
        (100, 95, 5, 0, 1, "ok", 0.95),
        (19, 19, 0, 0, 0, "unknown", math.nan),
    ],
)
def test_rewards_that_are_all_alike(n, zeros, ones, low, high, severity, figure):
    found = constant_rewards(n, zeros, ones, low, high)
    assert found.severity == severity
    assert found.figure == pytest.approx(figure, nan_ok=True)


@pytest.mark.parametrize(("count", "n"), [(0, 10), (1, 10), (2, 10), (9, 10), (10, 10), (7, 1000), (21, 400)])
def test_a_level_is_passed_by_the_lower_end_of_wilsons_interval(count, n):
    low = binomtest(count, n).proportion_ci(method="wilson").low
    for level, severity in ((low - 1e-6, "warn"), (low + 1e-6, "ok")):
        found = share_finding("x", count, n, "rows", "Do.", note=1.0, warn=max(level, 0.0))
        assert found.severity == (severity if count else "ok")


def test_one_flagged_run_is_a_note_where_any_is_too_many():
    injection = next(each for each in FLAGGED if each.name == "injection")
    assert [injection.finding(count, 1000).severity for count in (0, 1, 10, 30)] == [
        "ok",
        "note",
        "note",
        "warn",
    ]


def test_nothing_to_count_is_unknown():
    assert FLAGGED[0].finding(0, 0).severity == "unknown"


def test_findings_load_no_pandas():
    code = "import sys, analysis.finding; sys.exit(bool({'pandas', 'numpy', 'rich'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
