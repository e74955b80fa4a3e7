"""An endpoint asked about itself: which models it lists, how it answers, which parameters it refuses.

For `judge doctor`. Questions go through the channel that judges, with one try where a judgement has several,
and a failure keeps the HTTP status, which JudgeError does not carry. Not covered: what to do about it.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from judge.client import dialect as dialects
from judge.client.channel import Channel, Learned
from judge.client.envelope import excerpt
from judge.client.faults import Fault
from judge.client.limits import Limits
from judge.client.wire import Received, Wire, checked, shown_url
from judge.config import Endpoint
from judge.errors import ConfigError, JudgeError
from judge.schema import Reply, Request

_SAID_CHARS = 300


class Failure(NamedTuple):
    """A request that came to nothing.

    `kind` is one of judge.errors.ERROR_KINDS, `status` the HTTP status (or the one that an error inside a
    200 stands for), 0 where no error object came back; `raw` begins the body, "" where there was none.
    """

    kind: str
    message: str
    status: int = 0
    raw: str = ""

    @property
    def is_silent(self) -> bool:
        """Whether nothing at all came back."""
        return self.kind in ("connection_error", "timeout") and not self.status


class Accepted(NamedTuple):
    """What an endpoint takes, as far as it has answered.

    `response_format` is json_schema, json_object or plain; `token_limit` max_tokens, max_completion_tokens
    or None; `sent` and `refused` hold names among temperature, seed and images.
    """

    response_format: str
    token_limit: str | None
    sent: tuple[str, ...]
    refused: tuple[str, ...]


class Probe:
    """One endpoint and model under examination. Use it on one event loop, and close it."""

    def __init__(self, endpoint: Endpoint) -> None:
        """Raises ConfigError where no request can be made: no address or model, an unusable key or proxy."""
        self._endpoint = checked(endpoint).model_copy(update={"max_attempts": 1})
        self._where = shown_url(endpoint)
        self._wire = _wire(self._endpoint)
        self._learned = Learned()
        self._channel = Channel(self._endpoint, self._wire, Limits(self._endpoint), self._learned)

    async def models(self) -> list[str] | Failure:
        """The names under GET /models, in the endpoint's order; a Failure where there is no such list."""
        try:
            received = await self._wire.get("/models")
        except Fault as fault:
            return self._failure(fault)
        names = _names(received)
        if names is not None:
            return names
        said = f"GET {self._where}/models answered {received.status} and no list of models"
        return Failure("bad_response", said, received.status, excerpt(received.body))

    async def ask(self, request: Request) -> Reply | Failure:
        """One judge call. What was refused on the way is known to `accepted` afterwards."""
        try:
            return await self._channel.ask(request)
        except JudgeError as error:
            # The channel keeps the Fault out of tracebacks, but it alone knows the status.
            return self._failure(error.__context__ if isinstance(error.__context__, Fault) else error)

    def accepted(self, request: Request) -> Accepted:
        """How `request` would go out now, after whatever the endpoint has refused so far."""
        dialect = self._learned.dialects[self._endpoint.identity, self._endpoint.model]
        body = dialects.body(self._endpoint, request, dialect)
        sent = {*body, *(("images",) if dialects.has_images(body["messages"]) else ())}
        optional = ("temperature", "seed", "images")
        return Accepted(
            dialects.format_name(body),
            next((name for name in ("max_tokens", "max_completion_tokens") if name in body), None),
            tuple(name for name in optional if name in sent),
            tuple(name for name in optional if getattr(dialect, name)),
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._wire.close()

    def _failure(self, error: Fault | JudgeError) -> Failure:
        raw = error.raw or ""
        if isinstance(error, JudgeError) or not error.status:
            return Failure(error.kind, error.message, raw=raw)
        said = " ".join(error.error.message.split())[:_SAID_CHARS] or "no message"
        return Failure(error.kind, f"{self._where} answered {error.status}: {said}", error.status, raw)


def _wire(endpoint: Endpoint) -> Wire:
    try:
        return Wire(endpoint)
    except ConfigError:
        raise
    # Everything, because the transport has its own errors for addresses and proxies. Their text may quote a
    # proxy's password.
    except Exception as error:
        raise ConfigError(
            f"no client can be made ({type(error).__name__}): check judge.base_url, and HTTP_PROXY, "
            "HTTPS_PROXY and ALL_PROXY"
        ) from None


def _names(received: Received) -> list[str] | None:
    """The ids in a list of models, whether {"data": [{"id": …}]} or bare; None where the body is none."""
    try:
        listed: Any = json.loads(received.body)
    except (ValueError, RecursionError):
        return None
    if isinstance(listed, dict):
        listed = listed.get("data")
    if received.status >= 400 or not isinstance(listed, list):
        return None
    return [model["id"] for model in listed if isinstance(model, dict) and isinstance(model.get("id"), str)]
