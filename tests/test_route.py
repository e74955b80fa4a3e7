import json
from collections import Counter
from pathlib import Path

import pytest

from judge.route import Route, route
from judge.rubric import load_library
from judge.schema import Trajectory

SHARED = Path(__file__).resolve().parents[1].parent / "shared"
CUES = load_library("adapt_v1").cues

LABELLED = {
    "info_query": [
        "What is the total of my last three invoices?",
        "In which year was the Eiffel Tower opened?",
        "How do I delete my account?",
        "Tell me the name of the sender of the latest mail.",
        "Find the cheapest direct flight from Oslo to Rome on May 3.",
        "Who sent the message about the budget?",
        "Open the wiki and tell me how many pages it has.",
        "查询明天北京到上海的高铁票价",
        "帮我看看这家店有没有停车位",
        "哪个订单的金额最大？",
        "Do not modify, move or delete any files; just tell me how many there are.",
    ],
    "create_modify": [
        'Create a calendar event "Send report" for Friday at 10:00.',
        "Change the price of the blue bike to $85.50.",
        "Go to the hardware store and order 9 laptops.",
        "Book a table for two at 7 pm.",
        'Add a note titled "Delete old mail".',
        "Rename report.txt to final.txt.",
        "新建一个名为《清空回收站》的日程",
        "把收货地址修改为朝阳区建国路 8 号",
        "预订周五晚上两人的座位",
        "Open an issue about the broken link.",
        "设置明天早上七点的闹钟",
    ],
    "delete_cleanup": [
        "Delete the last three screenshots.",
        "Find the spam mail from the sender Bob and delete it.",
        "Cancel my subscription, but do not send any feedback.",
        "Please clean up the Downloads folder.",
        "Remove the broken link instead of editing it.",
        "删除最近三张截图",
        "清空回收站，不要移动任何文件",
        "取消明天上午的会议",
        "取消关注他",
    ],
    "communication": [
        "Send Bob the meeting minutes.",
        "Reply to Alice that the order has arrived.",
        "Don't forget to email the landlord.",
        "Leave a comment in this post with the text of the poster.",
        "Check the balance and send it to Bob.",
        "给李明发送一条消息，别删除草稿",
        "别忘了回复老师的邮件",
        "把这篇文章转发给小王",
    ],
    "transfer": [
        "Move all PDFs from Downloads to Documents.",
        "Send money to Bob: 20 euros.",
        "Download the invoice of March.",
        "Copy the folder to the USB stick.",
        "给张三转账 200 元",
        "把照片备份到网盘",
        "将文件移动到 D 盘",
    ],
    "state_navigation": [
        "Turn on dark mode.",
        "Open the settings page.",
        "Turn Wi-Fi off.",
        "Navigate to the comments of the newest article.",
        "Set the volume to 30%.",
        "打开蓝牙",
        "把屏幕亮度调到 50%",
        "进入个人中心页面",
    ],
    "composite_workflow": [
        "Create a folder named Q3, then move the three reports into it.",
        "Delete the draft. After that, email Bob that it is gone.",
        "1. Create a new album. 2. Send the link to Alice. 3. Delete the old album.",
        "先新建一个文件夹，然后把报告发送给王芳",
        "第一步删除旧版本，第二步上传新文件",
    ],
    "code_change": [
        "Fix the bug in parse_date so that it accepts ISO weeks.",
        "Fix the following issue for the repository in the working folder: dates are off by one.",
        "<issue_description>\nDelete key crashes the editor\n</issue_description>",
        "Make the failing tests pass without touching the fixtures.",
        "修复仓库里日期解析的错误",
    ],
    "general": [
        "Behave well.",
        "The sender knows the deleted opener.",
        "Never send, delete or open anything.",
        "你好",
        "Разобраться с почтой",
    ],
}


def routed(instruction: str, cues=CUES, **fields) -> Route:
    return route(Trajectory(instruction=instruction, **fields), cues)


@pytest.mark.parametrize(
    ("category", "instruction"), [(name, text) for name, texts in LABELLED.items() for text in texts]
)
def test_hand_labelled(category, instruction):
    found = routed(instruction)
    assert found.category == category, found


def test_a_cue_is_a_whole_word():
    assert routed("The sender is Bob.").hits == ()
    assert routed("Re-send is in send.py").hits == ()
    assert ("communication", "send") in routed("SEND it").hits


@pytest.mark.parametrize(
    "instruction",
    [
        "Do not delete it",
        "don’t delete it",
        "Never ever delete it",
        "There is no need to delete it",
        "It works without having to delete it",
        "不要删除",
        "请勿直接删除",
        "不用再删除",
        "别删除",
    ],
)
def test_a_negated_cue_does_not_count(instruction):
    assert routed(instruction) == Route("general", (), "no cue")


@pytest.mark.parametrize(
    "instruction",
    [
        "If you do not need it, delete it",
        "Do not reply but delete it",
        "Do not hesitate to delete it",
        "把类别里的重复项删除",
        "不要移动，删除即可",
    ],
)
def test_a_negation_reaches_no_further_than_its_clause(instruction):
    assert routed(instruction).category == "delete_cleanup"


def test_quoted_text_is_content():
    assert routed('Rename it to "delete, remove and clear"').category == "create_modify"


def test_a_noun_is_no_request():
    assert routed("Remove the order in the list").hits == (("delete_cleanup", "remove"),)


def test_a_tie_goes_to_the_first_cue():
    assert routed("Send the file and delete it").category == "communication"
    assert routed("Delete the file and send a note").category == "delete_cleanup"
    assert routed("Delete the file and send a note").reason == "first of equal cues"


def test_more_distinct_cues_win_over_the_first():
    assert routed("Send it: delete and remove the rest").category == "delete_cleanup"
    assert routed("Send it: delete, delete and delete the rest").category == "communication"


def test_looking_and_going_are_means():
    assert routed("Open the page, search for the file, find it, and delete it").category == "delete_cleanup"
    assert routed("Open the page").category == "state_navigation"


def test_one_kind_of_action_in_sequence_is_no_composite():
    assert routed("Delete the file, then delete the folder").category == "delete_cleanup"
    assert routed("Go to the page, then delete the file").category == "delete_cleanup"


def test_the_trajectory_s_own_category_wins_where_it_is_known():
    assert routed("Delete it", category="transfer").category == "transfer"
    assert routed("Delete it", category="no_such").category == "delete_cleanup"


def test_a_version_with_one_category_needs_no_cues():
    assert routed("Delete it", load_library("static_v1").cues).category == "general"
    assert routed("Delete it", {"general": {}}).category == "general"


def test_structure_falls_through_where_the_version_lacks_the_category():
    cues = {name: CUES[name] for name in ("general", "delete_cleanup")}
    assert routed("Delete it", cues, context={"policy": "Be kind."}).category == "delete_cleanup"
    assert routed("Fix the failing tests", cues).category == "general"


def test_changed_cues_are_seen():
    cues = {"general": {}, "greeting": {"en": ("hello",)}}
    assert routed("hello there", cues).category == "greeting"
    cues["greeting"]["en"] = ("bye",)
    assert routed("hello there", cues).category == "general"


CALL = {"action": "lookup()", "tool_calls": [{"name": "lookup"}], "observation": "{}"}
ASKED = {"action": "Which one?", "action_type": "message", "observation": "The red one."}
REPORT = {"action": "Done.", "action_type": "message"}


@pytest.mark.parametrize(
    ("fields", "category"),
    [
        ({"steps": [ASKED, CALL]}, "tool_dialogue"),
        ({"steps": [CALL, {"role": "user", "text": "The red one."}, CALL]}, "tool_dialogue"),
        ({"steps": [], "context": {"policy": "# Airline policy"}}, "tool_dialogue"),
        ({"steps": [CALL, REPORT]}, "delete_cleanup"),
        ({"steps": [ASKED]}, "delete_cleanup"),
        ({"steps": [], "context": {"policy": " "}}, "delete_cleanup"),
    ],
)
def test_a_dialogue_has_tools_and_an_answering_user_or_a_policy(fields, category):
    assert routed("Delete it", **fields).category == category


def test_work_on_code_shows_in_the_steps():
    edit = {"action": "edit 3:4\nreturn x\nend_of_edit"}
    patch = {"tool_calls": [{"name": "str_replace_editor", "arguments": {"path": "a.py"}}]}
    tests = {"tool_calls": [{"name": "bash", "arguments": {"command": "python -m pytest -q"}}]}
    policy = {"policy": "Work carefully."}
    assert routed("It is off by one", steps=[patch, tests], context=policy).category == "code_change"
    assert routed("It is off by one", steps=[edit, {"action": "git diff"}]).category == "code_change"
    assert routed("Solve the puzzle", steps=[edit, {"action": "python solve.py"}]).category == "general"


def test_a_repository_that_is_only_named_is_not_code():
    assert routed("Star the repository named dotfiles").category == "state_navigation"


@pytest.mark.parametrize(
    "instruction",
    [
        "The upload raises a PermissionError on read-only folders; make it report the path instead.",
        "Since the last merge the parser does not compile.",
        "Add paging to the /orders/{id} endpoint.",
        "Cover the scheduler with tests.",
        "修复导出接口返回空列表的异常",
    ],
)
def test_what_programs_do_is_code(instruction):
    assert routed(instruction).category == "code_change"


@pytest.mark.parametrize(
    "instruction",
    ["修改商品的类别为家电", "Compile a list of the open invoices.", "Raise the error budget to 5 %."],
)
def test_what_only_sounds_like_code_is_not(instruction):
    assert routed(instruction).category != "code_change"


def test_a_challenge_needs_no_source_to_be_changed():
    challenge = "Solve this CTF challenge. Files included: ['server.py', 'flag.enc']"
    found = routed(
        challenge, steps=[{"tool_calls": [{"name": "str_replace_editor"}]}, {"action": "git diff"}]
    )
    assert found == Route("general", (), "a challenge, to be met by any means")


@pytest.mark.parametrize(
    "instruction",
    [
        "You are Ines Vold. You want to return the tent.",
        "You're ines_vold_2210 and you wish to cancel the second order.",
        "Your name is Ines and your zip code is 10115. For order 7, swap the red tent for a green one.",
        "You lost your parcel. You want a refund; if the agent offers a voucher, decline.",
        "You are a passenger whose flight is late. You'd like to be rebooked.",
        "你叫王芳，你想退掉帐篷，只要原路退款。",
        "扮演一位旅客：如果客服拒绝改签，就要求退款。",
    ],
)
def test_the_script_of_a_simulated_user_is_a_dialogue_before_any_step(instruction):
    assert routed(instruction) == Route("tool_dialogue", (), "the script of a simulated user")


@pytest.mark.parametrize(
    "instruction",
    [
        "You are a helpful assistant. Use any tool you want to delete the draft.",
        "You are Atlas, a browsing agent. Delete the draft and report to me.",
        "I want to delete the draft.",
        "Find the agent in the draft and delete it.",
        "你是一个手机助手，删除草稿。",
    ],
)
def test_an_agent_that_is_told_who_it_is_plays_no_user(instruction):
    assert routed(instruction).category == "delete_cleanup"


def test_where_all_is_means_the_last_is_meant():
    assert routed("Find the settings page and open it").category == "state_navigation"
    assert routed("Open the settings page and find the serial number").category == "info_query"
    assert routed("Open the page and find it").reason == "where equal cues lead"


def test_three_kinds_of_deed_in_a_row_are_a_composite():
    assert routed("Reply to Ann, add the date, and archive the mail").category == "composite_workflow"
    assert routed("Reply to Ann, forward it, and archive the mail").category == "communication"


def test_a_chinese_verb_after_de_is_a_noun():
    assert routed("删除桌面上的截图").hits == (("delete_cleanup", "删除"),)
    assert routed("列出评分最高的哪些").category == "info_query"


def test_would_like_likes_nothing():
    assert routed("I would like it").hits == ()
    assert routed("Like the newest photo").category == "state_navigation"


def stored(name: str) -> list[Trajectory]:
    path = SHARED / "data" / name
    if not path.is_file():
        pytest.skip(f"needs {name} of the shared data, which is not beside this checkout")
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
    return [Trajectory(**row, context={"policy": row["metadata"].get("policy") or ""}) for row in rows]


def test_airline_runs_are_dialogues():
    assert Counter(route(run, CUES).category for run in stored("tau_airline.jsonl")) == {"tool_dialogue": 200}


def test_retail_runs_with_steps_are_dialogues():
    runs = [run for run in stored("tau_retail.jsonl") if run.steps]
    assert Counter(route(run, CUES).category for run in runs) == {"tool_dialogue": 363}


def test_web_runs_get_what_their_instructions_say():
    found = {run.instruction[:32]: route(run, CUES).category for run in stored("web_gui.jsonl")}
    assert "general" not in found.values()
    assert "tool_dialogue" not in found.values()
    assert found["Create a new problem with a valu"] == "create_modify"
    assert found["Which gyms (not including gymnas"] == "info_query"
    assert found["Leave a comment in this post wit"] == "communication"
    assert found["Navigate to my listing of the bl"] == "create_modify"
