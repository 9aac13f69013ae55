"""The recorder: what the engine and the mock provider see, written down as evidence, and the kill.

One `Recorder` serves one lineage; `begin` starts the next launch. It is the engine's handler and
the mock's observer at once, all in one thread, so that log, wire, files and effects have one order.

Promises: the log named by an event was read while the target could not change it; each kill has
its proof. Does not judge: a kill that is never reached is simply not recorded.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from chaos.evidence import (
    ABSENT,
    Answered,
    Blobs,
    Effect,
    Ended,
    Event,
    Exec,
    FileChange,
    Injected,
    Kill,
    Launch,
    LogWrite,
    Request,
    Rival,
    Sha,
    Signal,
    Sync,
)
from chaos.launch.model import GO, Action, Call, Command, KillAt, Pause, Strike
from chaos.points import KillPoint, Phase, Scope, torn_lengths
from chaos.scenario_events import PlannedEvent
from chaos.supervise.checkpoint import Checkpoint
from chaos.supervise.due import Due
from chaos.supervise.entry import Entry
from chaos.supervise.journal import Journal, lines_of
from chaos.supervise.naming import SYNCS, Naming
from chaos.supervise.processes import tree_of
from chaos.supervise.room import Room


@dataclass(frozen=True, slots=True)
class Harvested:
    """A crash image that a launch passed through alive: where a kill would have left it."""

    launch: int
    point: KillPoint
    image: str  # its key


@dataclass(slots=True)
class _Started:
    """A rival that runs, and what there was when it started."""

    command: Command
    log: Sha
    held: int | None
    since: int = 0  # order of the last event before


# The key of a crash image that differs from the room in its log, and in these files.
KeyOf = Callable[[bytes, Mapping[str, Sha]], str]


class Recorder:
    """Events of a lineage in one order, and the kill decisions of its schedule."""

    def __init__(
        self,
        room: Room,
        images: Callable[[], KeyOf] | None = None,
        start: Checkpoint | None = None,
        scope: Scope | None = None,  # of the kills; None: what the point suggests
        temporary: tuple[str, ...] = (),  # globs of the target's temporary files
        torn: str = "ends",  # the torn writes that are harvested
    ) -> None:
        self.room = room
        self.blobs = Blobs(dict(start.blobs.data)) if start else Blobs()
        self.events: list[Event] = list(start.events) if start else []
        self.launch = -1
        self.harvested: list[Harvested] = []
        self.unseen: dict[str, None] = {}  # changes that no watched call explains, in order
        self.writer: int | None = None  # the process that wrote the log last, in this launch
        self._images = images
        self._scope = scope
        self._temporary = temporary
        self._torn = torn
        self._harvest = False
        self._due = Due(None)
        self._rival: Command | None = None
        self._started_at = time.monotonic()
        self._journal = Journal(self._effects_on_disk())
        self._log_now: Sha = ABSENT  # as it was when it was last looked at
        self._naming = Naming(temporary)
        self._programs: dict[int, tuple[str, ...]] = {}  # by process
        self._last_effect: Entry | None = None
        self._pending: dict[int, Entry] = {}  # by thread: watched calls between entry and exit
        self._paused: dict[int, tuple[str, ...]] = {}  # by thread: names of the call it stands at
        self._requests: dict[int, Request] = {}
        self._on_the_wire: KillPoint | None = None  # its instant has come
        self._pauses_on_the_wire: list[Pause] = []
        self._rivals: list[_Started] = []

    def begin(
        self,
        launch: int,
        kill: KillPoint | None,
        events: Sequence[PlannedEvent] = (),
        *,
        harvest: bool = False,
        rivals: Sequence[Command] = (),
        rival: Command | None = None,
    ) -> None:
        """The next launch starts; `kill` is its planned kill, `events` happen at the instants that
        name them. `harvest` copies what it passes. `rivals` start beside it; `rival` is what a
        `resume` event starts."""
        self.launch, self.writer = launch, None
        self._due = Due(kill, events)
        self._harvest = harvest and kill is None and self._images is not None
        self._naming = Naming(self._temporary)
        self._requests.clear()
        self._paused.clear()
        self._programs.clear()
        self.unseen.clear()
        self._on_the_wire = None
        self._pauses_on_the_wire.clear()
        self._journal = Journal(self._effects_on_disk())
        self._log_now = self.blobs.put(self.room.log())
        self._rival = rival
        since = len(self.events)
        self._rivals = [_Started(command, self._log_now, None, since) for command in rivals]

    # -- the engine's handler ---------------------------------------------------------------

    def classify(self, path: str) -> str | None:
        """The engine asks whether a regular file is watched."""
        return self.room.classify(path)

    def entering(self, call: Call) -> Action:
        """A watched call is about to happen: note the state before it, decide about the kill."""
        entry = Entry(self.room, self.blobs, call)
        self._look(entry.log)
        entry.instants = self._paused.pop(call.tid, ()) or self._names(call, entry)
        if call.label == "log":
            self.writer = call.pid
        if pause := self._pause(entry.instants, Phase.BEFORE, call.pid, call.name):
            self._paused[call.tid] = entry.instants
            return Action(pause=pause)
        self._pending[call.tid] = entry
        self._signal(entry.instants, Phase.BEFORE)
        if self._harvest and entry.kills:
            self._pass_entry(entry)
        return self._decide(entry)

    def left(self, call: Call) -> Pause | None:
        """A watched call is done; who made it still stands there."""
        entry = self._pending.pop(call.tid)
        self._record(call, entry)
        if self._harvest and entry.kills:
            self._pass(entry.point, Phase.AFTER)
        self._signal(entry.instants, Phase.AFTER)
        return self._pause(entry.instants, Phase.AFTER, call.pid, call.name)

    def served(self) -> Strike | Pause | None:
        """The wire was served: has the instant of the kill come, or of a pause?"""
        if self._pauses_on_the_wire:
            return self._pauses_on_the_wire.pop()
        if self._on_the_wire is None or self._due.kill is None:
            return None
        self._due.kill = None
        return Strike(KillAt.EXIT, self.writer, self._scope or Scope.PROCESS)

    def executed(self, pid: int, argv: tuple[str, ...]) -> None:
        """A process of the tree began a program."""
        self._programs[pid] = argv
        self.events.append(Exec(*self._when(), pid=pid, argv=argv, log=self.log()))

    def ended(self, pid: int, wait_status: int) -> None:
        """A process of the tree was cancelled."""
        argv = self._programs.get(pid, ())
        ended = Ended(*self._when(), pid=pid, argv=argv, signal=os.WTERMSIG(wait_status))
        self.events.append(ended)

    def rival_ended(self, command: Command, pid: int, wait_status: int) -> None:
        """Another start of the target is over."""
        started = next(rival for rival in self._rivals if rival.command is command)
        self._rivals.remove(started)
        signalled = os.WIFSIGNALED(wait_status)
        stdout, stderr = (
            self.blobs.put(self.room.read(Path(name)) or b"")
            for name in (started.command.stdout, started.command.stderr)
        )
        self.events.append(
            Rival(
                *self._when(),
                pid=pid,
                argv=started.command.argv,
                exit_code=None if signalled else os.WEXITSTATUS(wait_status),
                signal=os.WTERMSIG(wait_status) if signalled else None,
                held=started.held,
                log_before=started.log,
                log=self.log(),
                stdout=stdout,
                stderr=stderr,
                since=started.since,
            )
        )

    def dead(self, call: Call | None, strike: Strike, pid: int, wait_status: int) -> None:
        """The killed process is reaped and nothing else has run since: take the proof."""
        if call is None:
            self._died_on_the_wire(strike, pid, wait_status)
            return
        entry = self._pending[call.tid]
        point = entry.kill
        assert point is not None  # noqa: S101 - the engine kills only where `entering` said so
        if call.pid == pid or strike.at is KillAt.EXIT or strike.scope is Scope.TREE:
            del self._pending[call.tid]
            self._record(call, entry)
        kept = {Phase.BEFORE: 0, Phase.AFTER: call.length, Phase.TORN: point.part or 0}
        about_log = call.label == "log"
        self.events.append(
            Kill(
                *self._when(),
                point=str(point),
                call=call.name,
                pid=pid,
                tid=call.tid,
                offset=call.offset,
                length=call.length,
                kept=kept[point.phase],
                returned=call.returned,
                before=entry.log if about_log else entry.content,
                payload=entry.payload,
                after=self.log() if about_log else self.room.content(entry.path, self.blobs),
                wait_status=wait_status,
                size=call.size,
                tree=entry.tree,
                log=self.log(),
                caller=call.pid,
                scope=str(strike.scope),
                path=self.room.relative(str(entry.path)) if call.label == "file" else "",
            )
        )

    # -- the mock provider's observer -------------------------------------------------------

    def request_arrived(self, ordinal: int) -> None:
        """The first byte of a request is here: this is when the log must show its attempt."""
        request = Request(
            *self._when(),
            ordinal=ordinal,
            method="",
            path="",
            body=ABSENT,
            log=self.log(),
            status=0,
            reason="cut before it was complete",
            answer=ABSENT,
        )
        self._requests[ordinal] = request
        self.events.append(request)

    def request_decided(  # noqa: PLR0913 - the observer protocol of the mock
        self,
        ordinal: int,
        *,
        method: str,
        path: str,
        body: bytes,
        status: int,
        reason: str,
        answer: bytes,
        usage: Mapping[str, int] | None,
        injected: bool,
    ) -> None:
        """The request is complete and its answer chosen: fill in the event of its arrival."""
        arrived = self._requests[ordinal]
        decided = replace(
            arrived,
            method=method,
            path=path,
            body=self.blobs.put(body),
            status=status,
            reason=reason,
            answer=self.blobs.put(answer),
            usage=usage,
            injected=injected,
        )
        self.events[arrived.order - 1] = decided
        self._requests[ordinal] = decided
        place = f"provider:{ordinal}"
        self._signal((place,), Phase.REQUEST)
        if self.writer is not None and (
            pause := self._pause((place,), Phase.REQUEST, self.writer, "")
        ):
            self._pauses_on_the_wire.append(replace(pause, process=self.writer))
        self._on_wire(ordinal, Phase.REQUEST)

    def held(self, ordinal: int) -> None:
        """All of an answer that a kill lets out is with the kernel."""
        self._on_wire(ordinal, Phase.CHUNK)

    def answered(self, ordinal: int, complete: bool) -> None:
        """The answer went out, or its connection went away."""
        self.events.append(Answered(*self._when(), ordinal=ordinal, complete=complete))
        if complete:
            self._on_wire(ordinal, Phase.RESPONSE)

    # -- shared -----------------------------------------------------------------------------

    def finish_launch(self) -> None:
        """No process of the tree is left. An effect whose process died inside the call (`left`
        never came) may have happened all the same: what is in the journal decides."""
        inside = [e for e in self._pending.values() if e.call.label == "effect"]
        self.log()
        self._pending.clear()
        data = self._effects_on_disk()
        if data != self._journal.bytes_now and not inside:
            self.unseen["the effect journal changed without a call that was seen"] = None
        names = [*self._journal.take(data), *self._journal.close()]
        if by := next(iter(inside), self._last_effect):
            self._effects(by, names)

    def first_among_rivals(self, launch: Launch, busy: int) -> Launch:
        """Of several starts at once, the launch is told by the one that wrote the log, else by one
        that was not turned away; the others stand in the events."""
        rivals = [e for e in self.events_of(launch.index) if isinstance(e, Rival)]
        chosen = next((rival for rival in rivals if rival.pid == self.writer), None)
        if chosen is None and launch.exit_code == busy:
            chosen = next((rival for rival in rivals if rival.exit_code != busy), None)
        if chosen is None or launch.pid == self.writer:
            return launch
        mine = ("pid", "argv", "exit_code", "signal", "stdout", "stderr")
        theirs = {name: getattr(launch, name) for name in mine}
        self.events[chosen.order - 1] = replace(chosen, **theirs)
        return replace(launch, **{name: getattr(chosen, name) for name in mine})

    def events_of(self, launch: int) -> Iterator[Event]:
        """The events of one launch, in order."""
        return (event for event in self.events if event.launch == launch)

    def effects(self) -> list[str]:
        """The journal as it is on disk."""
        return lines_of(self._effects_on_disk())

    def log(self) -> Sha:
        """The session log at this moment, as a blob."""
        name = self.blobs.put(self.room.log())
        self._look(name)
        return name

    def _look(self, log: Sha) -> None:
        """The log is `log`. Nothing but a watched call may have changed it since the last look."""
        in_flight = any(entry.call.label == "log" for entry in self._pending.values())
        if log != self._log_now and not in_flight:
            self.unseen["the session log changed without a call that was seen"] = None
        self._log_now = log

    def _effects_on_disk(self) -> bytes:
        return self.room.read(self.room.effects) or b""

    def _when(self) -> tuple[int, int, float]:
        """order, launch, at_ms of the next event."""
        at_ms = round((time.monotonic() - self._started_at) * 1000, 3)
        return len(self.events) + 1, self.launch, at_ms

    # -- what is due ------------------------------------------------------------------------

    def _names(self, call: Call, entry: Entry) -> tuple[str, ...]:
        match call.label:
            case "log":
                return self._naming.log(call, entry.log_bytes)
            case "effect":
                return self._naming.effects(call, lines_of(call.data))
            case "directory":
                return self._naming.file(call, self.room.relative(call.path) or "./")
            case _:
                return self._naming.file(call, self.room.relative(str(entry.path)))

    def _decide(self, entry: Entry) -> Action:
        """What becomes of a call."""
        call, instants = entry.call, entry.instants
        if kill := self._due.take_kill(instants, Phase.BEFORE, Phase.TORN, Phase.AFTER):
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
        """Whom a kill at this call is meant for. The agent is the one that writes the log. Where a
        tool of it stands at the point, all die: what the tool would do next depends on chance."""
        if call.label == "log" or self.writer in (None, call.pid):
            return call.pid, self._scope or Scope.PROCESS
        return self.writer or call.pid, self._scope or Scope.TREE

    def _pause(self, instants: tuple[str, ...], phase: Phase, pid: int, call: str) -> Pause | None:
        for event in self._due.take("resume", instants, phase):
            self._inject(event, instants[-1], pid, call)
            assert self._rival is not None  # noqa: S101 - the course gives one with such an event
            since = len(self.events)
            self._rivals.append(_Started(self._rival, self.log(), pid, since))
            return Pause(rival=self._rival)
        for event in self._due.take("stop", instants, phase):
            self._inject(event, instants[-1], pid, call)
            return Pause(seconds=event.seconds)
        return None

    def _inject(self, event: PlannedEvent, at: str, pid: int, call: str) -> None:
        log = self.log()
        injected = Injected(*self._when(), pid=pid, do=event.do, call=call, log=log, at=at)
        self.events.append(injected)

    def _signal(self, instants: Iterable[str], phase: Phase) -> None:
        """Send what is planned for this moment. Without a writer of the log there is nobody to
        send it to."""
        if self.writer is None:
            return
        for event in self._due.take("signal", instants, phase):
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.writer, signal.Signals[f"SIG{event.argument}"])
                self.events.append(
                    Signal(
                        *self._when(),
                        pid=self.writer,
                        name=event.argument,
                        at=event.at,
                        log=self.log(),
                    )
                )

    def _on_wire(self, ordinal: int, phase: Phase) -> None:
        """An instant of the exchange with the model."""
        place = f"provider:{ordinal}"
        if self._harvest and phase is not Phase.CHUNK:
            self._pass(place, phase)
        kill = self._due.kill
        if kill is not None and kill.phase is phase and kill.place == place:
            self._on_the_wire = kill

    def _died_on_the_wire(self, strike: Strike, pid: int, wait_status: int) -> None:
        assert self._on_the_wire is not None  # noqa: S101 - `served` strikes only then
        self.events.append(
            Kill(
                *self._when(),
                point=str(self._on_the_wire),
                call="",
                pid=pid,
                tid=0,
                offset=-1,
                length=0,
                kept=0,
                returned=None,
                before=ABSENT,
                payload=ABSENT,
                after=ABSENT,
                wait_status=wait_status,
                log=self.log(),
                scope=str(strike.scope),
            )
        )

    # -- what is seen -----------------------------------------------------------------------

    def _pass_entry(self, entry: Entry) -> None:
        """All that a kill in this call could leave, but for its end."""
        self._pass(entry.point, Phase.BEFORE)
        call = entry.call
        if call.label == "effect" or not call.data:
            return
        key_of, log = self._image(), entry.log_bytes
        for k in torn_lengths(call.data, self._torn):
            if call.label == "log":
                key = key_of(log[: call.offset] + call.data[:k], {})
            else:
                was = self.blobs.get(entry.content)
                torn = was[: call.offset] + call.data[:k] + was[call.offset + k :]
                key = key_of(log, {self.room.relative(str(entry.path)): self.blobs.put(torn)})
            self._passed(f"{entry.point}/torn@{k}", key)

    def _pass(self, place: str, phase: Phase) -> None:
        """The launch passes a kill point, and the room is what a kill would leave."""
        self._passed(f"{place}/{phase}", self._image()(self.room.log(), {}))

    def _passed(self, point: str, key: str) -> None:
        self.harvested.append(Harvested(self.launch, KillPoint.parse(point), key))

    def _image(self) -> KeyOf:
        assert self._images is not None  # noqa: S101 - `begin` harvests only then
        return self._images()

    def _record(self, call: Call, entry: Entry) -> None:
        if call.label == "log":
            self._log_now = self.blobs.put(self.room.log())
        if call.name in SYNCS or call.label == "directory":
            if call.name in SYNCS and call.returned == 0:
                self.events.append(
                    Sync(
                        *self._when(),
                        pid=call.pid,
                        call=call.name,
                        path=self.room.public_name(call.path),
                        log=self.log(),
                        names=self.room.names_in(call.path) if call.path.endswith("/") else (),
                    )
                )
            return
        if call.label == "log":
            self.events.append(
                LogWrite(
                    *self._when(),
                    pid=call.pid,
                    call=call.name,
                    point=entry.point,
                    position=self._naming.position("log"),
                    offset=call.offset,
                    length=call.length,
                    returned=call.returned,
                    log=self.log(),
                )
            )
        elif call.label == "effect":
            self._last_effect = entry
            self._effects(entry, self._journal.take(self._effects_on_disk()))
        else:
            after = self.room.content(entry.path, self.blobs)
            self.events.append(
                FileChange(
                    *self._when(),
                    pid=call.pid,
                    call=call.name,
                    path=self.room.relative(str(entry.path)),
                    before=entry.content,
                    after=after,
                    log=entry.log,
                    point=entry.point,
                    offset=call.offset,
                    length=call.length,
                    old=self.room.relative(call.path) if call.name.startswith("rename") else "",
                )
            )

    def _effects(self, entry: Entry, names: list[str]) -> None:
        for name in names:
            self.events.append(
                Effect(
                    *self._when(),
                    pid=entry.call.pid,
                    argv=entry.argv,
                    name=name,
                    log=entry.log,
                    holds_log=entry.holds_log,
                    point=entry.point,
                )
            )
