"""Replies in the shape of the public documentation, over a mocked transport and over a socket.

The files under `recorded/` are written by hand after the chat-completions references of OpenAI and
OpenRouter: the fields that real replies have and this agent does not know must do no harm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import respx

from agent.provider import Limits, Provider
from agent.reply import FailedAttempt, Reply
from tests.agent.support import RawServer, call, configuration

RECORDED = Path(__file__).parent / "recorded"
TYPES = {".json": "application/json", ".sse": "text/event-stream", ".html": "text/html"}
BASE = "http://models.example/api/v1"
CONTEXT = [{"role": "user", "content": "hi"}]
ANSWER = {"role": "assistant", "content": "The tests pass: 工作正常。"}
CALLS = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        call("read", '{\n"path": "README.md"\n}', "call_abc123"),
        call("bash", '{"command":"git status"}', "call_def456"),
    ],
}
STREAMED_CALLS = CALLS | {
    "tool_calls": [call("read", '{"path":"README.md"}', "call_abc123"), CALLS["tool_calls"][1]]
}


def counted(prompt: int, completion: int, cached: int = 0, written: int = 0) -> Mapping[str, int]:
    return {"input": prompt, "output": completion, "cacheRead": cached, "cacheWrite": written}


# file -> message, stop reason, usage
REPLIES: Mapping[str, tuple[Mapping[str, Any], str, Mapping[str, int]]] = {
    "plain.json": (ANSWER, "stop", counted(482, 21)),
    "tools.json": (CALLS, "toolUse", counted(82, 17)),
    "cached.json": (
        {"role": "assistant", "content": "Done."},
        "stop",
        counted(2006, 300, cached=1920),
    ),
    "plain.sse": (ANSWER, "stop", counted(482, 21, cached=400, written=64)),
    "tools.sse": (STREAMED_CALLS, "toolUse", counted(82, 17)),
}
# file, status -> code, words
FAILURES: Mapping[tuple[str, int], tuple[str, str]] = {
    ("rate_limit.json", 429): ("http_429", "Please try again in 20s"),
    ("bad_gateway.json", 502): ("http_502", "Provider returned error"),
    ("unavailable.html", 503): ("http_503", "503 Service Temporarily Unavailable"),
    ("error_in_stream.sse", 200): ("provider_error", "Provider disconnected unexpectedly"),
    ("bad_gateway.json", 200): ("provider_error", "Provider returned error"),
}


class Raw(NamedTuple):
    """What a provider puts on the wire."""

    body: bytes
    content_type: str
    status: int = 200


def recorded(name: str, status: int = 200) -> Raw:
    path = RECORDED / name
    return Raw(path.read_bytes(), TYPES[path.suffix], status)


@contextmanager
def _mocked(raw: Raw) -> Iterator[str]:
    with respx.mock() as router:
        headers = {"content-type": raw.content_type, "retry-after": "20"}
        router.post(f"{BASE}/chat/completions").respond(
            raw.status, headers=headers, content=raw.body
        )
        yield BASE


@contextmanager
def _served(raw: Raw) -> Iterator[str]:
    with RawServer(raw.body, raw.content_type, raw.status) as server:
        yield server.base_url


@pytest.fixture(name="serve", params=[_mocked, _served], ids=["respx", "loopback"])
def _serve(request: pytest.FixtureRequest) -> Callable[[Raw], AbstractContextManager[str]]:
    found: Callable[[Raw], AbstractContextManager[str]] = request.param
    return found


def asked(base_url: str, shown: list[str], limits: Limits | None = None) -> Reply:
    configured = configuration(base_url=base_url)
    provider = Provider(configured.settings, limits)
    try:
        return provider.complete(configured, CONTEXT, shown.append)
    finally:
        provider.close()


Serve = Callable[[Raw], AbstractContextManager[str]]


@pytest.mark.parametrize("name", REPLIES)
def test_a_reply(serve: Serve, name: str) -> None:
    shown: list[str] = []
    with serve(recorded(name)) as base_url:
        reply = asked(base_url, shown)
    message, stop_reason, usage = REPLIES[name]
    assert reply.message == message  # no reasoning, refusal, annotations, …
    assert (reply.stop_reason, reply.usage) == (stop_reason, usage)
    streamed_text = (message["content"] or "") if name.endswith(".sse") else ""
    assert "".join(shown) == streamed_text


def test_text_is_shown_in_the_pieces_in_which_it_comes(serve: Serve) -> None:
    shown: list[str] = []
    with serve(recorded("plain.sse")) as base_url:
        asked(base_url, shown)
    assert shown == ["The tests ", "pass: 工作正常。"]


@pytest.mark.parametrize(("name", "status"), FAILURES)
def test_a_failure(serve: Serve, name: str, status: int) -> None:
    with serve(recorded(name, status)) as base_url, pytest.raises(FailedAttempt) as caught:
        asked(base_url, [])
    code, words = FAILURES[name, status]
    assert caught.value.code == code
    assert words in str(caught.value)


STREAM = (RECORDED / "tools.sse").read_bytes()
TEXT = (RECORDED / "plain.sse").read_bytes()
BROKEN: Mapping[str, tuple[bytes, str]] = {
    "nothing": (b"", "incomplete_reply"),
    "no finish reason": (TEXT.replace(b'"finish_reason":"stop"', b'"x":1'), "incomplete_reply"),
    "no [DONE]": (TEXT.replace(b"data: [DONE]\n\n", b""), "incomplete_reply"),
    "[DONE] without its blank line": (TEXT.rstrip(b"\n"), "incomplete_reply"),
    "cut inside an argument": (STREAM[: STREAM.index(b"README.md")], "incomplete_reply"),
    "cut between two arguments": (STREAM[: STREAM.index(b"\n\ndata", 900) + 2], "incomplete_reply"),
    "malformed UTF-8": (TEXT.replace("工作".encode(), b"\xe5\xb7 \xe4"), "malformed_reply"),
    "malformed JSON": (TEXT.replace(b'"delta":{', b'"delta":{{', 1), "malformed_reply"),
    "a lone surrogate": (TEXT.replace("工作".encode(), b"\\ud800"), "malformed_reply"),
    "a key given twice": (TEXT.replace(b'"created":', b'"id":1,"created":'), "malformed_reply"),
    "an array as event": (b"data: []\n\n", "malformed_reply"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_stream_is_a_failed_attempt(serve: Serve, name: str) -> None:
    body, code = BROKEN[name]
    assert body not in (TEXT, STREAM)
    with serve(Raw(body, "text/event-stream")) as base_url, pytest.raises(FailedAttempt) as caught:
        asked(base_url, [])
    assert caught.value.code == code


def test_a_stream_over_the_size_limit_is_a_failed_attempt(serve: Serve) -> None:
    endless = b"data: " + b"x" * 5000
    for body in (TEXT, endless):
        with (
            serve(Raw(body, "text/event-stream")) as base_url,
            pytest.raises(FailedAttempt, match="exceeds 999 bytes") as caught,
        ):
            asked(base_url, [], Limits(reply_bytes=999))
        assert caught.value.code == "reply_too_large"


def test_a_stream_that_breaks_off_on_the_wire_is_a_failed_attempt() -> None:
    """The length was announced and the rest never came."""
    with (
        RawServer(TEXT, "text/event-stream", cut_after=1200) as server,
        pytest.raises(FailedAttempt) as caught,
    ):
        asked(server.base_url, [])
    assert caught.value.code == "connection_lost"


def test_what_a_stream_reported_is_counted_though_it_broke_off() -> None:
    """The usage came, its end did not; and a malformed event comes after it."""
    end = STREAM.index(b"data: [DONE]")
    cut = RawServer(STREAM, "text/event-stream", cut_after=end)
    broken = RawServer(STREAM[:end] + b"data: {\n\n", "text/event-stream")
    for server, code in ((cut, "connection_lost"), (broken, "malformed_reply")):
        with server, pytest.raises(FailedAttempt) as caught:
            asked(server.base_url, [])
        assert (caught.value.code, caught.value.usage) == (code, counted(82, 17))


@pytest.mark.parametrize("name", ["plain.sse", "tools.sse"])
def test_every_cut_of_a_stream_before_its_end_is_no_reply(name: str) -> None:
    """By the decoder itself, at every byte: a prefix is never taken for a whole."""
    from agent.reply import MalformedReply, StreamedReply
    from agent.sse import EventDecoder

    body = (RECORDED / name).read_bytes()
    done = body.index(b"[DONE]\n\n") + len(b"[DONE]\n\n")
    for end in range(0, done, 7):
        streamed, decoder = StreamedReply(), EventDecoder()
        for data in decoder.feed(body[:end]):
            streamed.feed(data)
        with pytest.raises(MalformedReply):
            streamed.reply()
