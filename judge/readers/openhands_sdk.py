"""Events of OpenHands' software-agent SDK, as its conversations and its evaluation harness store them.

    {"kind": "ActionEvent", "id", "source", "thought": [part, ...], "reasoning_content", "llm_response_id",
     "tool_name", "tool_call_id", "action": {"kind", arguments} or null, "tool_call": {"name", "arguments"}}
    {"kind": "ObservationEvent", "action_id", "tool_call_id", "observation": {"kind", "content", "is_error"}}

What `openhands` says of its events holds for these. In their own terms:

- An ActionEvent is a step, and so is each of several that one response of the model called for; these share
  `llm_response_id`, which their steps keep, and their thought stands in the first. A call that no tool could
  take (a null action, NonExecutableActionEvent) shows as the model wrote it.
- An observation belongs to its `action_id`, else its `tool_call_id`, else the step that waits. An
  AgentErrorEvent whose call left no action is a step of its own. A rejected action is no error.
- `action` is a command for the terminal as it is, unless it is input or a reset; anything else is
  tool_name(arguments) without nulls and defaults of false. `text` is the reasoning, then the thought; a
  thought of the tool `think`, and a message, have nothing else.
- What anyone but the agent says is heard: the user's first words are the instruction, a hook's are not.
- `error`: an AgentErrorEvent, `is_error`, and in older observations `error`, true or a text.
- FinishObservation repeats the message that the action has, and is left out. So are `extended_content` (rules
  and skills that were looked up), summaries, security risks and a critic's results.
- An ACPToolCallEvent, what another agent did behind the same interface, is a step with its result; of
  several with one `tool_call_id` and no message between them the last one counts.
- ConversationErrorEvent and the like, without a later step, stand for the record's null `error`; they name a
  code, and after steps only _BROKEN is infra_error.
- An UnknownEvent is what it wraps. Kinds unknown here are no steps, or an error where they hold what is one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from judge.errors import InputError
from judge.readers.chat import text_of
from judge.readers.checked import object_or_none, objects
from judge.readers.dialogue import joined
from judge.readers.openhands_run import Run
from judge.readers.openhands_sdk_observation import content_of, result_of, result_of_call
from judge.schema import ToolCall

_TERMINALS = {"terminal", "execute_bash", "TerminalAction", "ExecuteBashAction"}
_BROKEN = re.compile(
    r"LLM(Authentication|RateLimit|ServiceUnavailable|Timeout)Error|ACP(AuthRequired|\w+Error|StartupTimeout)"
    r"|AgentRuntime\w*Error|(Connection|BadGateway|HTTPStatus|Request|Cloudflare)Error|ReadTimeout"
)
"""Codes of a run that ended because the agent's model or its sandbox did not answer."""

_SILENT = {
    *("Condensation", "CondensationRequest", "CondensationSummaryEvent", "ConversationStateUpdateEvent"),
    *("PauseEvent", "InterruptEvent", "WarningEvent", "HookExecutionEvent", "LLMCompletionLogEvent"),
    *("TokenEvent", "StreamingDeltaEvent", "SecurityAnalysisEvent", "SecurityAnalyzerConfigurationEvent"),
    *("AskUserRequestEvent", "AskUserResponseEvent"),
}
_OF_A_STEP = ("action", "observation", "llm_message", "tool_call", "tool_calls", "tool_call_id", "error")


def is_event(event: Any) -> bool:
    return isinstance(event, Mapping) and (_kind(event) in _TAKERS or _kind(event) in _SILENT)


def take(run: Run, event: Any, place: str, position: int) -> None:
    """Raises InputError that begins with `place`, where the event is none or a field has another shape."""
    if not isinstance(event, Mapping) or not _kind(event):
        raise InputError(f"{place}: an event of the SDK is an object with a kind, named by a text")
    kind = _kind(event)
    if kind in _TAKERS:
        _TAKERS[kind](run, event, place, position)
    elif kind not in _SILENT and any(event.get(name) is not None for name in _OF_A_STEP):
        raise InputError(f"{place}.kind: {kind[:40]!r} is unknown, and may be a step; leave the event out")


def _kind(stored: Mapping[str, Any]) -> str:
    """The name of the class, which the earliest records give with its module."""
    kind = stored.get("kind")
    return kind.rpartition(".")[2] if isinstance(kind, str) else ""


def _required(event: Mapping[str, Any], field: str, place: str) -> Mapping[str, Any]:
    found = object_or_none(event.get(field), f"{place}.{field}")
    if found is None:
        raise InputError(f"{place}.{field}: missing; a {_kind(event)} holds one")
    return found


def _unwrap(run: Run, event: Mapping[str, Any], place: str, position: int) -> None:
    original = _required(event, "original_data", place)
    take(run, {**original, "kind": event.get("original_kind")}, f"{place}.original_data", position)


def _open(run: Run, event: Mapping[str, Any], place: str, position: int) -> None:
    prompts = [
        content_of(event.get(name), f"{place}.{name}")[0] for name in ("system_prompt", "dynamic_context")
    ]
    run.context["policy"] = joined(prompts)
    run.context["tools"] = text_of(f"{place}.tools", event.get("tools") or None)


def _say(run: Run, event: Mapping[str, Any], place: str, position: int) -> None:
    message = _required(event, "llm_message", place)
    text, images = content_of(message.get("content"), f"{place}.llm_message.content")
    run.turn += 1
    if _is_agents(event, message.get("role") == "assistant"):
        said = joined([_reasoning(message, f"{place}.llm_message"), text])
        run.begin(_step(event, position, "message", said), (), images)
    else:
        run.hear(text, images, run.asked if event.get("source") in ("user", None) else run.strays)


def _act(run: Run, event: Mapping[str, Any], place: str, position: int) -> None:
    action = object_or_none(event.get("action"), f"{place}.action")
    name = text_of(f"{place}.tool_name", event.get("tool_name"))
    thought, images = content_of(event.get("thought"), f"{place}.thought")
    texts = [_reasoning(event, place), thought]
    if action is None:
        calls = _calls(event, place)
        deed, names = "\n".join(call.spelled for call in calls), [call.id for call in calls]
    elif name == "think" or _kind(action) == "ThinkAction":
        texts.append(text_of(f"{place}.action.thought", action.get("thought")))
        deed, names = "", []
    else:
        deed, names = _deed(name, action, f"{place}.action"), []
    step = _step(event, position, name or "tool_call", joined(texts)) | {"action": deed}
    if _is_agents(event, True):
        run.begin(step, [event.get("id"), event.get("tool_call_id"), *names], images)
    else:
        run.hear(joined([step["text"], deed]), images, run.asked)


def _is_agents(event: Mapping[str, Any], otherwise: bool) -> bool:
    source = event.get("source")
    return otherwise if source is None else source == "agent"


def _step(event: Mapping[str, Any], position: int, kind: str, text: str) -> dict[str, Any]:
    response = event.get("llm_response_id")
    step = {"action": "", "action_type": kind, "text": text, "observation": "", "source_index": position}
    return step | ({"llm_response_id": response} if isinstance(response, str) else {})


def _reasoning(stored: Mapping[str, Any], place: str) -> str:
    """What a model thought before it spoke, of the several ways in which providers give it."""
    if told := text_of(f"{place}.reasoning_content", stored.get("reasoning_content")):
        return told
    blocks = stored.get("thinking_blocks") or ()
    thoughts = [block.get("thinking") for block in objects(blocks, f"{place}.thinking_blocks")]
    item = object_or_none(stored.get("responses_reasoning_item"), f"{place}.responses_reasoning_item") or {}
    parts = [*thoughts, *_listed(item.get("summary")), *_listed(item.get("content"))]
    return joined(part for part in parts if isinstance(part, str))


def _listed(value: Any) -> Iterable[Any]:
    return value if isinstance(value, list) else ()


def _calls(event: Mapping[str, Any], place: str) -> list[ToolCall]:
    """The calls of a response as the model wrote them."""
    if event.get("tool_calls") is not None:
        stored = objects(event["tool_calls"], f"{place}.tool_calls")
    elif (call := object_or_none(event.get("tool_call"), f"{place}.tool_call")) is not None:
        stored = [call]
    else:
        raise InputError(f"{place}: must hold an action, or the tool_call that made none")
    return [_call(call, f"{place}.tool_call") for call in stored]


def _call(stored: Mapping[str, Any], place: str) -> ToolCall:
    nested = object_or_none(stored.get("function"), f"{place}.function") or stored
    return ToolCall(
        name=text_of(f"{place}.name", nested.get("name")),
        arguments=text_of(f"{place}.arguments", nested.get("arguments")),
        id=text_of(f"{place}.id", stored.get("id")),
    )


def _deed(name: str, action: Mapping[str, Any], place: str) -> str:
    kind, command = _kind(action), action.get("command")
    is_typed = action.get("is_input") or action.get("reset")
    if isinstance(command, str) and command.strip() and not is_typed and _TERMINALS & {name, kind}:
        return text_of(f"{place}.command", command)
    given = object_or_none(action.get("data"), f"{place}.data") if kind == "MCPToolAction" else None
    if given is None:
        # Beside the arguments stand the defaults of those that were left out.
        given = {field: value for field, value in action.items() if field != "kind" and value is not False}
    shown = {field: value for field, value in given.items() if value is not None and value != {}}
    return f"{name or kind}({text_of(place, shown) if shown else ''})"


def _observe(run: Run, event: Mapping[str, Any], place: str, position: int) -> None:
    seen = result_of(_required(event, "observation", place), f"{place}.observation")
    step = run.named(event.get("action_id"), event.get("tool_call_id")) or run.waiting
    if step is None:
        run.hear(seen.text, seen.images, run.strays)
    else:
        run.answer(step, seen.text, seen.images)
        step |= seen.signals


def _reject(run: Run, event: Mapping[str, Any], place: str, position: int) -> None:
    reason = text_of(f"{place}.rejection_reason", event.get("rejection_reason"))
    told = f"Action rejected: {reason or 'no reason given'}"
    step = run.named(event.get("action_id"), event.get("tool_call_id")) or run.waiting
    if step is None:
        run.hear(told, (), run.strays)
    else:
        run.answer(step, told)


def _fail(run: Run, event: Mapping[str, Any], place: str, position: int) -> None:
    if not isinstance(told := event.get("error"), str):
        raise InputError(f"{place}.error: must be a text (it is a {type(told).__name__})")
    call = event.get("tool_call_id")
    step = run.named(call) if call else run.waiting
    if step is None:
        step = run.begin({"observation": "", "source_index": position}, [call])
    run.answer(step, text_of(f"{place}.error", told))
    step["error"] = True


def _delegate(run: Run, event: Mapping[str, Any], place: str, position: int) -> None:
    title = text_of(f"{place}.title", event.get("title"))
    given = event.get("raw_input")
    deed = f"{title}({text_of(f'{place}.raw_input', given)})" if given else title
    # Ids begin anew in a new session, and so may do so after any message.
    name = f"{run.turn} {text_of(f'{place}.tool_call_id', event.get('tool_call_id'))}"
    kind = text_of(f"{place}.tool_kind", event.get("tool_kind")) or "tool_call"
    step = run.named(name) or run.begin(_step(event, position, kind, ""), [name])
    for image in ("screenshot", "earlier_images"):
        step.pop(image, None)
    seen = result_of_call(event, place)
    step |= {"action": deed, "action_type": kind, "observation": "", "error": False} | seen.signals
    run.answer(step, seen.text, seen.images)


def _stop(run: Run, event: Mapping[str, Any], place: str, position: int) -> None:
    code = text_of(f"{place}.code", event.get("code"))
    detail = text_of(f"{place}.detail", event.get("detail"))
    run.stopped = ": ".join(filter(None, (code or _kind(event), detail)))
    run.broke = _BROKEN.fullmatch(code) is not None


_TAKERS: dict[str, Callable[[Run, Mapping[str, Any], str, int], None]] = {
    **{"SystemPromptEvent": _open, "MessageEvent": _say, "ObservationEvent": _observe},
    **{"ActionEvent": _act, "NonExecutableActionEvent": _act, "ACPToolCallEvent": _delegate},
    **{"AgentErrorEvent": _fail, "UserRejectObservation": _reject, "UnknownEvent": _unwrap},
    **dict.fromkeys(("ConversationErrorEvent", "ServerErrorEvent", "ConversationIterationLimitEvent"), _stop),
}
