"""The SQLite table: rows and figures as the report has them, and a file that is whole or untouched."""

import json
import random
import sqlite3
from contextlib import closing

import pytest

from analysis.compare import breakdown, summarise
from analysis.frame import load_frame
from analysis.sqlite import COLUMNS, write_sqlite
from judge import Config, Judge
from judge.errors import InputError
from judge.testing import ScriptedClient

VERDICT = {"reason": "Done.", "evidence": [{"step": 0, "quote": "go"}], "success": True, "score": 0.9}

FIGURES = """
SELECT rubric_version, {also} count(success) AS n, avg(reward) AS reward_mean, avg(success) AS success_rate,
       count(*) FILTER (WHERE success = 0 AND outcome = 1 AND outcome_status = 'ok') AS false_negatives,
       count(*) FILTER (WHERE success = 1 AND outcome <> 1 AND outcome_status = 'ok') AS false_positives
FROM reward_log WHERE error_kind IS NULL GROUP BY rubric_version {by}
"""


@pytest.fixture
def file(tmp_path):
    return tmp_path / "log.db"


@pytest.fixture
def query(file):
    def run(sql):
        with closing(sqlite3.connect(file)) as database:
            return database.execute(sql).fetchall()

    return run


def odd_rows(row, size=500):
    """Reruns, failures, foreign spellings and missing fields, in any order."""
    chance = random.Random(5)
    rows = []
    for number in range(size):
        failed = chance.choice([None] * 5 + ["timeout", "unusable_input"])
        fields = {
            "trajectory_id": chance.choice([f"t{chance.randrange(120)}", chance.randrange(9), None]),
            "rubric_version": chance.choice(["static_v1", "adapt_v1", None]),
            "category": chance.choice(["email", "shop"]),
            "repeat": chance.choice([0, 0, "0", 1, None]),
            "outcome": chance.choice([0, 1.0, "1", 0.5, None, "?"]),
            "outcome_status": chance.choice(["ok", "ok", "error", None]),
            "reward": chance.choice([number / size, "0.5", None, "high", 10**400]),
            "success": chance.choice([True, False, "yes", "FALSE", 1, None, "perhaps"]),
        }
        rows.append(row(**fields, **({"error": failed} if failed else {})))
    return rows


def by_group(table, *keys):
    return {
        tuple(each[key] for key in keys): pytest.approx(
            (each["n"], each["reward_mean"], each["success_rate"], each["fn"], each["fp"])
        )
        for each in table.to_dict("records")
    }


def test_both_group_bys_give_the_figures_of_the_report(write_log, row, file, query):
    path = write_log(odd_rows(row))
    frame = load_frame([path])
    assert write_sqlite([path], file) == len(frame)
    assert frame.attrs["superseded"] > 100
    versions = summarise(frame.assign(judge_model=frame["judge_model"].cat.set_categories(["judge-a"])))
    found = query(FIGURES.format(also="", by=""))
    assert {each[:1]: each[1:] for each in found} == by_group(versions, "rubric_version")
    found = query(FIGURES.format(also="category,", by=", category"))
    categories = breakdown(frame, "category")
    assert {each[:2]: each[2:] for each in found} == by_group(categories, "rubric_version", "category")
    kinds = dict(query("SELECT error_kind, count(*) FROM reward_log GROUP BY 1"))
    assert kinds["timeout"] == int(versions["failed"].sum())
    assert kinds["unusable_input"] == int(versions["skipped"].sum())


def test_the_columns_are_those_of_a_line_of_the_log(tmp_path, file, query):
    log = tmp_path / "log.jsonl"
    with Judge(
        Config(judge={"model": "m"}, cache={"dir": None}, log={"path": str(log)}),
        client=ScriptedClient(VERDICT),
    ) as judge:
        judge.score({"trajectory_id": "t", "task_id": "a", "instruction": "Go", "steps": [{"action": "go"}]})
    line = json.loads(log.read_text())
    flattened = {
        "omitted": ["omitted_steps", "omitted_chars"],
        "error": ["error_kind", "error_message"],
        "usage": ["prompt_tokens", "completion_tokens", "total_tokens", "cached_tokens"],
        "calls": [],
    }
    assert [*COLUMNS] == [name for key in line for name in flattened.get(key, [key])]
    write_sqlite([log], file)
    (stored,) = query("SELECT * FROM reward_log")
    found = dict(zip(COLUMNS, stored, strict=True))
    scalars = [name for name in line if name in COLUMNS and not isinstance(line[name], list | dict)]
    assert {name: found[name] for name in scalars} == {name: line[name] for name in scalars}
    lists = [name for name in line if name in COLUMNS and isinstance(line[name], list | dict)]
    assert {name: json.loads(found[name]) for name in lists} == {name: line[name] for name in lists}
    assert found["omitted_steps"] == line["omitted"]["steps"]


def test_usage_and_error_are_flat(write_log, row, file, query):
    usage = {"prompt_tokens": 40, "completion_tokens": 10, "total_tokens": 50, "cached_tokens": None}
    rows = [
        row(usage=usage),
        row(trajectory_id="b", error="timeout"),
        row(trajectory_id="c", error="bare", usage=3),
    ]
    write_sqlite([write_log(rows)], file)
    assert query(
        "SELECT prompt_tokens, total_tokens, cached_tokens, error_kind, error_message FROM reward_log"
    ) == [
        (40, 50, None, None, None),
        (40, 50, None, "timeout", "as the endpoint said"),
        (None, None, None, "bare", "as the endpoint said"),
    ]


def test_ids_stay_text_and_steps_stay_numbers(write_log, row, file, query):
    rows = [
        row(trajectory_id="007", task_id="18_19", step=3),
        row(trajectory_id=7, task_id={"a": 1}, step="warm-up"),
    ]
    write_sqlite([write_log(rows)], file)
    assert query("SELECT trajectory_id, task_id, step FROM reward_log") == [
        ("007", "18_19", 3),
        ("7", '{"a": 1}', "warm-up"),
    ]


def test_no_string_or_number_of_json_breaks_a_row(tmp_path, file, query):
    lines = [
        '{"trajectory_id": "\\ud800", "reason": "a\\u0000b", "parts": {"\\udc00": 1}}',
        '{"trajectory_id": 123456789012345678901234567890, "attempts": 99999999999999999999, "flags": "odd"}',
        '{"reward": NaN, "score": Infinity, "usage": [1], "omitted": 3, "error": {"kind": null}}',
        '{"reward": 1e200, "cost": 1e100}',
        "torn",
    ]
    (tmp_path / "log.jsonl").write_text("\n".join(lines))
    bad = []
    assert write_sqlite([tmp_path / "log.jsonl"], file, on_bad=bad.append) == 4
    assert len(bad) == 1
    assert query("SELECT reward, score, error_kind FROM reward_log")[2] == (None, None, "unknown")
    assert query("SELECT reward, cost FROM reward_log")[3] == (None, 1e100)
    assert query("SELECT flags FROM reward_log")[1] == ('"odd"',)


def test_an_empty_log_is_an_empty_table(write_log, file, query):
    assert write_sqlite([write_log([])], file) == 0
    assert query("SELECT count(*) FROM reward_log") == [(0,)]


def test_an_old_table_is_replaced_and_others_are_left(write_log, row, file, query):
    with closing(sqlite3.connect(file)) as database, database:
        database.execute("CREATE TABLE reward_log (old)")
        database.execute("CREATE TABLE mine AS SELECT 5 AS x")
    path = write_log([row()])
    assert [write_sqlite([path], file), write_sqlite([path], file)] == [1, 1]
    assert query("SELECT trajectory_id FROM reward_log") == [("t0",)]
    assert query("SELECT x FROM mine") == [(5,)]


@pytest.mark.parametrize("content", [b"x", b"# notes\n" * 100])
def test_a_file_that_is_no_database_is_refused_and_left(write_log, row, file, content):
    file.write_bytes(content)
    with pytest.raises(InputError, match=r"log\.db: is no SQLite database"):
        write_sqlite([write_log([row()])], file)
    assert file.read_bytes() == content


def test_a_database_in_use_is_named(write_log, row, file):
    with closing(sqlite3.connect(file)) as database:
        database.execute("CREATE VIEW reward_log AS SELECT 1")
    with pytest.raises(InputError, match=r"log\.db: cannot be written: .*VIEW"):
        write_sqlite([write_log([row()])], file)


def interrupt(_):
    raise KeyboardInterrupt


@pytest.mark.parametrize("is_there", [False, True])
def test_an_interrupted_write_leaves_what_was_there(tmp_path, write_log, row, file, query, is_there):
    old = write_log([row()], "old.jsonl")
    if is_there:
        write_sqlite([old], file)
    torn = write_log([row(trajectory_id=f"n{number}") for number in range(3000)])
    torn.write_text(torn.read_text() + "torn\n")
    with pytest.raises(KeyboardInterrupt):
        write_sqlite([torn], file, on_bad=interrupt)
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted(
        ["old.jsonl", "log.jsonl", *(["log.db"] * is_there)]
    )
    if is_there:
        assert query("SELECT trajectory_id FROM reward_log") == [("t0",)]


def test_folders_are_made(write_log, row, tmp_path):
    file = tmp_path / "new" / "folder" / "log.db"
    assert write_sqlite([write_log([row()])], file) == 1
    assert [each.name for each in file.parent.iterdir()] == ["log.db"]
