"""Builders that the agent's tests share: replies of a provider, a small model server, settings."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any

from agent.abort import Abort
from agent.configuration import Configuration, Settings
from agent.signals import AbortSwitch
from agent.state import Idle

SECRET = "sk-very-secret"


def call(name: str, arguments: Mapping[str, Any] | str, id_: str = "call_1") -> dict[str, Any]:
    """A tool call as a provider sends it; arguments given as text are sent as they are."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": text}}


def completion(
    content: str | None = None,
    calls: Sequence[Mapping[str, Any]] = (),
    finish_reason: str | None = "stop",
    usage: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The body of a whole reply."""
    message: dict[str, Any] = {"role": "assistant", "content": content}
    if calls:
        message["tool_calls"] = list(calls)
    body: dict[str, Any] = {"choices": [{"message": message, "finish_reason": finish_reason}]}
    return body if usage is None else body | {"usage": usage}


def settings(workspace: Path | str = "/workspace", **changes: Any) -> Settings:
    """Settings of a test; the base URL answers only where a test makes it."""
    values: dict[str, Any] = {
        "base_url": "http://127.0.0.1:9/v1",
        "model": "test/model",
        "stream": False,
        "environment_identity": str(workspace),
        "api_key": SECRET,
    }
    return Settings(**(values | changes))


def configuration(workspace: Path | str = "/workspace", **changes: Any) -> Configuration:
    return Configuration.of(settings(workspace, **changes))


def no_abort(switch: AbortSwitch) -> Abort:
    """What a room waits through where no operation is in hand, so that none can be aborted."""
    return Abort(switch, Idle, lambda _: None)


class ModelServer:
    """Answers the nth request with the nth body (a dict: 200 and JSON; a pair: status, body).

    A context manager; `requests` holds the parsed bodies that arrived.
    """

    def __init__(self, *answers: Mapping[str, Any] | tuple[int, Mapping[str, Any]]) -> None:
        self._answers = list(answers)
        self.requests: list[dict[str, Any]] = []
        handler = type("Handler", (_Handler,), {"model": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def answer(self, body: bytes) -> tuple[int, bytes]:
        self.requests.append(json.loads(body))
        number = len(self.requests) - 1
        if number >= len(self._answers):
            return 400, b'{"error":{"message":"unscripted request"}}'
        answer = self._answers[number]
        status, content = answer if isinstance(answer, tuple) else (200, answer)
        return status, json.dumps(content).encode()

    def __enter__(self) -> ModelServer:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    model: ModelServer

    def do_POST(self) -> None:
        status, body = self.model.answer(self.rfile.read(int(self.headers["content-length"])))
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        with contextlib.suppress(ConnectionError):  # an agent that was killed or aborted
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass


class RawServer:
    """Answers every request with the same bytes, broken off after `cut_after` of them."""

    def __init__(
        self, body: bytes, content_type: str, status: int = 200, cut_after: int | None = None
    ) -> None:
        raw = {"body": body[:cut_after], "size": len(body), "kind": content_type, "status": status}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Raw", (_RawHandler,), raw))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> RawServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _RawHandler(BaseHTTPRequestHandler):
    body: bytes
    size: int
    kind: str
    status: int

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(self.status)
        self.send_header("content-type", self.kind)
        self.send_header("content-length", str(self.size))
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass
