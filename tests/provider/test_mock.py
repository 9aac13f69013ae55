"""The mock provider as its two sides see it: the engine that serves it, the agent that calls it.

The test thread is the engine: it waits on `fileno()` and calls `serve()`. Clients are raw sockets
in the same thread, which shows that nothing blocks, or httpx in another.
"""

from __future__ import annotations

import json
import os
import select
import socket
import struct
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaos.errors import HarnessError
from chaos.flavours import CHAT
from chaos.provider import client as client_module
from chaos.provider import exchange
from chaos.provider.faults import Fault
from chaos.provider.mock import MockProvider
from chaos.provider.script import Turn, reply_of
from tests.provider.wired import (
    ASK,
    BODY,
    BOUND_S,
    PLACES,
    STREAM_BODY,
    TURNS,
    Journal,
    Stage,
    in_thread,
    payload,
    read_all,
    serve_returns,
    stage_fixture,
    status,
)

__all__ = ["stage_fixture"]


# -- a request, from its first byte to its last answer byte ---------------------------------------


def test_a_plain_request_is_answered_by_the_script(stage: Stage) -> None:
    reply = stage.ask()
    assert status(reply) == 200
    assert payload(reply) == CHAT.plain(reply_of(TURNS[0], 0), "m")
    assert stage.journal.lines == [
        ("arrived", 1),
        ("decided", 1, 200),
        ("answered", 1, True),
    ]
    assert stage.journal.decisions[1] == {
        "ordinal": 1,
        "method": "POST",
        "path": "/v1/chat/completions",
        "body": BODY,
        "status": 200,
        "reason": "",
        "answer": CHAT.plain(reply_of(TURNS[0], 0), "m"),
        "usage": {"prompt_tokens": 17, "completion_tokens": 13, "cached_tokens": 11},
        "injected": False,
    }


def test_a_stream_is_answered_event_by_event(stage: Stage) -> None:
    def ask() -> tuple[str, list[str]]:
        with httpx.stream("POST", f"{stage.url}/chat/completions", content=STREAM_BODY) as reply:
            return reply.headers["content-type"], list(reply.iter_lines())

    content_type, lines = in_thread(stage, ask)
    assert content_type == "text/event-stream"
    events = b"".join(CHAT.stream(reply_of(TURNS[0], 0), "m"))
    assert lines == events.decode().splitlines()
    assert stage.journal.decisions[1]["answer"] == events


def test_a_connection_is_kept_alive(stage: Stage) -> None:
    def ask() -> list[int]:
        with httpx.Client(base_url=stage.url) as agent:
            return [agent.post("/chat/completions", json=ASK).status_code for _ in range(3)]

    assert in_thread(stage, ask) == [200, 200, 200]
    assert [line[:2] for line in stage.journal.lines] == [
        (what, ordinal) for ordinal in (1, 2, 3) for what in ("arrived", "decided", "answered")
    ]


def test_a_request_counts_from_its_first_byte(stage: Stage) -> None:
    sock = stage.connect()
    request = stage.request()
    sock.sendall(request[:1])
    stage.mock.serve()
    assert stage.journal.lines == [("arrived", 1)]
    sock.sendall(request[1:-1])
    stage.mock.serve()
    assert stage.journal.lines == [("arrived", 1)]
    sock.sendall(request[-1:])
    stage.mock.serve()
    assert stage.journal.lines == [("arrived", 1), ("decided", 1, 200), ("answered", 1, True)]


def test_a_request_split_at_any_byte_is_the_same_request(stage: Stage) -> None:
    request = stage.request()
    for cut in range(1, len(request), 7):
        stage.begin()
        sock = stage.connect()
        for piece in (request[:cut], request[cut:]):
            sock.sendall(piece)
            stage.mock.serve()
        assert stage.journal.lines == [("arrived", 1), ("decided", 1, 200), ("answered", 1, True)]
        assert stage.journal.decisions[1]["body"] == BODY


@pytest.mark.parametrize("sent", [1, 30, -1])
@pytest.mark.parametrize("served_before", [True, False])
@pytest.mark.parametrize("reset", [True, False])  # RST: it died with bytes for it unread
def test_a_client_that_dies_while_it_asks_leaves_its_trace(
    stage: Stage, sent: int, served_before: bool, reset: bool
) -> None:
    sock = stage.connect()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", reset, 0))
    sock.sendall(stage.request()[:sent])
    if served_before:
        stage.mock.serve()
    sock.close()
    stage.serve_until(lambda: len(stage.journal.lines) == 3)
    assert stage.journal.lines == [("arrived", 1), ("decided", 1, 0), ("answered", 1, False)]
    found = f"{len(BODY) - 1} bytes of its body" if sent == -1 else "part of its head"
    assert stage.journal.decisions[1]["reason"] == f"the connection ended after {found}"


def test_a_connection_without_a_byte_is_no_request(stage: Stage) -> None:
    stage.connect().close()
    stage.mock.serve()
    assert stage.journal.lines == []


def test_requests_of_several_connections_are_each_answered(stage: Stage) -> None:
    socks = [stage.connect() for _ in range(20)]
    for sock in socks:
        sock.sendall(stage.request(connection="close"))
    stage.mock.serve()
    assert {status(read_all(sock)) for sock in socks} == {200}
    assert len(stage.journal.decisions) == 20


def test_pipelined_requests_are_answered_in_turn(stage: Stage) -> None:
    sock = stage.connect()
    sock.sendall(stage.request() * 40 + stage.request(connection="close"))
    stage.serve_until(lambda: ("answered", 41, True) in stage.journal.lines)
    assert read_all(sock).count(b"HTTP/1.1 200") == 41


def test_who_goes_round_in_circles_is_refused(stage: Stage) -> None:
    sock = stage.connect()
    sock.sendall(stage.request() * 200 + stage.request(connection="close"))
    stage.serve_until(lambda: ("answered", 201, True) in stage.journal.lines)
    answers = read_all(sock)
    assert answers.count(b"HTTP/1.1 200") + answers.count(b"HTTP/1.1 400") == 201
    assert b"the target goes round in circles" in answers


def test_a_client_that_waits_for_100_continue_is_told_to_go_on(stage: Stage) -> None:
    sock = stage.connect()
    head, _, body = stage.request(expect="100-continue", connection="close").partition(b"\r\n\r\n")
    sock.sendall(head + b"\r\n\r\n")
    stage.mock.serve()
    assert sock.recv(100).startswith(b"HTTP/1.1 100 ")
    sock.sendall(body)
    stage.mock.serve()
    assert status(read_all(sock)) == 200


# -- the engine's side ----------------------------------------------------------------------------


def test_one_serve_decides_every_request_that_the_kernel_holds(stage: Stage) -> None:
    # Connected, sent, nothing served yet: accept, read and decide are still to do for all of them.
    for _ in range(30):
        sock = stage.connect()
        sock.sendall(stage.request())
        stage.mock.serve()
        assert stage.journal.lines[-1] == ("answered", len(stage.journal.decisions), True)
    assert len(stage.journal.decisions) == 30


def test_one_serve_reads_a_request_of_many_packets(stage: Stage) -> None:
    messages = [{"role": "user", "content": "x" * 50_000}]
    body = json.dumps({"model": "m", "messages": messages}).encode()
    sock = stage.connect()
    sock.sendall(stage.request(body))
    stage.mock.serve()
    assert stage.journal.decisions[1]["body"] == body


def test_its_descriptor_can_be_nested_in_another_epoll(stage: Stage) -> None:
    with select.epoll() as outer:
        outer.register(stage.mock.fileno(), select.EPOLLIN)
        assert outer.poll(0) == []
        sock = stage.connect()
        sock.sendall(stage.request())
        assert outer.poll(BOUND_S) == [(stage.mock.fileno(), select.EPOLLIN)]
        stage.mock.serve()
        assert outer.poll(0) == []  # nothing is left to do, so nothing spins


@pytest.mark.parametrize("half_closed", [True, False])
def test_an_answer_larger_than_the_socket_buffers_goes_out_as_the_client_reads(
    stage: Stage, half_closed: bool
) -> None:
    big = Turn("é" * 4_000_000)
    stage.mock.begin("tok", [big], {}, stage.journal)
    sock = stage.connect()
    sock.sendall(stage.request(connection="close"))
    if half_closed:  # the client has said all; it is still owed its answer
        sock.shutdown(socket.SHUT_WR)
    serve_returns(stage)  # although the client has not read
    assert stage.journal.lines == [("arrived", 1), ("decided", 1, 200)]
    reply = in_thread(stage, lambda: read_all(sock))
    assert payload(reply) == CHAT.plain(reply_of(big, 0), "m")
    assert stage.journal.lines[-1] == ("answered", 1, True)


def test_a_request_behind_a_large_answer_waits_for_its_turn(stage: Stage) -> None:
    stage.mock.begin("tok", [Turn("x" * 8_000_000)], {}, stage.journal)
    sock = stage.connect()
    sock.sendall(stage.request() + stage.request(connection="close"))
    serve_returns(stage)
    assert stage.journal.lines == [("arrived", 1), ("decided", 1, 200)]
    assert in_thread(stage, lambda: read_all(sock)).count(b"HTTP/1.1 200") == 2
    assert stage.journal.lines[-1] == ("answered", 2, True)


def test_a_client_that_goes_away_in_the_middle_of_its_answer(stage: Stage) -> None:
    stage.mock.begin("tok", [Turn("x" * 8_000_000)], {}, stage.journal)
    sock = stage.connect()
    sock.sendall(stage.request())
    stage.mock.serve()
    sock.close()
    stage.serve_until(lambda: len(stage.journal.lines) == 3)
    assert stage.journal.lines[-1] == ("answered", 1, False)


def test_descriptors_are_given_back(stage: Stage) -> None:
    before = os.listdir("/proc/self/fd")
    for _ in range(5):
        stage.ask()
    stage.mock.end()
    for sock in stage.sockets:
        sock.close()
    assert os.listdir("/proc/self/fd") == before


def test_a_port_in_use_is_said_clearly(stage: Stage) -> None:
    port = stage.mock.port
    with pytest.raises(HarnessError) as caught:
        MockProvider(port)
    assert str(caught.value) == (
        f"mock provider: expected port {port} of 127.0.0.1 to be free, found: Address already in "
        "use; stop what listens there (ss -ltnp), or choose another port"
    )


def test_a_port_is_free_again_once_closed() -> None:
    other = Stage(MockProvider(), Journal())
    other.begin()
    other.ask()  # the mock closes first, so this connection stays in TIME_WAIT on its side
    other.sockets[0].close()
    other.mock.close()
    again = MockProvider(other.mock.port)
    again.close()


# -- launches -------------------------------------------------------------------------------------


def test_the_base_url_is_that_of_the_running_launch(stage: Stage) -> None:
    assert stage.url == stage.mock.base_url == f"http://127.0.0.1:{stage.mock.port}/tok/v1"


def test_ordinals_start_again_with_each_launch(stage: Stage) -> None:
    stage.ask()
    stage.mock.end()
    stage.begin()
    stage.ask()
    assert list(stage.journal.decisions) == [1]


def test_the_end_of_a_launch_journals_what_still_arrived_and_closes(stage: Stage) -> None:
    sock = stage.connect()
    sock.sendall(stage.request())  # and then the client is killed; nobody has served since
    stage.mock.end()
    assert stage.journal.lines == [("arrived", 1), ("decided", 1, 200), ("answered", 1, True)]
    assert status(sock.recv(65536)) == 200
    with pytest.raises(ConnectionResetError):
        sock.recv(1)


@pytest.mark.parametrize("served", [True, False])
def test_connections_of_an_earlier_launch_never_reach_the_next(stage: Stage, served: bool) -> None:
    old = stage.connect()
    request = stage.request()
    if served:  # accepted and half read, or still in the backlog
        old.sendall(request[:-1])
        stage.mock.serve()
        old.sendall(request[-1:])
    else:
        old.sendall(request)
    before = stage.journal
    stage.begin()  # without an end: the earlier launch was broken off
    with pytest.raises(ConnectionResetError):
        read_all(old)
    stage.mock.serve()
    assert stage.journal.lines == []
    assert before.lines == ([("arrived", 1)] if served else [])
    assert stage.mock.foreign_count == 0


def test_the_key_must_be_the_one_given(stage: Stage) -> None:
    stage.begin(api_key="sk-right")
    assert status(stage.ask(authorization="Bearer sk-wrong")) == 401
    assert status(stage.ask()) == 401
    assert status(stage.ask(authorization="Bearer sk-right")) == 200
    assert stage.journal.decisions[1]["reason"] == "wrong key"


# -- what is not for this launch ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (
            {"path": "/old/v1/chat/completions"},
            f"expected the root URL of the running launch + {PLACES}, "
            "found /old/v1/chat/completions",
        ),
        (
            {"path": "/tok/v1/embeddings"},
            f"expected the root URL of the running launch + {PLACES}, found /tok/v1/embeddings",
        ),
        ({"method": "GET"}, "expected POST, found GET"),
        ({"host": "example.org"}, "expected the host 127.0.0.1:PORT, found example.org"),
    ],
)
def test_a_foreign_request_is_counted_and_reaches_nobody(
    stage: Stage, change: dict[str, Any], why: str
) -> None:
    sock = stage.connect()
    sock.sendall(stage.request(connection="close", **change))
    stage.mock.serve()
    assert status(read_all(sock)) == 404
    assert stage.journal.lines == []
    assert stage.mock.foreign_count == 1
    assert stage.mock.foreign[0].why == why.replace("PORT", str(stage.mock.port))
    # Neither does it shift the ordinals of the launch's own requests.
    stage.ask()
    assert list(stage.journal.decisions) == [1]


def test_a_request_without_a_launch_is_foreign(stage: Stage) -> None:
    stage.mock.end()
    assert status(stage.ask()) == 404
    assert stage.mock.foreign[0].why == "no launch is running"


def test_half_a_request_without_a_launch_disturbs_nothing(stage: Stage) -> None:
    stage.mock.end()
    sock = stage.connect()
    sock.sendall(b"POST /")
    stage.mock.serve()
    sock.close()
    stage.mock.serve()
    assert stage.journal.lines == []
    stage.begin()
    assert status(stage.ask()) == 200
    assert [told["ordinal"] for told in stage.journal.decisions.values()] == [1]


def test_what_is_not_http_is_foreign(stage: Stage) -> None:
    sock = stage.connect()
    sock.sendall(b"\x16\x03\x01 hello in TLS\r\n\r\n")
    stage.mock.serve()
    assert read_all(sock) == b""
    assert stage.journal.lines == []
    assert stage.mock.foreign[0].why.startswith("not HTTP/1.1: ")


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"HEAD / HTTP/1.1\r\nhost: x\r\n\r\n",
        b"CONNECT x:443 HTTP/1.1\r\nhost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: x\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n",
        b"OPTIONS * HTTP/1.0\r\n\r\n",
        b"POST /tok/v1/chat/completions HTTP/1.0\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nhost: x\r\n\r\n",
    ],
)
def test_whatever_knocks_the_launch_goes_on(stage: Stage, request_bytes: bytes) -> None:
    sock = stage.connect()
    sock.sendall(request_bytes)
    sock.shutdown(socket.SHUT_WR)
    stage.serve_until(lambda: stage.mock.foreign_count)
    read_all(sock)
    assert status(stage.ask()) == 200
    assert list(stage.journal.decisions) == [1]


def test_a_request_that_turns_out_broken_is_journaled_as_such(stage: Stage) -> None:
    sock = stage.connect()
    broken = stage.request(b"", **{"transfer-encoding": "chunked"}).replace(
        b"content-length: 0\r\n", b""
    )
    sock.sendall(broken + b"no chunk\r\n")
    stage.mock.serve()
    assert stage.journal.lines == [("arrived", 1), ("decided", 1, 0), ("answered", 1, False)]
    assert stage.journal.decisions[1]["reason"].startswith("not HTTP/1.1: ")


@given(st.binary(min_size=1, max_size=60))
def test_no_bytes_stop_the_server(data: bytes) -> None:
    stage = Stage(MockProvider(), Journal())
    stage.begin()
    sock = stage.connect()
    sock.sendall(data)
    sock.close()
    stage.mock.end()
    stage.mock.close()
    # Taken for the beginning of a request, or for something else, but never lost.
    begun = [("arrived", 1), ("decided", 1, 0), ("answered", 1, False)]
    assert stage.journal.lines == ([] if stage.mock.foreign_count else begun)


# -- strictness -----------------------------------------------------------------------------------


def test_an_illegal_request_gets_400_with_every_fault(stage: Stage) -> None:
    body = json.dumps({"model": "m", "messages": [{"role": "tool", "content": None}]}).encode()
    reply = stage.ask(body)
    assert status(reply) == 400
    error = json.loads(payload(reply))["error"]
    assert error == {
        "message": "messages[0] (tool).content: expected text, found null; "
        "messages[0] (tool).tool_call_id: expected a non-empty string, found null",
        "type": "invalid_request_error",
        "param": None,
        "code": 400,
    }
    assert stage.journal.decisions[1]["reason"] == (
        "illegal request: messages[0] (tool).content: expected text, found null"
    )


def test_a_transcript_that_no_turn_answers_gets_400(stage: Stage) -> None:
    called = {
        "role": "assistant",
        "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "bash", "arguments": ""}}
        ],
    }
    result = {"role": "tool", "tool_call_id": "a", "content": "ok"}
    messages = [*ASK["messages"], called, result, called, result]
    reply = stage.ask(json.dumps({"model": "m", "messages": messages}).encode())
    assert status(reply) == 400
    assert json.loads(payload(reply))["error"]["message"] == (
        "unscripted: none of the scenario's 2 turns answers this transcript, which ends in: "
        "user assistant tool assistant tool; add a [[provider.turn]], or correct its `when`"
    )
    assert stage.journal.decisions[1]["reason"] == "unscripted: no turn answers this transcript"
    assert stage.journal.decisions[1]["usage"] is None


def test_a_body_beyond_the_limit_gets_413(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "MAX_BODY_BYTES", 1000)
    assert status(stage.ask(b"x" * 1001)) == 413
    assert len(stage.journal.decisions[1]["body"]) <= 1000


def test_a_head_beyond_the_limit_is_not_read_to_its_end(stage: Stage) -> None:
    sock = stage.connect()
    sock.sendall(b"POST / HTTP/1.1\r\nx: " + b"y" * (client_module._MAX_HEAD_BYTES + 1))
    stage.mock.serve()
    assert stage.mock.foreign_count == 1


# -- faults ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "kind"), [(429, "rate_limit_error"), (500, "server_error"), (418, "api_error")]
)
def test_an_error_status(stage: Stage, code: int, kind: str) -> None:
    stage.begin({1: Fault("status", status=code)})
    reply = stage.ask()
    assert status(reply) == code
    assert json.loads(payload(reply))["error"]["type"] == kind
    decision = stage.journal.decisions[1]
    assert (decision["status"], decision["reason"]) == (code, f"injected provider:{code}")
    assert decision["injected"]
    assert decision["usage"] is None
    assert stage.journal.lines[-1] == ("answered", 1, True)


def test_a_fault_hits_its_ordinal_only(stage: Stage) -> None:
    stage.begin({2: Fault("status", status=500)})
    assert [status(stage.ask()) for _ in range(3)] == [200, 500, 200]
    assert [stage.journal.decisions[n]["injected"] for n in (1, 2, 3)] == [False, True, False]


def test_a_fault_comes_before_every_other_judgement(stage: Stage) -> None:
    stage.begin({1: Fault("status", status=503)}, api_key="k")
    assert status(stage.ask(b"no JSON")) == 503


def test_close_ends_the_connection_before_any_byte(stage: Stage) -> None:
    stage.begin({1: Fault("close")})
    assert stage.ask() == b""
    assert stage.journal.lines == [("arrived", 1), ("decided", 1, 0), ("answered", 1, False)]
    assert stage.journal.decisions[1]["reason"] == "injected provider:close"


def test_reset_resets_the_connection(stage: Stage) -> None:
    stage.begin({1: Fault("reset")})
    with pytest.raises(ConnectionResetError):
        stage.ask()
    assert stage.journal.lines == [("arrived", 1), ("decided", 1, 0), ("answered", 1, False)]


def test_hold_never_answers(stage: Stage) -> None:
    stage.begin({1: Fault("hold")})
    sock = stage.connect()
    sock.sendall(stage.request())
    stage.mock.serve()
    assert stage.journal.lines == [("arrived", 1), ("decided", 1, 0), ("held", 1)]
    ready, _, _ = select.select([sock.fileno(), stage.mock.fileno()], [], [], 0)
    assert ready == []  # and nothing spins
    assert status(stage.ask()) == 200  # others are served meanwhile
    sock.close()
    stage.serve_until(lambda: ("answered", 1, False) in stage.journal.lines)


def test_a_held_request_ends_with_its_launch(stage: Stage) -> None:
    stage.begin({1: Fault("hold")})
    sock = stage.connect()
    sock.sendall(stage.request())
    stage.mock.end()
    assert stage.journal.lines[-1] == ("answered", 1, False)


def test_malformed_is_a_complete_reply_with_broken_json(stage: Stage) -> None:
    stage.begin({1: Fault("malformed")})
    reply = in_thread(stage, lambda: httpx.post(f"{stage.url}/chat/completions", content=BODY))
    assert reply.status_code == 200
    with pytest.raises(ValueError, match=r"Unterminated|Expecting"):
        reply.json()
    assert stage.journal.lines[-1] == ("answered", 1, True)
    assert stage.journal.decisions[1]["usage"] is None


def test_malformed_stream_breaks_one_event(stage: Stage) -> None:
    stage.begin({1: Fault("malformed")})
    post = lambda: httpx.post(f"{stage.url}/chat/completions", content=STREAM_BODY)  # noqa: E731
    events = in_thread(stage, post).text.split("\n\n")
    json.loads(events[0].removeprefix("data: "))
    with pytest.raises(ValueError, match=r"Unterminated|Expecting"):
        json.loads(events[1].removeprefix("data: "))
    assert events[2] == "data: [DONE]"


def test_cut_ends_a_plain_reply_after_n_bytes(stage: Stage) -> None:
    stage.begin({1: Fault("cut", after=17)})
    reply = stage.ask()
    whole = CHAT.plain(reply_of(TURNS[0], 0), "m")
    assert f"content-length: {len(whole)}".encode() in reply.lower()
    assert payload(reply) == whole[:17] == stage.journal.decisions[1]["answer"]
    assert stage.journal.lines[-1] == ("answered", 1, False)


@pytest.mark.parametrize("cut", range(7))
def test_cut_ends_a_stream_after_n_events(stage: Stage, cut: int) -> None:
    events = CHAT.stream(reply_of(TURNS[0], 0), "m")
    assert len(events) == 6
    stage.begin({1: Fault("cut", after=cut)})
    reply = stage.ask(STREAM_BODY)
    assert status(reply) == 200
    assert reply.count(b"data: ") == min(cut, 6)
    assert not reply.endswith(b"0\r\n\r\n")  # the chunked body has no end
    decision = stage.journal.decisions[1]
    assert decision["answer"] == b"".join(events[:cut])
    # The usage is told by the last event before [DONE], or not at all.
    assert (decision["usage"] is not None) == (cut >= 5)


def streamed(stage: Stage, fault: str) -> bytes:
    """The body of a streamed reply under a fault, without its chunks."""
    stage.begin({1: Fault.parse(fault)})
    reply = stage.ask(STREAM_BODY)
    assert status(reply) == 200
    data, rest = b"", payload(reply)
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        data += rest[: int(size, 16)]
        rest = rest[int(size, 16) + 2 :]
    assert data == stage.journal.decisions[1]["answer"]
    return data


def test_a_stream_can_be_cut_at_every_byte(stage: Stage) -> None:
    events = CHAT.stream(reply_of(TURNS[0], 0), "m")
    whole = b"".join(events)
    for count in range(len(whole) + 2):
        assert streamed(stage, f"provider:cut-byte@{count}") == whole[:count]
        assert stage.journal.lines[-1] == ("answered", 1, False)
        # The usage is told once its event is whole, to the blank line that ends it.
        told = stage.journal.decisions[1]["usage"] is not None
        assert told == (count >= len(whole) - len(events[-1]))


def test_an_answer_can_end_early_as_if_it_were_whole(stage: Stage) -> None:
    events = CHAT.stream(reply_of(TURNS[0], 0), "m")
    assert streamed(stage, "provider:end@3") == b"".join(events[:3])
    assert stage.journal.lines[-1] == ("answered", 1, True)
    stage.begin({1: Fault.parse("provider:end@17")})
    reply = stage.ask()
    assert b"content-length: 17\r\n" in reply.lower()
    assert payload(reply) == CHAT.plain(reply_of(TURNS[0], 0), "m")[:17]


def test_a_reset_comes_after_what_was_sent(stage: Stage) -> None:
    stage.begin({1: Fault.parse("provider:reset@2")})
    sock = stage.connect()
    sock.sendall(stage.request(STREAM_BODY))
    stage.mock.serve()
    assert sock.recv(65536).count(b"data: ") == 2
    with pytest.raises(ConnectionResetError):
        sock.recv(65536)
    assert stage.journal.lines[-1] == ("answered", 1, False)


def test_an_answer_can_fall_silent(stage: Stage) -> None:
    stage.begin({1: Fault.parse("provider:hold@1")})
    sock = stage.connect()
    sock.sendall(stage.request(STREAM_BODY))
    stage.mock.serve()
    assert sock.recv(65536).count(b"data: ") == 1
    ready, _, _ = select.select([sock, stage.mock], [], [], 0)
    assert ready == []  # still open, and nothing spins
    assert stage.journal.lines == [("arrived", 1), ("decided", 1, 200), ("held", 1)]
    stage.mock.end()
    assert stage.journal.lines[-1] == ("answered", 1, False)


def test_bad_utf8_is_in_what_the_model_says(stage: Stage) -> None:
    stage.begin({1: Fault.parse("provider:bad-utf8")})
    assert b'"content":"\xffhello"' in payload(stage.ask())
    assert b'"content":"\xffhel"' in streamed(stage, "provider:bad-utf8")
    with pytest.raises(UnicodeDecodeError):
        stage.journal.decisions[1]["answer"].decode()


def test_an_answer_without_a_finish_reason_is_whole_otherwise(stage: Stage) -> None:
    stage.begin({1: Fault.parse("provider:no-finish")})
    whole = json.loads(payload(stage.ask()))
    assert whole["choices"][0]["finish_reason"] is None
    assert whole["choices"][0]["message"]["content"] == "hello"
    events = streamed(stage, "provider:no-finish")
    assert b'"finish_reason":"' not in events
    assert events.endswith(b"data: [DONE]\n\n")
    assert stage.journal.decisions[1]["usage"] is not None
