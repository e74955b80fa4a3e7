"""An OpenAI-compatible server on the loopback interface, with the faults that real ones have."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import threading
from collections.abc import Callable, Sequence
from http import HTTPStatus
from types import TracebackType
from typing import Any

from judge.testing.answers import Response, verdict_response

Script = Sequence[Response] | Callable[[dict[str, Any]], Response]


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


def _encoded(item: Response) -> tuple[bytes, bytes]:
    """The head and the body of an HTTP response."""
    is_text = "body_text" in item
    body = item["body_text"].encode() if is_text else json.dumps(item["body_json"]).encode()
    status = item.get("status", 200)
    phrase = HTTPStatus(status).phrase if status in HTTPStatus.__members__.values() else "Unknown"
    headers = {"content-type": "text/plain" if is_text else "application/json", **item.get("headers", {})}
    lines = [f"HTTP/1.1 {status} {phrase}", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, f"content-length: {len(body)}", "", ""]).encode("latin-1"), body
