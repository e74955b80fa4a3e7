"""One HTTP request through the OpenAI SDK, and what came back as bytes.

The SDK brings the connection pool, the proxies, the address and the headers; the body is read by
judge.client.envelope, because a typed parse costs twice the CPU and turns malformed bodies into
AttributeErrors. The SDK builds the first request to an endpoint; the ones that follow differ only in their
body, are made from it, and go out through the same SDK http client: building each anew costs more CPU than
sending it. The SDK's aiohttp transport is used where it is installed. httpx and its successor are never
imported here: the classes are taken from whichever of them the installed SDK speaks.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Awaitable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol
from urllib.parse import urlsplit

from judge.client.faults import Fault
from judge.client.retry import retry_after_s
from judge.config import Endpoint
from judge.errors import ConfigError

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_NO_KEY = "no-key-needed"
_CONNECT_TIMEOUT_S = 10.0
# Shorter "keys" are placeholders such as EMPTY, and blotting those out would change what a judge said.
_SECRET_CHARS = 8


class Received(NamedTuple):
    """An HTTP response. `body` no longer holds the key where the endpoint echoed it."""

    status: int
    content_type: str
    retry_after_s: float | None
    body: bytes


class _Response(Protocol):
    @property
    def status_code(self) -> int: ...
    @property
    def headers(self) -> Mapping[str, str]: ...
    @property
    def content(self) -> bytes: ...
    @property
    def request(self) -> Any: ...


class Wire:
    """A connection pool to one endpoint, for one event loop of one process."""

    def __init__(self, endpoint: Endpoint) -> None:
        """Raises ConfigError for an address or a key that no request can be made with."""
        self._key = _checked_key(endpoint.api_key())
        self._secret = self._key if len(self._key) >= _SECRET_CHARS else ""
        self._shown_url = shown_url(endpoint)
        self._http = _http_client()
        self._sdk = self._connect(endpoint)
        self._response_type: Any = _sibling(self._http, "Response")
        self._template: Any = None

    def _connect(self, endpoint: Endpoint) -> AsyncOpenAI:
        from openai import AsyncOpenAI, Timeout

        connect_s = min(endpoint.timeout_s, _CONNECT_TIMEOUT_S)
        return AsyncOpenAI(
            api_key=self._key or _NO_KEY,
            base_url=endpoint.base_url,
            timeout=Timeout(endpoint.timeout_s, connect=connect_s),
            max_retries=0,
            http_client=self._http,
        )

    async def post(self, body: dict[str, Any]) -> Received:
        """Send one chat completion request; any HTTP status is a Received.

        Raises Fault: timeout, connection_error (both retryable), bad_request where no request can be made.
        """
        if self._template is not None:
            return await self._exchange(self._send_like(self._template, body))
        return await self._exchange(
            self._sdk.post("/chat/completions", cast_to=self._response_type, body=body), is_template=True
        )

    async def get(self, path: str) -> Received:
        """Fetch a path below the base URL, such as /models; returns and raises as `post` does."""
        return await self._exchange(self._sdk.get(path, cast_to=self._response_type))

    async def _send_like(self, template: Any, body: dict[str, Any]) -> _Response:
        content = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
        headers = [each for each in template.headers.raw if each[0].lower() != b"content-length"]
        request = type(template)(
            "POST", template.url, headers=headers, content=content, extensions=template.extensions
        )
        response: _Response = await self._http.send(request)
        return response

    async def _exchange(self, response: Awaitable[_Response], is_template: bool = False) -> Received:
        from openai import APIStatusError

        try:
            answer = await response
        except APIStatusError as error:
            answer = error.response
        except (TypeError, ValueError) as error:
            raise Fault("bad_request", self._hidden(f"the request cannot be built: {error}")) from None
        # Everything, because the SDK lets errors of the transport beneath it through unwrapped.
        except Exception as error:
            raise self._unreached(error) from None
        if is_template:
            self._template = answer.request
        return self._received(answer)

    def _received(self, response: _Response) -> Received:
        body = response.content
        if self._secret and self._secret.encode() in body:
            body = body.replace(self._secret.encode(), b"[key]")
        headers = response.headers
        return Received(
            response.status_code, headers.get("content-type", "").lower(), retry_after_s(headers), body
        )

    def _unreached(self, error: Exception) -> Fault:
        chain = list(_causes(error))
        if _is_late(chain):
            late = f"{self._shown_url} did not answer within judge.timeout_s"
            return Fault("timeout", late, retryable=True)
        said = f"{type(chain[-1]).__name__}: {chain[-1]}".rstrip(": ")
        advice = "is the server running, and is judge.base_url right?"
        return Fault(
            "connection_error", self._hidden(f"{self._shown_url}: {said} ({advice})"), retryable=True
        )

    def _hidden(self, text: str) -> str:
        return text.replace(self._secret, "[key]") if self._secret else text

    async def close(self) -> None:
        await self._sdk.close()


def shown_url(endpoint: Endpoint) -> str:
    """The address for messages: without user, password and query, where secrets hide."""
    parts = urlsplit(endpoint.base_url or "")
    host = parts.hostname or ""
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{host}{port}{parts.path}"


def checked(endpoint: Endpoint) -> Endpoint:
    """The endpoint itself, if it can be called; raises ConfigError with the way out if not."""
    if not endpoint.base_url:
        raise ConfigError(
            "no judge endpoint: set JUDGE_BASE_URL (or judge.base_url) to an OpenAI-compatible URL such as "
            "http://localhost:8000/v1, or judge.model to embedded-rules-v1, which needs none"
        )
    # The value is not shown: it may be a key that went to the wrong variable.
    if not endpoint.base_url.startswith(("http://", "https://")):
        raise ConfigError("judge.base_url must begin with http:// or https://")
    if not _is_address(endpoint.base_url):
        raise ConfigError("judge.base_url has no usable host and port")
    if "@" in urlsplit(endpoint.base_url).netloc:
        raise ConfigError("judge.base_url must hold no user or password: put the key into JUDGE_API_KEY")
    if not endpoint.model:
        raise ConfigError("no judge model: set JUDGE_MODEL (or judge.model) to a name the endpoint serves")
    return endpoint


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _checked_key(key: str | None) -> str:
    if key and not (key.isascii() and key.isprintable()):
        raise ConfigError(
            "the API key holds characters that no HTTP header can carry: set it again, without quotes"
        )
    return key or ""


def _http_client() -> Any:
    """The SDK's aiohttp client where its parts are installed, else its own default."""
    import openai

    fast = getattr(openai, "DefaultAioHttpClient", None)
    if fast is not None:
        try:
            return fast()
        except RuntimeError:
            pass
    return openai.DefaultAsyncHttpxClient()


def _sibling(client: Any, name: str) -> Any:
    """A class of the HTTP library that `client` belongs to, whichever that is."""
    library = next(cls.__module__ for cls in type(client).__mro__ if cls.__name__ == "AsyncClient")
    return getattr(sys.modules[library.partition(".")[0]], name)


def _is_late(chain: list[BaseException]) -> bool:
    """Whether a time-out is at the root. The SDK over aiohttp says so of a refused connection as well."""
    ours = [cause for cause in chain if type(cause).__module__.startswith("aiohttp")]
    if ours:
        return any(isinstance(cause, TimeoutError) for cause in ours)
    # APITimeoutError of the SDK; ReadTimeout and its kin of the http library beneath it.
    return any("Timeout" in type(cause).__name__ for cause in chain)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error and what led to it, outermost first."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__
