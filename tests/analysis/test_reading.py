import math

import pytest

from analysis.reading import Measured, read

NOTHING = Measured(math.nan, math.nan, math.nan)
LOW = Measured(0.01, 0.0, 0.04)


def reading(disagreement=LOW, fnr=LOW, fpr=LOW, tasks=40):
    counts = dict.fromkeys(("disagreement", "fnr", "fpr"), tasks)
    return read(disagreement, fnr, fpr, counts, fnr_as_judged=0.3, fpr_as_judged=0.02)


def test_what_lies_below_every_level_is_fine():
    assert reading()[0] == "fine"


@pytest.mark.parametrize(
    ("figures", "name", "advice"),
    [
        ({"disagreement": Measured(0.2, 0.11, 0.3)}, "noisy", "temperature"),
        ({"fnr": Measured(0.4, 0.21, 0.6)}, "strict", "rubric"),
        ({"fpr": Measured(0.2, 0.11, 0.3)}, "lenient", "unchecked"),
        (
            {"disagreement": Measured(0.2, 0.11, 0.3), "fnr": Measured(0.4, 0.21, 0.6)},
            "noisy, strict",
            "json_schema",
        ),
        ({"fnr": Measured(0.4, 0.21, 0.6), "fpr": Measured(0.2, 0.11, 0.3)}, "strict, lenient", "both ways"),
    ],
)
def test_a_cause_is_named_where_its_interval_lies_above_the_level(figures, name, advice):
    found, said = reading(**figures)
    assert found == name
    assert advice in said


def test_an_interval_around_the_level_says_how_many_tasks_would_tell():
    # Half as wide would do: (0.08 / 0.04)^2 = 4 times the tasks.
    found, said = reading(fnr=Measured(0.16, 0.08, 0.24))
    assert found == "not enough data"
    assert "about 160 tasks instead of 40" in said


def test_a_figure_at_its_level_asks_for_no_impossible_number_of_tasks():
    _, said = reading(fnr=Measured(0.2, 0.1, 0.3))
    assert "too close" in said


def test_few_tasks_name_nothing_whatever_their_interval():
    found, said = reading(fnr=Measured(0.9, 0.8, 1.0), tasks=9)
    assert found == "not enough data"
    assert "9 tasks, of 10 needed" in said


def test_without_repeats_misses_are_strict_or_noisy():
    counts = {"disagreement": 0, "fnr": 40, "fpr": 40}
    found, said = read(NOTHING, NOTHING, NOTHING, counts, fnr_as_judged=0.3, fpr_as_judged=0.02)
    assert found == "not enough data"
    assert "30% of successes are failed: strict or noisy" in said
    assert "--repeat 3" in said
    assert "of failures pass" not in said


def test_a_log_of_one_class_cannot_tell_the_other():
    found, said = read(LOW, LOW, NOTHING, {"disagreement": 40, "fnr": 40, "fpr": 0}, 0.0, math.nan)
    assert found == "not enough data"
    assert "no run with another outcome was judged twice" in said
