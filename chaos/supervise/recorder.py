"""The recorder: what the engine and the mock provider see, written down as evidence.

One `Recorder` serves one lineage; `begin` starts the next launch. It is the engine's handler and
the mock's observer at once, all in one thread, so that log, wire, files and effects have one order.
What is planned for an instant is the `Director`'s business, what a kill there would leave the
`Harvest`'s.

Promises: the log named by an event was read while the target could not change it; each kill has
its proof. Does not judge: a kill that is never reached is simply not recorded.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from chaos.evidence import (
    ABSENT,
    COPIES,
    SYNCS,
    Answered,
    Effect,
    Ended,
    Exec,
    FileChange,
    Kill,
    LogWrite,
    Request,
    Sha,
    StateWrite,
    Sync,
)
from chaos.launch.model import Action, Call, Command, KillAt, Pause, Strike
from chaos.points import KillPoint, Phase, Scope
from chaos.provider.exchange import Answer, Received
from chaos.scenario_events import PlannedEvent
from chaos.supervise.checkpoint import Checkpoint
from chaos.supervise.director import Director
from chaos.supervise.entry import Entry
from chaos.supervise.harvest import Harvest, KeyOf
from chaos.supervise.journal import Journal, lines_of
from chaos.supervise.naming import Naming
from chaos.supervise.notebook import Notebook
from chaos.supervise.processes import speaker
from chaos.supervise.room import Room


class Recorder:
    """Handler and observer of the launches of a lineage."""

    def __init__(
        self,
        room: Room,
        images: Callable[[], KeyOf] | None = None,
        start: Checkpoint | None = None,
        scope: Scope | None = None,  # of the kills; None: what the point suggests
        temporary: tuple[str, ...] = (),  # globs of the target's temporary files
        torn: str = "ends",  # the torn writes that are harvested
        transcript: Mapping[str, str] | None = None,  # paths in a line; None: the log records facts
        port: int | None = None,  # of the model, whose client is to be found; None: it writes a log
    ) -> None:
        self.room = room
        self.notebook = Notebook(room, start)
        self.director = Director(self.notebook, scope)
        self.harvest = Harvest(self.notebook, images, torn)
        self._temporary = temporary
        self._journal = Journal(self._effects_on_disk())
        self._transcript, self._port = transcript, port
        self._naming = Naming(temporary, transcript)
        self._programs: dict[int, tuple[str, ...]] = {}  # by process
        self._last_effect: Entry | None = None
        self._pending: dict[int, Entry] = {}  # by thread: watched calls between entry and exit
        self._paused: dict[int, tuple[str, ...]] = {}  # by thread: names of the call it stands at
        self._requests: dict[int, Request] = {}

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
        self.notebook.begin(launch)
        self.director.begin(kill, events, rivals, rival)
        self.harvest.on = harvest and kill is None
        self._naming = Naming(self._temporary, self._transcript)
        self._requests.clear()
        self._paused.clear()
        self._programs.clear()
        self._journal = Journal(self._effects_on_disk())

    # -- the engine's handler ---------------------------------------------------------------

    def classify(self, path: str) -> str | None:
        """The engine asks whether a regular file is watched."""
        return self.room.classify(path)

    def entering(self, call: Call) -> Action:
        """A watched call is about to happen: note the state before it, decide about the kill."""
        entry = Entry(self.room, self.notebook.blobs, call)
        self.notebook.look(entry.log)
        entry.instants = self._paused.pop(call.tid, ()) or self._names(call, entry)
        if call.label in ("log", "state"):
            self.notebook.writer = call.pid
        if pause := self.director.pause(entry.instants, Phase.BEFORE, call.pid, call.name):
            self._paused[call.tid] = entry.instants
            return Action(pause=pause)
        self._pending[call.tid] = entry
        self.notebook.log_is_changing = self._log_is_changing()
        self.director.signal(entry.instants, Phase.BEFORE)
        self.harvest.enters(entry)
        action = self.director.decide(entry)
        if entry.kill is not None:
            entry.keep()
        return action

    def left(self, call: Call) -> Pause | None:
        """A watched call is done; who made it still stands there."""
        entry = self._take(call)
        self._record(call, entry)
        self.harvest.leaves(entry)
        self.director.signal(entry.instants, Phase.AFTER)
        return self.director.pause(entry.instants, Phase.AFTER, call.pid, call.name)

    def served(self) -> Strike | Pause | None:
        """The wire was served: what does that ask for?"""
        return self.director.due()

    def executed(self, pid: int, argv: tuple[str, ...]) -> None:
        """A process of the tree began a program."""
        self._programs[pid] = argv
        self.notebook.note(Exec, pid=pid, argv=argv, log=self.notebook.log())

    def ended(self, pid: int, wait_status: int) -> None:
        """A process of the tree was cancelled."""
        argv = self._programs.get(pid, ())
        self.notebook.note(Ended, pid=pid, argv=argv, signal=os.WTERMSIG(wait_status))

    def rival_ended(self, command: Command, pid: int, wait_status: int) -> None:
        """Another start of the target is over."""
        self.director.rival_ended(command, pid, wait_status)

    def dead(self, call: Call | None, strike: Strike, pid: int, wait_status: int) -> None:
        """The killed process is reaped and nothing else has run since: take the proof."""
        scope = str(strike.scope)
        if call is None:
            point = self.director.died_at
            no_call = {"call": "", "tid": 0, "offset": -1, "length": 0, "kept": 0, "returned": None}
            no_file = {"before": ABSENT, "payload": ABSENT, "after": ABSENT}
            log = self.notebook.log()
            proof = {"pid": pid, "wait_status": wait_status, "log": log, "scope": scope}
            self.notebook.note(Kill, point=str(point), **no_call, **no_file, **proof)
            return
        entry = self._pending[call.tid]
        if call.pid == pid or strike.at is KillAt.EXIT or strike.scope is Scope.TREE:
            self._record(call, self._take(call))
        point = entry.kill
        assert point is not None  # noqa: S101 - the engine kills only where `entering` said so
        kept = {Phase.BEFORE: 0, Phase.AFTER: call.length, Phase.TORN: point.part or 0}
        about_log = call.label == "log"
        log, blobs = self.notebook.log(), self.notebook.blobs
        self.notebook.note(
            Kill,
            point=str(point),
            call=call.name,
            pid=pid,
            tid=call.tid,
            offset=call.offset,
            length=call.length,
            kept=kept[point.phase],
            returned=call.returned,
            before=entry.log if about_log else entry.content,
            payload=blobs.put(entry.payload()),
            after=log if about_log else self.room.content(entry.path, blobs),
            wait_status=wait_status,
            size=call.size,
            tree=entry.tree,
            log=log,
            caller=call.pid,
            scope=scope,
            path=entry.relative if call.label in ("file", "state") else "",
        )

    # -- the mock provider's observer -------------------------------------------------------

    def request_arrived(self, ticket: int) -> None:
        """The first byte of a request is here: this is when the log must show its attempt."""
        if self._port is not None:
            self.notebook.speaker = speaker(self._port) or self.notebook.speaker
        self._requests[ticket] = self.notebook.note(
            Request,
            ordinal=0,  # until it is known whether it is a turn
            method="",
            path="",
            body=ABSENT,
            log=self.notebook.log(),
            status=0,
            reason="cut before it was complete",
            answer=ABSENT,
        )

    def request_decided(self, ticket: int, ordinal: int, request: Received, answer: Answer) -> None:
        """The request is complete and its answer chosen: fill in the event of its arrival."""
        blobs = self.notebook.blobs
        decided = replace(
            self._requests[ticket],
            ordinal=ordinal,
            method=request.method,
            path=request.path,
            body=blobs.put(bytes(request.body)),
            status=answer.status,
            reason=answer.reason,
            answer=blobs.put(answer.body),
            usage=answer.usage,
            injected=answer.injected,
        )
        self.notebook.events[decided.order - 1] = self._requests[ticket] = decided
        self._on_the_wire(decided, Phase.REQUEST)

    def held(self, ticket: int) -> None:
        """All of an answer that a kill lets out is with the kernel."""
        ordinal = self._requests[ticket].ordinal
        self.director.on_the_wire(f"provider:{ordinal}", Phase.CHUNK)

    def answered(self, ticket: int, complete: bool) -> None:
        """The answer went out, or its connection went away."""
        request = self._requests[ticket]
        self.notebook.note(Answered, ordinal=request.ordinal, complete=complete)
        if complete:
            self._on_the_wire(request, Phase.RESPONSE)

    def _on_the_wire(self, request: Request, phase: Phase) -> None:
        """An instant of a turn; other requests have none."""
        if request.ordinal:
            place = f"provider:{request.ordinal}"
            self.harvest.passes(place, phase)
            self.director.on_the_wire(place, phase)

    # -- shared -----------------------------------------------------------------------------

    def finish_launch(self) -> None:
        """No process of the tree is left. An effect whose process died inside the call (`left`
        never came) may have happened all the same: what is in the journal decides."""
        inside = [e for e in self._pending.values() if e.call.label == "effect"]
        self.notebook.log()
        self._pending.clear()
        data = self._effects_on_disk()
        if data != self._journal.bytes_now and not inside:
            self.notebook.unseen["the effect journal changed without a call that was seen"] = None
        names = [*self._journal.take(data), *self._journal.close()]
        if by := next(iter(inside), self._last_effect):
            self._effects(by, names)

    def effects(self) -> list[str]:
        """The journal as it is on disk."""
        return lines_of(self._effects_on_disk())

    def _effects_on_disk(self) -> bytes:
        return self.room.read(self.room.effects) or b""

    def _names(self, call: Call, entry: Entry) -> tuple[str, ...]:
        match call.label:
            case "log":
                return self._naming.log(call, entry.log_bytes)
            case "effect":
                return self._naming.effects(call, lines_of(call.data))
            case "state":
                names = (entry.relative, self.room.relative(call.path))
                globs = filter(None, map(self.room.glob_of, names))
                return self._naming.state(call, next(globs, names[0]))
            case "directory":
                return self._naming.file(call, self.room.public_name(call.path))
            case _:
                return self._naming.file(call, entry.relative)

    def _take(self, call: Call) -> Entry:
        """The entry of a call that is over."""
        entry = self._pending.pop(call.tid)
        self.notebook.log_is_changing = self._log_is_changing()
        return entry

    def _log_is_changing(self) -> bool:
        return any(entry.call.label == "log" for entry in self._pending.values())

    def _record(self, call: Call, entry: Entry) -> None:
        """A call is over: what it did, as an event."""
        if call.label == "log":
            log = self.notebook.log_was_changed()
            if call.name not in SYNCS:
                self._log_write(call, entry, log)
        if call.name in SYNCS:
            if call.returned == 0 and call.label != "state":
                self._sync(call)
        elif call.label == "state":
            self._state_write(call, entry)
        elif call.label == "effect":
            self._last_effect = entry
            self._effects(entry, self._journal.take(self._effects_on_disk()))
        elif call.label == "file":
            self._file_change(call, entry)

    def _sync(self, call: Call) -> None:
        names = self.room.names_in(call.path) if call.path.endswith("/") else ()
        path, log = self.room.public_name(call.path), self.notebook.log()
        self.notebook.note(Sync, pid=call.pid, call=call.name, path=path, log=log, names=names)

    def _log_write(self, call: Call, entry: Entry, log: Sha) -> None:
        self.notebook.note(
            LogWrite,
            pid=call.pid,
            call=call.name,
            point=entry.point,
            position=self._naming.position("log"),
            offset=call.offset,
            length=call.length,
            returned=call.returned,
            log=log,
        )

    def _state_write(self, call: Call, entry: Entry) -> None:
        in_place = self.room.is_database(entry.path)
        self.notebook.note(
            StateWrite,
            pid=call.pid,
            call=call.name,
            path=entry.relative,
            glob=KillPoint.parse(f"{entry.point}/before").detail or "",
            point=entry.point,
            offset=call.offset,
            length=call.length,
            returned=call.returned,
            tears=call.length > 1 and call.name not in COPIES and not in_place,
        )

    def _file_change(self, call: Call, entry: Entry) -> None:
        self.notebook.note(
            FileChange,
            pid=call.pid,
            call=call.name,
            path=entry.relative,
            before=entry.content,
            after=self.room.content(entry.path, self.notebook.blobs),
            log=entry.log,
            point=entry.point,
            offset=call.offset,
            length=call.length,
            old=self.room.relative(call.path) if call.name.startswith("rename") else "",
        )

    def _effects(self, entry: Entry, names: list[str]) -> None:
        for name in names:
            self.notebook.note(
                Effect,
                pid=entry.call.pid,
                argv=entry.argv,
                name=name,
                log=entry.log,
                holds_log=entry.holds_log,
                point=entry.point,
            )
