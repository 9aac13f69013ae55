"""What a stop of a tracee means, and what is done about it.

`Stops.take` is given every status that waitpid returns. It keeps the promises of order: one watched
call in flight at a time; nobody resumed between a kill and the look at what it left; no call of a
process that is paused. Whoever may not go on yet stands in `Turns`.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass

from chaos.errors import HarnessError
from chaos.launch import proc, ptrace
from chaos.launch.decode import Edit, Watched, decode
from chaos.launch.files import Files
from chaos.launch.filter import FOREIGN
from chaos.launch.held import hold_still
from chaos.launch.kills import Dying, Kills
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
from chaos.launch.pauses import Pauses
from chaos.launch.ptrace import Gone, Registers
from chaos.launch.table import Arch, Row
from chaos.launch.tracees import Tracees
from chaos.launch.turns import Turns
from chaos.launch.unseen import Unseen

_GROUP_STOPS = frozenset({signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU})
_NEW_THREAD = frozenset({ptrace.EVENT_FORK, ptrace.EVENT_VFORK, ptrace.EVENT_CLONE})


@dataclass(frozen=True, slots=True)
class _Flight:
    """The watched call between its entry and its exit."""

    watched: Watched
    action: Action
    edit: Edit


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
        self.pauses = Pauses(self.tracees)
        self.kills = Kills(self.tracees)
        self.root_status: int | None = None
        self.count = 0
        self._arch, self._rows = arch, arch.rows()
        self._handler, self._service, self._hold = handler, service, hold
        self._start = start
        self._files = Files(handler.classify)
        self.unseen = Unseen(self.tracees, self._files)
        self._flight: _Flight | None = None
        self._turns = Turns(lambda tid: self.tracees.process(tid) not in self.pauses)
        self._ended_meanwhile: list[tuple[int, int]] = []  # other processes, while one is dying
        self._rivals: dict[int, Command] = {}  # roots beside the first
        self._ending = False

    @property
    def over(self) -> bool:
        """The roots have ended, or were killed at their points: the rest has its grace."""
        return not self.tracees.living_roots or self.kills.over

    def adopt(self, pid: int, command: Command) -> None:
        """Another root is traced and runs."""
        self.tracees.add_root(pid)
        self._rivals[pid] = command

    def end(self) -> None:
        """Kill everything; from now on stops only lead to death."""
        self._ending = True
        self.tracees.signal(self.tracees.processes(), signal.SIGKILL)

    def take(self, tid: int, status: int) -> None:
        """Serve one status of waitpid."""
        self.count += 1
        if os.WIFSTOPPED(status):
            self.tracees.show(tid)
            self._showed(tid, status)
        else:
            self._ended(tid, status)
        self._go_on()

    def served(self) -> None:
        """The service has worked. A kill that is due now waits for the call in flight."""
        self._strike_from_the_wire()
        self._go_on()

    def wake(self) -> None:
        """Let go on whose time of pause is over."""
        self.pauses.end_of_time()
        self._go_on()

    def _showed(self, tid: int, status: int) -> None:
        process = self.tracees.process(tid)
        if self._ending:
            self.tracees.signal([process], signal.SIGKILL)
        elif self.kills.reach(process):
            pass  # its end will be reported
        elif self.kills.dying is not None:
            self._turns.join(tid, lambda: self._stopped(tid, status))
        else:
            self._stopped(tid, status)

    def _go_on(self) -> None:
        """Serve those whose turn it is, until one is in flight again, or killed."""
        while self._flight is None and self.kills.dying is None and not self._ending:
            turn = self._turns.next()
            if turn is None:
                return
            with contextlib.suppress(Gone):
                turn()

    # -- ends -------------------------------------------------------------------------------

    def _ended(self, tid: int, status: int) -> None:
        leads = tid in self.tracees and self.tracees.process(tid) == tid
        self.tracees.end(tid)
        self._abandon(tid)
        if leads and tid == self.tracees.root:
            self.root_status = status
        if self._ending or not leads:
            return
        self.pauses.forget(tid)
        struck = self.kills.reaped(tid, status)
        if self.kills.dying is None:
            self._tell_end(tid, status)
        elif not struck or tid in self._rivals:
            # It may have ended because of the kill, whose own end is heard of later.
            self._ended_meanwhile.append((tid, status))
        if dying := self.kills.finished():
            self._look(dying)

    def _look(self, dying: Dying) -> None:
        """The killed processes are reaped, and nobody has gone on."""
        self._handler.dead(dying.call, dying.strike, dying.victim, dying.status)
        for tid, ended in self._ended_meanwhile:
            self._tell_end(tid, ended)
        self._ended_meanwhile.clear()

    def _tell_end(self, pid: int, status: int) -> None:
        if pid in self._rivals:
            self._handler.rival_ended(self._rivals[pid], pid, status)
        elif pid != self.tracees.root and os.WIFSIGNALED(status):
            self._handler.ended(pid, status)
        self.pauses.rival_ended(pid)

    def _abandon(self, tid: int) -> None:
        """The thread does not stand at or in a call any more."""
        if self._flight is not None and self._flight.watched.call.tid == tid:
            self._flight = None
        self._turns.leave(tid)

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
            elif event == ptrace.EVENT_EXEC and (
                self._flight is not None  # the log is changing at this very moment
                or not self._wire_is_drained()
            ):
                self._turns.join(tid, lambda: self._stopped(tid, status))
            else:
                self._event(tid, event)
                # Only a signal-delivery stop has a signal to pass on.
                ptrace.resume(tid, 0 if event else number)

    def _event(self, tid: int, event: int) -> None:
        if event in _NEW_THREAD:
            self.tracees.announce(ptrace.event_message(tid), tid)
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
            self._strike_from_the_wire()
        return self.kills.dying is None

    def _strike_from_the_wire(self) -> None:
        if self.kills.dying is None and self._flight is None and not self._ending:
            due = self._handler.served()
            if isinstance(due, Pause):
                self._pause(due.process or self.tracees.root, due)
            elif due is not None:
                self._kill(due, None)

    # -- calls ------------------------------------------------------------------------------

    def _entry(self, tid: int) -> None:
        """A thread stands before a call of the table."""
        if ptrace.event_message(tid) == FOREIGN:
            self.unseen.warn(tid, "a system call of another architecture or ABI")
            ptrace.resume(tid)
            return
        registers = Registers(self._arch, tid)
        row = self._rows[registers.number]
        if row.alarm is not None:
            self.unseen.alarm(row, registers, tid)
            ptrace.resume(tid)
            return
        try:
            watched = decode(row, registers, self.tracees.process(tid), tid, self._files)
        except PermissionError:
            what = f"{row.name} of a process that forbids looking at it (not dumpable)"
            self.unseen.warn(tid, what)
            watched = None
        if watched is None:
            ptrace.resume(tid)
        elif (
            self._flight is not None
            or watched.call.pid in self.pauses
            or not self._wire_is_drained()
        ):
            self._turns.join(tid, lambda: self._entry(tid), at_entry=True)
        else:
            self._decide(row, registers, watched)

    def _decide(self, row: Row, registers: Registers, watched: Watched) -> None:
        call = watched.call
        action = self._handler.entering(call)
        strike = action.strike

        def fly() -> None:
            """Let the call happen, as the action has it."""
            edit = Edit(row, registers, call, action)
            ptrace.resume_to_exit(call.tid)
            self._flight = _Flight(watched, action, edit)

        if action.pause is not None:  # what it finds when it goes on is another world
            self._turns.join(call.tid, lambda: self._entry(call.tid), at_entry=True, ahead=True)
            self._pause(action.pause.process or call.pid, action.pause)
        elif strike is not None and strike.at is KillAt.ENTRY:
            self._kill(strike, call, fly)
        else:
            fly()

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
        self._strike_from_the_wire()  # it comes first: what goes on now is seen after it

        def go_on() -> None:
            if pause is None:
                ptrace.resume(tid)
            else:
                self._turns.join(tid, lambda: ptrace.resume(tid), ahead=True)
                self._pause(pause.process or call.pid, pause)

        self._turns.join(tid, go_on, ahead=True)

    # -- pauses and kills -------------------------------------------------------------------

    def _pause(self, process: int, pause: Pause) -> None:
        """Stop the whole process where its threads are, and let the rival run."""
        self.pauses.begin(process, pause.seconds)
        if pause.rival is not None:
            rival = self._start(pause.rival).pid
            self.adopt(rival, pause.rival)
            self.pauses.wait_for(process, rival)

    def _kill(
        self, strike: Strike, call: Call | None, go_on: Callable[[], None] = lambda: None
    ) -> None:
        """Kill at a point. `go_on` is for the thread that made the call, if it outlives that."""
        dying = self.kills.plan(strike, call)
        if dying is None:  # nothing is killed, and nothing proven
            go_on()
            return
        if call is not None:
            entry = strike.at is KillAt.ENTRY
            self._turns.join(call.tid, go_on, at_entry=entry, ahead=True)
        self.kills.begin(dying)
        if self._hold is None:
            self.kills.send()
        else:
            self._hold_and_kill(self._hold, dying)

    def _hold_and_kill(self, hold: Callable[[int], None], dying: Dying) -> None:
        """A debugger may look at the victim first."""
        call = dying.call
        if call is None or call.pid != dying.victim or len(dying.left) > 1:
            raise HarnessError(
                "--hold stops a process at a call of its own; this kill is of another process than "
                "the one that stands at the point, or of several: replay it without --hold"
            )
        at_entry, elsewhere = (self._turns.standing(at_entry=which) for which in (True, False))
        status = hold_still(self._arch, self.tracees, call.pid, at_entry, elsewhere, hold)
        for tid in at_entry | elsewhere:
            if tid not in self.tracees:
                self._turns.leave(tid)
        self._ended(call.pid, status)
