"""From a failed request to what to do about it, said plainly."""

from __future__ import annotations

import json
from collections.abc import Sequence
from difflib import get_close_matches

from judge.client.probe import Failure
from judge.config import Endpoint
from judge.doctor.address import suspicion, unreached
from judge.doctor.key import key_of, sign_in_remedy

_SEE_LOG = "see the endpoint's own log, and run this again"
_PLAIN = {
    "quota_exhausted": "the account is out of credit: top it up; waiting does not help",
    "rate_limited": "wait, then lower judge.concurrency or set judge.requests_per_minute",
    "context_length": "even a tiny judgement is too long for it: serve the model with a longer context",
    "content_filter": "its filter stopped a harmless question: loosen it, or take another endpoint",
    "refusal": "the model will not judge: take another one",
    "upstream_error": f"the endpoint is failing or still loading its model: {_SEE_LOG}",
}


def remedy(failure: Failure, endpoint: Endpoint, models: Sequence[str]) -> str:
    """What to do about a failed call. `models` are the names the endpoint lists, none where it lists none.

    May open a connection of its own to see why there is none (judge.doctor.address.unreached).
    """
    if failure.raw.lstrip().startswith("<"):
        return _web_page(failure, endpoint)
    special = {
        "connection_error": lambda: unreached(endpoint),
        "timeout": lambda: _silence(endpoint),
        "auth_error": lambda: _locked_out(failure, endpoint),
        "bad_request": lambda: _refused(failure, endpoint, models),
        "bad_response": lambda: _unreadable(failure, endpoint),
    }.get(failure.kind)
    return special() if special else _PLAIN.get(failure.kind, _SEE_LOG)


def unknown_model(endpoint: Endpoint, models: Sequence[str]) -> str:
    """Which listed names to try where the configured model is not listed; "" where it is, or none are."""
    if not models or endpoint.model in models:
        return ""
    names = ", ".join(near(endpoint.model, models))
    return f"set JUDGE_MODEL (or judge.model) to a listed name, such as {names}"


def near(name: str | None, models: Sequence[str]) -> list[str]:
    """At most three of `models`: those that hold the name, then the most alike, else the first ones."""
    asked = (name or "").lower()
    folded = {model.lower(): model for model in models}
    holding = [low for low in folded if asked in low]
    alike = get_close_matches(asked, folded, n=3, cutoff=0.4)
    return [folded[low] for low in dict.fromkeys([*holding, *alike])][:3] or list(models[:3])


def _web_page(failure: Failure, endpoint: Endpoint) -> str:
    if failure.status in (401, 403):
        return "a web page forbids it: a proxy, a firewall or a sign-in page stands before the endpoint"
    if failure.status >= 500:
        return f"a gateway stands before an endpoint that is down: {_SEE_LOG}"
    hint = suspicion(endpoint) or "check the base URL, and that no sign-in page stands before the endpoint"
    return f"a web page answers there, not an API: {hint}"


def _silence(endpoint: Endpoint) -> str:
    return (
        f"no answer within judge.timeout_s = {endpoint.timeout_s:g}: is the model still loading, the server "
        "overloaded, or a firewall in between? If it is only slow, raise judge.timeout_s"
    )


def _locked_out(failure: Failure, endpoint: Endpoint) -> str:
    key = key_of(endpoint)
    if key is None:
        return "the endpoint wants a key and none is set: export JUDGE_API_KEY=…"
    if key.sign_in:
        return f"{key.described} looks like {key.sign_in}: {sign_in_remedy(key)}"
    if failure.status == 403:
        return (
            f"the key in {key.described} may not do this: check that its account may use {endpoint.model}, "
            "and for limits by region or address"
        )
    return (
        f"the key in {key.described} is not accepted: check that it belongs to this endpoint, is complete "
        "and has not expired"
    )


def _refused(failure: Failure, endpoint: Endpoint, models: Sequence[str]) -> str:
    if unknown := unknown_model(endpoint, models):
        return unknown
    if failure.status in (0, 404, 405):
        served = "" if models else f", and that the endpoint serves {endpoint.model}"
        return suspicion(endpoint) or f"check the base URL{served}"
    return "check judge.extra_body and judge.max_tokens against what it complains of"


def _unreadable(failure: Failure, endpoint: Endpoint) -> str:
    if _has_empty_choices(failure.raw):
        return (
            "empty choices come from a gateway whose model failed, or from a filter: see the gateway's log, "
            "and try the model behind it directly"
        )
    return suspicion(endpoint) or "what answers is no OpenAI-compatible chat endpoint: check the base URL"


def _has_empty_choices(raw: str) -> bool:
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError):
        return False
    return isinstance(body, dict) and "choices" in body and not body["choices"]
