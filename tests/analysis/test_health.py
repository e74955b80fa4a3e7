import math
import random

import pytest
from scipy.stats import binomtest

from analysis.frame import load_frame
from analysis.health import FINDINGS, HEALTH_COLUMNS, failure_kinds, health, training_steps

PARTS = ["process_variance", "dominant_part"]


@pytest.fixture
def frame_of(write_log):
    def load(rows):
        return load_frame([write_log(rows)], also=HEALTH_COLUMNS)

    return load


@pytest.fixture
def found_in(frame_of):
    """Finding → its row, of a log of one judge."""

    def find(rows):
        table = health(frame_of(rows))
        assert table["finding"].is_unique
        return {each["finding"]: each for each in table.to_dict("records")}

    return find


@pytest.fixture
def runs(row):
    """So many runs, four of a task; `fields` makes the rest of each from its number and a random source."""

    def build(count, fields):
        chance = random.Random(11)
        return [
            row(trajectory_id=f"r{number}", task_id=f"t{number // 4}", **fields(number, chance))
            for number in range(count)
        ]

    return build


def test_a_sound_run_has_nothing_to_note(found_in, runs):
    def fields(number, chance):
        good, bonus = chance.random() < 0.5, chance.random()
        return {
            "reward": 0.6 * good + 0.4 * bonus,
            "score": bonus,
            "outcome": float(good),
            "parts": {"outcome": float(good), "process": bonus},
            "step": number // 40,
            "frame_count": chance.randrange(2, 11),
            "omitted": {"steps": chance.randrange(20), "chars": 0},
            "attempts": 1,
            "cached": False,
            "flags": [],
        }

    found = found_in(runs(400, fields))
    assert {each["severity"] for each in found.values()} == {"ok"}
    assert found["cost"]["figure"] == 0.5
    assert "200 in all, 0.5 a run, 20 a training step (10)" in found["cost"]["meaning"]


@pytest.mark.parametrize(
    "rows", [[{}], [{"error": "timeout", "reward": None}] * 3, [{"error": "unusable_input"}]]
)
def test_a_log_of_next_to_nothing_tells_next_to_nothing(found_in, rows):
    severities = {name: each["severity"] for name, each in found_in(rows).items()}
    assert severities.pop("failures") == ("warn" if len(rows) == 3 else "ok" if rows == [{}] else "unknown")
    assert set(severities.values()) <= {"ok", "unknown"}


def test_an_empty_log_has_no_findings(frame_of):
    frame = frame_of([])
    assert list(health(frame)) == FINDINGS
    assert health(frame).empty
    assert failure_kinds(frame).empty
    assert training_steps(frame).empty


def test_each_judge_has_findings_of_its_own(frame_of, row):
    rows = [row(), row(rubric_version="adapt_v1", error="timeout"), row(judge_model="b", trajectory_id="t1")]
    table = health(frame_of(rows))
    failed = table[table["finding"] == "failures"]
    judges = zip(failed["rubric_version"], failed["judge_model"], failed["figure"], strict=True)
    assert {*judges} == {("static_v1", "judge-a", 0.0), ("static_v1", "b", 0.0), ("adapt_v1", "judge-a", 1.0)}


def test_failures_are_told_by_kind_and_skipped_rows_apart(found_in, frame_of, row):
    kinds = ["timeout"] * 3 + ["parse_error"] * 2 + ["unusable_input"] + [None] * 15
    rows = [row(trajectory_id=f"t{at}", **({"error": kind} if kind else {})) for at, kind in enumerate(kinds)]
    found = found_in(rows)["failures"]
    assert (found["severity"], found["figure"], found["n"]) == ("warn", 0.25, 20)
    assert "timeout 3, parse_error 2." in found["meaning"]
    table = failure_kinds(frame_of(rows))
    assert list(zip(table["kind"], table["n"], strict=True)) == [
        ("timeout", 3),
        ("parse_error", 2),
        ("unusable_input", 1),
    ]


def test_rewards_all_alike_are_found_and_failed_rows_are_no_zeros(found_in, row):
    rows = [row(trajectory_id=f"t{at}", reward=1.0) for at in range(25)]
    rows += [row(trajectory_id=f"f{at}", error="timeout") for at in range(5)]
    found = found_in(rows)["constant_rewards"]
    assert (found["severity"], found["figure"], found["n"]) == ("warn", 1.0, 25)


@pytest.mark.parametrize(("dead", "severity"), [(10, "ok"), (20, "note"), (35, "warn")])
def test_groups_whose_rewards_are_equal(found_in, row, dead, severity):
    rows = [
        row(trajectory_id=f"{group}-{at}", group=f"g{group}", reward=float(at and group >= dead))
        for group in range(50)
        for at in range(2)
    ]
    rows.append(row(trajectory_id="alone", group="alone"))
    found = found_in(rows)["dead_groups"]
    assert (found["severity"], found["figure"], found["n"]) == (severity, dead / 50, 50)
    low = binomtest(dead, 50).proportion_ci(method="wilson").low
    assert severity == ("warn" if low > 0.5 else "note" if low > 0.25 else "ok")


def weighed(process, outcome):
    def fields(_, chance):
        parts = {"process": process * chance.random(), "outcome": outcome * (chance.random() < 0.5)}
        return {"parts": parts, "reward": sum(parts.values())}

    return fields


@pytest.mark.parametrize(
    ("process", "outcome", "severities"),
    [
        (1.0, 1.0, ("ok", "ok")),
        (2.6, 1.0, ("note", "ok")),
        (6.0, 1.0, ("warn", "ok")),
        (20.0, 1.0, ("warn", "warn")),
        (1.0, 10.0, ("ok", "note")),
    ],
)
def test_process_against_outcome_and_one_part_against_all(found_in, runs, process, outcome, severities):
    found = found_in(runs(400, weighed(process, outcome)))
    assert tuple(found[name]["severity"] for name in PARTS) == severities
    assert found["process_variance"]["figure"] == pytest.approx((process / outcome) ** 2 / 3, rel=0.25)


def test_a_process_without_an_outcome_that_varies_is_noted(found_in, runs):
    found = found_in(runs(100, weighed(1.0, 0.0)))["process_variance"]
    assert found["severity"] == "note"
    assert math.isnan(found["figure"])


def test_parts_of_few_rows_or_one_part_are_no_finding(found_in, runs):
    assert found_in(runs(48, weighed(1.0, 1.0)))["dominant_part"]["severity"] == "unknown"
    one = runs(100, lambda _, chance: {"parts": {"score": chance.random()}})
    assert found_in(one)["dominant_part"]["severity"] == "ok"


def test_reward_hacking_names_the_steps(found_in, row):
    chance, rows = random.Random(4), []
    for step in range(30):
        for task in range(30):
            passed = chance.random() < 0.7 - 0.02 * step
            fields = {"trajectory_id": f"{step}-{task}", "task_id": f"t{task}", "step": str(step)}
            rows.append(
                row(outcome=float(passed), reward=0.3 + 0.02 * step + 0.1 * chance.random(), **fields)
            )
    found = found_in(rows)["reward_hacking"]
    assert (found["severity"], found["n"]) == ("warn", 900)
    assert "From step 0 to 29" in found["meaning"]
    assert found["figure"] == pytest.approx(-0.58, abs=0.1)


@pytest.mark.parametrize(
    "fields", [{"outcome_status": "error"}, {"outcome": None}, {"step": None}, {"step": "late"}]
)
def test_hacking_needs_sound_outcomes_and_steps_that_are_numbers(found_in, row, fields):
    rows = [
        row(**{"trajectory_id": f"{at}", "task_id": f"{at % 40}", "step": at // 40, **fields})
        for at in range(800)
    ]
    assert found_in(rows)["reward_hacking"]["severity"] == "unknown"


@pytest.mark.parametrize(
    ("graded", "severity", "told"),
    [
        (lambda share: share, "warn", "the verifier's mean outcome by -0.48"),
        (lambda share: 100 * share, "unknown", "none is 1"),
        (lambda share: 1.0 if share > 0.5 else -1.0, "warn", "pass rate"),
    ],
)
def test_reward_hacking_where_outcomes_are_grades(found_in, row, graded, severity, told):
    chance, rows = random.Random(4), []
    for step in range(20):
        for task in range(30):
            share = 0.8 - 0.025 * step + 0.1 * chance.random()
            fields = {"trajectory_id": f"{step}-{task}", "task_id": f"t{task}", "step": step}
            rows.append(
                row(outcome=graded(share), reward=0.3 + 0.02 * step + 0.1 * chance.random(), **fields)
            )
    found = found_in(rows)["reward_hacking"]
    assert found["severity"] == severity
    assert told in found["meaning"]


def lengths(rise, spread=0.05):
    def fields(number, chance):
        ease = number // 4 % 5
        frames, omitted = chance.randrange(4, 8), chance.randrange(0, 30)
        score = 0.1 * ease + rise * math.log2(frames + omitted) + spread * chance.random()
        return {"score": score, "outcome": 1.0, "frame_count": frames, "omitted": {"steps": omitted}}

    return fields


@pytest.mark.parametrize(("rise", "severity"), [(0.1, "warn"), (0.03, "note"), (0.0, "ok"), (-0.1, "ok")])
def test_longer_runs_that_are_scored_higher(found_in, runs, rise, severity):
    found = found_in(runs(400, lengths(rise)))["length_bias"]
    assert found["severity"] == severity
    assert found["figure"] == pytest.approx(rise, abs=0.01)
    assert "one task and outcome" in found["meaning"]


def test_successes_that_are_long_and_score_high_are_no_length_bias(found_in, runs):
    def fields(_, chance):
        passed = chance.random() < 0.5
        frames = chance.randrange(8, 16) if passed else chance.randrange(2, 8)
        return {
            "score": 0.3 + 0.5 * passed + 0.1 * chance.random(),
            "outcome": float(passed),
            "frame_count": frames,
        }

    assert found_in(runs(400, fields))["length_bias"]["severity"] == "ok"


def test_longer_runs_that_solved_more_are_no_length_bias(found_in, runs):
    def fields(_, chance):
        solved = chance.randrange(4)
        return {
            "score": 0.1 * solved,
            "outcome": solved / 4,
            "frame_count": 2 * solved + chance.randrange(1, 3),
        }

    assert found_in(runs(400, fields))["length_bias"]["severity"] == "ok"


def test_rows_without_a_category_are_compared_with_one_another(found_in, row):
    rows = [
        row(trajectory_id=f"{at}", task_id=f"{at}", category=None, frame_count=at + 1, score=at / 100)
        for at in range(60)
    ]
    assert found_in(rows)["length_bias"]["severity"] == "warn"


def test_without_siblings_runs_of_one_category_are_compared(found_in, row):
    chance = random.Random(8)
    rows = [
        row(trajectory_id=f"{at}", task_id=f"{at}", frame_count=(n := chance.randrange(1, 40)), score=n / 100)
        for at in range(60)
    ]
    found = found_in(rows)["length_bias"]
    assert found["severity"] == "warn"
    assert "one category and outcome" in found["meaning"]


def test_flags_are_counted_over_rows_that_were_tried(found_in, row):
    rows = [
        row(trajectory_id=f"{at}", flags=["injection_suspected", "coerced"][: at % 3]) for at in range(90)
    ]
    rows += [row(trajectory_id="s", error="unusable_input", flags=["injection_suspected"])]
    found = found_in(rows)
    assert (found["injection"]["severity"], found["injection"]["figure"]) == ("warn", 60 / 90)
    assert (found["repaired_replies"]["severity"], found["repaired_replies"]["n"]) == ("note", 90)
    assert found["images_not_sent"]["severity"] == "ok"


def test_retries_are_attempts_beyond_the_usual_and_cached_rows_made_none(found_in, row):
    attempts = [2] * 60 + [3] * 20 + [5] * 20
    rows = [row(trajectory_id=f"{at}", attempts=each, cached=False) for at, each in enumerate(attempts)]
    rows += [row(trajectory_id=f"c{at}", attempts=9, cached=True) for at in range(100)]
    found = found_in(rows)
    assert (found["retries"]["severity"], found["retries"]["figure"], found["retries"]["n"]) == (
        "note",
        0.4,
        100,
    )
    assert found["cached_share"]["figure"] == 0.5


def test_training_steps_rise_as_numbers_and_keep_failures_apart(frame_of, row):
    rows = [
        row(trajectory_id="a", step=10, reward=0.5, outcome=0.0, cost=1.0),
        row(trajectory_id="b", step=9, reward=0.2, outcome=1.0, cost=None),
        row(trajectory_id="c", step=10, error="timeout", outcome=1.0, cost=0.25),
        row(trajectory_id="d", step=None),
    ]
    table = training_steps(frame_of(rows)).astype(object)
    found = table.where(table.notna(), None).to_dict("records")
    judge = {"rubric_version": "static_v1", "judge_model": "judge-a"}
    assert found == [
        {**judge, "step": 9, "n": 1, "failed": 0, "reward_mean": 0.2, "pass_rate": 1.0, "cost": None},
        {**judge, "step": 10, "n": 1, "failed": 1, "reward_mean": 0.5, "pass_rate": 0.5, "cost": 1.25},
    ]
