import pytest

from analysis.frame import load_frame
from analysis.versions import BASIS_COLUMNS, choose_judges, compared_versions, judges
from judge.errors import InputError


@pytest.fixture
def loaded(write_log):
    def load(rows, by=None):
        return load_frame([write_log(rows)], by=by, also=BASIS_COLUMNS)

    return load


@pytest.fixture
def judged(loaded, row):
    """The frame of one row for each judge, given as "version model"."""

    def load(*names):
        both = [name.split() for name in names]
        return loaded([row(rubric_version=version, judge_model=model) for version, model in both])

    return load


def chosen(frame, baseline=None, candidate=None):
    return [(" ".join(one), " ".join(other)) for one, other in choose_judges(frame, baseline, candidate)]


@pytest.mark.parametrize(
    ("there", "named", "expected"),
    [
        (["b m", "a m"], (None, None), [("b m", "a m")]),
        (["b m", "a m", "c m"], (None, None), [("b m", "a m"), ("b m", "c m")]),
        (["b m", "a m", "c m"], ("c", None), [("c m", "b m"), ("c m", "a m")]),
        (["b m", "a m", "c m"], (None, "b"), [("a m", "b m")]),
        (["b m", "a m", "c m"], ("a", "c"), [("a m", "c m")]),
        (["b m"], (None, None), []),
        (["b m"], ("b", None), []),
        (["b m"], (None, "b"), []),
    ],
)
def test_candidates_are_all_that_are_not_the_baseline(judged, there, named, expected):
    assert chosen(judged(*there), *named) == expected


@pytest.mark.parametrize(
    ("there", "named", "expected"),
    [
        (["b m1", "b m2", "c m1", "c m2"], (None, None), [("b m1", "c m1"), ("b m2", "c m2")]),
        (["b m1", "b m2", "c m2"], (None, None), [("b m2", "c m2")]),
        (["b m1", "c m2"], (None, None), [("b m1", "c m2")]),
        (["b m1", "b m2", "b m3"], (None, None), [("b m1", "b m2"), ("b m1", "b m3")]),
        (["b m1", "b m2", "c m1", "c m2"], ("m2", "m1"), [("b m2", "b m1"), ("c m2", "c m1")]),
        (["b m1", "b m2", "c m1", "c m2"], (None, "m2"), [("b m1", "b m2"), ("c m1", "c m2")]),
    ],
)
def test_a_judge_meets_its_own_model_or_else_its_own_version(judged, there, named, expected):
    assert chosen(judged(*there), *named) == expected


@pytest.mark.parametrize(
    ("named", "why"),
    [(("x", None), "unknown rubric version or judge model 'x': there are b, a, m"), (("a", "a"), "both 'a'")],
)
def test_names_that_cannot_be_compared_are_refused_with_those_there_are(judged, named, why):
    with pytest.raises(InputError, match=why):
        choose_judges(judged("b m", "a m"), *named)


def test_judges_stand_in_order_of_appearance(judged):
    assert [tuple(each) for each in judges(judged("z m", "a m"))] == [("z", "m"), ("a", "m")]


def test_the_basis_is_read_from_the_rows(loaded, row):
    fine = [{"id": "fine_1", "text": "It is 5.", "quote": "5"}]
    rows = [
        row(rubric_version="b", scheme="score", fine_rubrics=[]),
        row(rubric_version="c", scheme="score", category="email", fine_rubrics=fine),
        row(rubric_version="c", scheme="tarl", category="shop", trajectory_id="t1", fine_rubrics=fine),
        row(rubric_version="c", category=None, trajectory_id="t2"),
    ]
    frame = loaded(rows)
    table = compared_versions(frame, choose_judges(frame))
    assert table[["role", "schemes", "categories", "fine_share"]].to_numpy().tolist() == [
        ["baseline", "score", 1, 0.0],
        ["candidate", "score, tarl", 2, pytest.approx(2 / 3)],
    ]


def test_a_log_without_any_basis_and_an_empty_one_have_tables_too(loaded, row):
    bare = {key: value for key, value in row().items() if key != "category"}
    frame = loaded([bare])
    table = compared_versions(frame, choose_judges(frame))
    assert table[["role", "categories", "fine_share"]].to_numpy().tolist() == [["other", 0, 0.0]]
    assert table["schemes"].isna().all()
    assert compared_versions(loaded([]), []).empty


def test_each_figure_stands_between_its_ends_in_each_group(loaded, row):
    rows = [
        row(
            trajectory_id=str(number),
            task_id=str(number // 2),
            success=number % 3 > 0,
            category="ab"[number % 2],
        )
        for number in range(40)
    ]
    frame = loaded(rows)
    for table in (compared_versions(frame, []), compared_versions(frame, [], by="category")):
        assert (table["recall_low"] < table["recall"]).all()
        assert (table["recall"] < table["recall_high"]).all()
    assert table["category"].to_list() == ["a", "b"]
    alone = compared_versions(loaded(rows[::2]), [])
    assert table.loc[0, "recall_low"] == alone.loc[0, "recall_low"]


@pytest.mark.parametrize("name", ["role", "schemes", "n"])
def test_a_group_named_like_a_figure_is_refused(loaded, row, name):
    with pytest.raises(InputError, match=f"cannot group by '{name}'"):
        compared_versions(loaded([row()], by=name), [], by=name)
