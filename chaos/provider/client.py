"""One client of the mock provider: its socket, its HTTP/1.1 state, its requests one by one.

Promises: `ready` handles all that the kernel holds for this connection and returns without
waiting; a request is announced at its first byte, decided at its last, before a byte of the answer
is sent; each announced request is decided and answered exactly once, whatever the client does.
Does not know the script: `Desk` decides.

The protocol itself is h11's (sans-IO); this module moves bytes between it and the socket.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import struct
from typing import Protocol

import h11

from chaos.provider.exchange import Answer, Ending, Received

_READ_BYTES = 2**18
_MAX_HEAD_BYTES = 2**16
_RST_ON_CLOSE = struct.pack("ii", 1, 0)  # SO_LINGER: on, for no time


class Desk(Protocol):
    """Who the client talks to: numbers the requests and decides about them."""

    def foreign_because(self, request: Received) -> str:
        """Why this request is not for the running launch; empty: it is."""

    def reject(self, request: Received, why: str) -> Answer:
        """Note a foreign request; give its answer."""

    def arrived(self) -> int | None:
        """The first byte of a request is here. Returns its ticket; None: nobody counts."""

    def decide(self, ticket: int, request: Received) -> Answer:
        """The answer to a complete request of the launch."""

    def decided(self, ticket: int, request: Received, answer: Answer) -> None:
        """Journal the decision; nothing of the answer is sent yet."""

    def held(self, ticket: int) -> None:
        """As much of an answer as is sent before it is held went out."""

    def answered(self, ticket: int, complete: bool) -> None:
        """The answer went out as decided; complete: to the last byte of a whole one."""


class Client:
    """A connection. `interest` is the events to wait for; 0 once it is closed."""

    def __init__(self, sock: socket.socket, desk: Desk) -> None:
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sock = sock
        self.open = True
        self._desk = desk
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=_MAX_HEAD_BYTES)
        self._out = bytearray()
        self._finished = False  # the client will send no more
        self._next()

    def _next(self) -> None:
        """Nothing is known of the next request."""
        self._ticket: int | None = None
        self._request: Received | None = None
        self._why_foreign = ""
        self._answer: Answer | None = None
        self._held = False

    @property
    def interest(self) -> int:
        """The selector events that this connection waits for."""
        read = 0 if self._finished else selectors.EVENT_READ
        return (read | (selectors.EVENT_WRITE if self._out else 0)) if self.open else 0

    def ready(self) -> None:
        """Read, decide and write whatever is possible now."""
        try:
            self._read()
            self._write()
            self._advance()  # an answer that is out lets the next request in
            self._announce()
        except ConnectionError:
            self.drop()
        if self._finished and not self._out:
            self.drop()

    def drop(self, *, reset: bool = False) -> None:
        """Close the connection and say what became of the request that it carried."""
        if not self.open:
            return
        self._announce()
        self.open = False
        if reset:
            with contextlib.suppress(OSError):  # the peer may have reset it before us
                self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RST_ON_CLOSE)
        self.sock.close()
        if self._ticket is None:
            return
        if self._answer is None:
            request = self._request or Received("", "", {})
            found = (
                f"{len(request.body)} bytes of its body" if self._request else "part of its head"
            )
            self._answer = Answer(0, f"the connection ended after {found}")
            self._desk.decided(self._ticket, request, self._answer)
        self._desk.answered(self._ticket, complete=False)

    # -- reading ----------------------------------------------------------------------------

    def _read(self) -> None:
        while self.open and not self._finished:
            try:
                data = self.sock.recv(_READ_BYTES)
            except BlockingIOError:
                return
            if data:
                self._http.receive_data(data)
                self._advance()
            self._finished = not data

    def _advance(self) -> None:
        """Let h11 make of the bytes what it can."""
        while self.open:
            try:
                event = self._http.next_event()
            except h11.RemoteProtocolError as error:
                self._broken(f"not HTTP/1.1: {error}")
                return
            if isinstance(event, h11.Request):
                self._head(event)
            elif isinstance(event, h11.Data) and self._request is not None:
                self._request.take(bytes(event.data))
            elif isinstance(event, h11.EndOfMessage) and self._request is not None:
                self._complete(self._request)
            else:  # NEED_DATA, PAUSED (an answer is on its way), ConnectionClosed
                return

    def _announce(self) -> None:
        """A request whose first byte is here, but not yet its head, counts from now on: whose it
        is will be seen, when it came has to be noted at once."""
        begun = self._http.their_state is h11.IDLE and self._http.trailing_data[0]
        if self.open and begun and self._ticket is None:
            self._ticket = self._desk.arrived()

    def _head(self, event: h11.Request) -> None:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in event.headers}
        self._request = Received(
            event.method.decode("latin-1"), event.target.decode("latin-1"), headers
        )
        self._why_foreign = self._desk.foreign_because(self._request)
        if self._ticket is None and not self._why_foreign:
            self._ticket = self._desk.arrived()
        if self._http.they_are_waiting_for_100_continue:
            go_on = h11.InformationalResponse(status_code=100, headers=[])
            self._out += self._http.send(go_on) or b""

    def _complete(self, request: Received) -> None:
        if self._why_foreign:
            answer = self._desk.reject(request, self._why_foreign)
        else:
            assert self._ticket is not None  # noqa: S101 - it got one with its head at the latest
            answer = self._desk.decide(self._ticket, request)
        self._send(request, answer)

    def _broken(self, why: str) -> None:
        """What came is not HTTP: nobody's request, unless its first bytes were taken for one."""
        request = self._request or Received("", "", {})
        if self._ticket is None:
            self._desk.reject(request, why)
        else:
            self._answer = Answer(0, why)
            self._desk.decided(self._ticket, request, self._answer)
        self.drop()

    # -- writing ----------------------------------------------------------------------------

    def _send(self, request: Received, answer: Answer) -> None:
        """Journal the answer, then hand its bytes out."""
        self._answer = answer
        if self._ticket is not None:
            self._desk.decided(self._ticket, request, answer)
        if answer.status:
            length = ("transfer-encoding", "chunked")
            if answer.size is not None:
                length = ("content-length", str(answer.size))
            headers = [("content-type", answer.content_type), length]
            self._emit(h11.Response(status_code=answer.status, headers=headers))
            for part in answer.parts if request.method != "HEAD" else ():
                self._emit(h11.Data(data=part))
            if answer.ending is Ending.COMPLETE:
                self._emit(h11.EndOfMessage())
        self._write()

    def _emit(self, event: h11.Event) -> None:
        self._out += self._http.send(event) or b""

    def _write(self) -> None:
        while self.open and self._out:
            try:
                sent = self.sock.send(self._out)
            except BlockingIOError:
                return
            del self._out[:sent]
        if self.open and self._answer is not None:
            self._ended(self._answer.ending)

    def _ended(self, ending: Ending) -> None:
        """Every byte of the answer is with the kernel."""
        if ending is Ending.HOLD:
            if self._ticket is not None and not self._held:
                self._held = True
                self._desk.held(self._ticket)
            return
        if ending is not Ending.COMPLETE:
            self.drop(reset=ending is Ending.RESET)
            return
        if self._ticket is not None:
            self._desk.answered(self._ticket, complete=True)
        self._next()
        if self._http.our_state is h11.DONE and self._http.their_state is h11.DONE:
            self._http.start_next_cycle()
        else:
            self.drop()
