from io import StringIO

import pytest
from rich.console import Console

from analysis.compare import breakdown, choose_pair, pair, summarise
from analysis.fine import dropped_items, fine_figures, shared_quotes
from analysis.frame import FINE
from analysis.render.fine import show_fine
from analysis.render.summary import show_summary


@pytest.fixture
def shown(frame_of):
    """The plain text of the report over these rows, on a console of 100 columns."""

    def show(rows, by=None):
        frame = frame_of(rows, by=by)
        chosen = choose_pair(frame)
        console = Console(file=StringIO(), width=100, highlight=False)
        groups = breakdown(frame, by) if by else None
        show_summary(console, summarise(frame), pair(frame, *chosen) if chosen else None, groups)
        return console.file.getvalue()

    return show


def cells(text, name):
    """The rows of all tables that begin with `name`, as lists of words."""
    return [line.split() for line in text.splitlines() if line.split()[:1] == [name]]


def test_both_tables_show_the_figures_of_a_version(shown, row):
    judged, agreed = cells(shown([row(), row(trajectory_id="a", success=False, reward=0)]), "static_v1")
    assert judged == ["static_v1", "2", "0", "0", "0.500", "1.000", "0.500", "100", "50", "1.0000"]
    assert agreed == [
        "static_v1",
        "2",
        "1",
        "0",
        "1",
        "0",
        "1.000",
        "0.500",
        "0.667",
        "–",
        "0.500",
        "1.000",
        "0",
    ]


def test_undefined_figures_are_dashes(shown, row):
    judged, agreed = cells(shown([row(error="timeout", latency_ms=None, usage=None, cost=None)]), "static_v1")
    assert judged == ["static_v1", "0", "1", "0", "–", "–", "–", "–", "–", "–"]
    assert agreed == ["static_v1", "0", "0", "0", "0", "0", "–", "–", "–", "–", "–", "–", "0"]


def test_a_mean_over_another_number_of_rows_says_so(shown, row):
    judged, _ = cells(shown([row(), row(trajectory_id="a", success=None, reward=0.0)]), "static_v1")
    assert judged[4:6] == ["0.500", "(n=2)"]


def test_verdicts_without_a_known_outcome_are_shown_apart(shown, row):
    text = shown([row(), row(trajectory_id="a", outcome_status="error")])
    assert "unknown" in text
    assert cells(text, "static_v1")[1][-1] == "1"


def test_failures_above_five_per_cent_are_said_with_their_kind(shown, row):
    rows = [row(trajectory_id=str(number)) for number in range(18)]
    one, two = (row(trajectory_id=name, error="timeout") for name in "ab")
    assert "2 of 20 judgements failed (10.0%), most often timeout." in shown([*rows, one, two])
    assert "judgements failed" not in shown([*rows, row(trajectory_id="c"), one])


def test_skipped_rows_make_no_failed_run(shown, row):
    rows = [row(trajectory_id=str(number), error="unusable_input") for number in range(3)]
    assert "judgements failed" not in shown(rows)


def test_rows_that_say_nothing_are_mentioned(shown, row):
    assert "1 rows hold neither a verdict nor an error" in shown(
        [row(), row(trajectory_id="a", success=None)]
    )


def test_pairs_are_shown_under_the_names_of_their_versions(shown, row):
    text = shown([row(), row(rubric_version="adapt_v1")])
    assert "static_v1 (baseline) and adapt_v1 (candidate)" in " ".join(text.split())
    assert cells(text, "1") == [["1", "1", "0", "0", "0"]]


def test_usual_names_fit_into_100_columns(shown, row):
    versions, models = ("static_v1", "adapt_v1"), ("Qwen/Qwen3-VL-32B-Instruct", "gpt-4o-mini")
    rows = [
        row(rubric_version=version, judge_model=model, trajectory_id=str(number), category="shopping")
        for version in versions
        for model in models
        for number in range(200)
    ]
    assert max(map(len, shown(rows).splitlines())) <= 100
    one_model = [each for each in rows if each["judge_model"] == models[0]]
    assert max(map(len, shown(one_model, by="category").splitlines())) <= 100


def test_no_number_is_ever_cut_short(shown, row):
    rows = [
        row(cost=123456789.0, latency_ms=1e12, judge_model=model, category="c" * 80)
        for model in ("a" * 60, "b")
    ]
    text = shown(rows, by="category")
    assert "…" not in text
    assert text.count("123456789.0000") == 4


def test_names_are_shown_as_they_are_and_give_no_orders(shown, row):
    text = shown([row(rubric_version="[red]:x:", judge_model="a\x1b[2Jb"), row(rubric_version="line\nbreak")])
    assert "[red]:x:" in text
    assert "\x1b" not in text
    assert cells(text, "line\N{REPLACEMENT CHARACTER}break")


def test_an_empty_log_is_said_to_be_empty(shown):
    assert shown([], by="category") == "No rows.\n"


@pytest.fixture
def shown_fine(frame_of):
    """The plain text of the tables of fine rubrics over these rows, on a console of 100 columns."""

    def show(rows):
        frame = frame_of(rows, by=FINE)
        console = Console(file=StringIO(), width=100, highlight=False)
        show_fine(console, fine_figures(frame), shared_quotes(frame), dropped_items(frame))
        return console.file.getvalue()

    return show


def with_items(row, task, *quotes):
    items = [{"text": "Heed it.", "quote": quote} for quote in quotes]
    dropped = [{"item": "Be kind.", "why": "adds_requirement"}]
    own = {"trajectory_id": task, "instruction_hash": task}
    return row(fine_rubrics=items, fine_dropped=dropped, calls=[], **own)


def test_fine_rubrics_are_counted_and_quotes_that_say_nothing_are_shown(shown_fine, row):
    text = shown_fine([with_items(row, "a", "[b]the page[/b]"), with_items(row, "b", "[b]the page[/b]", "5")])
    counts, quote, dropped = cells(text, "static_v1")
    assert counts == ["static_v1", "2", "0", "1", "1", "0.000", "0.500", "0.500", "2", "–"]
    assert quote == ["static_v1", "[b]the", "page[/b]", "2", "1.000"]
    assert dropped == ["static_v1", "adds_requirement", "2"]
    assert "more than 20% of the instructions" in text
    assert max(map(len, text.splitlines())) <= 100


def test_tables_of_fine_rubrics_with_nothing_to_say_are_not_shown(shown_fine, row):
    assert len(cells(shown_fine([row()]), "static_v1")) == 1
    assert "Quotes" not in shown_fine([row()])
    assert shown_fine([]) == ""
