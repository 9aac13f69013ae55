"""Run a command under the kernel's eye and stop it dead at exact system calls.

`trace` starts the command, follows all its threads and children, asks the handler at every call
that changes a watched file, and returns when no process of the tree is left.

Promises (design section 2, each from a trial that failed without it):
- one watched call is in flight at a time, whoever makes it; the others stand at their entry;
- after a kill no other thread goes on until the dead process is reaped and the handler has looked;
- whatever happens (error, KeyboardInterrupt, SIGKILL of this process), no tracee is left behind.

One thread, one event loop. While it runs, the calling process must have no child that somebody
else waits for, and must not be traced itself. Does not judge, and does not know what a log is.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Sequence
from typing import Self

from chaos.errors import HarnessError, Unsupported
from chaos.launch import proc, ptrace
from chaos.launch.child import GO as GO_BYTE
from chaos.launch.model import Command, Handler, Launcher, Outcome, Service, Started
from chaos.launch.spawn import ExecLauncher, read_report, supported
from chaos.launch.stops import Stops
from chaos.launch.waiter import Waiter

_BATCH = 256  # stops served before the clock and the service get their turn
_END_LIMIT_S = 10.0  # for the kernel to take away what was killed


def trace(
    command: Command,
    handler: Handler,
    service: Service | None = None,
    *,
    limit_s: float,
    grace_s: float,
    launcher: Launcher | None = None,
    hold: Callable[[int], None] | None = None,
    rivals: Sequence[Command] = (),
) -> Outcome:
    """Run `command` until no process of it is left.

    `rivals` are further starts of the target at the same instant. Each root may run for `limit_s`;
    what outlives them (or a kill) by `grace_s` is a survivor and is killed. `launcher` makes the
    roots (default: exec). With `hold`, a kill first stops the process at its point, gives it free
    for a debugger and calls `hold(pid)`; the kill happens when that returns.

    Raises CannotStart, Unsupported (tracing refused), HarnessError, and whatever the handler or
    the service raise.
    """
    arch = supported()
    reaper = ptrace.subreaper(True)
    try:
        launcher = launcher or ExecLauncher()
        with _Starter(launcher) as starter, Waiter(service) as waiter:
            root = starter.prepare(command)
            stops = Stops(arch, root.pid, handler, service, hold, starter.start)
            launch = _Launch(stops, waiter, launcher, service, limit_s, grace_s)
            return launch.run(starter, root, rivals)
    finally:
        ptrace.subreaper(reaper)


class _Starter:
    """Starts the roots of a launch, and knows what kept one from its program."""

    def __init__(self, launcher: Launcher) -> None:
        self._launcher = launcher
        self._started: list[tuple[Started, Command]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for started, _command in self._started:
            os.close(started.report)

    def prepare(self, command: Command) -> Started:
        """A child that waits for its tracer. Raises CannotStart."""
        started = self._launcher.start(command)
        self._started.append((started, command))
        return started

    def start(self, command: Command) -> Started:
        """A child that is traced, and runs. Raises CannotStart, Unsupported."""
        started = self.prepare(command)
        seize(started)
        return started

    def check(self) -> None:
        """Raises what kept the program of a root that has ended from starting, if anything."""
        for started, command in self._started:
            read_report(started, command)


class _Launch:
    """The course of one launch: run, grace, end."""

    def __init__(
        self,
        stops: Stops,
        waiter: Waiter,
        launcher: Launcher,
        service: Service | None,
        limit_s: float,
        grace_s: float,
    ) -> None:
        self._stops, self._tracees = stops, stops.tracees
        self._waiter, self._launcher, self._service = waiter, launcher, service
        self._grace_s = grace_s
        self._began = time.monotonic()
        self._deadline = self._began + limit_s
        self._in_grace = False
        self._timed_out = False

    def run(self, starter: _Starter, root: Started, rivals: Sequence[Command]) -> Outcome:
        try:
            prepared = [(starter.prepare(rival), rival) for rival in rivals]
            seize(root)
            for started, rival in prepared:
                seize(started)
                self._stops.adopt(started.pid, rival)
            self._serve()
            survivors = self._stops.kills.survivors() if self._in_grace else ()
            stacks = ""
            if self._tracees and not self._in_grace:
                self._timed_out = True
                stacks = proc.stacks(self._tracees.processes())
        finally:
            self._end()
        if self._service is not None:
            self._service.serve()  # what the dead left on the wire
        starter.check()
        assert self._stops.root_status is not None  # noqa: S101 - `_end` leaves nobody
        return Outcome(
            pid=root.pid,
            wait_status=self._stops.root_status,
            killed=self._stops.kills.happened,
            timed_out=self._timed_out,
            seconds=time.monotonic() - self._began,
            stops=self._stops.count,
            survivors=survivors,
            unseen=self._stops.unseen.said,
            stacks=stacks,
        )

    def _serve(self) -> None:
        """Serve stops until nobody is left or the time is over."""
        while True:
            dry = self._reap()
            if dry and not self._tracees:
                return
            now = time.monotonic()
            if self._stops.over and not self._in_grace:
                self._in_grace, self._deadline = True, now + self._grace_s
            if now >= self._until():
                return
            # What a death does to the wire is for after the look at what the dead left.
            alive = self._stops.kills.dying is None
            until = min(self._until(), self._stops.pauses.next_end)
            if self._waiter.wait(until - now if dry else 0.0, with_service=alive):
                assert self._service is not None  # noqa: S101 - only a service makes it ready
                self._service.serve()
                self._stops.served()
            self._stops.wake()

    def _until(self) -> float:
        """The deadline; a kill in progress is always seen to its end."""
        dying = self._stops.kills.dying
        return self._deadline if dying is None else max(self._deadline, dying.since + _END_LIMIT_S)

    def _reap(self) -> bool:
        """Take what waitpid has, at most a batch. True: there is no more for now."""
        for _ in range(_BATCH):
            try:
                tid, status = os.waitpid(-1, ptrace.WALL | os.WNOHANG)
            except ChildProcessError:
                if self._tracees:
                    raise HarnessError(
                        f"lost threads {self._tracees.processes()}: expected to be their tracer, "
                        "but waitpid has no child; does another thread of this process wait?"
                    ) from None
                return True
            if tid == 0:
                return True
            if tid not in self._tracees and self._launcher.owns(tid):
                raise HarnessError(f"the warm parent {tid} ended (wait status {status:#x})")
            self._stops.take(tid, status)
        return False

    def _end(self) -> None:
        """Kill and reap whatever is left, in bounded time. A second Ctrl-C must wait for it."""
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self._stops.end()
            limit = time.monotonic() + _END_LIMIT_S
            while True:
                dry = self._reap()
                living = self._tracees.processes() or self._tracees.late_born()
                if dry and not living:
                    return
                left = limit - time.monotonic()
                if left <= 0:
                    raise HarnessError(
                        f"processes {living} did not die within {_END_LIMIT_S:.0f} s of SIGKILL; "
                        f"they hang in the kernel:\n{proc.stacks(living)}"
                    )
                self._waiter.wait(left)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def seize(started: Started) -> None:
    """Become the tracer of the waiting child and let it go. Raises Unsupported."""
    try:
        ptrace.seize(started.pid)
        # Killed from outside by now? Then its end will be reported.
        with contextlib.suppress(BrokenPipeError):
            os.write(started.go, GO_BYTE)
    except OSError as error:
        raise Unsupported(refusal(error, started.pid)) from None
    except ptrace.Gone:
        return
    finally:
        # After a refusal this EOF ends the child, which is not traced and so not killed with us.
        os.close(started.go)


def refusal(error: OSError, pid: int) -> str:
    """Why the kernel refused to trace a child, and the cure."""
    tracer = proc.status(pid, "TracerPid")
    if tracer not in (None, "0"):
        name = " ".join(proc.argv(int(tracer or 0))) or "unknown"
        return (
            f"process {pid} is traced by process {tracer} ({name}) already, and a process has one "
            "tracer: run chaos outside of strace or a debugger"
        )
    scope = ""
    with contextlib.suppress(OSError), open("/proc/sys/kernel/yama/ptrace_scope") as file:  # noqa: PTH123
        scope = f" (kernel.yama.ptrace_scope is {file.read().strip()})"
    return (
        f"the kernel refused ptrace of an own child: {error.strerror}{scope}; in a container add "
        "--cap-add=SYS_PTRACE or a seccomp profile that allows ptrace, on a host set "
        "kernel.yama.ptrace_scope to 0 or 1"
    )
