from collections import Counter

import pytest

from analysis.compare import records
from analysis.fine import dropped_items, fine_figures, shared_quotes
from analysis.frame import FINE


@pytest.fixture
def framed(frame_of):
    return lambda rows: frame_of(rows, by=FINE)


@pytest.fixture
def fine_row(row):
    """A row with fine items of these quotes, in an instruction of its own unless one is named."""
    number = iter(range(1_000))

    def build(*quotes, drops=(), **fields):
        run = next(number)
        items = [{"id": f"fine_{i}", "text": "Heed it.", "quote": quote} for i, quote in enumerate(quotes, 1)]
        dropped = [{"item": "Be polite.", "why": why} for why in drops]
        own = {"trajectory_id": f"t{run}", "instruction_hash": f"i{run}", "rubric_version": "adapt_v1"}
        return row(**{**own, "fine_rubrics": items, "fine_dropped": dropped, **fields})

    return build


def figures(frame):
    (only,) = records(fine_figures(frame), fine_figures(frame).columns)
    return only


def test_instructions_are_counted_by_how_many_items_they_have(framed, fine_row):
    rows = [fine_row("a", "b"), *(fine_row("a") for _ in range(2)), *(fine_row() for _ in range(5))]
    found = figures(framed(rows))
    assert [found[name] for name in ("instructions", "none", "one", "two")] == [8, 5, 2, 1]
    assert [found[name] for name in ("none_share", "one_share", "two_share")] == [0.625, 0.25, 0.125]


def test_an_instruction_counts_once_however_many_rollouts_it_has(framed, fine_row):
    rows = [fine_row("a", drops=["over_two"], instruction_hash="x") for _ in range(4)] + [fine_row()]
    found = figures(framed(rows))
    assert (found["instructions"], found["none"], found["one"], found["dropped"]) == (2, 1, 1, 1)


def test_of_rollouts_that_differ_one_that_names_items_speaks(framed, fine_row):
    # An empty run took no call, and one failed before its fine rubrics were there.
    rows = [fine_row("a", "b", instruction_hash="x"), fine_row(instruction_hash="x")]
    rows.append(fine_row(instruction_hash="x", error="timeout"))
    assert figures(framed(rows))["two"] == 1
    rows.append(fine_row("c", instruction_hash="x"))
    assert figures(framed(rows))["one"] == 1


def test_an_instruction_that_no_verdict_tells_of_is_left_out(framed, fine_row):
    rows = [fine_row(error="timeout"), fine_row(error="unusable_input"), fine_row(success=None), fine_row()]
    assert figures(framed(rows))["instructions"] == 1
    assert figures(framed([*rows, fine_row("a", error="timeout")]))["instructions"] == 2


def test_rows_without_the_keys_have_no_items(framed, row):
    rows = [
        row(),
        row(trajectory_id="a", instruction_hash="x"),
        row(fine_rubrics="?", fine_dropped=[1, None]),
    ]
    found = figures(framed(rows))
    assert [found[name] for name in ("instructions", "none", "dropped")] == [2, 2, 0]
    assert dropped_items(framed(rows)).empty
    assert shared_quotes(framed(rows)).empty


def test_an_item_without_a_quote_is_an_item_and_shares_none(framed, fine_row):
    rows = [fine_row(None, None) for _ in range(3)]
    assert figures(framed(rows))["two"] == 3
    assert shared_quotes(framed(rows)).empty


def test_versions_stand_in_order_of_appearance(framed, fine_row):
    rows = [fine_row(rubric_version="z"), fine_row("a", rubric_version="b"), fine_row(rubric_version="z")]
    table = fine_figures(framed(rows))
    assert table[["rubric_version", "instructions", "one"]].to_numpy().tolist() == [["z", 2, 0], ["b", 1, 1]]


def test_an_empty_log_has_empty_tables(framed):
    frame = framed([])
    assert all(table(frame).empty for table in (fine_figures, shared_quotes, dropped_items))


def test_prompt_tokens_are_those_of_the_calls_that_judged(framed, fine_row):
    def call(purpose, tokens):
        return {"purpose": purpose, "usage": tokens and {"prompt_tokens": tokens}}

    rows = [
        fine_row(calls=[call("fine", 900), call("trajectory", 100), call("trajectory", 140)]),
        fine_row(calls=[call("steps", 200), call("steps", None)]),
        fine_row(calls=[call("fine", 900)]),
    ]
    assert figures(framed(rows))["prompt_tokens_mean"] == 160
    assert figures(framed([fine_row(calls="?")]))["prompt_tokens_mean"] is None


COLUMNS = ["rubric_version", "quote", "instructions", "share"]


def quotes(frame):
    found = records(shared_quotes(frame), COLUMNS)
    return {each["quote"]: (each["instructions"], each["share"]) for each in found}


def test_a_quote_in_more_than_a_fifth_of_the_instructions_is_shown(framed, fine_row):
    rows = [fine_row("usual", "rare") for _ in range(2)] + [fine_row("usual")]
    rows += [fine_row() for _ in range(7)]
    assert quotes(framed(rows)) == {"usual": (3, 0.3)}
    shared = pytest.approx(3 / 11)
    assert quotes(framed([*rows, fine_row("rare")])) == {"usual": (3, shared), "rare": (3, shared)}


def test_rollouts_and_spellings_make_no_quote_more_or_less_common(framed, fine_row):
    rows = [fine_row("Only once", instruction_hash="x") for _ in range(5)] + [fine_row(), fine_row()]
    assert quotes(framed(rows)) == {}
    rows = [fine_row("The  Task", "the task"), fine_row("the\ntask"), fine_row()]
    assert quotes(framed(rows)) == {"the task": (2, pytest.approx(2 / 3))}


def test_a_fifth_is_of_the_version_s_own_instructions(framed, fine_row):
    rows = [fine_row("x", rubric_version="a") for _ in range(2)]
    rows += [fine_row("x", rubric_version="b") for _ in range(2)]
    rows += [fine_row(rubric_version="b") for _ in range(8)]
    assert records(shared_quotes(framed(rows)), COLUMNS) == [
        {"rubric_version": "a", "quote": "x", "instructions": 2, "share": 1.0}
    ]


def test_drop_reasons_are_counted_the_commonest_first(framed, fine_row):
    rows = [
        fine_row(drops=["no_quote", "over_two", "over_two"]),
        fine_row(drops=["adds_requirement", "over_two"]),
        fine_row(drops=["no_quote"], rubric_version="static_v1"),
        fine_row(fine_dropped=[{"item": "unexplained"}]),
    ]
    table = dropped_items(framed(rows))
    assert table.to_numpy().tolist()[0] == ["adapt_v1", "over_two", 3]
    counted = Counter({(row["rubric_version"], row["why"]): row["items"] for row in table.to_dict("records")})
    assert counted == {
        ("adapt_v1", "over_two"): 3,
        ("adapt_v1", "no_quote"): 1,
        ("adapt_v1", "adds_requirement"): 1,
        ("adapt_v1", "(none)"): 1,
        ("static_v1", "no_quote"): 1,
    }
    assert fine_figures(framed(rows))["dropped"].to_list() == [6, 1]
