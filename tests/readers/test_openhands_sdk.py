"""Events of OpenHands' SDK → trajectories: what is a step, whose an observation is, what ended the run.

Not covered: texts and images of observations (test_openhands_sdk_observation), and what a record says beside
its history (test_openhands).
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from pydantic import ValidationError

from judge.errors import InputError
from judge.readers import openhands, read_trajectories, trajectory_from
from judge.schema import Trajectory
from tests.readers.mangling import mangled

Event = dict[str, Any]


def event(kind: str, number: Any, source: str, **fields: Any) -> Event:
    return {"kind": kind, "id": number, "timestamp": "2026-02-05T11:24:45", "source": source, **fields}


def words(*texts: str) -> list[Event]:
    return [{"cache_prompt": False, "type": "text", "text": text} for text in texts]


def image(*urls: str) -> Event:
    return {"cache_prompt": False, "type": "image", "image_urls": [*urls]}


def say(source: str, *content: Any, **message: Any) -> Event:
    role = "assistant" if source == "agent" else "user"
    parts = [part if isinstance(part, dict) else words(part)[0] for part in content]
    stored = {"role": role, "content": parts, "thinking_blocks": [], **message}
    return event("MessageEvent", "m", source, llm_message=stored, activated_skills=[], extended_content=[])


def call(tool: str, number: str, **arguments: Any) -> Event:
    return {"id": number, "name": tool, "arguments": json.dumps(arguments), "origin": "completion"}


def act(number: str, tool: str, kind: str, thought: str = "", **arguments: Any) -> Event:
    return event(
        "ActionEvent",
        number,
        "agent",
        thought=words(thought) if thought else [],
        reasoning_content=None,
        thinking_blocks=[],
        responses_reasoning_item=None,
        action={**arguments, "kind": kind},
        tool_name=tool,
        tool_call_id=f"call-{number}",
        tool_call=call(tool, f"call-{number}", **arguments, summary="what it is for"),
        llm_response_id=f"response-{number}",
        security_risk="LOW",
    )


def run(number: str, command: str, thought: str = "", **arguments: Any) -> Event:
    given = {"is_input": False, "timeout": None, "reset": False, **arguments}
    return act(number, "terminal", "TerminalAction", thought, command=command, **given)


def see(answered: Event, kind: str = "TerminalObservation", text: str = "", **fields: Any) -> Event:
    observation = {"content": words(text), "is_error": False, **fields, "kind": kind}
    named = {"tool_name": answered["tool_name"], "tool_call_id": answered["tool_call_id"]}
    number = f"{answered['id']}-seen"
    return event(
        "ObservationEvent",
        number,
        "environment",
        **named,
        observation=observation,
        action_id=answered["id"],
    )


def fail(text: str, number: str | None = None) -> Event:
    return event("AgentErrorEvent", "e", "agent", error=text, tool_name="terminal", tool_call_id=number)


def stop(code: str, detail: str = "it says why", kind: str = "ConversationErrorEvent") -> Event:
    return event(kind, "stop", "environment", code=code, detail=detail)


TOOLS = [{"description": "Runs a command", "action_type": "TerminalAction", "kind": "TerminalTool"}]
SYSTEM = event(
    "SystemPromptEvent",
    "s",
    "agent",
    system_prompt=words("You are an agent.")[0],
    tools=TOOLS,
    dynamic_context=words("The repository is /repo.")[0],
)
STATE = event("ConversationStateUpdateEvent", "u", "environment", key="full_state", value={"a": [1]})
TASK = say("user", "Make greet() print hi")
LS = run("1", "ls", "I look around.")
SAW_LS = see(LS, text="hi.py", metadata={"exit_code": 0})
EDIT = act(
    "2", "file_editor", "FileEditorAction", command="str_replace", path="/hi.py", old_str="x", new_str=""
)
SAW_EDIT = see(EDIT, "FileEditorObservation", "Edited.", old_content="x", new_content="")
FINISH = act("3", "finish", "FinishAction", message="greet() prints hi.")
FINISHED = see(FINISH, "FinishObservation", "greet() prints hi.")
HISTORY = [SYSTEM, STATE, TASK, LS, SAW_LS, EDIT, SAW_EDIT, FINISH, FINISHED]
RECORD: dict[str, Any] = {
    "instance_id": "acme__hi-1",
    "attempt": 2,
    "test_result": {"git_patch": "+print('hi')"},
    "instruction": "Make greet() print hi",
    "metadata": {"llm": {"model": "open/model", "api_key": "sk-secret"}, "dataset_split": "test"},
    "history": HISTORY,
    "metrics": {"accumulated_cost": 0.5},
    "error": None,
    "instance": {"problem_statement": "greet() prints nothing", "patch": "the gold patch"},
}


def read(record: dict[str, Any], stem: str = "output") -> Trajectory:
    return Trajectory(**openhands.fields(record, stem))


def steps(*events: Any) -> list[dict[str, Any]]:
    """What TASK and these events come to."""
    return [step.model_dump() for step in read({"history": [TASK, *events]}).steps]


def test_a_line_of_the_harness_is_told_by_its_fields_and_read():
    found = trajectory_from(RECORD)
    ls, edit, finish = found.steps
    assert (found.instruction, found.task_id, found.group) == (
        RECORD["instruction"],
        "acme__hi-1",
        "acme__hi-1",
    )
    assert (ls.action, ls.action_type, ls.text, ls.observation) == (
        "ls",
        "terminal",
        "I look around.",
        "hi.py",
    )
    assert edit.action == (
        'file_editor({"command": "str_replace", "path": "/hi.py", "old_str": "x", "new_str": ""})'
    )
    assert (edit.observation, edit.text) == ("Edited.", "")
    assert finish.action == 'finish({"message": "greet() prints hi."})'
    assert finish.observation == "git_patch:\n+print('hi')"
    assert [step.model_dump()["source_index"] for step in found.steps] == [3, 5, 7]
    assert not any(step.error for step in found.steps)


def test_the_prompt_and_the_tools_are_context_and_keys_are_nowhere():
    found = read(RECORD)
    policy = "You are an agent.\n\nThe repository is /repo."
    assert found.context == {"policy": policy, "tools": json.dumps(TOOLS)}
    kept = found.metadata
    assert (kept["agent"], kept["attempt"], kept["dataset_split"]) == ("open/model", 2, "test")
    assert "sk-secret" not in found.model_dump_json()
    assert "gold patch" not in found.model_dump_json(exclude={"metadata"})


def test_a_bare_list_that_begins_with_an_action_is_one_run_of_the_files_name(tmp_path):
    path = tmp_path / "acme__hi-1.json"
    path.write_text(json.dumps([{**LS, "source": "user"}, TASK, EDIT, FINISH], indent=1))
    [found] = read_trajectories(path)
    assert (found.task_id, len(found.steps)) == ("acme__hi-1", 2)


@pytest.mark.parametrize("indent", [None, 1])
def test_a_bare_list_is_one_run_of_the_files_name(tmp_path, indent):
    path = tmp_path / "acme__hi-1.json"
    path.write_text(json.dumps(HISTORY, indent=indent))
    [found] = read_trajectories(path)
    assert (found.task_id, found.instruction) == ("acme__hi-1", "Make greet() print hi")
    assert len(found.steps) == 3


def test_a_line_that_holds_one_event_says_what_to_do(tmp_path):
    path = tmp_path / "events.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in HISTORY))
    with pytest.raises(InputError, match=r"one of many that make a run: store the list of them as history$"):
        list(read_trajectories(path))


@pytest.mark.parametrize("name", ["auto", "openhands"])
def test_a_history_alone_is_a_record(name):
    found = trajectory_from({"history": HISTORY}, name)
    assert (found.instruction, len(found.steps)) == ("Make greet() print hi", 3)


def test_a_run_that_never_began_is_set_aside():
    error = "Instance failed after 3 retries. Last error: Runtime not yet ready"
    found = trajectory_from({**RECORD, "history": [], "instruction": None, "test_result": {}, "error": error})
    assert (found.steps, found.outcome.status, found.metadata["error"]) == ((), "infra_error", error)


def test_parallel_actions_of_one_response_are_steps_that_name_it():
    first, second = run("a", "ls", "Both at once."), run("b", "pwd")
    second["llm_response_id"] = first["llm_response_id"]
    late = [see(second, text="/repo"), see(first, text="hi.py")]
    one, two = steps(first, second, *late)
    assert (one["text"], one["observation"]) == ("Both at once.", "hi.py")
    assert (two["text"], two["observation"]) == ("", "/repo")
    assert one["llm_response_id"] == two["llm_response_id"] == "response-a"


def test_an_observation_is_found_by_its_action_else_by_its_call_else_in_order():
    by_action = {**see(LS, text="by action"), "tool_call_id": EDIT["tool_call_id"]}
    assert [step["observation"] for step in steps(LS, EDIT, by_action)] == ["by action", ""]
    by_call = {**see(LS, text="by call"), "action_id": "gone"}
    by_order = {**see(LS, text="in order"), "action_id": None, "tool_call_id": None}
    assert steps(LS, EDIT, by_call, by_order)[0]["observation"] == "by call"
    assert steps(LS, EDIT, by_call, by_order)[1]["observation"] == "in order"


def test_what_answers_no_step_before_the_first_is_the_first_observation():
    found = read({"history": [TASK, say("user", "Hurry"), see(LS, text="booted"), EDIT]})
    assert (found.instruction, found.context["first_observation"]) == (
        "Make greet() print hi",
        "Hurry\n\nbooted",
    )


def test_an_error_belongs_to_the_call_that_it_names():
    bad = {**LS, "action": None, "tool_call": {**call("terminal", "call-1"), "arguments": '{"cmd": }'}}
    one, two = steps(bad, EDIT, fail("Not JSON", "call-1"), SAW_EDIT)
    assert (one["action"], one["action_type"]) == ('terminal({"cmd": })', "terminal")
    assert (one["observation"], one["error"], one["text"]) == ("Not JSON", True, "I look around.")
    assert (two["observation"], two["error"]) == ("Edited.", False)


def test_an_error_of_a_call_that_left_no_action_is_a_step_without_one():
    one, two, three = steps(LS, fail("No tool 'lst'", "call-9"), SAW_LS, EDIT)
    assert (one["observation"], one["error"]) == ("hi.py", False)
    assert (two["action"], two["observation"], two["error"]) == ("", "No tool 'lst'", True)
    assert (two["source_index"], three["source_index"]) == (2, 4)


def test_an_error_that_names_no_call_answers_the_step_that_waits():
    (one,) = steps(LS, fail("The shell is gone"))
    assert (one["observation"], one["error"]) == ("The shell is gone", True)
    assert len(steps(LS, SAW_LS, fail("No such tool"))) == 2


def test_calls_that_no_tool_could_take_are_a_step_as_the_model_wrote_them():
    calls = [
        call("lst", "c1", path="/"),
        {"id": "c2", "type": "function", "function": {"name": "", "arguments": "{"}},
    ]
    refused = event("NonExecutableActionEvent", "n", "agent", thought=words("I list."), tool_calls=calls)
    (one,) = steps(refused, fail("No tool 'lst'", "c1"), fail("No tool", "c2"))
    assert one["action"] == 'lst({"path": "/"})\n(no name)({)'
    assert (one["action_type"], one["text"]) == ("tool_call", "I list.")
    assert (one["observation"], one["error"]) == ("No tool 'lst'\n\nNo tool", True)


def test_a_rejected_action_is_no_error():
    reject = event("UserRejectObservation", "r", "environment", action_id="1", rejection_reason="Not that")
    one, _ = steps(LS, EDIT, reject)
    assert (one["observation"], one["error"]) == ("Action rejected: Not that", False)
    told = steps({**reject, "rejection_reason": None}, LS, {**reject, "action_id": None})
    assert told[0]["observation"] == "Action rejected: Not that"


def test_only_a_plain_command_for_the_terminal_is_shown_as_it_is():
    shown = [
        run("1", "ls"),
        act("2", "execute_bash", "ExecuteBashAction", command="pwd", is_input=False),
        run("3", "C-c", is_input=True),
        run("4", "", reset=True),
        run("5", ""),
        act("6", "grep", "GrepAction", pattern="hi", path=None, limit=0, options={}),
        act("7", "browser_go_back", "BrowserGoBackAction"),
        act("8", "", "BrowserClickAction", index=0, new_tab=False),
    ]
    assert [step["action"] for step in steps(*shown)] == [
        "ls",
        "pwd",
        'terminal({"command": "C-c", "is_input": true})',
        'terminal({"command": "", "reset": true})',
        'terminal({"command": ""})',
        'grep({"pattern": "hi", "limit": 0})',
        "browser_go_back()",
        'BrowserClickAction({"index": 0})',
    ]


def test_what_an_mcp_tool_was_given_is_shown_whole():
    given = act("1", "fetch_fetch", "MCPToolAction", data={"url": "http://a", "raw": False, "kind": "k"})
    assert steps(given)[0]["action"] == 'fetch_fetch({"url": "http://a", "raw": false, "kind": "k"})'
    assert steps(act("1", "fetch", "MCPToolAction", data=None, url="u"))[0]["action"] == 'fetch({"url": "u"})'


def test_a_thought_alone_is_text():
    thought = act("1", "think", "ThinkAction", "First:")
    thought["action"]["thought"] = "Hm."
    (one,) = steps(thought, see(thought, "ThinkObservation", "Your thought has been logged."))
    assert (one["action"], one["action_type"], one["text"]) == ("", "think", "First:\n\nHm.")
    assert one["observation"] == "Your thought has been logged."


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        (
            {"reasoning_content": "I must list.", "thinking_blocks": [{"thinking": "I must list."}]},
            "I must list.",
        ),
        (
            {
                "thinking_blocks": [
                    {"type": "thinking", "thinking": "So."},
                    {"type": "redacted_thinking", "data": "x"},
                ]
            },
            "So.",
        ),
        (
            {"responses_reasoning_item": {"summary": ["A", "B"], "content": None, "encrypted_content": "x"}},
            "A\n\nB",
        ),
        ({"responses_reasoning_item": {"summary": [], "content": ["C"]}, "thinking_blocks": None}, "C"),
        ({}, ""),
    ],
)
def test_the_reasoning_comes_before_the_thought(fields, text):
    assert steps({**LS, **fields})[0]["text"] == (f"{text}\n\n" if text else "") + "I look around."
    assert steps(say("agent", "Done.", **fields))[0]["text"] == (f"{text}\n\n" if text else "") + "Done."


def test_what_the_agent_says_is_a_step_and_what_others_say_joins_the_step_before():
    hook = say("environment", "Run the tests first.")
    asked, done = steps(say("agent", "May I?"), say("user", "Go on"), hook, say("agent", "Done."))
    assert (asked["text"], asked["action"], asked["action_type"]) == ("May I?", "", "message")
    assert (asked["observation"], done["text"]) == ("Go on\n\nRun the tests first.", "Done.")


def test_an_agent_that_speaks_first_begins_with_a_step_and_a_hook_asks_for_nothing():
    history = [say("environment", "Be brief."), say("agent", "Hello?"), TASK, LS]
    found = read({**RECORD, "history": history})
    assert [step.text for step in found.steps] == ["Hello?", "I look around."]
    assert found.steps[0].observation == "Make greet() print hi"
    assert found.context["first_observation"] == "Be brief."
    with pytest.raises(InputError, match=r"^instruction: missing"):
        read({"history": history})


def test_without_a_source_a_message_is_the_agents_where_its_role_says_so():
    history = [say("user", "Do it"), say("agent", "Done.")]
    found = read({"history": [{**told, "source": None} for told in history]})
    assert (found.instruction, [step.text for step in found.steps]) == ("Do it", ["Done."])


def test_what_the_user_does_joins_the_step_before():
    (one,) = steps(LS, {**EDIT, "source": "user"})
    assert one["observation"].startswith('file_editor({"command": "str_replace"')


URL, OTHER = "data:image/png;base64,iVBORw0KGgoAAA==", "data:image/jpeg;base64,/9j/AAAA"


def test_images_belong_to_the_step_of_their_text_and_early_ones_are_views():
    task = say("user", "Find this", image(OTHER, URL))
    *views, asked = read({"history": [task, say("agent", "This?"), say("user", image(URL))]}).steps
    assert [(view.screenshot, view.is_view) for view in views] == [(OTHER, True), (URL, True)]
    assert (asked.text, asked.screenshot, asked.observation) == ("This?", URL, "")


SILENT = [
    event("Condensation", "c", "environment", forgotten_event_ids=["1"], summary="ls was run"),
    event("CondensationRequest", "c", "environment"),
    event("CondensationSummaryEvent", "c", "environment", summary="ls was run"),
    event("PauseEvent", "p", "user"),
    event("InterruptEvent", "i", "user", reason="Stop"),
    event("WarningEvent", "w", "environment", message="no critic"),
    event("HookExecutionEvent", "h", "environment", action_id="1", tool_name="terminal", error="no hook"),
    event("TokenEvent", "t", "agent", prompt_token_ids=[1], response_token_ids=[2]),
    event("AskUserRequestEvent", "a", "agent", questions=[], action_id="1", tool_call_id="call-1"),
    event("AskUserResponseEvent", "a", "user", action="accept", answers={}),
    event("SomethingNewEvent", "n", "environment", note="nothing that a step has", error=None),
    STATE,
]


def test_what_the_agent_neither_did_nor_saw_is_no_step():
    assert steps(*SILENT, LS, *SILENT, SAW_LS, *SILENT) == [
        {**step, "source_index": len(SILENT) + 1} for step in steps(LS, SAW_LS)
    ]


def test_an_event_that_could_not_be_loaded_is_what_it_wraps():
    wrapped = event("UnknownEvent", "x", "agent", original_kind="ActionEvent", original_data=LS)
    assert steps(wrapped, SAW_LS) == steps(LS, SAW_LS)


def test_the_earliest_events_name_their_module():
    moved = [{**each, "kind": f"openhands.sdk.event.llm_convertible.{each['kind']}"} for each in HISTORY]
    assert openhands.matches({"history": moved})
    assert read({**RECORD, "history": moved}) == read(RECORD)


def delegated(status: str, **fields: Any) -> Event:
    told = {
        "tool_call_id": "t1",
        "title": "Read hi.py",
        "status": status,
        "tool_kind": "read",
        "raw_input": None,
    }
    return event("ACPToolCallEvent", "d", "agent", **told, **fields)


def test_what_another_agent_did_is_a_step_and_its_last_event_counts():
    done = {**delegated("completed", raw_output="print()"), "raw_input": {"path": "hi.py"}}
    again = delegated("failed", raw_output=None, content=[{"type": "text", "text": "No file"}])
    one, said, two = steps({**delegated("pending"), "tool_kind": None}, done, say("agent", "Read."), again)
    assert (one["action"], one["action_type"]) == ('Read hi.py({"path": "hi.py"})', "read")
    assert (one["observation"], one["error"], one["source_index"]) == ("print()", False, 1)
    assert (said["text"], two["action"]) == ("Read.", "Read hi.py")
    assert (two["observation"], two["error"]) == ("No file", True)


def test_an_image_that_another_agent_got_is_shown_once_however_often_it_was_told():
    png = {"type": "image", "data": "iVBORw0KGgoAAA==", "mime_type": "image/png"}
    (one,) = steps(*[delegated(status, content=[png]) for status in ("in_progress", "completed")])
    assert (one["screenshot"], one["observation"], one.get("earlier_images")) == (URL, "(image)", None)


@pytest.mark.parametrize(
    ("history", "status"),
    [
        ([TASK, stop("ValueError")], "infra_error"),
        ([TASK, LS, stop("LLMAuthenticationError")], "infra_error"),
        ([TASK, LS, stop("ACPStartupTimeout", kind="ServerErrorEvent")], "infra_error"),
        ([TASK, LS, stop("ConnectionError")], "infra_error"),
        ([TASK, LS, stop("MaxIterationsReached")], "ok"),
        ([TASK, LS, stop("", "limit", "ConversationIterationLimitEvent")], "ok"),
        ([TASK, LS, stop("ValueError", "after an LLMTimeoutError")], "ok"),
        ([TASK, LS, stop("LLMRateLimitError"), EDIT], "ok"),
    ],
)
def test_what_stopped_a_run_blames_the_environment_where_there_is_no_step_or_it_says_so(history, status):
    found = read({"history": history})
    assert (found.outcome.status, len(found.steps)) == (status, sum(each in (LS, EDIT) for each in history))


def test_what_stopped_a_run_is_kept_and_a_record_that_says_so_itself_counts():
    assert read({"history": [TASK, LS, stop("ValueError", "no")]}).metadata["error"] == "ValueError: no"
    limit = stop("", "limit", "ConversationIterationLimitEvent")
    assert read({"history": [TASK, LS, limit]}).metadata["error"] == "ConversationIterationLimitEvent: limit"
    assert read({**RECORD, "error": "E", "history": [TASK, LS, limit]}).metadata["error"] == "E"
    assert "error" not in read({"history": [TASK, LS, limit, EDIT]}).metadata


WRONG = "history.1: an event of the SDK is an object with a kind"
UNKNOWN = "history.1.kind: 'NewEvent' is unknown, and may be a step; leave the event out"


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ("ls", WRONG),
        ({"id": 1, "source": "agent", "action": "run", "args": {}}, WRONG),
        ({**LS, "kind": 7}, WRONG),
        (event("NewEvent", "n", "agent", tool_call_id="c"), UNKNOWN),
        (event("NewEvent", "n", "agent", action={"kind": "A"}), UNKNOWN),
        ({**LS, "action": "ls"}, "history.1.action: must be an object (it is a str)"),
        ({**LS, "action": None, "tool_call": None}, "history.1: must hold an action, or the tool_call"),
        ({**LS, "action": None, "tool_call": "ls"}, "history.1.tool_call: must be an object (it is a str)"),
        ({**LS, "thought": 7}, "history.1.thought: must be text or a list of parts (it is a int)"),
        ({**LS, "thought": [7]}, "history.1.thought.0: must be text or an object (it is a int)"),
        ({**LS, "thinking_blocks": {"a": 1}}, "history.1.thinking_blocks: must be a list (it is a dict)"),
        ({**SAW_LS, "observation": None}, "history.1.observation: missing; a ObservationEvent holds one"),
        ({**SAW_LS, "observation": "hi"}, "history.1.observation: must be an object (it is a str)"),
        ({**TASK, "llm_message": None}, "history.1.llm_message: missing; a MessageEvent holds one"),
        (
            say("user", {"type": "audio"}),
            "history.1.llm_message.content.0.type: 'audio' is unknown; known are",
        ),
        (
            say("user", {"type": "image", "image_urls": "u"}),
            "history.1.llm_message.content.0.image_urls: must",
        ),
        ({**fail("x"), "error": None}, "history.1.error: must be a text (it is a NoneType)"),
        (
            event("UnknownEvent", "x", "agent", original_kind="ObservationEvent", original_data={}),
            "history.1.original_data.observation: missing",
        ),
        (
            event("UnknownEvent", "x", "agent", original_data={}),
            "history.1.original_data: an event of the SDK",
        ),
    ],
)
def test_what_cannot_be_used_is_named_by_its_field(second, message):
    with pytest.raises(InputError) as raised:
        read({"history": [TASK, second]})
    assert raised.value.message.startswith(message)


@pytest.mark.parametrize(
    "record",
    [
        {"history": [{"kind": "user", "text": "Hello"}]},
        {"history": [event("SomethingNewEvent", "n", "agent")]},
        {"history": [{"kind": ["ActionEvent"]}]},
        {"messages": [], "history": HISTORY},
        {"history": {"0": LS}},
        LS,
    ],
)
def test_other_records_are_left_alone(record):
    assert not openhands.matches(record)


MEDLEY = [
    *SILENT,
    *HISTORY,
    delegated("completed", content=[{"type": "image", "data": "iVBORw0KGgo"}]),
    {**LS, "action": None},
    fail("Not JSON", "call-1"),
    say("user", "Look", image(URL), reasoning_content="Hm."),
    event("NonExecutableActionEvent", "n", "agent", tool_calls=[call("lst", "c1")]),
    event("UserRejectObservation", "r", "user", action_id="1", rejection_reason="No"),
    event("UnknownEvent", "x", "agent", original_kind="ActionEvent", original_data=LS),
    stop("LLMTimeoutError"),
]


@settings(max_examples=300, derandomize=True, deadline=None)
@given(mangled(RECORD) | mangled({"history": MEDLEY, "instance_id": "a"}))
def test_a_mangled_record_is_read_or_refused_and_nothing_else(record):
    openhands.matches(record)
    with suppress(InputError, ValidationError):
        read(record)


@settings(max_examples=100, derandomize=True, deadline=None)
@given(mangled({"history": MEDLEY, "instance_id": "a", "test_result": {}}))
def test_a_mangled_record_of_any_format_is_refused_with_its_place(record):
    with suppress(InputError):
        trajectory_from(record)
