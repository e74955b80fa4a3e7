"""OpenHands: a line of an evaluation's or the resolver's `output.jsonl`, or a bare list of events.

    {"instance_id", "instruction", "history": [event, ...], "test_result": {"git_patch", "report"?}, "error"}
    event: {"id", "source", "action", "args"}
       or  {"id", "source", "observation", "content", "cause", "extras"}

Older lines have events without id and source whose fields lie flat, or pairs [action, observation]. Newer
ones have the events of the software-agent SDK: what follows holds, and `openhands_sdk` says how for these.

- An action of the agent is a step. Its observation is the one that names it as `cause`, else the next one. An
  "error" that names none while no step waits is all that a malformed call left in the record: a step of its
  own, without an action. Any other stray belongs to the step before, or is context.first_observation.
- Without a source an action is the agent's, but a message the user's unless it waits for a response. What the
  user says or does after the first step joins the observation of the step before.
- No steps: system prompt and tools (context.policy, context.tools), recalls, condensations, states, nulls.
- Instruction: the record's own, else the first user message, else the instance's problem statement.
- `action` is the command, code or browser actions as they are, anything else name({arguments}) without null
  arguments and bookkeeping. `text` is the thought; a message has nothing else. Null is "".
- `error` is set by an observation "error", by extras.error true, and by the file editor's own "ERROR:". A
  non-zero exit code stands under the output and is no error: a grep that finds nothing has one too.
- An image, of an observation (see `openhands_observation`) or of a message's `image_urls`, belongs to the
  step that its text belongs to, as `screenshot` (of several the last; the others are `earlier_images`). One
  from before the first step is a step of its own at the start, of the role environment, without an action and
  a `source_index`, and never judged.
- `git_patch`, the agent's diff in the end, joins the last observation, as "(empty)" where it is.
- `error` of the record without any step is infra_error, and the one case that needs no instruction. After
  steps it is so only where it names what OpenHands calls fatal (AgentRuntime...Error, ConnectionError);
  "Agent reached maximum iteration" and the like are the agent's own: ok.
- The reward is report.resolved, unless report.error_eval says that the verifier broke; without a report, the
  web benchmarks' test_result.reward, whose -1 says so, or GAIA's test_result.score, true or false. `success`,
  `comment_success` and `result_explanation` are a model's guess, and metadata; so is all else in test_result,
  as a `final_score` that counts what a safe agent does not do.
- instance_id, or owner/repo#number of the issue, is task and group; a bare list takes the file's name. A run
  has no name. Of `metadata` only _KEPT_OF_METADATA and the model (`agent`) stay: the rest may hold keys.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from judge.errors import InputError
from judge.readers import openhands_sdk
from judge.readers.chat import text_of
from judge.readers.checked import object_or_none
from judge.readers.dialogue import joined, number_at
from judge.readers.openhands_observation import image_urls, observed
from judge.readers.openhands_run import Run

_SILENT = {
    *("recall", "null", "agent_state_changed", "change_agent_state", "start", "pause", "resume", "stop"),
    *("condensation", "condensation_request", "condense", "summarize", "loop_recovery"),
}
_VERBATIM = {"run": "command", "run_ipython": "code", "browse_interactive": "browser_actions"}
_BOOKKEEPING = {
    *("id", "timestamp", "source", "message", "cause", "action", "timeout", "tool_call_metadata"),
    *("llm_metrics", "thought", "impl_source", "is_confirmed", "confirmation_state", "action_risk"),
    *("security_risk", "keep_prompt", "kernel_init_code", "hidden"),
}
_FATAL = re.compile(r"AgentRuntime\w*Error|\bConnectionError")
_NO_REWARD = -1
_OTHER_FORMATS = {"steps", "frames", "actions", "messages", "traj", "trajectory"}
_KEPT = (
    *("instance_id", "instance", "issue", "issue_type", "base_commit", "git_patch", "test_result", "report"),
    *("success", "comment_success", "result_explanation", "error", "attempt"),
)
_KEPT_OF_METADATA = (
    *("agent_class", "max_iterations", "dataset", "data_split", "dataset_split", "start_time", "git_commit"),
)


def matches(record: Mapping[str, Any]) -> bool:
    if not _OTHER_FORMATS.isdisjoint(record):
        return False
    history = record.get("history")
    if isinstance(history, list) and history:
        first = (entry[0] if isinstance(entry, list) and entry else entry for entry in history)
        return any(_is_event(entry) or openhands_sdk.is_event(entry) for entry in first)
    return not history and "test_result" in record and "instance_id" in record


def fields(record: Mapping[str, Any], stem: str = "") -> dict[str, Any]:
    """The record as keyword arguments of Trajectory; `stem` names the task of a bare list of events."""
    run = Run()
    events = list(_events(record.get("history")))
    take = openhands_sdk.take if any(openhands_sdk.is_event(event) for *_, event in events) else _take
    for place, position, event in events:
        take(run, event, place, position)
    _deliver(run, record)
    outcome = _outcome(record, run)
    instruction = _instruction(record, run.asked)
    if not instruction and (run.steps or outcome["status"] == "ok"):
        raise InputError("instruction: missing, and history holds no user message; add what was asked")
    given = [text for text in run.asked if text.strip() != instruction.strip()]
    context = {**run.context, "first_observation": joined([*given, *run.strays])}
    found: dict[str, Any] = {
        # A run that never began is set aside unjudged: its null instruction must not end the reading.
        "instruction": instruction or "(the record holds no instruction)",
        "context": {name: text for name, text in context.items() if text},
        "steps": [*run.views, *run.steps] if run.steps else [],
        "outcome": outcome,
        "metadata": _metadata(record, run.stopped),
    }
    task = _task(record) or (stem if set(record) == {"history"} else "")
    return found | ({"task_id": task, "group": task} if task else {})


def _take(run: Run, event: Any, place: str, position: int) -> None:
    if not _is_event(event):
        raise InputError(f"{place}: an event has either an action or an observation, named by a text")
    acts = isinstance(event.get("action"), str)
    kind = event["action" if acts else "observation"]
    number = event["id"] if isinstance(event.get("id"), int) else position
    if kind in _SILENT:
        return
    if not acts:
        _observe(run, event, place, number)
    elif kind == "system":
        given = _inner(event, "args", place)
        for name, field in (("policy", "content"), ("tools", "tools")):
            run.context[name] = text_of(f"{place}.args.{field}", given.get(field))
    else:
        _act(run, event, place, number)


def _act(run: Run, event: Mapping[str, Any], place: str, number: int) -> None:
    step = _step(event, place, number)
    images = image_urls(_inner(event, "args", place), f"{place}.args")
    if _is_agents(event, place):
        run.begin(step, [number], images)
    else:
        run.hear(joined([step["text"], step["action"]]), images, run.asked)


def _observe(run: Run, event: Mapping[str, Any], place: str, number: int) -> None:
    extras = _inner(event, "extras", place)
    seen, cause = observed(event, extras, place), event.get("cause")
    step = run.named(cause if isinstance(cause, int) else None) or run.waiting
    if step is None and event["observation"] == "error" and event.get("source") != "environment":
        step = run.begin({"observation": "", "source_index": number})
    if step is None:
        run.hear(seen.text, seen.images, run.strays)
    else:
        run.answer(step, seen.text, seen.images)
        step |= seen.signals


def _deliver(run: Run, record: Mapping[str, Any]) -> None:
    """Let the last step show the diff that the agent left behind, or that there was none."""
    patch = record.get("git_patch")
    if patch is None:
        patch = _mapping(record.get("test_result")).get("git_patch")
    if run.steps and patch is not None:
        text = text_of("git_patch", patch)
        run.answer(run.steps[-1], f"git_patch:\n{text}" if text.strip() else "git_patch: (empty)")


def _events(history: Any) -> Iterator[tuple[str, int, Any]]:
    """Each event with its place and position; a pair holds two, of which the second may be null."""
    if history is None:
        return
    if not isinstance(history, list):
        raise InputError(f"history: must be a list of events (it is a {type(history).__name__})")
    for position, entry in enumerate(history):
        if not isinstance(entry, list):
            yield f"history.{position}", position, entry
            continue
        for side, event in enumerate(entry):
            if event is not None or side == 0:
                yield f"history.{position}.{side}", position, event


def _is_event(event: Any) -> bool:
    if not isinstance(event, Mapping) or "role" in event:
        return False
    return isinstance(event.get("action"), str) != isinstance(event.get("observation"), str)


def _is_agents(event: Mapping[str, Any], place: str) -> bool:
    source = event.get("source")
    if source is not None or event["action"] != "message":
        return source in (None, "agent")
    return bool(_inner(event, "args", place).get("wait_for_response"))


def _inner(event: Mapping[str, Any], field: str, place: str) -> Mapping[str, Any]:
    """The event's `args` or `extras`; in the older form they lie in the event itself."""
    inner = object_or_none(event.get(field), f"{place}.{field}")
    return event if inner is None else inner


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _step(event: Mapping[str, Any], place: str, number: int) -> dict[str, Any]:
    kind, args = event["action"], _inner(event, "args", place)
    said = "content" if kind == "message" else "thought"
    return {
        "action": _deed(kind, args, f"{place}.args"),
        "action_type": kind,
        "text": text_of(f"{place}.args.{said}", args.get(said)),
        "observation": "",
        "source_index": number,
    }


def _deed(kind: str, args: Mapping[str, Any], place: str) -> str:
    if kind in ("message", "think"):
        return ""
    if (field := _VERBATIM.get(kind)) is not None:
        return text_of(f"{place}.{field}", args.get(field))
    # "" and 0 stay: an empty new_str deletes, and insert_line 0 is the top of the file.
    given = {
        name: value
        for name, value in args.items()
        if name not in _BOOKKEEPING and value is not None and value is not False and value != {}
    }
    return f"{kind}({text_of(place, given) if given else ''})"


def _instruction(record: Mapping[str, Any], asked: list[str]) -> str:
    instance = _mapping(record.get("instance"))
    candidates = [
        text_of("instruction", record.get("instruction")),
        *asked,
        text_of("instance.problem_statement", instance.get("problem_statement")),
    ]
    return next((text for text in candidates if text.strip()), "")


def _outcome(record: Mapping[str, Any], run: Run) -> dict[str, Any]:
    error = text_of("error", record.get("error") or None)
    if not run.steps:
        broke = bool((error or run.stopped).strip())
    else:
        broke = run.broke or _FATAL.search(error) is not None
    outcome: dict[str, Any] = {"status": "infra_error" if broke else "ok"}
    report = record.get("report") or _mapping(record.get("test_result")).get("report")
    resolved = _mapping(report).get("resolved")
    result = _mapping(record.get("test_result"))
    given = result.get("reward")
    if isinstance(resolved, bool) and not _mapping(report).get("error_eval"):
        outcome |= {"reward": float(resolved), "verifier": "report.resolved"}
    elif report is None and isinstance(given, int | float) and given != _NO_REWARD:
        outcome |= {"reward": number_at("test_result.reward", given), "verifier": "test_result.reward"}
    elif report is None and given is None and isinstance(score := result.get("score"), bool):
        outcome |= {"reward": float(score), "verifier": "test_result.score"}
    return outcome


def _task(record: Mapping[str, Any]) -> str:
    if isinstance(named := record.get("instance_id"), str | int):
        return str(named)
    issue = _mapping(record.get("issue"))
    owner, repo, number = (issue.get(key) for key in ("owner", "repo", "number"))
    whole = isinstance(owner, str) and isinstance(repo, str) and isinstance(number, int)
    return f"{owner}/{repo}#{number}" if whole else ""


def _metadata(record: Mapping[str, Any], stopped: str) -> dict[str, Any]:
    run = _mapping(record.get("metadata"))
    kept = {key: record.get(key) for key in _KEPT} | {key: run.get(key) for key in _KEPT_OF_METADATA}
    kept["agent"] = _mapping(run.get("llm_config") or run.get("llm")).get("model")
    if kept["error"] is None:
        kept["error"] = stopped or None
    return {key: value for key, value in kept.items() if value is not None}
