"""A mock provider in the middle of a launch, its journal, and raw clients of it."""

from __future__ import annotations

import json
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from chaos.flavours import FLAVOURS, NO_MARKS, SideMarks
from chaos.provider.exchange import Answer, Received
from chaos.provider.faults import Fault
from chaos.provider.mock import MockProvider
from chaos.provider.script import ToolCall, Turn

BOUND_S = 10.0
TURNS = [Turn("hello"), Turn(None, (ToolCall("bash", '{"command":"true"}'),))]
ASK = {"model": "m", "messages": [{"role": "user", "content": "go"}]}
BODY = json.dumps(ASK).encode()
PLACES = ", ".join(flavour.place for flavour in FLAVOURS)
STREAM_BODY = json.dumps({**ASK, "stream": True}).encode()


@dataclass
class Journal:
    """Everything the mock says, in order."""

    lines: list[tuple[Any, ...]] = field(default_factory=list)
    decisions: dict[int, dict[str, Any]] = field(default_factory=dict)

    def request_arrived(self, ticket: int) -> None:
        self.lines.append(("arrived", ticket))

    def request_decided(self, ticket: int, ordinal: int, request: Received, answer: Answer) -> None:
        self.lines.append(("decided", ticket, answer.status))
        self.decisions[ticket] = {
            "ordinal": ordinal,
            "method": request.method,
            "path": request.path,
            "body": bytes(request.body),
            "status": answer.status,
            "reason": answer.reason,
            "answer": answer.body,
            "usage": answer.usage,
            "injected": answer.injected,
        }

    def held(self, ticket: int) -> None:
        self.lines.append(("held", ticket))

    def answered(self, ticket: int, complete: bool) -> None:
        self.lines.append(("answered", ticket, complete))


@dataclass
class Stage:
    """A mock in the middle of a launch."""

    mock: MockProvider
    journal: Journal
    url: str = ""
    sockets: list[socket.socket] = field(default_factory=list)

    def begin(
        self,
        faults: Mapping[int, Fault] | None = None,
        api_key: str | None = None,
        side: SideMarks = NO_MARKS,
    ) -> None:
        self.journal = Journal()
        faults = faults or {}
        self.url = self.mock.begin("tok", TURNS, faults, self.journal, api_key=api_key, side=side)

    def connect(self) -> socket.socket:
        sock = socket.create_connection(("127.0.0.1", self.mock.port), timeout=BOUND_S)
        self.sockets.append(sock)
        return sock

    def serve_until(self, done: Callable[[], object]) -> None:
        """The engine's loop."""
        deadline = time.monotonic() + BOUND_S
        while not done():
            select.select([self.mock], [], [], 0.05)
            self.mock.serve()
            assert time.monotonic() < deadline, f"waited in vain; journal: {self.journal.lines}"

    def ask(self, body: bytes = BODY, **head: str) -> bytes:
        """One raw request on a connection of its own; everything that comes back until FIN."""
        sock = self.connect()
        sock.sendall(self.request(body, connection="close", **head))
        self.mock.serve()
        return read_all(sock)

    def request(self, body: bytes = BODY, path: str = "/tok/v1/chat/completions",
                method: str = "POST", **headers: str) -> bytes:  # fmt: skip
        fields = {
            "host": f"127.0.0.1:{self.mock.port}",
            "content-length": str(len(body)),
            **headers,
        }
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        return f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + body


@pytest.fixture(name="stage")
def stage_fixture() -> Iterator[Stage]:
    stage = Stage(MockProvider(), Journal())
    stage.begin()
    yield stage
    stage.mock.close()
    for sock in stage.sockets:
        sock.close()


def read_all(sock: socket.socket) -> bytes:
    return b"".join(iter(lambda: sock.recv(65536), b""))


def payload(reply: bytes) -> bytes:
    return reply.partition(b"\r\n\r\n")[2]


def status(reply: bytes) -> int:
    return int(reply.split(b" ", 2)[1])


def in_thread(stage: Stage, work: Callable[[], Any]) -> Any:
    """Run a blocking client while this thread serves."""
    result: list[Any] = []

    def body() -> None:
        try:
            result.append(work())
        except Exception as error:  # handed to the test
            result.append(error)

    thread = threading.Thread(target=body)
    thread.start()
    stage.serve_until(lambda: result)
    thread.join(BOUND_S)
    return result[0]


def serve_returns(stage: Stage) -> None:
    """Serve in a thread of its own, so that a server that spins fails instead of hanging."""
    thread = threading.Thread(target=stage.mock.serve, daemon=True)
    thread.start()
    thread.join(BOUND_S)
    assert not thread.is_alive(), "serve() does not return"
