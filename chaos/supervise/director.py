"""The director: at each instant of a launch, does what the schedule and its events have planned.

It decides about calls (a kill, an error, a short write), sends signals, stops processes and starts
rivals, and notes what it did. Does not choose: what is planned is told to it with `begin`.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from chaos.evidence import Injected, Launch, Rival, Sha, Signal
from chaos.launch.model import GO, Action, Call, Command, KillAt, Pause, Strike
from chaos.points import CALL_PHASES, KillPoint, Phase, Scope
from chaos.scenario_events import PlannedEvent
from chaos.supervise.due import Due
from chaos.supervise.entry import Entry
from chaos.supervise.notebook import Notebook
from chaos.supervise.processes import tree_of


@dataclass(slots=True)
class _Started:
    """A rival that runs, and what there was when it started."""

    command: Command
    log: Sha
    held: int | None
    since: int  # order of the last event before


class Director:
    """What is planned for the running launch, instant by instant."""

    def __init__(self, notebook: Notebook, scope: Scope | None = None) -> None:
        self.died_at: KillPoint | None = None  # of a kill on the wire: its instant has come
        self._notebook = notebook
        self._scope = scope  # of the kills; None: what the point suggests
        self._due = Due(None)
        self._rival: Command | None = None
        self._rivals: list[_Started] = []
        self._pauses_on_the_wire: list[Pause] = []

    def begin(
        self,
        kill: KillPoint | None,
        events: Sequence[PlannedEvent],
        rivals: Sequence[Command],
        rival: Command | None,
    ) -> None:
        """The next launch starts. `rivals` start beside it; `rival` is what a `resume` starts."""
        self.died_at = None
        self._due = Due(kill, events)
        self._rival = rival
        self._pauses_on_the_wire.clear()
        self._rivals.clear()
        for command in rivals:
            self._start(command, None)

    # -- calls ------------------------------------------------------------------------------

    def decide(self, entry: Entry) -> Action:
        """What becomes of a call that is about to happen."""
        call, instants = entry.call, entry.instants
        if kill := self._due.take_kill(instants, *CALL_PHASES):
            entry.kill = kill
            victim, scope = self._victim(call)
            entry.tree = tree_of(victim)
            at = KillAt.ENTRY if kill.phase is Phase.BEFORE else KillAt.EXIT
            return Action(keep=kill.part, strike=Strike(at, victim, scope))
        if failing := self._due.failure(call, instants):
            self._inject(failing[0], entry.point, call.pid, call.name)
            return Action(errno=failing[1])
        for event in self._due.take("short", instants, Phase.BEFORE):
            keep = int(event.argument)
            if keep < call.length:
                self._inject(event, entry.point, call.pid, call.name)
                return Action(keep=keep)
        return GO

    def _victim(self, call: Call) -> tuple[int, Scope]:
        """Whom a kill at this call is meant for. Who writes the session is the agent. Where a
        tool of it stands at the point, all die: what the tool would do next depends on chance."""
        agent = self._notebook.agent
        if call.label in ("log", "state") or agent in (None, call.pid):
            return call.pid, self._scope or Scope.PROCESS
        return agent or call.pid, self._scope or Scope.TREE

    def pause(self, instants: Sequence[str], phase: Phase, pid: int, call: str) -> Pause | None:
        """A stop of the process that stands at this instant."""
        for event in self._due.take("resume", instants, phase):
            self._inject(event, instants[-1], pid, call)
            assert self._rival is not None  # noqa: S101 - the course gives one with such an event
            self._start(self._rival, pid)
            return Pause(rival=self._rival)
        for event in self._due.take("stop", instants, phase):
            self._inject(event, instants[-1], pid, call)
            return Pause(seconds=event.seconds)
        return None

    def signal(self, instants: Iterable[str], phase: Phase) -> None:
        """Send what is planned for this moment. Without a known agent there is nobody to send it
        to."""
        agent = self._notebook.agent
        if agent is None:
            return
        for event in self._due.take("signal", instants, phase):
            with contextlib.suppress(ProcessLookupError):
                os.kill(agent, signal.Signals[f"SIG{event.argument}"])
                log = self._notebook.log()
                name = event.argument
                self._notebook.note(Signal, pid=agent, name=name, at=event.at, log=log)

    def _inject(self, event: PlannedEvent, at: str, pid: int, call: str) -> None:
        log = self._notebook.log()
        self._notebook.note(Injected, pid=pid, do=event.do, call=call, log=log, at=at)

    # -- the wire ---------------------------------------------------------------------------

    def on_the_wire(self, place: str, phase: Phase) -> None:
        """An instant of the exchange with the model. What it asks for is done when the wire has
        been served (`due`)."""
        agent = self._notebook.agent
        if phase is Phase.REQUEST:
            self.signal((place,), phase)
            pause = self.pause((place,), phase, agent, "") if agent is not None else None
            if pause is not None and agent is not None:
                self._pauses_on_the_wire.append(replace(pause, process=agent))
        kill = self._due.kill
        if kill is not None and kill.phase is phase and kill.place == place:
            self.died_at = kill

    def due(self) -> Strike | Pause | None:
        """The wire was served: has the instant of the kill come, or of a pause?"""
        if self._pauses_on_the_wire:
            return self._pauses_on_the_wire.pop()
        if self.died_at is None or self._due.kill is None:
            return None
        self._due.kill = None
        return Strike(KillAt.EXIT, self._notebook.agent, self._scope or Scope.PROCESS)

    # -- rivals -----------------------------------------------------------------------------

    def _start(self, command: Command, held: int | None) -> None:
        notebook = self._notebook
        started = _Started(command, notebook.log(), held, len(notebook.events))
        self._rivals.append(started)

    def rival_ended(self, command: Command, pid: int, wait_status: int) -> None:
        """Another start of the target is over."""
        started = next(rival for rival in self._rivals if rival.command is command)
        self._rivals.remove(started)
        notebook = self._notebook
        signalled = os.WIFSIGNALED(wait_status)
        stdout, stderr = (
            notebook.blobs.put(notebook.room.read(Path(name)) or b"")
            for name in (command.stdout, command.stderr)
        )
        log = notebook.log()
        notebook.note(
            Rival,
            pid=pid,
            argv=command.argv,
            exit_code=None if signalled else os.WEXITSTATUS(wait_status),
            signal=os.WTERMSIG(wait_status) if signalled else None,
            held=started.held,
            log_before=started.log,
            log=log,
            stdout=stdout,
            stderr=stderr,
            since=started.since,
        )

    def first_among_rivals(self, launch: Launch, busy: int) -> Launch:
        """Of several starts at once, the launch is told by the one that wrote the log, else by one
        that was not turned away; the others stand in the events."""
        notebook = self._notebook
        rivals = [e for e in notebook.of_launch(launch.index) if isinstance(e, Rival)]
        chosen = next((rival for rival in rivals if rival.pid == notebook.writer), None)
        if chosen is None and launch.exit_code == busy:
            chosen = next((rival for rival in rivals if rival.exit_code != busy), None)
        if chosen is None or launch.pid == notebook.writer:
            return launch
        mine = ("pid", "argv", "exit_code", "signal", "stdout", "stderr")
        theirs = {name: getattr(launch, name) for name in mine}
        notebook.events[chosen.order - 1] = replace(chosen, **theirs)
        return replace(launch, **{name: getattr(chosen, name) for name in mine})
