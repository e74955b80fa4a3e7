import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.called import called

SHARED = Path(__file__).resolve().parents[2].parent / "shared"
KEYS = [
    *("name", "n", "tp", "fp", "fn", "tn"),
    *("precision", "recall", "f1", "fpr", "accuracy", "base_rate", "kappa"),
]
TABLE = "task,agent,human,strict,lax\na,x,1,0,yes\na,x,0,0,yes\n007,y,1,1,\n007,y,,1,no\n"


def run(*arguments):
    return called("agreement", *arguments)


@pytest.fixture
def table(tmp_path):
    def write(text=TABLE):
        path = tmp_path / "table.csv"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_json_has_exactly_the_promised_keys(table):
    result = run(table(), "--truth", "human", "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    found = json.loads(result.stdout)
    assert list(found) == ["truth", "n", "predictors"]
    assert (found["truth"], found["n"]) == ("human", 3)
    assert [list(each) for each in found["predictors"]] == [KEYS, KEYS]
    assert [(each["name"], each["n"], each["tp"]) for each in found["predictors"]] == [
        ("strict", 3, 1),
        ("lax", 2, 1),
    ]


def test_stored_judges_agree_as_counted(table):
    path = SHARED / "data" / "webjudge_vs_human_951.csv"
    if not path.exists():
        pytest.skip(f"the shared data is not here: {path.name}")
    found = json.loads(run(path, "--truth", "human", "--json").stdout)["predictors"]
    assert {each["name"]: [each[cell] for cell in ("tp", "fp", "fn", "tn")] for each in found} == {
        "benchmark_reward": [160, 24, 91, 667],
        "webjudge_7B": [148, 38, 94, 635],
        "webjudge_gpt4o": [16, 2, 1, 74],
        "webjudge_o4_mini": [83, 14, 66, 329],
    }


def test_only_the_named_predictors_are_compared(table):
    found = json.loads(run(table(), "--truth", "human", "--pred", "lax", "--pred", "lax", "--json").stdout)
    assert [each["name"] for each in found["predictors"]] == ["lax"]


def test_a_judge_that_one_odd_cell_leaves_out_is_named(table):
    text = "id,human,strict,lax\nt1,1,1,1\nt2,0,0,error\nt3,0,,0\n"
    result = run(table(text), "--truth", "human", "--json")
    assert [each["name"] for each in json.loads(result.stdout)["predictors"]] == ["strict"]
    assert result.stderr == "Column 'lax' left out: it holds 'error', which is no verdict.\n"


def test_by_adds_the_same_for_each_value(table):
    found = json.loads(run(table(), "--truth", "human", "--by", "agent", "--json").stdout)["by"]
    assert found["column"] == "agent"
    assert [(each["agent"], each["name"], each["n"]) for each in found["predictors"]] == [
        ("x", "strict", 2),
        ("x", "lax", 2),
        ("y", "strict", 1),
        ("y", "lax", 0),
    ]


def test_the_text_shows_intervals_by_row_or_by_task(table):
    assert "intervals over rows" in run(table(), "--truth", "human").stdout
    result = run(table(), "--truth", "human", "--task", "task", "--by", "agent")
    assert result.exit_code == 0
    assert "intervals over task" in result.stdout
    assert ", by agent" in result.stdout


@pytest.mark.parametrize(
    ("text", "options", "why"),
    [
        (TABLE, ["--truth", "absent"], "no column 'absent': there are 'task', 'agent', 'human'"),
        (TABLE, ["--truth", "human", "--pred", "agent"], "row 2, column 'agent': 'x' is no verdict"),
        (TABLE, ["--truth", "human", "--by", "absent"], "no column 'absent'"),
        ("human,note\n1,good\n", ["--truth", "human"], "no column of verdicts beside 'human'"),
        ("", ["--truth", "human"], "the file is empty"),
        ("human,human\n1,1\n", ["--truth", "human"], "column 2 is called 'human' like one before it"),
        ("human\n1,0\n", ["--truth", "human"], "no CSV table"),
    ],
)
def test_what_cannot_be_compared_is_bad_usage_and_the_file_is_named(table, text, options, why):
    result = run(table(text), *options)
    assert (result.exit_code, result.stdout) == (2, "")
    said = " ".join(result.stderr.split())
    assert why in said
    assert "table.csv: " in said


def test_a_missing_file_or_truth_is_bad_usage(table, tmp_path):
    assert run(tmp_path / "absent.csv", "--truth", "human").exit_code == 2
    assert run(table()).exit_code == 2


def test_pandas_is_loaded_only_when_the_command_runs():
    code = (
        "import sys, judge.cli.agreement; sys.exit(bool({'pandas', 'analysis', 'rich'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
