"""Fakes to test against: a scripted client, and a real OpenAI-compatible server on the loopback interface.

    with LoopbackServer([{"status": 503}, verdict_response()]) as server:
        Judge(Config(judge={"base_url": server.base_url, "model": "judge-x"})).score(trajectory)
    assert len(server.requests) == 2

`python -m judge.testing` serves in a process of its own, for benchmarks: it prints its base URL and runs
until its standard input ends. Not covered: TLS, HTTP/2, streaming and chunked requests.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import socket
import struct
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from http import HTTPStatus
from types import TracebackType
from typing import Any

from judge.schema import Reply, Request

Response = dict[str, Any]
Script = Sequence[Response] | Callable[[dict[str, Any]], Response]

__all__ = ["LoopbackServer", "ScriptedClient", "completion", "example", "verdict_response"]

# What an answer made up from a schema says where the schema leaves a choice.
_CHOSEN = {"met": "yes", "success": True, "score": 1.0, "label": 1, "correct": True, "error_type": "none"}


class ScriptedClient:
    """A client that answers from a list, in order, and repeats the last answer; `requests` keeps what it saw.

    An answer is a text, a dict (sent as JSON with the request's verdict_id filled in), a Reply, an exception
    to raise, or a function of the request that returns one of these.
    """

    def __init__(self, replies: Sequence[Any] | Any) -> None:
        self._replies = list(replies) if isinstance(replies, list | tuple) else [replies]
        self.requests: list[Request] = []

    async def call(self, request: Request) -> Reply:
        answer = self._replies[min(len(self.requests), len(self._replies) - 1)]
        self.requests.append(request)
        return self._reply(answer, request)

    async def aclose(self) -> None:
        """Nothing to close."""

    def _reply(self, answer: Any, request: Request) -> Reply:
        if isinstance(answer, BaseException):
            raise answer
        if isinstance(answer, Reply):
            return replace(answer, verdict_id=request.verdict_id)
        if isinstance(answer, dict):
            answer = json.dumps({**_token(request.verdict_id), **answer}, ensure_ascii=False)
        if isinstance(answer, str):
            return Reply(answer, "scripted", attempts=1, verdict_id=request.verdict_id)
        return self._reply(answer(request), request)


class LoopbackServer:
    """An HTTP/1.1 server on 127.0.0.1 that answers chat completions by script, in a thread of its own.

    Args:
        responses: the k-th request gets the k-th item and later ones the last; or a function of the request
            body; or None for a valid verdict each time. An item holds `status`, `headers`, and `body_json`
            or `body_text` (neither: a valid verdict), and may hold `delay_s`, or a fault:
            `accept_then_stall_s`, `headers_then_stall_s` (nothing more is sent),
            `reset_after_bytes` (of the body).
        delay_s: seconds before each answer.
        models: what GET /v1/models lists.
        record: whether `requests` keeps each chat request, as {"path", "headers", "json"}.
    """

    def __init__(
        self,
        responses: Script | None = None,
        *,
        delay_s: float = 0.0,
        models: Sequence[str] = ("judge-x",),
        port: int = 0,
        record: bool = True,
    ) -> None:
        self.script = responses
        self._models = models
        self._record = record
        self._socket = socket.create_server(("127.0.0.1", port), backlog=512)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._ready = threading.Event()
        self.delay_s = delay_s
        self.requests: list[dict[str, Any]] = []
        self.served = 0
        self.connections: set[asyncio.Transport] = set()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}/v1"

    def __enter__(self) -> LoopbackServer:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def response(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Response:
        """The item that answers one request; chat requests are counted and, if asked, kept."""
        if method == "GET" and path.endswith("/models"):
            listed = [{"id": name, "object": "model"} for name in self._models]
            return {"body_json": {"object": "list", "data": listed}}
        if method != "POST" or not path.endswith("/v1/chat/completions"):
            return {"status": 404, "body_json": {"error": {"message": f"no such path: {path}"}}}
        asked = json.loads(body)
        if self._record:
            self.requests.append({"path": path, "headers": headers, "json": asked})
        self.served += 1
        return self._item(asked)

    def _item(self, asked: dict[str, Any]) -> Response:
        if callable(self.script):
            item = self.script(asked)
        elif self.script:
            item = self.script[min(self.served, len(self.script)) - 1]
        else:
            item = {}
        return item if item.keys() & {"body_json", "body_text"} else {**verdict_response(asked), **item}

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(
            self._loop.create_server(lambda: _Connection(self), sock=self._socket)
        )
        # Not before: a server that is left at once would be stopped in the middle of its start.
        self._loop.call_soon(self._ready.set)
        self._loop.run_forever()
        # A connection accepted at the last moment fails, and is never closed, once the server is.
        if arriving := asyncio.all_tasks(self._loop):
            self._loop.run_until_complete(asyncio.wait(arriving))
        server.close()
        for connection in list(self.connections):
            connection.abort()
        self._loop.run_until_complete(asyncio.sleep(0))


class _Connection(asyncio.Protocol):
    """One keep-alive connection: requests in, answers out, one after the other."""

    def __init__(self, server: LoopbackServer) -> None:
        self._server = server
        self._received = bytearray()
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._server.connections.add(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._server.connections.discard(self._transport)

    def data_received(self, data: bytes) -> None:
        self._received += data
        while (request := self._next_request()) is not None:
            item = self._server.response(*request)
            delay = item.get("delay_s", self._server.delay_s)
            if delay:
                asyncio.get_running_loop().call_later(delay, self._answer, item)
            else:
                self._answer(item)

    def _next_request(self) -> tuple[str, str, dict[str, str], bytes] | None:
        end = self._received.find(b"\r\n\r\n")
        if end < 0:
            return None
        first, *lines = self._received[:end].decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        stop = end + 4 + int(headers.get("content-length", "0"))
        if len(self._received) < stop:
            return None
        body = bytes(self._received[end + 4 : stop])
        del self._received[:stop]
        method, path, _ = first.split(" ")
        return method, path, headers, body

    def _answer(self, item: Response) -> None:
        if "accept_then_stall_s" in item or self._transport.is_closing():
            return
        head, body = _encoded(item)
        if "headers_then_stall_s" in item:
            self._transport.write(head)
        elif "reset_after_bytes" in item:
            self._transport.write(head + body[: item["reset_after_bytes"]])
            self._reset()
        else:
            self._transport.write(head + body)

    def _reset(self) -> None:
        # With a linger time of zero, closing sends RST: the peer sees a reset, not an orderly end.
        linger = struct.pack("ii", 1, 0)
        self._transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self._transport.abort()


def completion(text: str, finish_reason: str | None = "stop", **fields: Any) -> dict[str, Any]:
    """The body of a chat completion that says `text`; `fields` replace those of the body."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish_reason}
    usage = {"prompt_tokens": 900, "completion_tokens": 30, "total_tokens": 930}
    whole = {"id": "c1", "object": "chat.completion", "created": 1, "model": "judge-x", "choices": [choice]}
    return {**whole, "usage": usage, **fields}


def verdict_response(asked: dict[str, Any] | None = None) -> Response:
    """A response item with a valid answer to the chat request `asked`: what its schema demands, all good."""
    asked = asked or {}
    verdict_id = _verdict_id(asked.get("messages") or [])
    schema = ((asked.get("response_format") or {}).get("json_schema") or {}).get("schema")
    answer = (
        example(schema) if schema else {"reason": "As asked.", "evidence": [], "success": True, "score": 1.0}
    )
    if verdict_id is not None:
        answer["verdict_id"] = verdict_id
    return {"body_json": completion(json.dumps(answer))}


def example(schema: dict[str, Any], name: str = "") -> Any:
    """A value that a JSON schema allows; a list has one object for each value of its first closed field."""
    if "anyOf" in schema:
        return example(schema["anyOf"][0], name)
    choices = schema.get("enum") or ([schema["const"]] if "const" in schema else None)
    if choices:
        return _CHOSEN[name] if _CHOSEN.get(name) in choices else choices[0]
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        return {key: example(inner, key) for key, inner in schema.get("properties", {}).items()}
    if kind == "array":
        return _example_items(schema.get("items", {}))
    if name in _CHOSEN:
        return _CHOSEN[name]
    plain: dict[Any, Any] = {"boolean": True, "string": "As asked.", "null": None}
    return plain.get(kind, schema.get("maximum", schema.get("minimum", 0)))


def _example_items(items: dict[str, Any]) -> list[Any]:
    for key, inner in items.get("properties", {}).items():
        if values := inner.get("enum"):
            return [{**example(items), key: value} for value in values]
    return []


def _token(verdict_id: str | None) -> dict[str, str]:
    return {} if verdict_id is None else {"verdict_id": verdict_id}


def _verdict_id(messages: list[dict[str, Any]]) -> str | None:
    """The token that stands at the end of the last message."""
    content = messages[-1]["content"] if messages else ""
    text = content if isinstance(content, str) else content[-1].get("text", "")
    _, found, token = text.rpartition("verdict_id: ")
    return token.strip() if found else None


def _encoded(item: Response) -> tuple[bytes, bytes]:
    """The head and the body of an HTTP response."""
    is_text = "body_text" in item
    body = item["body_text"].encode() if is_text else json.dumps(item["body_json"]).encode()
    status = item.get("status", 200)
    phrase = HTTPStatus(status).phrase if status in HTTPStatus.__members__.values() else "Unknown"
    headers = {"content-type": "text/plain" if is_text else "application/json", **item.get("headers", {})}
    lines = [f"HTTP/1.1 {status} {phrase}", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, f"content-length: {len(body)}", "", ""]).encode("latin-1"), body


def _serve() -> None:
    parser = argparse.ArgumentParser(prog="python -m judge.testing", description="A loopback judge endpoint.")
    parser.add_argument("--port", type=int, default=0, help="0 picks a free one")
    parser.add_argument("--delay", type=float, default=0.0, help="seconds before each answer")
    options = parser.parse_args()
    with LoopbackServer(delay_s=options.delay, port=options.port, record=False) as server:
        sys.stdout.write(server.base_url + "\n")
        sys.stdout.flush()
        sys.stdin.read()


if __name__ == "__main__":
    _serve()
