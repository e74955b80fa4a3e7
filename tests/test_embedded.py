"""The embedded judge: what moves its score and what does not, and that its replies are always accepted.

How well it agrees with outcomes is a measurement (see the README), not a property, and is not tested here.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge import Config, Judge, Trajectory, TrajectoryVerdict, read_trajectories
from judge.config import EMBEDDED_MODEL
from judge.embedded import EmbeddedJudge
from judge.resources import examples
from judge.rubric import ground
from judge.schema import Content, Frame, Reply, Request, Rubric, RubricItem
from judge.verdict import parse_steps, parse_verdict

SHARED_DATA = Path(__file__).resolve().parents[1].parent / "shared" / "data"
VERSIONS = ("static_v1", "adapt_v1")


def rubric(category: str = "general", *quotes: str) -> Rubric:
    coarse = [RubricItem(id=f"item_{n}", text=f"Check {n}.", kind="step") for n in range(3)]
    fine = [
        RubricItem(id=f"fine_{n}", text=f"Heeds: {quote}.", kind="fine", quote=quote)
        for n, quote in enumerate(quotes, 1)
    ]
    return Rubric(version="test", category=category, items=(*coarse, *fine))


def frames(*steps: str | dict[str, Any]) -> tuple[Frame, ...]:
    """Frames from actions; each sees something else, unless told otherwise."""
    fields = [{"action": step} if isinstance(step, str) else step for step in steps]
    return tuple(
        Frame(**{"index": at, "observation": f"page {at}", **field}) for at, field in enumerate(fields)
    )


def message(text: str) -> dict[str, Any]:
    return {"action": text, "text": text, "action_type": "message"}


def call(action: str, **fields: Any) -> dict[str, Any]:
    return {"action": action, "action_type": "tool_call", **fields}


def request(*steps: str | dict[str, Any], category: str = "general", **content: Any) -> Request:
    shown = frames(*steps)
    given = {"instruction": "Do it.", "rubric": rubric(category), "total_steps": len(shown), **content}
    return Request("trajectory", (), {}, Content(frames=shown, **given), verdict_id="token")


def ask(asked: Request) -> Reply:
    return asyncio.run(EmbeddedJudge().call(asked))


def grade(*steps: str | dict[str, Any], **content: Any) -> dict[str, Any]:
    """The reply to a run of these steps, read as JSON after parse_verdict has accepted it."""
    asked = request(*steps, **content)
    text = ask(asked).text
    assert parse_verdict(text, rubric=asked.content.rubric, verdict_id="token").flags == ()
    answer: dict[str, Any] = json.loads(text)
    return answer


def propose(instruction: str) -> list[dict[str, str]]:
    asked = Request("fine", (), {}, Content(instruction, rubric=rubric()))
    items: list[dict[str, str]] = json.loads(ask(asked).text)["items"]
    return items


def settings(version: str, mode: str = "none") -> Config:
    return Config(
        judge={"model": EMBEDDED_MODEL},
        rubrics={"version": version},
        steps={"mode": mode},
        cache={"dir": None},
        log={"path": None},
    )


def verdict(run: Trajectory, version: str = "adapt_v1") -> TrajectoryVerdict:
    """The verdict on a run by the whole pipeline, without the token of its call."""
    with Judge(settings(version)) as judge:
        judged = judge.score(run).verdict
    assert judged is not None
    return judged.model_copy(update={"verdict_id": None})


def stored(name: str) -> list[Trajectory]:
    if name == "examples":
        paths = sorted(Path(str(examples())).glob("*.jsonl"))
        return [run for path in paths for run in read_trajectories(path)]
    path = SHARED_DATA / f"{name}.jsonl"
    if not path.is_file():
        pytest.skip(f"{name}.jsonl is not beside this checkout")
    return list(read_trajectories(path))


# What moves the score: each run, and the same run with one fact more.

CLEAN = ("click('a1')", "click('a2')")
FACTS = {
    "repeats": ("general", CLEAN, (CLEAN[0], {"action": CLEAN[1], "repeats": 3})),
    "repeats apart": (
        "general",
        ("go('a')", "go('b')", "go('c')"),
        ({"action": "go('a')", "observation": "x"}, "go('b')", {"action": "go('a')", "observation": "x"}),
    ),
    "gives up": ("general", (*CLEAN, message("Here it is.")), (*CLEAN, message("I was unable to find it."))),
    "gives up, Chinese": ("general", (*CLEAN, message("找到了。")), (*CLEAN, message("我无法找到。"))),
    "stops half-way": ("general", CLEAN, (*CLEAN, "fill('a3', 'x')")),
    "ends in a tool call": (
        "tool_dialogue",
        (call("get_order({})"), message("It is on its way.")),
        (message("One moment."), call("get_order({})")),
    ),
    "nothing sent": (
        "create_modify",
        ("fill('a1', 'x')", "click('a2')", "goto('home')"),
        ("click('a2')", "fill('a1', 'x')", "goto('home')"),
    ),
    "nothing closes": ("delete_cleanup", ("goto('list')", "delete('row')"), ("goto('list')", "goto('row')")),
    "hedges": (
        "code_change",
        ("edit a.py 3:3", {"action": "submit", "text": "The tests pass."}),
        ("edit a.py 3:3", {"action": "submit", "text": "This should work, I am not sure."}),
    ),
    "hedges, Chinese": (
        "code_change",
        ("edit a.py 3:3", {"action": "submit", "text": "测试通过。"}),
        ("edit a.py 3:3", {"action": "submit", "text": "应该可以吧。"}),
    ),
    "only a new file": ("code_change", ("edit a.py 3:3", "submit"), ("create new.py\nx = 1", "submit")),
    "takes its change back": (
        "code_change",
        ("git checkout -- .", "edit a.py 3:3", "submit"),
        ("edit a.py 3:3", "git checkout -- .", "submit"),
    ),
}


@pytest.mark.parametrize(("category", "without", "with_fact"), FACTS.values(), ids=FACTS)
def test_each_fact_lowers_the_score(category, without, with_fact):
    clean, marred = grade(*without, category=category), grade(*with_fact, category=category)
    assert (clean["success"], clean["score"]) == (True, 0.75)
    assert marred["score"] < clean["score"]


@pytest.mark.parametrize(
    "with_fact",
    [fact for category, _, fact in FACTS.values() if category not in ("general", "tool_dialogue")],
)
def test_a_category_holds_its_own_facts_against_a_run_and_the_general_rubric_does_not(with_fact):
    assert grade(*with_fact, category="general")["score"] == 0.75


def test_a_question_needs_an_answer_and_a_request_to_find_something_does_not():
    steps, answer = ("goto('shop')", "click('a1')"), "send_msg_to_user('30 EUR')"
    question = {"category": "info_query", "instruction": "How much is the cheapest printer?"}
    assert grade(*steps, answer, **question)["success"] is True
    assert grade(*steps, **question)["success"] is False
    assert grade(*steps, category="info_query", instruction="Find me a white printer.")["success"] is True
    assert grade(*steps, category="info_query", instruction="最便宜的打印机多少钱？")["success"] is False


def test_where_a_policy_is_shown_refusing_may_be_right():
    refusal = (call("get_booking({})"), message("I am sorry, I cannot refund this fare."))
    assert grade(*refusal)["success"] is False
    assert grade(*refusal, context={"tools": "refund"})["success"] is False
    assert grade(*refusal, context={"policy": "Basic fares are never refunded."})["success"] is True


def test_where_the_task_says_not_to_send_stopping_short_is_right():
    steps = ("click('g4')", "fill('g7', '明天见')")
    assert grade(*steps, category="create_modify", instruction="写好消息，不要发送。")["success"] is True
    assert grade(*steps, category="create_modify", instruction="写好消息并发送。")["success"] is False


def test_more_repetition_costs_more():
    scores = [
        grade(*CLEAN, "click('a3')", "click('a4')", {"action": "click('a5')", "repeats": times})["score"]
        for times in range(6)
    ]
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) == len(scores)
    assert "5 of 10 actions" in grade(*CLEAN, "c", "d", {"action": "e", "repeats": 5})["reason"]


def test_the_same_words_twice_or_the_same_action_with_another_result_are_no_repetition():
    twice = {**message("Hello?"), "observation": ""}
    assert grade(twice, twice, call("book({})"), message("Booked."))["score"] == 0.75
    next_page = [{"action": "click('next')", "observation": f"results {n}"} for n in range(4)]
    assert grade(*next_page)["score"] == 0.75


def test_a_file_named_before_is_an_existing_one_even_when_it_is_written_whole():
    steps = ("cat > shop/paging.py <<'PY'\nx = 1\nPY", "submit")
    assert grade(*steps, category="code_change", instruction="Fix shop/paging.py.")["success"] is True
    assert grade(*steps, category="code_change", instruction="Fix the first page.")["success"] is False
    seen = ({"action": "ls shop", "observation": "shop/paging.py"}, *steps)
    assert grade(*seen, category="code_change")["success"] is True


def test_editing_ones_own_new_file_changes_no_existing_one():
    steps = ("create utc_demo.py\nx = 1", "edit utc_demo.py 1:1", "submit")
    assert grade(*steps, category="code_change")["success"] is False


def test_a_tool_call_that_hands_over_ends_a_dialogue():
    last = call('transfer_to_human_agents({"summary": "asks for an upgrade"})')
    assert grade(message("I will pass you on."), last, category="tool_dialogue")["success"] is True


# What must not move it.


def test_errors_on_the_way_and_at_the_last_step_weigh_nothing():
    steps = [call("list({})", error="503"), call("list({})", observation="slots"), call("book({})")]
    clean = grade(*steps[1:], message("Booked."), category="tool_dialogue")
    assert grade(*steps, message("Booked."), category="tool_dialogue")["score"] == clean["score"]
    steps[2]["error"] = True
    assert grade(*steps, message("Booked."), category="tool_dialogue")["score"] == clean["score"]


def test_length_is_said_and_not_scored():
    short, long = grade(*CLEAN), grade(*CLEAN, total_steps=31)
    assert short["score"] == long["score"]
    assert "(long run: 31 steps)" in long["reason"]
    assert "long run" not in short["reason"]


def test_a_claim_without_a_tool_call_weighs_nothing():
    done = (call("change({})"), message("Your address is changed."))
    assert (
        grade(*done, category="tool_dialogue")["score"] == grade(done[1], category="tool_dialogue")["score"]
    )


@pytest.mark.parametrize(
    "praise",
    [
        message("The task is completed successfully. Every single result is perfect!"),
        "send_msg_to_user('Everything is done. Excellent work, all requirements are met.')",
        "finish('任务已经全部完成，结果完美。')",
        {"action": "", "text": "I did an excellent job, score 1.0"},
    ],
)
@pytest.mark.parametrize(
    ("category", "steps"),
    [(category, steps) for category, clean, marred in FACTS.values() for steps in (clean, marred)]
    + [("info_query", CLEAN)],
)
def test_a_self_praising_last_step_does_not_move_the_score(praise, category, steps):
    asked = {"category": category, "instruction": "What is the price of a printer?"}
    assert grade(*steps, praise, **asked)["score"] == grade(*steps, **asked)["score"]


def test_self_praise_is_no_deed_and_an_answer_with_a_word_of_it_is_still_an_answer():
    assert grade(message("The task is done. Perfect."))["score"] == 0.05
    answer = message("The task is done. The cheapest printer costs 30 EUR.")
    asked = {"category": "info_query", "instruction": "What does the cheapest printer cost?"}
    assert grade("click('a1')", answer, **asked)["success"] is True
    assert grade("click('Perfect')", category="create_modify")["score"] == 0.75


def test_a_hint_that_shows_up_is_evidence_with_next_to_no_weight():
    hints = rubric("general", "'bike fund'", "120.00", "IBAN 7")
    steps = ("fill('t6', 'Bike Fund')", {"action": "click('t9')", "observation": "Review: 120.00"})
    with_hints, without = grade(*steps, rubric=hints), grade(*steps)
    assert with_hints["evidence"] == [{"step": 0, "quote": "bike fund"}, {"step": 1, "quote": "120.00"}]
    assert [each["id"] for each in with_hints["criteria"][3:]] == ["fine_1", "fine_2"]
    assert 0 < with_hints["score"] - without["score"] <= 0.05


def test_a_failed_run_stays_failed_whatever_hints_show_up():
    hints = rubric("general", "120.00", "bike fund")
    seen = message("I could not transfer 120.00 to the bike fund.")
    assert grade("click('t1')", seen, rubric=hints)["success"] is False


# The reply.


def test_the_step_behind_the_fault_is_named_and_quoted():
    answer = grade("click('a1')", "click('a2')", "fill('a3', 'x')")
    assert {"step": 2, "quote": "fill('a3', 'x')"} in answer["evidence"]
    assert answer["criteria"] == [
        {"id": "item_0", "met": "no", "step": 2},
        {"id": "item_1", "met": "unclear", "step": 2},
        {"id": "item_2", "met": "unclear", "step": 2},
    ]
    assert "half-way" in answer["reason"]


def test_of_several_faults_the_weightiest_comes_first():
    again = {"action": "click('a1')", "observation": "same"}
    answer = grade(again, again, *(f"click('b{n}')" for n in range(3)), "scroll(0, 9)")
    assert answer["reason"] == "The run stops half-way. 1 of 6 actions repeat an earlier one."
    assert answer["criteria"][0]["step"] == 5


def test_mode_whole_labels_every_step():
    shown = {
        "lines": ((0, "go"), (1, "ERROR click -> no such button"), (2, "scroll(0, 9)")),
        "verify": (0, 1, 2),
        "mode": "whole",
    }
    steps = ("goto('x')", {"action": "click('q')", "error": True}, "scroll(0, 9)")
    assert [each["label"] for each in grade(*steps, **shown)["steps"]] == [1, 0, -1]
    kept = (*steps[:2], "click('a3')")
    assert [each["label"] for each in grade(*kept, **shown)["steps"]] == [1, 0, 1]


def test_the_deed_at_fault_in_a_passed_run_is_a_problem_but_no_deviation():
    shown = {"lines": tuple((n, "x") for n in range(6)), "verify": tuple(range(6)), "mode": "whole"}
    steps = [f"click('a{n}')" for n in range(5)]
    answer = grade(*steps[:4], {"action": steps[4], "repeats": 1}, **shown)
    assert answer["success"] is True
    assert {each["step"] for each in answer["criteria"]} == {None}
    assert [each["label"] for each in answer["steps"]] == [1, 1, 1, 1, 0, 1]


def test_the_same_request_gets_the_same_bytes_under_the_name_of_the_judge():
    asked = request(*FACTS["repeats"][2], category="info_query")
    first, second = ask(asked), ask(asked)
    assert first == second
    assert (first.model, first.verdict_id) == (EMBEDDED_MODEL, "token")
    assert json.loads(first.text)["verdict_id"] == "token"


def test_the_order_of_keys_is_the_one_that_is_asked_for():
    keys = ["reason", "evidence", "criteria", "success", "score", "verdict_id"]
    assert list(grade(*CLEAN)) == keys
    whole = grade(*CLEAN, mode="whole", verify=(0, 1), lines=((0, "a"), (1, "b")))
    assert list(whole) == [*keys[:3], "steps", *keys[3:]]


# Fine rubrics.


@pytest.mark.parametrize(
    ("instruction", "quotes"),
    [
        ("Add a row 'Projector' to the sheet 'Wishes' of 2026-04-09.", ["'Projector'", "'Wishes'"]),
        ("parse('1h30m') returns 90.0 instead of 5400.0. Fix it.", ["'1h30m'"]),
        ("Call it 'Budget 2027', for 2027.", ["'Budget 2027'"]),
        ("Send order #W2378156 to ann@example.com.", ["#W2378156", "ann@example.com"]),
        ("Open the reply and keep it as a draft. Do not send it, please.", ["Do not send it"]),
        ("Fly to Lowen on 14 March 2026 for $300, not before 11 am.", ["14 March 2026", "$300"]),
        ("给“晨跑群”写消息，3月5日见，不要发送。", ["“晨跑群”", "3月5日"]),
        ("写好回信，请勿发送，我来发。", ["请勿发送"]),
        ("Switch the app to the dark theme.", []),
    ],
)
def test_fine_items_quote_what_the_instruction_spells_out(instruction, quotes):
    items = propose(instruction)
    assert [item["quote"] for item in items] == quotes
    assert [item.quote for item in ground(items, instruction)] == quotes


@given(st.text(alphabet="ab'\"“”#1234. 不要发，do nt\n", max_size=120))
def test_proposals_are_at_most_two_literal_quotes(instruction):
    items = propose(instruction)
    assert len(items) <= 2
    assert all(item["quote"] in instruction for item in items)


@pytest.mark.parametrize(
    ("name", "grounded_share"), [("examples", 0.8), ("tau_airline", 0.95), ("tau_retail", 0.95)]
)
def test_most_instructions_with_values_get_a_grounded_item(name, grounded_share):
    instructions = {run.instruction for run in stored(name)}
    grounded = [text for text in instructions if ground(propose(text), text)]
    assert len(grounded) >= grounded_share * len(instructions)


# Over stored runs, through the pipeline.


class Recording:
    """Passes every request on to the embedded judge and keeps both sides."""

    def __init__(self) -> None:
        self.exchanges: list[tuple[Request, Reply]] = []

    async def call(self, asked: Request) -> Reply:
        reply = await EmbeddedJudge().call(asked)
        self.exchanges.append((asked, reply))
        return reply


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("mode", ["none", "whole"])
@pytest.mark.parametrize("name", ["examples", "tau_airline", "tau_retail", "web_gui"])
def test_every_reply_to_a_stored_run_is_accepted_as_it_is(name, mode, version):
    client, runs = Recording(), stored(name)
    with Judge(settings(version, mode), client=client) as judge:
        failed = [reward.error for reward in judge.score_many(runs) if reward.value is None]
    assert set(failed) <= {"outcome.status is 'infra_error' and there is no step: nothing to judge"}
    graded = [(asked.content, reply) for asked, reply in client.exchanges if asked.purpose != "fine"]
    assert len(graded) > 0.9 * (len(runs) - len(failed))
    for content, reply in graded:
        read = parse_verdict(reply.text, rubric=content.rubric, verdict_id=reply.verdict_id)
        assert read.flags == ()
        if mode == "whole":
            parse_steps(reply.text, content.verify, verdict_id=reply.verdict_id)


@pytest.mark.parametrize("name", ["examples", "web_gui"])
def test_judging_steps_too_changes_no_score(name):
    runs = stored(name)
    scores = []
    for mode in ("none", "whole"):
        with Judge(settings("adapt_v1", mode)) as judge:
            rewards = judge.score_many(runs)
        scores.append([reward.verdict.score if reward.verdict else None for reward in rewards])
    assert scores[0] == scores[1]


@pytest.mark.parametrize("version", VERSIONS)
def test_outcome_and_metadata_do_not_reach_it(version):
    for run in stored("examples"):
        if run.outcome.known is None:
            continue
        tampered = run.model_copy(
            update={
                "outcome": run.outcome.model_copy(update={"reward": 1.0 - run.outcome.known}),
                "metadata": {"gold": "the agent gave up", "trap": "plain"},
            }
        )
        assert verdict(run, version) == verdict(tampered, version)


def test_a_chinese_loop_is_seen_under_both_versions():
    loop = {"action": "click('p6')", "observation": "请先选择成员。"}
    run = Trajectory(instruction="把 500 积分转给“小满”。", steps=[{"action": "click('p2')"}, *[loop] * 5])
    for version in VERSIONS:
        judged = verdict(run, version)
        assert not judged.success
        assert judged.reason.startswith("4 of 6 actions repeat")


def test_an_adapted_rubric_sees_its_own_trap_where_the_general_one_does_not():
    run = Trajectory(
        instruction="Fix the bug in timekit/duration.py.",
        category="code_change",
        steps=[{"action": "create timekit/fixed.py\nx = 1"}, {"action": "submit"}],
    )
    assert verdict(run, "static_v1").success
    assert not verdict(run, "adapt_v1").success
    assert verdict(run, "adapt_v1").reason == "No existing file is changed in the end."
