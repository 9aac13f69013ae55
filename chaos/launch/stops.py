"""What a stop of a tracee means, and what is done about it.

`Stops.take` is given every status that waitpid returns. It keeps the two promises of order: one
watched call in flight at a time, and nobody resumed between a kill and the look at what it left.
A process that is paused stands at its stop, and under SIGSTOP, until its rival has ended.
"""

from __future__ import annotations

import contextlib
import math
import os
import signal
import time
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass

from chaos.errors import HarnessError, Unsupported
from chaos.launch import proc, ptrace
from chaos.launch.decode import Edit, Watched, decode
from chaos.launch.files import Files
from chaos.launch.filter import FOREIGN
from chaos.launch.held import hold_still
from chaos.launch.model import (
    Action,
    Call,
    Command,
    Handler,
    KillAt,
    Pause,
    Service,
    Started,
    Strike,
)
from chaos.launch.ptrace import Gone, Registers
from chaos.launch.table import Alarm, Arch, Row
from chaos.launch.tracees import Tracees
from chaos.points import Scope

_GROUP_STOPS = frozenset({signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU})
_NEW_THREAD = frozenset({ptrace.EVENT_FORK, ptrace.EVENT_VFORK, ptrace.EVENT_CLONE})


@dataclass(frozen=True, slots=True)
class _Flight:
    """The watched call between its entry and its exit."""

    watched: Watched
    action: Action
    edit: Edit


@dataclass(slots=True)
class _Dying:
    """Processes killed at a point, not all reaped."""

    strike: Strike
    victim: int
    call: Call | None
    left: set[int]  # processes still to be reaped
    since: float
    status: int = 0  # wait status of the victim


@dataclass(frozen=True, slots=True)
class _Paused:
    """A thread at its stop, until the rival `pid` has ended or it is `until` (monotonic)."""

    tid: int
    go_on: Callable[[], None]
    rival: int | None
    until: float


class Stops:
    """Serves the stops of one launch."""

    def __init__(
        self,
        arch: Arch,
        root: int,
        handler: Handler,
        service: Service | None,
        hold: Callable[[int], None] | None,
        start: Callable[[Command], Started],  # another root, which is traced from now on
    ) -> None:
        self.tracees = Tracees(root)
        self.root_status: int | None = None
        self.killed = False
        self.count = 0
        self.unseen: dict[str, None] = {}  # an ordered set
        self._arch, self._rows = arch, arch.rows()
        self._handler, self._service, self._hold = handler, service, hold
        self._start = start
        self._files = Files(handler.classify)
        self._flight: _Flight | None = None
        self._dying: _Dying | None = None
        self._afterwards: list[
            tuple[int, Callable[[], None]]
        ] = []  # by thread: who outlives a kill
        self._ended_meanwhile: list[tuple[int, int]] = []  # other processes, while one is dying
        self._paused: list[_Paused] = []
        # Threads at the entry of a watched call, while another call is in flight.
        self._waiting: deque[tuple[int, Callable[[], None]]] = deque()
        self._programs: deque[tuple[int, int]] = deque()  # programs begun while a call is in flight
        self._parked: deque[tuple[int, int]] = deque()  # stops that came after a kill
        self._rivals: dict[int, Command] = {}  # roots beside the first
        self._roots_left = 1
        self._ending = False

    @property
    def over(self) -> bool:
        """The roots have ended, or a process was killed at its point: the rest has its grace."""
        return not self._roots_left or (self.killed and self._dying is None)

    @property
    def killing_since(self) -> float | None:
        """When (monotonic) the kill happened that still waits for its end."""
        return None if self._dying is None else self._dying.since

    @property
    def wakes_at(self) -> float:
        """When (monotonic) `wake` has something to do."""
        return min((paused.until for paused in self._paused), default=math.inf)

    def adopt(self, pid: int, command: Command) -> None:
        """Another root is traced and runs."""
        self.tracees.add_root(pid)
        self._rivals[pid] = command
        self._roots_left += 1

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
        process = self.tracees.process(tid)
        if self._ending:
            self.tracees.signal([process], signal.SIGKILL)
        elif self._dying is None:
            self._stopped(tid, status)
        elif process not in self._dying.left:
            if self._dying.strike.scope is Scope.TREE:  # born while its parent was being killed
                self._dying.left.add(process)
                self.tracees.signal([process], signal.SIGKILL)
            else:
                self._parked.append((tid, status))

    def served(self) -> None:
        """The service has worked. A kill that is due now waits for the call in flight."""
        if self._dying is None and self._flight is None and not self._ending:
            strike = self._handler.served()
            if strike is not None:
                self._kill(strike, None)

    def wake(self) -> None:
        """Let go on whose time of pause is over."""
        now = time.monotonic()
        self._go_on(lambda paused: paused.until <= now)

    # -- ends -------------------------------------------------------------------------------

    def _ended(self, tid: int, status: int) -> None:
        leads = tid in self.tracees and self.tracees.process(tid) == tid
        self.tracees.end(tid)
        self._abandon(tid)
        if leads and tid in self.tracees.roots:
            self._roots_left -= 1
            if tid == self.tracees.root:
                self.root_status = status
        if self._ending:
            return
        dying = self._dying
        struck = dying is not None and tid in dying.left
        if leads and not struck:
            if dying is None:
                self._tell_end(tid, status)
            else:  # it may have ended because of the kill, whose own end is heard of later
                self._ended_meanwhile.append((tid, status))
        if dying is None:
            self._next()
        elif leads and struck:
            dying.left.discard(tid)
            if tid == dying.victim:
                dying.status = status
            if not dying.left:
                self._dead(dying)

    def _tell_end(self, pid: int, status: int) -> None:
        if pid in self._rivals:
            self._handler.rival_ended(self._rivals[pid], pid, status)
            self._go_on(lambda paused: paused.rival == pid)
        elif pid != self.tracees.root and os.WIFSIGNALED(status):
            self._handler.ended(pid, status)

    def _abandon(self, tid: int) -> None:
        """The thread does not stand at or in a call any more."""
        if self._flight is not None and self._flight.watched.call.tid == tid:
            self._flight = None
        self._paused = [paused for paused in self._paused if paused.tid != tid]
        self._waiting = deque(waiting for waiting in self._waiting if waiting[0] != tid)

    def _dead(self, dying: _Dying) -> None:
        """The killed processes are reaped: look first, then let the others go on."""
        self._handler.dead(dying.call, dying.strike, dying.victim, dying.status)
        self._dying = None
        for tid, ended in self._ended_meanwhile:
            self._tell_end(tid, ended)
        self._ended_meanwhile.clear()
        for tid, go_on in self._afterwards:
            if tid in self.tracees:
                with contextlib.suppress(Gone):
                    go_on()
        self._afterwards.clear()
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
            elif event == ptrace.EVENT_EXEC and not self._wire_is_drained():
                self._parked.append((tid, status))
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
            if tid not in self.tracees.roots:
                self._handler.executed(tid, proc.argv(tid))

    def _wire_is_drained(self) -> bool:
        """Whatever the target sent before this moment is ordered before it. False: something on
        the wire led to a kill."""
        if self._service is not None:
            self._service.serve()
            self.served()
        return self._dying is None

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
        elif self._flight is not None or not self._wire_is_drained():
            self._waiting.append((tid, lambda: self._entry(tid)))
        else:
            self._decide(row, registers, watched)

    def _decide(self, row: Row, registers: Registers, watched: Watched) -> None:
        call = watched.call
        action = self._handler.entering(call)

        def carry_out() -> None:
            strike = action.strike
            if strike is not None and strike.at is KillAt.ENTRY:
                self._kill(strike, call, lambda: self._fly(row, registers, watched, action))
            else:
                self._fly(row, registers, watched, action)

        if action.pause is None:
            carry_out()
        else:
            self._pause(call, action.pause, carry_out)

    def _fly(self, row: Row, registers: Registers, watched: Watched, action: Action) -> None:
        """Let the call happen, as the action has it."""
        tid = watched.call.tid
        if self._flight is not None or self._dying is not None:  # by now
            self._waiting.append((tid, lambda: self._fly(row, registers, watched, action)))
            return
        edit = Edit(row, registers, watched.call, action)
        ptrace.resume_to_exit(tid)
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
        strike = flight.action.strike
        if strike is not None and strike.at is KillAt.EXIT:
            self._kill(strike, call, lambda: ptrace.resume(tid))
            return
        pause = self._handler.left(call)
        self.served()
        if pause is not None:
            self._pause(call, pause, lambda: ptrace.resume(tid))
        elif self._dying is not None:
            self._afterwards.append((tid, lambda: ptrace.resume(tid)))
        else:
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
                self._waiting.popleft()[1]()

    # -- pauses -----------------------------------------------------------------------------

    def _pause(self, call: Call, pause: Pause, go_on: Callable[[], None]) -> None:
        """Stop the whole process where its thread stands, and let the rival run."""
        self.tracees.signal([call.pid], signal.SIGSTOP)
        rival = self._start(pause.rival).pid if pause.rival is not None else None
        if rival is not None and pause.rival is not None:
            self.adopt(rival, pause.rival)
        until = math.inf if rival is not None else time.monotonic() + pause.seconds
        self._paused.append(_Paused(call.tid, go_on, rival, until))

    def _go_on(self, is_over: Callable[[_Paused], bool]) -> None:
        for paused in [paused for paused in self._paused if is_over(paused)]:
            self._paused.remove(paused)
            self.tracees.signal([self.tracees.process(paused.tid)], signal.SIGCONT)
            if self._dying is not None:
                self._afterwards.append((paused.tid, paused.go_on))
                continue
            with contextlib.suppress(Gone):
                paused.go_on()

    # -- kills ------------------------------------------------------------------------------

    def _kill(
        self, strike: Strike, call: Call | None, go_on: Callable[[], None] = lambda: None
    ) -> None:
        """Kill at a point. `go_on` is for the thread that made the call, if it outlives that."""
        victim = strike.victim or (call.pid if call else self.tracees.root)
        others = {
            Scope.PROCESS: lambda: [victim],
            Scope.GROUP: lambda: self.tracees.group(victim),
            Scope.TREE: self.tracees.processes,
        }[strike.scope]()
        struck = {victim, *others} & set(self.tracees.processes())
        if victim not in struck:  # it ended by itself: nothing is killed, and nothing proven
            with contextlib.suppress(Gone):
                go_on()
            return
        self.killed = True
        self._dying = _Dying(strike, victim, call, struck, time.monotonic())
        if call is not None and call.pid not in struck:
            self._afterwards.append((call.tid, go_on))
        if self._hold is None:
            self.tracees.signal(struck, signal.SIGKILL)
        else:
            self._hold_and_kill(self._hold, self._dying, struck)

    def _hold_and_kill(
        self, hold: Callable[[int], None], dying: _Dying, struck: Collection[int]
    ) -> None:
        """A debugger may look at the victim first."""
        call = dying.call
        if call is None or call.pid != dying.victim or len(struck) > 1:
            raise HarnessError(
                "--hold stops a process at a call of its own; this kill is of another process than "
                "the one that stands at the point, or of several: replay it without --hold"
            )
        at_exit = {call.tid} if dying.strike.at is KillAt.EXIT else set()
        at_entry = {*(tid for tid, _ in self._waiting), call.tid} - at_exit
        status = hold_still(self._arch, self.tracees, call.pid, at_entry, at_exit, hold)
        self._waiting = deque(each for each in self._waiting if each[0] in self.tracees)
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
