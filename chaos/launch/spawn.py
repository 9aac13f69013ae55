"""Launch by exec: a fresh process that waits for its tracer, then becomes the program.

The pipes here are the same for every kind of launch: `go` (a byte: run; EOF: exit) and `report`
(text where the program could not be started, EOF where it could).
"""

from __future__ import annotations

import fcntl
import os
from dataclasses import dataclass
from typing import NoReturn

from chaos.errors import CannotStart, Unsupported
from chaos.launch import child
from chaos.launch.filter import assemble
from chaos.launch.model import Command, Started
from chaos.launch.table import ARCHES, Arch, native


def supported() -> Arch:
    """This machine's row of the table. Raises Unsupported."""
    arch = native()
    if arch is None or os.uname().sysname != "Linux":
        machine = os.uname()
        raise Unsupported(
            f"the kill engine needs Linux on {' or '.join(ARCHES)}; this is {machine.sysname} on "
            f"{machine.machine}; run it in a virtual machine or container of that kind"
        )
    return arch


@dataclass(frozen=True, slots=True)
class Pipes:
    """Both ends of go and report, made before the fork. All close on exec."""

    go_read: int
    go_write: int
    report_read: int
    report_write: int

    @classmethod
    def make(cls) -> Pipes:
        """Four descriptors clear of 0, 1 and 2, which the child replaces."""
        low = (*os.pipe(), *os.pipe())
        ends = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3) for fd in low]
        for fd in low:
            os.close(fd)
        return cls(*ends)

    def leave_child_ends(self) -> None:
        """In the tracer, once the child has its own copies."""
        os.close(self.go_read)
        os.close(self.report_write)

    def close_tracer_ends(self) -> None:
        """Where no child came to be."""
        os.close(self.go_write)
        os.close(self.report_read)


class ExecLauncher:
    """Starts the command as a fresh program: the cold launch, and the reference for warm ones."""

    def start(self, command: Command) -> Started:
        """Fork a child that waits on the go-pipe. Raises Unsupported."""
        filter_ = child.Filter(assemble(supported()))
        pipes = Pipes.make()
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            _become(command, pipes, filter_, parent)
        pipes.leave_child_ends()
        return Started(pid, pipes.go_write, pipes.report_read)

    def owns(self, pid: int) -> bool:  # noqa: ARG002 - the shape of a Launcher
        """This launcher has no helper process."""
        return False


def _become(command: Command, pipes: Pipes, filter_: child.Filter, parent: int) -> NoReturn:
    """In the child: all the way to exec, or tell why not. Never returns into the harness."""
    stage = "start"
    try:
        child.die_with_parent()
        if os.getppid() != parent:
            os._exit(0)
        os.close(pipes.go_write)  # or there would never be an EOF
        child.await_go(pipes.go_read)
        streams = (command.stdin, command.stdout, command.stderr)
        child.settle(streams, command.cwd, pipes.report_write)
        child.plain_signals()
        stage = "seccomp"
        filter_.arm()
        stage = "exec"
        os.execvpe(command.argv[0], command.argv, command.env)  # noqa: S606 - no shell wanted
    except OSError as error:
        os.write(pipes.report_write, f"{error.errno} {stage} {error.filename or ''}".encode())
    finally:
        os._exit(127)


def read_report(started: Started, command: Command) -> None:
    """Called once the root has ended. Raises what kept its program from starting, if anything."""
    text = os.read(started.report, 4096).decode(errors="replace")
    if not text:
        return
    code, stage, where = text.split(" ", 2)
    reason = os.strerror(int(code))
    if stage == "seccomp":
        raise Unsupported(
            f"the kernel refused the seccomp filter ({reason}); in a container allow prctl and "
            "seccomp; `chaos doctor` shows what works here"
        )
    if stage == "exec":
        path = command.env.get("PATH", "(unset)")
        raise CannotStart(
            f"cannot start {command.argv[0]!r} in {command.cwd}: {reason}; expected a program (or "
            f"a script whose #! line names one) there or in PATH={path}; correct the command"
        )
    raise CannotStart(
        f"cannot prepare {command.argv[0]!r}: {reason}: {where}; "
        f"cwd {command.cwd}, stdout {command.stdout}, stderr {command.stderr} must be usable"
    )
