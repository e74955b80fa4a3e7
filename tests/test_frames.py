"""Key frames: which steps are kept, in which order, and what a budget does to their text."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judge.frames import fit, select_key_frames, shorten
from judge.schema import Frame, Step, ToolCall


def step(index: int, action: str = "", **fields: Any) -> Step:
    return Step(index=index, action=action or f"hover('{index}')", **fields)


def plain(count: int, **special: Step) -> list[Step]:
    """`count` steps that nothing speaks for; `s3=...` puts another in place 3."""
    return [special.get(f"s{i}", step(i)) for i in range(count)]


def indices(frames: list[Frame]) -> list[int]:
    return [frame.index for frame in frames]


def length(frames: list[Frame]) -> int:
    return sum(len(f.text) + len(f.action) + len(f.observation) + len(f.state) for f in frames)


def test_a_short_run_is_kept_whole() -> None:
    frames = select_key_frames(plain(4))
    assert indices(frames) == [0, 1, 2, 3]
    assert frames[0].reasons == ("first",)
    assert frames[3].reasons == ("last",)


def test_nothing_gives_nothing() -> None:
    assert select_key_frames([]) == []
    assert select_key_frames([], max_chars=500) == []


@pytest.mark.parametrize(("max_frames", "kept"), [(1, [8]), (2, [0, 8]), (3, [0, 7, 8])])
def test_the_last_goes_before_the_first_and_both_before_the_rest(max_frames: int, kept: list[int]) -> None:
    assert indices(select_key_frames(plain(9), max_frames=max_frames)) == kept


def test_the_first_step_is_kept_beside_a_last_one_in_which_nothing_was_done() -> None:
    steps = [*plain(8), Step(index=8, observation="Bye.")]
    assert indices(select_key_frames(steps, max_frames=2)) == [0, 8]
    assert indices(select_key_frames(steps, max_frames=3)) == [0, 7, 8]
    assert "last_action" in select_key_frames(steps, max_frames=3)[1].reasons


def test_the_late_goes_before_the_early_where_the_budget_binds() -> None:
    steps = plain(20, **{f"s{i}": step(i, "fill('12', 'x')", state=f"s{i}") for i in (3, 6, 9, 12)})
    assert indices(select_key_frames(steps, max_frames=4)) == [0, 9, 12, 19]


@pytest.mark.parametrize(
    ("special", "reason"),
    [
        (step(5, "click('Submit order')"), "closing"),
        (step(5, "click('提交')"), "closing"),
        (step(5, "click('x')", error="Timeout"), "error"),
        (step(5, "fill('12', 'Rome')"), "entry"),
        (step(5, state="dialog open"), "state"),
        (step(5, tool_calls=[{"name": "send_mail", "arguments": {}}]), "closing"),
    ],
)
def test_a_step_that_matters_is_kept_and_says_why(special: Step, reason: str) -> None:
    frames = select_key_frames(plain(12, s5=special), max_frames=3)
    assert indices(frames) == [0, 5, 11]
    assert reason in frames[1].reasons


@pytest.mark.parametrize(
    ("category", "action"),
    [
        ("delete_cleanup", "click('Move to trash')"),
        ("info_query", "scroll(0, 300)"),
        ("state_navigation", "click('切换')"),
        ("transfer", "copy_file('a')"),
    ],
)
def test_a_category_has_signals_of_its_own(category: str, action: str) -> None:
    steps = plain(30, s5=step(5, action), s20=step(20, error=True))
    assert 5 in indices(select_key_frames(steps, category, max_frames=4))
    assert "category" not in {why for f in select_key_frames(steps, "general") for why in f.reasons}


def test_a_message_is_read_for_no_signal() -> None:
    said = step(5, "Shall I submit, send and save it?", action_type="message")
    assert indices(select_key_frames(plain(12, s5=said), max_frames=3)) == [0, 10, 11]


def test_an_unchanged_state_is_no_change_of_state() -> None:
    frames = select_key_frames([step(i, state="same") for i in range(4)])
    assert [("state" in frame.reasons) for frame in frames] == [True, False, False, False]


def test_97_identical_actions_are_one_frame() -> None:
    steps = [step(0), *(step(i, "scroll(0, 200)", text=f"try {i}") for i in range(1, 98)), step(98)]
    frames = select_key_frames(steps)
    assert [(frame.index, frame.repeats) for frame in frames] == [(0, 0), (1, 96), (98, 0)]


@pytest.mark.parametrize(
    "other",
    [
        {"observation": "a page"},
        {"error": True},
        {"state": "open"},
        {"screenshot": "b.png"},
        {"tool_calls": [{"name": "look"}]},
    ],
)
def test_what_looks_different_is_not_folded(other: dict[str, Any]) -> None:
    assert len(select_key_frames([step(0, "noop()"), step(1, "noop()", **other)])) == 2


def test_words_alone_are_not_folded() -> None:
    said = [Step(index=i, text=text) for i, text in enumerate(["Yes.", "Yes.", "No."])]
    assert [(f.index, f.repeats) for f in select_key_frames(said)] == [(0, 1), (2, 0)]


def test_tool_calls_stand_in_the_action_broken_arguments_verbatim() -> None:
    broken = '{"order_id": "#W17", "reason": '
    steps = [
        step(0, tool_calls=[{"name": "cancel_order", "arguments": broken}]),
        Step(index=1, tool_calls=(ToolCall(name="get_user", arguments={"id": "mia"}),)),
    ]
    first, second = select_key_frames(steps)
    assert first.action == f"hover('0')\ncancel_order({broken})"
    assert second.action == 'get_user({"id": "mia"})'


def test_a_huge_observation_is_cut_in_the_middle_and_the_marker_counts() -> None:
    page = "A" * 450_000 + "B" * 450_000
    (frame,) = select_key_frames([step(0, observation=page)], max_chars=24_000)
    assert length([frame]) <= 24_000
    assert frame.observation.startswith("AAA")
    assert frame.observation.endswith("BBB")
    found = re.search(r"\[\.\.\. (\d+) characters left out \.\.\.\]", frame.observation)
    assert found is not None
    assert len(frame.observation) - len(found[0]) + int(found[1]) == 900_000


def test_a_long_run_fits_its_budget_and_keeps_both_ends_and_the_final_answer() -> None:
    """T02: 120 steps of 20,000 characters under a budget of 60,000."""
    answer = "The final answer: " + "details " * 500
    steps = [step(i, observation=f"<{i}>" + "x" * 20_000) for i in range(119)]
    frames = select_key_frames([*steps, step(119, "done()", text=answer)], max_frames=10, max_chars=60_000)
    assert length(frames) <= 60_000
    assert (frames[0].index, frames[-1].index) == (0, 119)
    assert frames[-1].text == answer
    assert all("characters left out" in frame.observation for frame in frames[:-1])


def test_the_final_answer_is_the_last_thing_said_even_if_more_was_seen() -> None:
    steps = [
        *(step(i, observation="x" * 9_000 + str(i)) for i in range(4)),
        step(4, text="y" * 400),
        Step(index=5, observation="z" * 9_000),
    ]
    frames = select_key_frames(steps, max_chars=1_500)
    assert frames[4].text == "y" * 400


def test_a_long_error_is_cut_like_any_other_text_and_no_shorter() -> None:
    (frame,) = select_key_frames([step(0, observation="short", error="E" * 30_000)], max_chars=1_000)
    assert isinstance(frame.error, str)
    assert 800 < len(frame.error) <= 1_000


def test_all_frames_of_a_very_long_run_give_way_to_fewer_that_can_be_read() -> None:
    steps = [step(i, observation=f"{i} " + "x" * 200) for i in range(1_000)]
    frames = select_key_frames(steps, max_frames=None, max_chars=5_000)
    assert len(frames) == 25
    assert (frames[0].index, frames[-1].index) == (0, 999)
    assert length(frames) <= 5_000
    assert len(select_key_frames(steps, max_frames=None, max_chars=400_000)) == 1_000


def test_short_texts_give_nothing_away_to_long_ones() -> None:
    frames = fit([Frame(0, observation="a" * 5_000), Frame(1, observation="b" * 100), Frame(2)], 1_000)
    assert frames[1].observation == "b" * 100


@pytest.mark.parametrize(("text", "limit"), [("x" * 100, 100), ("x" * 101, 100), ("字" * 5_000, 64), ("", 0)])
def test_a_shortened_text_keeps_to_its_limit(text: str, limit: int) -> None:
    assert len(shorten(text, limit)) <= limit
    assert (shorten(text, limit) == text) == (len(text) <= limit)


def test_a_marker_never_makes_a_text_longer() -> None:
    assert shorten("x" * 30, 5) == "x" * 30
    assert shorten("x" * 3_000, 5) == "[... 3000 characters left out ...]"


@pytest.mark.parametrize("budget", [{"max_frames": 0}, {"max_chars": 0}])
def test_a_budget_of_nothing_is_refused(budget: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        select_key_frames(plain(2), **budget)


_STEPS = st.lists(
    st.builds(
        Step,
        action=st.sampled_from(["", "click('1')", "submit()", "fill('2', 'x')", "scroll(1)"]),
        text=st.sampled_from(["", "I think", "t" * 700]),
        observation=st.sampled_from(["", "page", "o" * 3_000, "字" * 900]),
        error=st.sampled_from([False, True, "no", "e" * 900]),
    ),
    max_size=40,
).map(lambda steps: [each.model_copy(update={"index": i}) for i, each in enumerate(steps)])


@settings(max_examples=80, deadline=None)
@given(_STEPS, st.integers(1, 12), st.integers(500, 6_000))
def test_always_in_time_order_within_both_budgets_and_with_the_end(
    steps: list[Step], max_frames: int, max_chars: int
) -> None:
    frames = select_key_frames(steps, "create_modify", max_frames, max_chars)
    assert indices(frames) == sorted(set(indices(frames)))
    assert len(frames) <= max_frames
    assert not steps or frames[-1].index + frames[-1].repeats == steps[-1].index
    errors = sum(len(frame.error) for frame in frames if isinstance(frame.error, str))
    # A marker takes 36 characters where even those are more than a text's share.
    assert length(frames) + errors <= max(max_chars, 36 * 5 * len(frames))
    assert frames == select_key_frames(steps, "create_modify", max_frames, max_chars)


def test_a_frame_says_how_much_of_it_was_cut() -> None:
    steps = [Step(index=0, action="look", observation="x" * 5000), Step(index=1, action="say it", text="y")]
    shown = select_key_frames(steps, max_chars=1000)
    assert shown[0].cut == 5000 - len(shown[0].observation) > 0
    assert shown[1].cut == 0
    assert [frame.cut for frame in select_key_frames(steps)] == [0, 0]
