"""`judge report --view tasks` and `--sqlite`, as they are typed."""

import csv
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from judge.schema import Trajectory
from tests.cli.called import called

SHARED = Path(__file__).resolve().parents[2].parent / "shared"

INSTRUCTIONS = {
    "easy": "Cancel order 7 of Anna",
    "hard": "Cancel order 8 of Bob",
    "18_19": "Find the cheapest red hat",
    "007": "find the cheapest  RED hat",
}
OUTCOMES = {"easy": (1, 1, 1, 0), "hard": (0, 0, 0, 1), "18_19": (0, 0, 0, 0), "007": (0, 1, 0, 0)}


def stored(task, number):
    steps = [{"action": f"tool{at % (number + 2)}()"} for at in range(10 + number)]
    return {
        "trajectory_id": f"{task}/{number}",
        "task_id": task,
        "instruction": INSTRUCTIONS[task],
        "steps": steps,
    }


def judged(task, number, outcome, **fields):
    run = Trajectory(**stored(task, number))
    verdict = {"success": bool(outcome), "reward": float(outcome), "outcome": outcome, "outcome_status": "ok"}
    which = {"rubric_version": "static_v1", "judge_model": "judge-a", "repeat": 0}
    ids = {"trajectory_id": run.trajectory_id, "task_id": task, "instruction_hash": run.instruction_hash}
    return {**ids, **which, **verdict, "error": None, **fields}


def runs():
    return [(task, number, outcome) for task, its in OUTCOMES.items() for number, outcome in enumerate(its)]


@pytest.fixture
def write(tmp_path):
    def to(name, lines):
        path = tmp_path / name
        path.write_text(
            "".join((each if isinstance(each, str) else json.dumps(each)) + "\n" for each in lines)
        )
        return path

    return to


@pytest.fixture
def log(write):
    return write("log.jsonl", [judged(*each) for each in runs()])


@pytest.fixture
def trajectories(write):
    return write("runs.jsonl", [stored(task, number) for task, number, _ in runs()])


def run(*arguments, view="tasks"):
    return called("report", "--view", view, *arguments)


def found(*arguments):
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def kept(*arguments):
    tasks = found(*arguments)["tasks"]
    return [each["task_id"] for each in tasks if each["kept"]]


def test_the_figures_of_a_log_alone(log):
    report = found(log)
    assert list(report) == ["tasks", "duplicates", "leaks", "chosen"]
    easy = report["tasks"][0]
    assert (easy["task_id"], easy["rollouts"], easy["pass_rate"], easy["pass@2"], easy["pass^2"]) == (
        "easy", 4, 0.75, 1.0, 0.5,
    )  # fmt: skip
    assert (easy["steps"], easy["tools"], easy["alive_grpo"]) == (None, None, True)
    assert report["tasks"][2]["alive_grpo"] is False
    assert report["chosen"] == {"tasks": 4, "kept": 4, "left_out": {}, "compared": None}


def test_stored_runs_add_steps_and_tools(log, trajectories):
    easy = found(log, "--input", trajectories)["tasks"][0]
    assert (easy["steps"], easy["tools"]) == (11.5, 5)


@pytest.mark.parametrize(
    ("filters", "names"),
    [
        (["--max-pass-rate", ".25"], ["hard", "18_19", "007"]),
        (["--min-pass-rate", ".1", "--max-pass-rate", ".5"], ["hard", "007"]),
        (["--alive", "grpo"], ["easy", "hard", "007"]),
        (["--alive", "gvpo"], []),
        (["--min-steps", "10"], []),
    ],
)
def test_filters_of_the_log(log, filters, names):
    assert kept(log, *filters) == names


@pytest.mark.parametrize(
    ("filters", "names"),
    [
        (["--min-steps", "11.5", "--max-steps", "256", "--min-tools", "4"], ["easy", "hard", "18_19", "007"]),
        (["--max-steps", "11"], []),
        (["--min-tools", "6"], []),
        (["--drop-duplicates", "exact"], ["easy", "hard", "18_19"]),
        (["--drop-duplicates", "template"], ["easy", "18_19"]),
        (["--drop-duplicates", "near", "--alive", "grpo"], ["easy", "007"]),
    ],
)
def test_filters_of_the_stored_runs(log, trajectories, filters, names):
    assert kept(log, "--input", trajectories, *filters) == names


def test_duplicates_are_listed_and_left_to_the_user(log, trajectories):
    report = found(log, "--input", trajectories)
    assert [(each["task_id"], each["duplicate_of"], each["kind"]) for each in report["duplicates"]] == [
        ("hard", "easy", "template"),
        ("007", "18_19", "exact"),
    ]
    assert report["chosen"]["kept"] == 4


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("eval.txt", ["", "Find the cheapest red hat"]),
        ("eval.jsonl", [{"task_id": "x", "instruction": "Find the cheapest red hat"}]),
        ("eval.jsonl", [{"task_id": "x", "instruction": "Find the cheapest red hat", "steps": []}]),
    ],
)
def test_tasks_of_an_evaluation_are_kept_out(log, trajectories, write, name, lines):
    path = write(name, lines)
    report = found(log, "--input", trajectories, "--exclude", path)
    place = f"{path}:2" if name == "eval.txt" else "x"
    assert [(each["task_id"], each["evaluation_task"]) for each in report["leaks"]] == [
        ("18_19", place),
        ("007", place),
    ]
    compared = {"evaluation_tasks": 1, "by_text": 4, "by_hash_alone": 0}
    chosen = {"tasks": 4, "kept": 2, "left_out": {"exclude": 2}, "compared": compared}
    assert report["chosen"] == chosen


def test_that_no_task_leaks_is_said_and_not_left_to_silence(log, trajectories, write):
    evaluation = write("eval.txt", ["Water the plants", "Mow"])
    shown = run(log, "--input", trajectories, "--exclude", evaluation).stdout
    assert "4 tasks compared with 2 of the evaluation: none to be kept out." in shown
    assert "4 of 4 tasks kept; left out by exclude 0." in shown
    report = found(log, "--input", trajectories, "--exclude", evaluation)
    assert report["leaks"] == []
    assert report["chosen"]["left_out"] == {"exclude": 0}
    assert report["chosen"]["compared"] == {"evaluation_tasks": 2, "by_text": 4, "by_hash_alone": 0}


def test_tasks_with_neither_text_nor_hash_were_compared_with_nothing(write):
    rows = [judged("easy", 0, 1), {**judged("hard", 0, 0), "instruction_hash": None}]
    shown = run(write("log.jsonl", rows), "--exclude", write("eval.txt", ["Mow"])).stdout
    assert "1 tasks compared with 1 of the evaluation, 1 only for equal texts: none to be kept out." in shown


def test_without_the_texts_equal_instructions_are_told_by_their_hash(log, write):
    result = run(log, "--exclude", write("eval.txt", ["Find the cheapest red hat"]), "--json")
    assert [each["task_id"] for each in json.loads(result.stdout)["leaks"]] == ["18_19"]
    assert "texts of 4 of 4 tasks are not in the --input" in result.stderr


@pytest.mark.parametrize(
    ("name", "lines", "why"),
    [
        ("eval.txt", [], "holds no instruction"),
        ("eval.jsonl", [{"task": "x"}], "eval.jsonl:1"),
        ("eval.jsonl", ["{"], "eval.jsonl"),
    ],
)
def test_an_evaluation_that_cannot_be_read_is_bad_input(log, write, name, lines, why):
    result = run(log, "--exclude", write(name, lines))
    assert (result.exit_code, result.stdout) == (2, "")
    assert why in result.stderr


def test_the_ids_kept_are_one_on_each_line_or_objects(log, tmp_path):
    run(log, "--max-pass-rate", ".25", "--ids", tmp_path / "ids.txt")
    assert (tmp_path / "ids.txt").read_text() == "hard\n18_19\n007\n"
    run(log, "--max-pass-rate", "0", "--ids", tmp_path / "ids.jsonl")
    assert (tmp_path / "ids.jsonl").read_text() == '{"task_id": "18_19"}\n'


def test_an_id_of_two_lines_needs_json(write, tmp_path):
    log = write("log.jsonl", [{**judged("easy", 0, 1), "task_id": "a\nb"}])
    result = run(log, "--ids", tmp_path / "ids.txt")
    assert result.exit_code == 2
    assert "name a .jsonl file" in result.stderr
    assert not (tmp_path / "ids.txt").exists()
    assert run(log, "--ids", tmp_path / "ids.jsonl").exit_code == 0
    assert json.loads((tmp_path / "ids.jsonl").read_text()) == {"task_id": "a\nb"}


def test_a_task_is_kept_where_all_versions_keep_it_or_the_named_one(write):
    rows = [judged(*each) for each in runs()]
    equal = [judged(*each, rubric_version="adapt_v1", reward=0.5) for each in runs()]
    log = write("log.jsonl", rows + equal)
    assert kept(log, "--alive", "grpo") == []
    assert kept(log, "--alive", "grpo", "--candidate", "static_v1") == ["easy", "hard", "007"]
    result = run(log, "--candidate", "v9")
    assert result.exit_code == 2
    assert "'v9': there are static_v1, adapt_v1" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--min-tools", "4"], "--min-tools needs the stored runs"),
        (["--drop-duplicates", "near"], "--drop-duplicates near needs the texts"),
        (["--max-pass-rate", "25"], "max-pass-rate"),
        (["--k", "0"], "--k"),
        (["--similarity", "0"], "--similarity"),
        (["--by", "category"], "--by is for --view"),
    ],
)
def test_bad_usage_is_said(log, arguments, why):
    result = run(log, *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert why in result.stderr


@pytest.mark.parametrize(
    "option", [["--min-steps", "10"], ["--ids", "x"], ["--k", "2"], ["--exclude", __file__]]
)
def test_options_of_the_tasks_are_for_no_other_view(log, option):
    result = run(log, *option, view="summary")
    assert result.exit_code == 2
    assert f"{option[0]} is for --view tasks" in result.stderr


def test_the_ids_do_not_go_over_an_input(log):
    result = run(log, "--ids", log)
    assert result.exit_code == 2
    assert "name another" in result.stderr


def test_k_is_as_asked_for(log):
    easy = found(log, "--k", "3", "--k", "9")["tasks"][0]
    assert (easy["pass@3"], easy["pass^3"], easy["pass@9"]) == (1.0, 0.25, None)


def test_the_judges_word_is_said_where_it_stands_for_an_outcome(write):
    result = run(
        write("log.jsonl", [{**judged("easy", 0, 1), "outcome": None}, judged("easy", 1, 1), {"reward": 1}]),
        "--json",
    )
    assert "1 of 2 rollouts pass or fail by the judge's own success" in result.stderr
    assert "1 rows without a task_id left out" in result.stderr


def test_the_tables_show_the_tasks_kept(log, trajectories, write, tmp_path):
    evaluation = write("eval.txt", ["Find the cheapest red hat"])
    result = run(log, "--input", trajectories, "--exclude", evaluation, "--csv", tmp_path / "tables")
    words = result.stdout.split()
    assert {"easy", "hard", "template", "alive", "pass@4", "18_19"} <= set(words)
    assert "Tasks to be kept out" in result.stdout
    assert "4 tasks compared with 1 of the evaluation: 2 to be kept out." in result.stdout
    assert "2 of 4 tasks kept; left out by exclude 2." in result.stdout
    assert "\x1b" not in result.stdout
    with (tmp_path / "tables" / "tasks.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(each["task_id"], each["left_out"]) for each in rows] == [
        ("easy", ""), ("hard", ""), ("18_19", "exclude"), ("007", "exclude"),
    ]  # fmt: skip
    assert sorted(each.name for each in (tmp_path / "tables").iterdir()) == [
        "duplicates.csv",
        "leaks.csv",
        "tasks.csv",
    ]


def test_dead_tasks_and_more_tasks_than_fit_are_shown(write):
    log = write("log.jsonl", [judged("easy", number, 1, task_id=f"task{number}") for number in range(30)])
    shown = run(log).stdout
    assert "the first 20 of 30" in shown
    assert {"dr_grpo", "task19"} <= set(shown.split())
    assert "task20" not in shown.partition("Tasks that ask the same")[0]
    dead = write("log.jsonl", [judged("easy", number, 0) for number in range(2)])
    assert "dead" in run(dead).stdout


@pytest.mark.parametrize(
    "rows", [[], [{"reward": 1.0}], [judged("easy", 0, 1, error={"kind": "timeout"}, reward=None)]]
)
def test_a_log_without_rewards_still_makes_a_report(write, rows):
    log = write("log.jsonl", rows)
    assert run(log).exit_code == 0
    assert found(log)["chosen"]["tasks"] == (1 if rows and "task_id" in rows[0] else 0)


def test_public_runs_hold_templates():
    stored_runs = SHARED / "data" / "tau_retail.jsonl"
    if not stored_runs.exists():
        pytest.skip("the stored runs of tau-bench are not here")
    from analysis.duplicates import Instruction, find_duplicates

    texts = {}
    for line in stored_runs.read_text(encoding="utf-8").splitlines():
        texts.setdefault(json.loads(line)["task_id"], json.loads(line)["instruction"])
    table = find_duplicates([Instruction(*each) for each in texts.items()])
    kinds = {each.task_id: (each.duplicate_of, each.kind) for each in table.itertuples()}
    assert kinds["tau_retail/95"] == ("tau_retail/93", "exact")
    assert kinds["tau_retail/1"] == ("tau_retail/0", "near")


@pytest.mark.parametrize("view", ["summary", "groups", "tasks"])
def test_every_view_writes_the_table_of_the_log(log, tmp_path, view):
    result = run(log, "--sqlite", tmp_path / "log.db", "--json", view=view)
    assert result.exit_code == 0
    assert "16 rows in the table reward_log" in result.stderr
    json.loads(result.stdout)
    with closing(sqlite3.connect(tmp_path / "log.db")) as database:
        sql = "SELECT task_id, avg(success) FROM reward_log GROUP BY task_id ORDER BY min(rowid)"
        assert database.execute(sql).fetchall() == [
            ("easy", 0.75),
            ("hard", 0.25),
            ("18_19", 0.0),
            ("007", 0.25),
        ]


def test_a_file_that_is_no_database_is_bad_input(log, tmp_path):
    (tmp_path / "notes").write_text("mine")
    result = run(log, "--sqlite", tmp_path / "notes", view="summary")
    assert result.exit_code == 2
    assert "notes: is no SQLite database" in result.stderr
    assert (tmp_path / "notes").read_text() == "mine"
    result = run(log, "--sqlite", log, view="summary")
    assert (result.exit_code, result.stdout) == (2, "")
