from io import StringIO

import pytest
from rich.console import Console

from analysis.frame import load_frame
from analysis.paired import compare_judges
from analysis.render.compare import show_compare
from analysis.versions import BASIS_COLUMNS, choose_judges, compared_versions


@pytest.fixture
def shown(write_log):
    """The plain text of the view over these rows, on a console of 100 columns."""

    def show(rows, by=None):
        frame = load_frame([write_log(rows)], by=by, also=BASIS_COLUMNS)
        versus = choose_judges(frame)
        console = Console(file=StringIO(), width=100, highlight=False)
        show_compare(console, compared_versions(frame, versus, by), compare_judges(frame, versus, by), by)
        return console.file.getvalue()

    return show


@pytest.fixture
def rows(row):
    def build(version, right, size=20, **fields):
        names = [{"trajectory_id": f"t{number}", "task_id": f"task{number}"} for number in range(size)]
        return [row(rubric_version=version, success=right, **name, **fields) for name in names]

    return build


def words(text):
    return " ".join(text.split())


def test_the_table_of_the_method(shown, rows):
    text = shown([*rows("b", True, scheme="score"), *rows("c", False, scheme="score", fine_rubrics=[{}])])
    assert "baseline b score; 1 category; no fine rubrics 20 0 0" in words(text)
    assert "candidate c score; 1 category; fine on 100% 20 0 0" in words(text)
    assert "c 1.000 0.000 20 0 100 50 10.0000" in words(text)
    assert "c is right less often than b (-1.000, p = 1.91e-06, by task)." in words(text)


def test_an_interval_stands_below_its_figure_and_no_number_is_cut(shown, row):
    name = "a_version_whose_name_is_longer_than_any_table_would_like"
    rows = [
        row(
            rubric_version=f"{name}{version}",
            trajectory_id=str(run),
            task_id=str(run),
            success=run % 4 > version,
        )
        for version in (0, 1)
        for run in range(40)
    ]
    lines = shown([{**each, "outcome": float(each["trajectory_id"] > "2")} for each in rows]).splitlines()
    heading = next(number for number, line in enumerate(lines) if "precision" in line)
    figures, ends = lines[heading + 2].split()[-8:], lines[heading + 3].split()[-7:]
    assert figures[0] == "40"
    for figure, both in zip(figures[1:], ends, strict=True):
        low, high = both.split("…")
        assert float(low) <= float(figure) <= float(high)


def test_what_a_reader_should_know_is_said(shown, rows, row):
    text = words(
        shown(
            [
                *rows("b", True),
                *rows("c", True, size=5),
                row(rubric_version="c", trajectory_id="t9", error="timeout"),
                row(rubric_version="d", error="refusal"),
                *rows("e", True, size=3, outcome=None),
            ]
        )
    )
    assert "c, judge-a: 1 failed judgements are in no figure." in text
    assert "d, judge-a: no verdict in 1 rows; 1 failed, most often refusal." in text
    assert "e, judge-a: no outcome is known" in text
    assert "c against b: judged by one only, and not compared: 15 by b, 0 by c." in text
    assert "d against b: no trajectory with a known outcome was judged by both." in text
    assert "e against b: 3 pairs have no known outcome." in text
    assert "c against b: no difference in accuracy shown (+0.000, p = 1, by task, Holm)." in text


def test_judges_of_different_models_are_told_apart(shown, rows):
    text = words(shown([*rows("b", True), *rows("b", False, judge_model="judge-b")]))
    assert "b (judge-b) is right less often than b (judge-a)" in text


def test_comparisons_of_several_models_are_told_apart(shown, rows):
    of_models = [rows(version, version == "b", judge_model=model) for model in "mn" for version in "bc"]
    text = words(shown([row for each in of_models for row in each]))
    for model in "mn":
        assert f"c ({model}) is right less often than b ({model})" in text


def test_one_task_is_said_to_say_nothing_about_others(shown, rows):
    text = shown([{**each, "task_id": "same"} for each in [*rows("b", True), *rows("c", False)]])
    assert "all pairs are of one task" in words(text)


def test_names_cannot_harm_a_terminal(shown, rows):
    assert "\x1b" not in shown([*rows("b\x1b[2J", True), *rows("c", False)])


def test_an_empty_log_and_one_version_have_something_to_show(shown, rows):
    assert shown([]) == "No rows.\n"
    assert "Pairs" not in shown(rows("b", True))


def test_groups_have_tables_of_their_own(shown, rows):
    text = words(shown([*rows("b", True), *rows("c", False)], by="category"))
    assert "by category (judge: judge-a)" in text
    assert "email b c 20 0 20 0 0 20" in text
