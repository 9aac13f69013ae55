"""Waits on the network: they end at once for an abort, and otherwise as httpx expects."""

from __future__ import annotations

import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpcore
import httpx
import pytest

from agent.abort import Abort
from agent.network import AbortableBackend, make_abortable
from agent.reply import FailedAttempt
from agent.signals import AbortSwitch
from tests.agent.support import ModelServer, completion
from tests.agent.test_abort import Log


class Network:
    """A backend, the log that its aborts are written to, and a listening socket."""

    def __init__(self, switch: AbortSwitch) -> None:
        self.log = Log()
        self.switch = switch
        self.abort = Abort(switch, lambda: self.log.operation, self.log.commit)
        self.backend = AbortableBackend(self.abort)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.listener.getsockname()[1]

    def connect(self) -> tuple[httpcore.NetworkStream, socket.socket]:
        """Both ends of a connection."""
        ours = self.backend.connect_tcp("127.0.0.1", self.port, timeout=5)
        theirs, _ = self.listener.accept()
        return ours, theirs

    def throw_soon(self) -> threading.Timer:
        timer = threading.Timer(0.05, self.switch.request)
        timer.start()
        return timer


@pytest.fixture(name="network")
def _network() -> Iterator[Network]:
    with AbortSwitch() as switch:
        network = Network(switch)
        yield network
        network.listener.close()


def promptly(call: Callable[[], object]) -> None:
    """The call ends with an abort, at once."""
    start = time.monotonic()
    with pytest.raises(FailedAttempt) as caught:
        call()
    assert caught.value.code == "aborted"
    assert time.monotonic() - start < 2


def test_bytes_go_both_ways_and_the_end_is_an_end(network: Network) -> None:
    ours, theirs = network.connect()
    with theirs:
        ours.write(b"x" * 100_000)
        assert len(theirs.recv(100_000, socket.MSG_WAITALL)) == 100_000
        theirs.sendall(b"hello")
        assert ours.read(3) == b"hel"
        assert ours.read(9) == b"lo"
    assert ours.read(9) == b""
    ours.close()


def test_a_wait_for_bytes_ends_with_the_abort_which_is_durable_then(network: Network) -> None:
    ours, theirs = network.connect()
    with theirs:
        timer = network.throw_soon()
        promptly(lambda: ours.read(9, timeout=30))
        timer.join()
        assert network.abort.durable
    ours.close()


def test_a_write_that_nobody_reads_ends_with_the_abort(network: Network) -> None:
    ours, theirs = network.connect()
    with theirs:
        timer = network.throw_soon()
        promptly(lambda: ours.write(b"x" * 50_000_000, timeout=30))
        timer.join()
    ours.close()


def test_what_is_here_already_is_read_after_the_abort_and_nothing_more(network: Network) -> None:
    ours, theirs = network.connect()
    with theirs:
        theirs.sendall(b"late")
        network.switch.request()
        assert ours.read(9, timeout=5) == b"late"
        assert network.abort.durable
        promptly(lambda: ours.read(9, timeout=30))
        promptly(lambda: ours.write(b"more"))
    ours.close()


def test_a_reply_without_end_is_not_read_for_ever_after_the_abort(network: Network) -> None:
    ours, theirs = network.connect()

    def pour() -> None:
        with theirs:
            try:
                while True:
                    theirs.sendall(b"x" * 65536)
            except OSError:
                pass

    pouring = threading.Thread(target=pour)
    pouring.start()
    ours.read(16, timeout=5)
    network.switch.request()

    def read_on() -> None:
        until = time.monotonic() + 5
        while time.monotonic() < until:
            assert ours.read(16, timeout=30)  # slower than what comes

    promptly(read_on)
    ours.close()
    pouring.join()


def test_nothing_is_connected_after_the_abort(network: Network) -> None:
    network.switch.request()
    promptly(lambda: network.backend.connect_tcp("127.0.0.1", network.port))


def test_a_connection_that_nobody_takes_up_ends_with_the_abort(network: Network) -> None:
    full = socket.socket()
    full.bind(("127.0.0.1", 0))
    full.listen(0)
    port = full.getsockname()[1]
    waiting = [socket.socket() for _ in range(8)]  # fills the queue: later ones get no answer
    for sock in waiting:
        sock.setblocking(False)
        sock.connect_ex(("127.0.0.1", port))
    with pytest.raises(httpcore.ConnectTimeout):
        network.backend.connect_tcp("127.0.0.1", port, timeout=0.05)
    timer = network.throw_soon()
    promptly(lambda: network.backend.connect_tcp("127.0.0.1", port, timeout=30))
    timer.join()
    for sock in (*waiting, full):
        sock.close()


def test_failures_are_those_that_httpx_knows(network: Network) -> None:
    ours, theirs = network.connect()
    with pytest.raises(httpcore.ReadTimeout):
        ours.read(9, timeout=0.05)
    theirs.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    theirs.close()  # a reset
    with pytest.raises(httpcore.ReadError):
        ours.read(9, timeout=5)
    ours.close()
    network.listener.close()
    with pytest.raises(httpcore.ConnectError, match="refused"):
        network.backend.connect_tcp("127.0.0.1", network.port, timeout=5)
    with pytest.raises(httpcore.ConnectError):
        network.backend.connect_tcp("no-such-host.invalid", 80, timeout=5)


def test_a_client_of_httpx_goes_through_it(network: Network) -> None:
    with ModelServer(completion("hello")) as server, httpx.Client(trust_env=False) as client:
        make_abortable(client, network.abort)
        url = f"{server.base_url}/chat/completions"
        assert client.post(url, json={}).json()["choices"]
        network.switch.request()
        promptly(lambda: client.post(url, json={}))
        assert len(server.requests) == 1


def test_proxies_of_the_environment_go_through_it(
    network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{network.port}")
    with httpx.Client() as client:
        make_abortable(client, network.abort)
        timer = network.throw_soon()
        promptly(lambda: client.get("http://models.example/"))
        timer.join()


@pytest.fixture(name="certificate", scope="module")
def _certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A key and a certificate of its own for localhost."""
    path = tmp_path_factory.mktemp("tls") / "both.pem"
    made = subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
         "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", path, "-out",
         f"{path}.crt"],
        capture_output=True, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    path.write_bytes(path.read_bytes() + Path(f"{path}.crt").read_bytes())
    return path


def test_tls_goes_both_ways_and_its_waits_end_with_the_abort(
    network: Network, certificate: Path
) -> None:
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(certificate)
    trusting = ssl.create_default_context(cafile=f"{certificate}.crt")
    ended = threading.Event()

    def serve() -> None:
        sock, _ = network.listener.accept()
        with serving.wrap_socket(sock, server_side=True) as secure:
            secure.sendall(secure.recv(99).upper())
            ended.wait(10)

    server = threading.Thread(target=serve)
    server.start()
    plain = network.backend.connect_tcp("127.0.0.1", network.port, timeout=5)
    stream = plain.start_tls(trusting, "localhost", timeout=5)
    assert stream.get_extra_info("ssl_object").version().startswith("TLS")
    stream.write(b"hello", timeout=5)
    assert stream.read(99, timeout=5) == b"HELLO"
    timer = network.throw_soon()
    promptly(lambda: stream.read(99, timeout=30))
    timer.join()
    ended.set()
    stream.close()
    server.join()


def test_a_handshake_that_nobody_answers_ends_with_the_abort(network: Network) -> None:
    trusting = ssl.create_default_context()
    ours, theirs = network.connect()
    with theirs:
        timer = network.throw_soon()
        promptly(lambda: ours.start_tls(trusting, "localhost", timeout=30))
        timer.join()


def test_no_handshake_is_begun_after_the_abort_and_the_connection_is_closed(
    network: Network,
) -> None:
    ours, theirs = network.connect()
    network.switch.request()
    promptly(lambda: ours.start_tls(ssl.create_default_context(), "localhost", timeout=30))
    with theirs:
        assert theirs.recv(1) == b""


def test_a_certificate_that_cannot_be_trusted_is_a_connection_that_failed(
    network: Network, certificate: Path
) -> None:
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(certificate)

    def serve() -> None:
        sock, _ = network.listener.accept()
        with pytest.raises(ssl.SSLError), sock:
            serving.wrap_socket(sock, server_side=True)

    server = threading.Thread(target=serve)
    server.start()
    plain = network.backend.connect_tcp("127.0.0.1", network.port, timeout=5)
    with pytest.raises(httpcore.ConnectError, match="certificate"):
        plain.start_tls(ssl.create_default_context(), "localhost", timeout=5)
    server.join()
