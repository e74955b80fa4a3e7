import math
from pathlib import Path

import pytest
from sklearn import metrics

from analysis.agreement import AGREEMENT, agree, choose_predictors, nearly_predictors, read_table, truths
from analysis.compare import records
from judge.errors import InputError

SHARED = Path(__file__).resolve().parents[2].parent / "shared"


@pytest.fixture
def read(tmp_path):
    """The table of a CSV file of this text, or bytes."""

    def write(text):
        path = tmp_path / "table.csv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_table(path)

    return write


def figures(table, truth="human", **options):
    names = choose_predictors(table, (truth, *options.values()))
    return {
        row["name"]: row for row in records(agree(table, truth, names, **options), [*AGREEMENT, "left_out"])
    }


@pytest.fixture
def webjudge():
    path = SHARED / "data" / "webjudge_vs_human_951.csv"
    if not path.exists():
        pytest.skip(f"the shared data is not here: {path.name}")
    return read_table(path)


def test_stored_judges_agree_with_humans_as_counted_by_hand(webjudge):
    found = {
        name: [row[cell] for cell in ("tp", "fp", "fn", "tn")] for name, row in figures(webjudge).items()
    }
    assert found == {
        "benchmark_reward": [160, 24, 91, 667],
        "webjudge_7B": [148, 38, 94, 635],
        "webjudge_gpt4o": [16, 2, 1, 74],
        "webjudge_o4_mini": [83, 14, 66, 329],
    }


def test_figures_of_stored_judges_are_those_of_scikit_learn(webjudge):
    both = webjudge[(webjudge["webjudge_7B"] != "") & (webjudge["human"] != "")]
    was, said = both["human"].astype(int), both["webjudge_7B"].astype(int)
    found = figures(webjudge)["webjudge_7B"]
    assert found["kappa"] == pytest.approx(metrics.cohen_kappa_score(was, said))
    assert found["f1"] == pytest.approx(metrics.f1_score(was, said))
    assert found["fpr"] == pytest.approx(1 - metrics.recall_score(was, said, pos_label=0))
    assert found["n"] + found["left_out"] == len(webjudge) == 951


def test_a_breakdown_adds_up(webjudge):
    of_agents = agree(webjudge, "human", ["webjudge_7B"], by="agent")
    whole = agree(webjudge, "human", ["webjudge_7B"])
    counts = ["n", "tp", "fp", "fn", "tn", "left_out"]
    assert of_agents[counts].sum().to_list() == whole.loc[0, counts].to_list()
    assert len(of_agents) == 4


def test_spellings_of_verdicts(read):
    cells = [
        "1",
        "1.0",
        "1e0",
        " True ",
        "YES",
        "0",
        "0.99",
        "-1",
        "2",
        "no",
        "False",
        '""',
        "nan",
        "None",
        "N/A",
    ]
    read_cells = truths(read("human\n" + "\n".join(cells)).reindex(range(2, 17)).fillna(""), "human").tolist()
    assert read_cells[:11] == [1] * 5 + [0] * 6
    assert all(math.isnan(each) for each in read_cells[11:])


@pytest.mark.parametrize("text", ["maybe", "inf", "1_0", "1/1", "١"])
def test_any_other_text_is_an_error_that_names_row_and_column(read, text):
    with pytest.raises(InputError, match=r"row 4, column 'human': .* is no verdict"):
        truths(read(f"id,human\na,1\n\nb,{text}\nc,maybe\n"), "human")


def test_ids_survive_and_are_no_predictors(read):
    table = read("run,human,judge,note\n007,1,1,good\n18_19,0,1,\n")
    assert table["run"].to_list() == ["007", "18_19"]
    assert choose_predictors(table, ("human",)) == ["judge"]


def test_a_column_of_nothing_is_no_predictor(read):
    assert choose_predictors(read("human,a,b\n1,,true\n0,nan,\n"), ("human",)) == ["b"]


def test_a_column_that_holds_verdicts_but_for_a_few_cells_is_noticed(read):
    table = read("human,judge,note,odd\n1,1,fine,a\n0,0,,b\n0,error,no,\n0,nan,good,1\n")
    assert choose_predictors(table, ("human",)) == []
    assert nearly_predictors(table, ("human",)) == {"judge": "error"}
    assert nearly_predictors(table, ("human", "judge")) == {}


def test_empty_cells_are_left_out_on_either_side(read):
    found = figures(read("human,judge\n1,1\n,1\n0,\n0,0\n"))["judge"]
    assert (found["n"], found["left_out"], found["tp"], found["tn"]) == (2, 2, 1, 1)


def test_one_class_leaves_what_divides_by_nothing_undefined(read):
    found = figures(read("human,judge\n0,0\n0,0\n"))["judge"]
    assert [found[name] for name in ("precision", "recall", "f1", "kappa")] == [None] * 4
    assert (found["fpr"], found["accuracy"]) == (0.0, 1.0)


def test_intervals_by_task_are_wider_where_its_rows_agree(read):
    rows = [f"t{number // 8},1,{int(number // 8 % 3 > 0)}" for number in range(96)]
    table = read("task,human,judge\n" + "\n".join(rows))
    by_row, by_task = (agree(table, "human", ["judge"], task=task).iloc[0] for task in (None, "task"))
    assert by_row["recall"] == by_task["recall"]
    spread = [each["recall_high"] - each["recall_low"] for each in (by_row, by_task)]
    assert spread[1] > 2 * spread[0]


def test_rows_without_a_task_or_a_group_stand_for_themselves(read):
    table = read("task,human,judge\n,1,1\n,1,0\na,0,0\n")
    assert not math.isnan(agree(table, "human", ["judge"], task="task").loc[0, "recall_low"])
    groups = agree(table, "human", ["judge"], by="task")
    assert groups[["task", "n"]].to_numpy().tolist() == [["a", 1], ["(none)", 2]]


@pytest.mark.parametrize("options", [{}, {"by": "absent"}, {"task": "absent"}])
def test_a_column_that_is_not_there_is_named_with_those_there_are(read, options):
    with pytest.raises(InputError, match="no column 'absent': there are 'human', 'judge'"):
        agree(read("human,judge\n1,1\n"), "human", ["judge"] if options else ["absent"], **options)


def test_a_group_named_like_a_figure_is_refused(read):
    with pytest.raises(InputError, match="cannot group by 'n'"):
        agree(read("human,judge,n\n1,1,3\n"), "human", ["judge"], by="n")


def test_a_byte_order_mark_is_no_part_of_a_name(read):
    assert list(read(b"\xef\xbb\xbfhuman,judge\n1,1\n")) == ["human", "judge"]


@pytest.mark.parametrize("separator", [";", "\t"])
def test_cells_may_stand_between_semicolons_or_tabs(read, separator):
    table = read("\ufeffrun,human,judge\n18_19,1,0\n007,0,0\n".replace(",", separator))
    assert table.to_numpy().tolist() == [["18_19", "1", "0"], ["007", "0", "0"]]
    assert choose_predictors(table, ("human", "run")) == ["judge"]


def test_a_comma_in_the_header_is_what_separates(read):
    assert list(read("a;b,c\td\n1,2\n")) == ["a;b", "c\td"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "the file is empty"),
        ("\n\n", "the file is empty"),
        ("a,b\n1,2,3\n", "no CSV table: .*line 2"),
        ('a,"b\n1,2', "no CSV table"),
        ("a,b,a\n1,2,3\n", "column 3 is called 'a' like one before it"),
        ("a,,b\n1,2,3\n", "column 2 has no name"),
        (b"PK\x03\x04\xff\xfe", "no UTF-8 text"),
    ],
)
def test_what_is_no_table_is_refused(read, text, why):
    with pytest.raises(InputError, match=why):
        read(text)


def test_a_table_of_a_header_only_has_no_rows(read):
    found = agree(read("human,judge\n"), "human", ["judge"])
    assert found.loc[0, "n"] == 0
    assert math.isnan(found.loc[0, "accuracy"])
