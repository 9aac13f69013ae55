"""Replies that are shown while they come, and of which nothing partial is ever durable."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.agent.terminal import BOUND_S, ESC, Person, Sit

ID = "018f0000-0000-7000-8000-000000000001"
STREAM = (Path(__file__).parent / "recorded" / "plain.sse").read_bytes()
MIDDLE = STREAM.index(b"data: {", STREAM.index(b"The tests "))  # between the two pieces of text


class Handler(BaseHTTPRequestHandler):
    """Sends half a stream, then the rest once it is told to go on."""

    go_on: threading.Event

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        try:
            self.wfile.write(STREAM[:MIDDLE])
            self.go_on.wait(BOUND_S)
            self.wfile.write(STREAM[MIDDLE:])
        except ConnectionError:  # aborted or killed
            pass

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass


@pytest.fixture(name="go_on")
def _go_on() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture(name="url")
def _url(go_on: threading.Event) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("H", (Handler,), {"go_on": go_on}))
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    go_on.set()
    server.shutdown()
    thread.join()
    server.server_close()


def log(person: Person) -> str:
    return person.log.read_text()


def test_a_run_on_a_terminal_shows_the_reply_as_it_comes(
    sit: Sit, url: str, go_on: threading.Event
) -> None:
    person = sit(url, "run", "--session", ID, "go")
    person.sees("The tests ")
    assert "The tests" not in log(person)  # only its attempt is durable
    go_on.set()
    person.sees("pass: 工作正常。")
    assert person.leaves() == 0
    assert "The tests" not in person.screen  # it is shown once
    assert "The tests pass: 工作正常。" in log(person)


def test_chat_shows_the_reply_as_it_comes(sit: Sit, url: str, go_on: threading.Event) -> None:
    person = sit(url)
    person.says("go")
    person.sees("The tests ")
    go_on.set()
    person.sees("pass: 工作正常。")
    person.says("/exit")
    assert person.leaves() == 0


def test_streaming_can_be_turned_off(sit: Sit, url: str, go_on: threading.Event) -> None:
    """The server streams all the same: what was not asked for is still read."""
    go_on.set()
    person = sit(url, "run", "--session", ID, "go", AGENT_STREAM="0")
    person.sees("The tests pass: 工作正常。")
    assert person.leaves() == 0


def test_esc_in_the_middle_of_a_reply_keeps_nothing_of_it(sit: Sit, url: str) -> None:
    person = sit(url, "--session", ID)
    person.says("go")
    person.sees("The tests ")
    person.press(ESC)
    person.sees("nothing of it is kept")
    person.sees("aborted")
    person.says("/exit")
    assert person.leaves() == 0
    assert "The tests" not in log(person)
    assert '"stepFailed"' in log(person)


def test_a_kill_in_the_middle_of_a_reply_keeps_nothing_of_it(
    sit: Sit, url: str, go_on: threading.Event
) -> None:
    person = sit(url, "--session", ID)
    person.says("go")
    person.sees("The tests ")
    person.agent.kill()
    person.leaves()
    assert "The tests" not in log(person)
    go_on.set()
    again = sit(url, "--session", ID)
    again.sees("sent once more")
    again.sees("The tests pass: 工作正常。")
    again.says("/exit")
    assert again.leaves() == 0
    assert log(person).count("The tests pass") == 1
