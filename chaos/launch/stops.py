"""What a stop of a tracee means, and what is done about it.

`Stops.take` is given every status that waitpid returns. It keeps the two promises of order: one
watched call in flight at a time, and nobody resumed between a kill and the look at what it left.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from chaos.errors import Unsupported
from chaos.launch import proc, ptrace
from chaos.launch.decode import Edit, Watched, decode
from chaos.launch.files import Files
from chaos.launch.filter import FOREIGN
from chaos.launch.held import hold_still
from chaos.launch.model import Action, Call, Handler, KillAt, Service
from chaos.launch.ptrace import Gone, Registers
from chaos.launch.table import Alarm, Arch, Row
from chaos.launch.tracees import Tracees

_GROUP_STOPS = frozenset({signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU})
_NEW_THREAD = frozenset({ptrace.EVENT_FORK, ptrace.EVENT_VFORK, ptrace.EVENT_CLONE})


@dataclass(frozen=True, slots=True)
class _Flight:
    """The watched call between its entry and its exit."""

    watched: Watched
    action: Action
    edit: Edit


@dataclass(frozen=True, slots=True)
class _Dying:
    """The process killed at its point, not yet reaped."""

    call: Call
    action: Action
    since: float


class Stops:
    """Serves the stops of one launch."""

    def __init__(
        self,
        arch: Arch,
        root: int,
        handler: Handler,
        service: Service | None,
        hold: Callable[[int], None] | None,
    ) -> None:
        self.tracees = Tracees(root)
        self.root_status: int | None = None
        self.killed = False
        self.count = 0
        self.unseen: dict[str, None] = {}  # an ordered set
        self._arch, self._rows = arch, arch.rows()
        self._handler, self._service, self._hold = handler, service, hold
        self._files = Files(handler.classify)
        self._flight: _Flight | None = None
        self._dying: _Dying | None = None
        self._ended_meanwhile: list[tuple[int, int]] = []  # other processes, while one is dying
        self._waiting: deque[int] = deque()  # threads at the entry of a watched call
        self._programs: deque[tuple[int, int]] = deque()  # programs begun while a call is in flight
        self._parked: deque[tuple[int, int]] = deque()  # stops that came after a kill
        self._ending = False

    @property
    def over(self) -> bool:
        """The root has ended, or a process was killed at its point: the rest has its grace."""
        return self.root_status is not None or (self.killed and self._dying is None)

    @property
    def killing_since(self) -> float | None:
        """When (monotonic) the kill happened that still waits for its end."""
        return None if self._dying is None else self._dying.since

    def end(self) -> None:
        """Kill everything; from now on stops only lead to death."""
        self._ending = True
        self.tracees.signal(self.tracees.processes(), signal.SIGKILL)

    def take(self, tid: int, status: int) -> None:
        """Serve one status of waitpid."""
        self.count += 1
        if not os.WIFSTOPPED(status):
            self._ended(tid, status)
            return
        self.tracees.show(tid)
        if self._ending:
            self.tracees.signal([self.tracees.process(tid)], signal.SIGKILL)
        elif self._dying is None:
            self._stopped(tid, status)
        elif self.tracees.process(tid) != self._dying.call.pid:
            self._parked.append((tid, status))

    # -- ends -------------------------------------------------------------------------------

    def _ended(self, tid: int, status: int) -> None:
        leads = tid in self.tracees and self.tracees.process(tid) == tid
        self.tracees.end(tid)
        if tid == self.tracees.root:
            self.root_status = status
        self._abandon(tid)
        if self._ending:
            return
        at_its_point = self._dying is not None and self._dying.call.pid == tid
        if leads and os.WIFSIGNALED(status) and tid != self.tracees.root and not at_its_point:
            if self._dying is None:
                self._handler.ended(tid, status)
            else:  # it may have ended because of the kill, whose own end is heard of later
                self._ended_meanwhile.append((tid, status))
        if self._dying is None:
            self._next()
        elif self._dying.call.pid == tid:
            self._dead(self._dying, status)

    def _abandon(self, tid: int) -> None:
        """The thread does not stand at or in a call any more."""
        if self._flight is not None and self._flight.watched.call.tid == tid:
            self._flight = None
        with contextlib.suppress(ValueError):
            self._waiting.remove(tid)

    def _dead(self, dying: _Dying, status: int) -> None:
        """The killed process is reaped: look first, then let the others go on."""
        self._handler.dead(dying.call, dying.action, status)
        self._dying = None
        for tid, ended in self._ended_meanwhile:
            self._handler.ended(tid, ended)
        self._ended_meanwhile.clear()
        while self._parked and self._dying is None:
            tid, parked = self._parked.popleft()
            if tid in self.tracees:
                self._stopped(tid, parked)
        self._next()

    # -- stops ------------------------------------------------------------------------------

    def _stopped(self, tid: int, status: int) -> None:
        event, number = status >> 16, os.WSTOPSIG(status)
        with contextlib.suppress(Gone):  # killed where it stood: its end will be reported
            if event == ptrace.EVENT_SECCOMP:
                self._entry(tid)
            elif number == ptrace.SYSCALL_STOP:
                self._exit(tid)
            elif event == ptrace.EVENT_STOP and number in _GROUP_STOPS:
                ptrace.listen(tid)
            elif event == ptrace.EVENT_EXEC and self._flight is not None:
                self._programs.append((tid, status))  # the log is changing at this very moment
            else:
                self._event(tid, event)
                # Only a signal-delivery stop has a signal to pass on.
                ptrace.resume(tid, 0 if event else number)

    def _event(self, tid: int, event: int) -> None:
        if event in _NEW_THREAD:
            self.tracees.announce(ptrace.event_message(tid))
        elif event == ptrace.EVENT_EXEC:
            former = ptrace.event_message(tid)
            if former != tid:  # a thread took over the id of its process
                self.tracees.forget(former)
                self._abandon(tid)
            if tid != self.tracees.root:
                self._drain_wire()
                self._handler.executed(tid, proc.argv(tid))

    def _drain_wire(self) -> None:
        """Whatever the target sent before this moment is ordered before it."""
        if self._service is not None:
            self._service.serve()

    # -- calls ------------------------------------------------------------------------------

    def _entry(self, tid: int) -> None:
        """A thread stands before a call of the table."""
        if ptrace.event_message(tid) == FOREIGN:
            self._warn(tid, "a system call of another architecture or ABI")
            ptrace.resume(tid)
            return
        registers = Registers(self._arch, tid)
        row = self._rows[registers.number]
        if row.alarm is not None:
            self._alarm(row, registers, tid)
            ptrace.resume(tid)
            return
        try:
            watched = decode(row, registers, self.tracees.process(tid), tid, self._files)
        except PermissionError:
            self._warn(tid, f"{row.name} of a process that forbids looking at it (not dumpable)")
            watched = None
        if watched is None:
            ptrace.resume(tid)
        elif self._flight is not None:
            self._waiting.append(tid)
        else:
            self._decide(row, registers, watched)

    def _decide(self, row: Row, registers: Registers, watched: Watched) -> None:
        self._drain_wire()
        call = watched.call
        action = self._handler.entering(call)
        if action.kill is KillAt.ENTRY:
            self._kill(call, action)
            return
        edit = Edit(row, registers, call, action)
        ptrace.resume_to_exit(call.tid)
        self._flight = _Flight(watched, action, edit)

    def _exit(self, tid: int) -> None:
        """The watched call is done; its thread has not run on."""
        flight, self._flight = self._flight, None
        assert flight is not None  # noqa: S101 - only a decided call runs to its exit stop
        registers = Registers(self._arch, tid)
        flight.edit.undo(registers)
        call = flight.watched.call
        call.returned = registers.result
        if call.returned == 0:
            for inode in flight.watched.doomed:
                self._files.forget(inode)
        if flight.action.kill is KillAt.EXIT:
            self._kill(call, flight.action)
            return
        self._handler.left(call)
        ptrace.resume(tid)
        self._next()

    def _next(self) -> None:
        """Serve the threads that waited for the call in flight, in the order they came."""
        while self._programs and self._flight is None and self._dying is None:
            tid, status = self._programs.popleft()
            if tid in self.tracees:
                self._stopped(tid, status)
        while self._waiting and self._flight is None and self._dying is None:
            with contextlib.suppress(Gone):
                self._entry(self._waiting.popleft())

    def _kill(self, call: Call, action: Action) -> None:
        self.killed = True
        self._dying = _Dying(call, action, time.monotonic())
        if self._hold is None:
            os.kill(call.pid, signal.SIGKILL)
            return
        at_exit = {call.tid} if action.kill is KillAt.EXIT else set()
        at_entry = {*self._waiting, call.tid} - at_exit
        status = hold_still(self._arch, self.tracees, call.pid, at_entry, at_exit, self._hold)
        self._waiting = deque(tid for tid in self._waiting if tid in self.tracees)
        self._ended(call.pid, status)

    # -- signs of what passes by ------------------------------------------------------------

    def _alarm(self, row: Row, registers: Registers, tid: int) -> None:
        if row.alarm is Alarm.TRACER:
            raise Unsupported(
                f"{' '.join(proc.argv(tid))} calls ptrace, but a process has one tracer and this "
                "one has the kill engine: start the target without its debugger or strace"
            )
        if row.alarm is Alarm.IO_URING:
            self._warn(tid, "io_uring_setup: forbid it to the target (Node: UV_USE_IO_URING=0)")
            return
        assert row.fd is not None  # noqa: S101 - the row of mmap
        found = self._files.of_descriptor(tid, registers.arg_int(row.fd))
        if found is not None and found.label is not None:
            self._warn(tid, f"a shared writable mapping of {found.path}")

    def _warn(self, tid: int, what: str) -> None:
        pid = self.tracees.process(tid)
        self.unseen[f"{what} (process {pid}: {' '.join(proc.argv(pid))})"] = None
