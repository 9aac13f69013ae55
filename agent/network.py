"""The network under httpx, with waits that give way to an abort.

What it promises: no socket ever blocks. Connecting, the TLS handshake, sending and receiving wait
through `Abort.wait`; once an abort is durable nothing more is sent, and a reply is read on only as
far as it is here already, so that the usage of a reply that came too late is not lost.
What it does not do: it resolves names with the blocking call of the C library, which has limits of
its own; and it offers no proxy that is itself reached over TLS.

Source: session contract, section 6 ("Abort": "cancel the request").
"""

from __future__ import annotations

import errno
import os
import select
import socket
import ssl
import time
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import httpcore
import httpx

from agent.abort import Abort
from agent.reply import FailedAttempt

_LATE_S = 0.2  # bound on reading what is here already after the abort
T = TypeVar("T")


def make_abortable(client: httpx.Client, abort: Abort) -> None:
    """Let the waits of a client give way to `abort`; they then raise FailedAttempt `aborted`."""
    backend = AbortableBackend(abort)
    # httpx has no public name for the network backend of its connection pools.
    for transport in (client._transport, *client._mounts.values()):
        if isinstance(transport, httpx.HTTPTransport):
            transport._pool._network_backend = backend


class AbortableBackend(httpcore.NetworkBackend):
    """Opens TCP connections. Raises the errors of httpcore, as its own backend does."""

    def __init__(self, abort: Abort) -> None:
        self._abort = abort

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> AbortableStream:
        """Try the addresses of `host` one after the other, each within `timeout` seconds."""
        try:
            addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise httpcore.ConnectError(str(error)) from error
        failure: httpcore.NetworkError | httpcore.TimeoutException | None = None
        for family, kind, protocol, _, address in addresses:
            stream = AbortableStream(socket.socket(family, kind, protocol), self._abort)
            try:
                stream.connect(address, timeout, local_address, socket_options or ())
            except (httpcore.NetworkError, httpcore.TimeoutException) as error:
                stream.close()
                failure = error
            except BaseException:
                stream.close()
                raise
            else:
                return stream
        raise failure or httpcore.ConnectError(f"{host} has no address")


class AbortableStream(httpcore.NetworkStream):
    """One connection, plain or under TLS."""

    def __init__(self, sock: socket.socket, abort: Abort) -> None:
        sock.setblocking(False)
        self._sock = sock
        self._abort = abort
        self._late_until: float | None = None

    def connect(
        self,
        address: Any,
        timeout: float | None,
        local_address: str | None,
        options: Iterable[httpcore.SOCKET_OPTION],
    ) -> None:
        self._give_way()
        try:
            for option in (*options, (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)):
                self._sock.setsockopt(*option)
            if local_address is not None:
                self._sock.bind((local_address, 0))
            code = self._sock.connect_ex(address)
            if code == errno.EINPROGRESS:
                self._wait(select.POLLOUT, timeout, httpcore.ConnectTimeout)
                code = self._sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        except OSError as error:
            raise httpcore.ConnectError(str(error)) from error
        if code:
            raise httpcore.ConnectError(f"[Errno {code}] {os.strerror(code)}")

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> AbortableStream:
        """TLS over this connection, which is closed where it fails, as httpcore expects."""
        stream = self
        try:
            self._give_way()
            self._require_plain()
            sock = ssl_context.wrap_socket(
                self._sock, server_hostname=server_hostname, do_handshake_on_connect=False
            )
            stream = AbortableStream(sock, self._abort)
            stream._persist(
                sock.do_handshake, timeout, httpcore.ConnectTimeout, httpcore.ConnectError
            )
        except BaseException as error:
            stream.close()
            if isinstance(error, OSError):
                raise httpcore.ConnectError(str(error)) from error
            raise
        return stream

    def _require_plain(self) -> None:
        if isinstance(self._sock, ssl.SSLSocket):
            raise httpcore.ConnectError("expected a proxy over http://, found one over https://")

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        if self._abort.heed():
            now = time.monotonic()
            self._late_until = self._late_until or now + _LATE_S
            if now > self._late_until:
                self._give_way()
        return self._persist(
            lambda: self._sock.recv(max_bytes), timeout, httpcore.ReadTimeout, httpcore.ReadError
        )

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        rest = memoryview(buffer)
        while rest:
            self._give_way()
            sent = self._persist(
                lambda rest=rest: self._sock.send(rest),  # type: ignore[misc]
                timeout,
                httpcore.WriteTimeout,
                httpcore.WriteError,
            )
            rest = rest[sent:]

    def close(self) -> None:
        self._sock.close()

    def get_extra_info(self, info: str) -> Any:
        match info:
            case "socket":
                return self._sock
            case "ssl_object":
                return self._sock if isinstance(self._sock, ssl.SSLSocket) else None
            case "client_addr":
                return self._sock.getsockname()
            case "server_addr":
                return self._sock.getpeername()
            case "is_readable":
                return bool(select.select([self._sock], [], [], 0)[0])
        return None

    def _persist(
        self,
        call: Callable[[], T],
        timeout: float | None,
        timed_out: type[httpcore.TimeoutException],
        failed: type[httpcore.NetworkError],
    ) -> T:
        """Try a call until the socket lets it through."""
        while True:
            try:
                return call()
            except ssl.SSLWantReadError:
                wanted = select.POLLIN
            except ssl.SSLWantWriteError:
                wanted = select.POLLOUT
            except BlockingIOError:
                wanted = select.POLLIN if failed is httpcore.ReadError else select.POLLOUT
            except OSError as error:
                raise failed(str(error)) from error
            self._wait(wanted, timeout, timed_out)

    def _wait(
        self, wanted: int, timeout: float | None, timed_out: type[httpcore.TimeoutException]
    ) -> None:
        """Until the socket is ready. After an abort only what can be read now is waited for."""
        limit = 0 if self._abort.durable else timeout
        ready = self._abort.wait({self._sock.fileno(): wanted}, limit)
        if not ready or timed_out is not httpcore.ReadTimeout:
            self._give_way()
        if not ready:
            raise timed_out(f"nothing within {timeout} s")

    def _give_way(self) -> None:
        if self._abort.heed():
            raise FailedAttempt("aborted", "Operation aborted")
