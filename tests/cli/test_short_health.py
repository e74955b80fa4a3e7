import json

import pytest

from judge import cli
from judge.cli.progress import Tally
from judge.cli.short_health import short_health
from judge.schema import Reward


def lines(*rewards):
    tally = Tally()
    for reward in rewards:
        tally.count(reward)
    return list(short_health(tally))


def test_a_sound_run_says_so_in_one_line():
    assert lines(*(Reward(value=at / 10) for at in range(5))) == ["health: nothing to note in 5 judgements"]


def test_flags_and_equal_rewards_are_told():
    flagged = Reward(value=1.0, flags=("injection_suspected", "coerced"))
    found = lines(*[flagged] * 10, *[Reward(value=1.0)] * 15)
    assert [line.split(":")[1].strip() for line in found] == ["warn", "warn", "note"]
    assert "All 25 rewards are 1" in found[0]
    assert "10 of 25 runs hold text that addresses the judge (40.0%)" in found[1]


def test_flags_of_skipped_runs_count_for_nothing():
    skipped = Reward(value=None, error_kind="unusable_input", flags=("injection_suspected",))
    assert lines(Reward(value=1.0), *[skipped] * 5) == ["health: nothing to note in 1 judgements"]


@pytest.mark.parametrize("kind", ["timeout", "unusable_input"])
def test_a_run_without_a_judgement_has_no_health(kind):
    assert lines(Reward(value=None, error_kind=kind)) == []


def test_rejudge_ends_with_it(tmp_path, no_settings_from_outside, capsys):
    steps = [{"index": 0, "action": "click('Save')"}]
    (tmp_path / "runs.jsonl").write_text(
        json.dumps({"trajectory_id": "r1", "task_id": "t", "instruction": "Save it.", "steps": steps}) + "\n"
    )
    assert cli.run(["rejudge", "runs.jsonl", "--embedded", "--log", "log.jsonl"]) == 0
    *_, health, pointer = capsys.readouterr().err.splitlines()
    assert health == "health: nothing to note in 1 judgements"
    assert pointer == "health: all of it: judge report log.jsonl --view health"
