import pytest

from analysis.rollouts import LABEL_VALUES, TIER_VALUES, logged_rollouts, tiers_of, with_tiers
from judge.schema import Trajectory

GOLD = [{"name": "cancel", "kwargs": {"id": "7", "why": "late"}}, {"name": "get_user", "kwargs": {"id": "u"}}]


def call(name, /, error=False, **arguments):
    return {
        "action_type": "tool_call",
        "action": f"{name}()",
        "tool_calls": [{"name": name, "arguments": arguments}],
        "error": error,
    }


def say(text="Done."):
    return {"action_type": "message", "action": text, "text": text}


def run(*steps, gold=GOLD, **fields):
    known = {
        "trajectory_id": "t0",
        "task_id": "a",
        "instruction": "Cancel 7.",
        "labels": {"gold_actions": gold},
    }
    return Trajectory(**{**known, "steps": list(steps), **fields})


@pytest.mark.parametrize(
    ("step", "tier"),
    [
        (call("cancel", id="7", why="late"), "gold"),
        (call("cancel", why="late", id=7, note=None), "gold"),
        (call("cancel", why="late", id="7", error="Error: too late"), "gold"),
        (call("cancel", id="7"), "soft"),
        (call("cancel", id="7", why="late", note="x"), "soft"),
        (call("cancel", id="8"), "state"),
        (call("cancel", id="8", error="Error: no such order"), "err"),
        (call("get_order", id="7"), "read"),
        (call("getOrder", id="7"), "read"),
        (call("update_order", id="7"), "state"),
        (call("42", id="7"), "state"),
        (say(), "msg"),
        ({"action": "", "text": "Thinking."}, "msg"),
        ({"action_type": "click", "action": "click('a7')"}, "state"),
        ({"action_type": "scroll", "action": "scroll(0, 300)"}, "read"),
        ({"action_type": "send_msg_to_user", "action": "send_msg_to_user('Done')"}, "msg"),
    ],
)
def test_a_step_has_the_first_tier_that_fits(step, tier):
    assert tiers_of(run(step)) == (tier,)
    assert tier in TIER_VALUES


def test_a_call_made_before_is_a_duplicate_unless_it_is_the_reference():
    steps = [call("get_order", id=7, full=True), call("get_order", full=True, id=7), call("get_order", id=8)]
    assert tiers_of(run(*steps)) == ("read", "dup", "read")
    assert tiers_of(run(*[call("get_user", id="u")] * 2)) == ("gold", "gold")
    failing = call("pay", id=7, error="Error: declined")
    assert tiers_of(run(failing, failing)) == ("err", "dup")


def test_messages_are_never_duplicates():
    assert tiers_of(run(say(), say())) == ("msg", "msg")


def test_of_several_calls_in_a_step_one_like_the_reference_is_enough():
    both = call("get_order", id=7)
    both["tool_calls"] += call("cancel", id="7", why="late")["tool_calls"]
    assert tiers_of(run(both)) == ("gold",)
    assert tiers_of(run(call("get_order", id=7), both, gold=[])) == ("read", "state")


@pytest.mark.parametrize(
    "labels", [None, {}, [], {"gold_actions": None}, {"gold_actions": ["x", {"name": "a"}]}]
)
def test_without_a_reference_no_step_is_like_it(labels):
    assert tiers_of(run(call("cancel", id="7", why="late"), labels=labels)) == ("state",)


def test_a_reference_may_hold_arguments_in_place_of_kwargs():
    assert tiers_of(run(call("cancel", id="7"), gold=[{"name": "cancel", "arguments": {"id": 7}}])) == (
        "gold",
    )


def labelled(*labels):
    return [{"step": index, "label": label} for index, label in enumerate(labels)]


def test_labels_and_outcome_come_from_the_log(write_log, row):
    log = write_log([row(steps=labelled(1, -1, 0), group="g", outcome=0.0)])
    found = logged_rollouts([log])["static_v1"]["t0"]
    assert (found.task, found.group, found.tiers, found.outcome) == ("task", "g", ("1", "-1", "0"), 0.0)
    assert not found.is_judged
    assert set(found.tiers) == set(LABEL_VALUES)


def test_steps_without_labels_give_no_tiers(write_log, row):
    checks = [{"step": 3, "label": None, "correct": True, "confidence": 0.9}]
    assert logged_rollouts([write_log([row(steps=checks)])])["static_v1"]["t0"].tiers == ()


@pytest.mark.parametrize("unknown", [{"outcome": None}, {"outcome_status": "infra_error"}])
def test_the_judges_success_stands_in_for_an_unknown_outcome(write_log, row, unknown):
    found = logged_rollouts(
        [write_log([row(outcome=0.0, **unknown) if "outcome" not in unknown else row(**unknown)])]
    )
    assert (found["static_v1"]["t0"].outcome, found["static_v1"]["t0"].is_judged) == (1.0, True)


@pytest.mark.parametrize("steps", ["none", 3, 0.5, True, {"0": 1}, [None, 1, {"label": [1]}, {}]])
def test_steps_of_another_shape_have_no_labels(write_log, row, steps):
    assert logged_rollouts([write_log([row(steps=steps)])])["static_v1"]["t0"].tiers == ()


@pytest.mark.parametrize(
    ("spelled", "outcome"),
    [({"outcome": "0"}, 0.0), ({"outcome": "odd"}, 1.0), ({"outcome": None, "success": "no"}, 0.0)],
)
def test_outcomes_are_read_as_in_the_other_views(write_log, row, spelled, outcome):
    fields = {"outcome_status": None, **spelled}
    assert logged_rollouts([write_log([row(**fields)])])["static_v1"]["t0"].outcome == outcome


def test_a_run_without_any_outcome_is_left_out(write_log, row):
    assert logged_rollouts([write_log([row(outcome=None, error="timeout")])]) == {"static_v1": {}}


def test_the_last_sound_row_of_a_run_counts(write_log, row):
    rows = [
        row(steps=labelled(0)),
        row(steps=labelled(1)),
        row(error="timeout"),
        row(trajectory_id="t1", error="x"),
    ]
    found = logged_rollouts([write_log(rows)])["static_v1"]
    assert (found["t0"].tiers, found["t1"].tiers) == (("1",), ())


def test_versions_are_kept_apart(write_log, row):
    rows = [row(rubric_version=version, steps=labelled(label)) for version, label in (("a", 1), ("b", 0))]
    found = logged_rollouts([write_log(rows)])
    assert [(version, runs["t0"].tiers) for version, runs in found.items()] == [("a", ("1",)), ("b", ("0",))]


def test_unreadable_lines_are_told_of(write_log, row):
    log, bad = write_log([row()]), []
    log.write_text(log.read_text() + '{"torn')
    assert len(logged_rollouts([log], bad.append)["static_v1"]) == 1
    assert len(bad) == 1


def test_tiers_take_the_place_of_labels_once_for_each_run(write_log, row):
    rollouts = logged_rollouts([write_log([row(steps=labelled(1, 1)), row(trajectory_id="t1")])])["static_v1"]
    runs = [run(say()), run(say(), call("get_order")), run(say(), trajectory_id="elsewhere")]
    (found,) = with_tiers(rollouts, runs)
    assert (found.tiers, found.outcome) == (("msg", "read"), 1.0)
