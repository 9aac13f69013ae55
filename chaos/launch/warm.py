"""Launch by fork from a warm interpreter (`--launch warm`): no start-up, no imports.

The lane's side of `warm_parent`. One launcher serves one target, and is a Launcher for `trace`.
The warm parent is started at the first launch, with that launch's environment; it is replaced when
the interpreter or a PYTHON* variable changes, since those act at start-up only.

Does not make a launch equal to a cold one; see `warm_parent` for what differs. A sample of warm
runs has to be compared with cold ones.
"""

from __future__ import annotations

import contextlib
import json
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from chaos.errors import CannotStart, HarnessError
from chaos.launch.filter import assemble
from chaos.launch.model import Command, Service, Started
from chaos.launch.spawn import Pipes, supported

_PACKAGES = Path(__file__).resolve().parents[2]
_BOOT = """
import sys
sys.path.insert(0, {packages!r})
from chaos.launch.warm_parent import main
main()
"""
_PRELOAD_LIMIT_S = 60.0
_FORK_LIMIT_S = 10.0
_END_LIMIT_S = 10.0


class WarmLauncher:
    """Forks launches of `python -m module`. `preload` names libraries to import before the first:
    `module`, or `module:function` to call once as a warm-up. `rehearsal` are commands of the module
    to run after that in the same process, and `model` is served meanwhile."""

    def __init__(
        self,
        module: str,
        preload: tuple[str, ...] = (),
        rehearsal: tuple[Command, ...] = (),
        model: Service | None = None,
    ) -> None:
        self._module = module
        self._model = model
        self._asked = {
            "module": module,
            "preload": preload,
            "rehearsal": [self._request(command) for command in rehearsal],
            "filter": assemble(supported()).hex(),
        }
        self._start_up: object = None  # what the running parent was started with
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: socket.socket | None = None

    def start(self, command: Command) -> Started:
        """Fork a launch. Raises CannotStart, HarnessError."""
        channel = self._parent(self._split(command.argv)[0], command)
        data = json.dumps(self._request(command)).encode()
        pipes = Pipes.make()
        try:
            self._send(channel, data, (pipes.go_read, pipes.report_write))
            pid = int(self._receive(channel, _FORK_LIMIT_S))
        except BaseException:
            pipes.close_tracer_ends()
            raise
        finally:
            pipes.leave_child_ends()
        return Started(pid, pipes.go_write, pipes.report_read)

    def owns(self, pid: int) -> bool:
        """Is it the warm parent?"""
        return self._process is not None and self._process.pid == pid

    def close(self) -> None:
        """End the warm parent. The next launch would start another."""
        if self._channel is not None:
            self._channel.close()
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(signal.SIGKILL)
            self._process.wait(_END_LIMIT_S)
        self._channel = self._process = self._start_up = None

    def _request(self, command: Command) -> dict[str, object]:
        return {
            "arguments": self._split(command.argv)[1],
            "env": dict(command.env),
            "cwd": command.cwd,
            "stdin": command.stdin,
            "stdout": command.stdout,
            "stderr": command.stderr,
        }

    def _split(self, argv: tuple[str, ...]) -> tuple[list[str], list[str]]:
        """The command of an interpreter with its options, and the arguments of the module. A
        console script is taken to run in this interpreter."""
        for index in range(1, len(argv) - 1):
            if argv[index : index + 2] == ("-m", self._module):
                return list(argv[:index]), list(argv[index + 2 :])
        return [sys.executable], list(argv[1:])

    def _parent(self, interpreter: list[str], command: Command) -> socket.socket:
        """The channel of a warm parent that fits the command."""
        settings = {key: value for key, value in command.env.items() if key.startswith("PYTHON")}
        start_up = (interpreter, settings)
        if self._channel is None or self._start_up != start_up:
            self.close()
            self._open(interpreter, command)
            self._start_up = start_up
        assert self._channel is not None  # noqa: S101 - just opened
        return self._channel

    def _open(self, interpreter: list[str], command: Command) -> None:
        path = command.env.get("PATH")
        program = shutil.which(interpreter[0], path=path) or interpreter[0]
        ours, theirs = socket.socketpair()
        self._channel = ours
        boot = _BOOT.format(packages=str(_PACKAGES))
        with theirs:
            try:
                self._process = subprocess.Popen(
                    [
                        program,
                        *interpreter[1:],
                        "-c",
                        boot,
                        str(theirs.fileno()),
                        json.dumps(self._asked),
                    ],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    cwd="/",
                    env=dict(command.env),
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,
                )
            except OSError as error:
                self.close()
                raise CannotStart(
                    f"cannot start a warm parent with {program!r}: {error.strerror}; the target's "
                    "command must begin with its Python interpreter, or name a console script"
                ) from None
        self._serve_until_ready(ours)
        failure = self._receive(ours, _PRELOAD_LIMIT_S).decode()
        if failure:
            self.close()
            raise CannotStart(f"{program}: {failure}; correct `preload` or use --launch exec")

    def _serve_until_ready(self, channel: socket.socket) -> None:
        """Play the model of the rehearsal until the parent has something to say."""
        until = time.monotonic() + _PRELOAD_LIMIT_S
        while self._model is not None:
            awaited = [channel.fileno(), self._model.fileno()]
            ready = select.select(awaited, [], [], max(0.0, until - time.monotonic()))[0]
            if channel.fileno() in ready or not ready:
                return
            self._model.serve()

    def _send(self, channel: socket.socket, data: bytes, descriptors: tuple[int, int]) -> None:
        """One request to the warm parent, with the child's ends of the pipes."""
        try:
            socket.send_fds(channel, [len(data).to_bytes(4, "big")], descriptors)
            channel.sendall(data)
        except OSError as error:
            raise self._lost(error.strerror) from None

    def _receive(self, channel: socket.socket, limit_s: float) -> bytes:
        """One message of the warm parent. It is small and sent at once, so it comes whole."""
        channel.settimeout(limit_s)
        try:
            head = channel.recv(4)
            data = channel.recv(int.from_bytes(head, "big")) if head else b""
        except OSError as error:
            raise self._lost(str(error)) from None
        if not head:
            raise self._lost("it ended")
        return data

    def _lost(self, fault: str | None) -> HarnessError:
        """The parent is of no use any more; the next launch starts another."""
        self.close()
        return HarnessError(
            f"expected the warm parent of {self._module!r} to fork a launch: {fault}; its launch "
            "was not made; where this happens again, use --launch exec"
        )
