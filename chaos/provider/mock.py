"""The mock provider: a loopback HTTP/1.1 server that plays the model to a real agent process.

Promises: it never blocks and has no thread; `fileno()` is readable when there is work and
`serve()` does all of it: every request whose bytes the kernel holds is read, decided and journaled
before it returns. So a caller that serves before it looks at anything else orders the wire before
what it looks at. It listens on 127.0.0.1 only, and only requests of the running launch (its token,
path and host) reach the script or the observer; others get 404 and are counted as foreign.

Does not know what is legal (`chaos.flavours`), what is said (`chaos.provider.script`) or decided
(`chaos.provider.exchange`). One server serves all launches of a process and outlives every kill.

Source: design section 4.
"""

from __future__ import annotations

import selectors
import socket
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from chaos.errors import HarnessError
from chaos.flavours import FLAVOURS, NO_MARKS, SideMarks, flavour_of
from chaos.provider.client import Client
from chaos.provider.exchange import Answer, Received, Script, decide, error, is_side
from chaos.provider.faults import Fault
from chaos.provider.other import other_answer
from chaos.provider.script import Turn

__all__ = ["Fault", "Foreign", "MockProvider", "ProviderObserver"]

_HOST = "127.0.0.1"
_BACKLOG = 128
_FOREIGN_KEPT = 100
_PLACES = ", ".join(flavour.place for flavour in FLAVOURS)
SPARE_REQUESTS = 50  # of a launch, beside two for each turn of the script: more lead nowhere


class ProviderObserver(Protocol):
    """Who keeps the journal. Called from within `serve` and `end`, in order of happening.

    A ticket is a request's number in its launch, counted from 1 as they arrive.
    """

    def request_arrived(self, ticket: int) -> None:
        """The first byte of a request is here."""

    def request_decided(self, ticket: int, ordinal: int, request: Received, answer: Answer) -> None:
        """The request is complete and its answer chosen, no byte of which is sent yet.

        `ordinal` counts the requests that are turns of the conversation, from 1; 0: it is none.
        The request's path is below the provider's root.
        """

    def held(self, ticket: int) -> None:
        """What is sent of an answer that is held is with the kernel."""

    def answered(self, ticket: int, complete: bool) -> None:
        """The last byte of the answer is with the kernel; not complete: it never will be."""


@dataclass(frozen=True, slots=True)
class Foreign:
    """A request that was not for the running launch."""

    method: str
    path: str
    why: str


@dataclass(slots=True)
class _Launch:
    token: str
    script: Script
    faults: Mapping[int, Fault]
    observer: ProviderObserver
    requests: int = 0
    ordinals: dict[int, int] = field(default_factory=dict)  # by ticket; 0: it is no turn

    def number(self, ticket: int, *, turn: bool) -> int:
        """The ordinal of a request, once it is known whether it is a turn."""
        if ticket not in self.ordinals:
            before = max(self.ordinals.values(), default=0)
            self.ordinals[ticket] = before + 1 if turn else 0
        return self.ordinals[ticket]

    def below(self, path: str) -> str:
        """The part of a path below the provider's root; empty: it is somewhere else."""
        root = f"/{self.token}"
        return path.removeprefix(root) if path.startswith(f"{root}/") else ""


class MockProvider:
    """The server. `port` 0 takes a free one. Raises HarnessError when the port is in use."""

    def __init__(self, port: int = 0) -> None:
        self._listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._listener.setblocking(False)
        # Connections of an earlier server on this port may still be in TIME_WAIT.
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._listener.bind((_HOST, port))
            self._listener.listen(_BACKLOG)
        except OSError as problem:
            self._listener.close()
            raise HarnessError(
                f"mock provider: expected port {port} of {_HOST} to be free, found: "
                f"{problem.strerror}; stop what listens there (ss -ltnp), or choose another port"
            ) from None
        self.port: int = self._listener.getsockname()[1]
        self._selector = selectors.EpollSelector()
        self._selector.register(self._listener, selectors.EVENT_READ, None)
        self._clients: set[Client] = set()
        self._launch: _Launch | None = None
        self.foreign: deque[Foreign] = deque(maxlen=_FOREIGN_KEPT)  # of this launch, the latest
        self.foreign_count = 0

    # -- the supervisor's side --------------------------------------------------------------

    def begin(
        self,
        token: str,
        turns: Sequence[Turn],
        faults: Mapping[int, Fault],
        observer: ProviderObserver,
        *,
        api_key: str | None = None,
        unique_ids: bool = False,
        side: SideMarks = NO_MARKS,
    ) -> str:
        """Start serving a launch and return its base URL.

        `token` (URL-safe) tells launches apart, `faults` are by 1-based ordinal of the turn.
        `api_key` None asks for no key; `unique_ids` gives nothing an id that the conversation holds
        already, as real models do; `side` tells requests that are no turns.
        Connections of earlier launches are dropped, accepted or not.
        """
        self._launch = None  # what an earlier launch left behind is nobody's
        self._drop_all()
        self.end()
        self.foreign.clear()
        self.foreign_count = 0
        self._launch = _Launch(token, Script(turns, api_key, unique_ids, side), faults, observer)
        return self.base_url

    @property
    def base_url(self) -> str:
        """Where the running launch finds its model, for clients that add no version."""
        return f"{self.base_root}/v1"

    @property
    def base_root(self) -> str:
        """The same, for clients that add it themselves."""
        assert self._launch is not None  # noqa: S101 - there is one from `begin` to `end`
        return self.root_of(self._launch.token)

    def root_of(self, token: str) -> str:
        """Where a launch of this token will find its model."""
        return f"http://{_HOST}:{self.port}/{token}"

    def end(self) -> None:
        """The launch is over: journal what still arrived, then close its connections."""
        self.serve()
        self._drop_all()
        self._launch = None

    def close(self) -> None:
        """Stop serving for good."""
        self.end()
        self._selector.close()
        self._listener.close()

    def fileno(self) -> int:
        """A descriptor that is readable when `serve` has work; for the caller's own epoll."""
        return self._selector.fileno()

    def serve(self) -> None:
        """Do all that can be done now, and return."""
        while ready := self._selector.select(0):
            for key, _ in ready:
                if key.data is None:
                    self._accept()
                else:
                    self._attend(key.data)

    # -- connections ------------------------------------------------------------------------

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except BlockingIOError:
                return
            except ConnectionAbortedError:
                continue
            client = Client(sock, self)
            self._clients.add(client)
            self._selector.register(sock, client.interest, client)

    def _attend(self, client: Client) -> None:
        before = client.interest
        client.ready()
        if not client.open:
            self._forget(client)
        elif client.interest != before:
            self._selector.modify(client.sock, client.interest, client)

    def _drop_all(self) -> None:
        for client in tuple(self._clients):
            client.drop(reset=True)  # its process is gone: leave no TIME_WAIT on our side
            self._forget(client)

    def _forget(self, client: Client) -> None:
        self._clients.discard(client)
        self._selector.unregister(client.sock)  # copes with a closed socket

    # -- the desk of the connections (chaos.provider.client.Desk) ----------------------------

    def foreign_because(self, request: Received) -> str:
        """Why `request` is not for the running launch; empty: it is."""
        if self._launch is None:
            return "no launch is running"
        method, path = request.method, self._launch.below(request.path)
        if not path or not (flavour_of(method, path) or other_answer(method, path) is not None):
            if flavour_of("POST", path):
                return f"expected POST, found {method}"
            found = request.path.partition("?")[0]
            return f"expected the root URL of the running launch + {_PLACES}, found {found}"
        host = request.headers.get("host")
        if host not in (f"{_HOST}:{self.port}", f"localhost:{self.port}"):
            return f"expected the host {_HOST}:{self.port}, found {host}"
        return ""

    def reject(self, request: Received, why: str) -> Answer:
        """Note a foreign request; give its answer."""
        self.foreign_count += 1
        self.foreign.append(Foreign(request.method, request.path, why))
        return error(404, f"foreign: {why}", why)

    def arrived(self) -> int | None:
        """The first byte of a request is here. Returns its ticket; None without a launch."""
        if self._launch is None:
            return None
        self._launch.requests += 1
        self._launch.observer.request_arrived(self._launch.requests)
        return self._launch.requests

    def decide(self, ticket: int, request: Received) -> Answer:
        """The answer to a complete request of the launch."""
        launch = self._launch
        assert launch is not None  # noqa: S101 - no request outlives the launch it belongs to
        path, script = launch.below(request.path), launch.script
        flavour = flavour_of(request.method, path)
        side = flavour is None or is_side(request, flavour, script)
        ordinal = launch.number(ticket, turn=not side)
        if flavour is None:
            body = other_answer(request.method, path) or b""
            return Answer(200, parts=(body,), size=len(body))
        most = SPARE_REQUESTS + 2 * len(script.turns)
        if ticket > most:
            why = f"runaway: more than {most} requests for {len(script.turns)} turns"
            return error(400, why, f"{why}; the target goes round in circles", flavour)
        return decide(request, flavour, script, launch.faults.get(ordinal), side=side)

    def decided(self, ticket: int, request: Received, answer: Answer) -> None:
        """Journal the decision."""
        launch = self._launch
        if launch is None:
            return
        cut = not request.method  # before its head was whole: it is taken for a turn
        ordinal = launch.number(ticket, turn=cut or not self.foreign_because(request))
        seen = replace(request, path=request.path.removeprefix(f"/{launch.token}"))
        launch.observer.request_decided(ticket, ordinal, seen, answer)

    def held(self, ticket: int) -> None:
        """Pass on how far a held answer is out."""
        if self._launch is not None:
            self._launch.observer.held(ticket)

    def answered(self, ticket: int, complete: bool) -> None:
        """Journal that the answer is out, or never will be."""
        if self._launch is not None:
            self._launch.observer.answered(ticket, complete)
