"""The record of a run as text: what is there, what is not, and how much was left out."""

from __future__ import annotations

import pytest

from judge.prompt.record import render_frame, render_run, step_lines
from judge.schema import Content, Frame, Step


def rendered(*frames: Frame, total: int) -> list[str]:
    return render_run(Content("task", frames=frames, total_steps=total)).split("\n")


def test_gaps_are_marked_where_they_are_and_counted() -> None:
    lines = rendered(Frame(1, action="a"), Frame(5, action="b", repeats=2), total=10)
    assert [line for line in lines if not line.startswith("  ")] == [
        "(step 0 is left out here: 1)",
        "step 1",
        "(steps 2 to 4 are left out here: 3)",
        "step 5",
        "(steps 8 to 9 are left out here: 2)",
    ]
    assert "  (repeated unchanged in steps 6 to 7: 2 more times)" in lines


def test_a_whole_run_has_no_gap() -> None:
    assert "left out" not in "\n".join(rendered(Frame(0, repeats=96), Frame(97), total=98))


def test_no_steps_are_said_to_be_none() -> None:
    assert rendered(total=0) == ["(the record holds no step)"]


def test_absence_is_written_as_absence() -> None:
    assert render_frame(Frame(3, action=" ", observation="\n")).split("\n") == [
        "step 3",
        "  action: (none)",
        "  observation: (empty)",
    ]


def test_everything_a_step_has_is_shown_once_under_its_name() -> None:
    frame = Frame(
        4,
        action="click('x')",
        action_type="click",
        text="I click x.",
        observation="a\nb",
        state="open",
        error="Timeout",
        screenshot=b"\x89PNG",
    )
    assert render_frame(frame).split("\n") == [
        "step 4 (click)",
        "  text: I click x.",
        "  action: click('x')",
        "  error: Timeout",
        "  observation:",
        "    a",
        "    b",
        "  state: open",
        "  screenshot: (there was one; it is not shown)",
    ]


def test_a_message_is_not_shown_twice() -> None:
    assert "text" not in render_frame(Frame(0, action="Hello.", text="Hello.", action_type="message"))


def test_an_error_without_words_is_a_yes() -> None:
    assert "  error: yes" in render_frame(Frame(0, error=True)).split("\n")


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n", "\x0b", "\x0c", "\x85", "\u2028", "\u2029"])
def test_every_kind_of_line_end_is_indented(end: str) -> None:
    lines = render_frame(Frame(0, action=f"a{end}step 1{end}{end}b")).splitlines()
    assert lines[1:6] == ["  action:", "    a", "    step 1", "    ", "    b"]


def test_a_step_line_is_one_line_of_bounded_length() -> None:
    steps = [
        Step(index=0, action="a\nb", observation="c\td"),
        Step(index=1, action="x" * 900, error=True),
        Step(index=2, text="Well."),
        Step(index=3),
        Step(index=4, action="x" * 199, observation="seen"),
    ]
    lines = dict(step_lines(steps))
    assert lines[0] == "a b -> c d"
    assert lines[1].startswith("ERROR xxx")
    assert all(len(line) <= 200 and "\n" not in line for line in lines.values())
    assert (lines[2], lines[3]) == ("Well.", "(none)")
    assert lines[4].endswith(" ...")


def test_step_judging_shows_every_step_as_a_line_before_the_key_steps() -> None:
    steps = [Step(index=i, action=f"a{i}") for i in range(3)]
    content = Content("t", frames=(Frame.of(steps[2]),), total_steps=3, lines=step_lines(steps))
    shown = render_run(content).split("\n")
    assert shown[:3] == ["step 0: a0", "step 1: a1", "step 2: a2"]
    assert "Key steps in full:" in shown
