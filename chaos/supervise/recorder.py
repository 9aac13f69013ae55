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
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from chaos.evidence import (
    ABSENT,
    Answered,
    Blobs,
    Effect,
    Ended,
    Event,
    Exec,
    FileChange,
    Kill,
    LogWrite,
    Request,
    Sha,
    Signal,
)
from chaos.launch.model import GO, Action, Call, kill_after, kill_before, tear
from chaos.points import KillPoint, Phase, torn_ends
from chaos.supervise.checkpoint import Checkpoint
from chaos.supervise.entry import Entry
from chaos.supervise.journal import Journal, lines_of
from chaos.supervise.naming import Naming
from chaos.supervise.processes import tree_of
from chaos.supervise.room import Room

# A sync changes no byte and is no kill point of its own: its instants are the write's `after`.
_CHANGES_NO_FILE = frozenset({"fsync", "fdatasync"})


@dataclass(frozen=True, slots=True)
class Harvested:
    """A crash image that a launch passed through alive: where a kill would have left it."""

    launch: int
    point: KillPoint
    image: str  # its key


class Recorder:
    """Events of a lineage in one order, and the kill decisions of its schedule."""

    def __init__(
        self,
        room: Room,
        key_of: Callable[[bytes], str] | None = None,
        start: Checkpoint | None = None,
    ) -> None:
        self.room = room
        self.blobs = Blobs(dict(start.blobs.data)) if start else Blobs()
        self.events: list[Event] = list(start.events) if start else []
        self.launch = -1
        self.harvested: list[Harvested] = []
        self._key_of = key_of
        self._harvest = False
        self._kill: KillPoint | None = None
        self.unseen: dict[str, None] = {}  # changes that no watched call explains, in order
        self._started = time.monotonic()
        self._journal = Journal(self._effects_on_disk())
        self._log_now: Sha = ABSENT  # as it was when it was last looked at
        self._naming = Naming()
        self._signals: dict[str, str] = {}  # by instant: what is still to be sent
        self._agent: int | None = None  # the process that writes the log
        self._programs: dict[int, tuple[str, ...]] = {}  # by process
        self._last_effect: Entry | None = None
        self._pending: dict[int, Entry] = {}  # by thread: watched calls between entry and exit
        self._requests: dict[int, Request] = {}

    def begin(
        self,
        launch: int,
        kill: KillPoint | None,
        signals: Mapping[str, str],
        *,
        harvest: bool = False,
    ) -> None:
        """The next launch starts; `kill` is its planned kill, `signals` (INT, TERM) are sent at
        the instants that name them. `harvest` copies what it passes."""
        self.launch, self._kill = launch, kill
        self._signals, self._agent = dict(signals), None
        self._harvest = harvest and kill is None and self._key_of is not None
        self._naming = Naming()
        self._requests.clear()
        self._programs.clear()
        self.unseen.clear()
        self._journal = Journal(self._effects_on_disk())
        self._log_now = self.blobs.put(self.room.log())

    # -- the engine's handler ---------------------------------------------------------------

    def classify(self, path: str) -> str | None:
        """The engine asks whether a regular file is watched."""
        return self.room.classify(path)

    def entering(self, call: Call) -> Action:
        """A watched call is about to happen: note the state before it, decide about the kill."""
        entry = Entry(self.room, self.blobs, call)
        self._look(entry.log)
        self._pending[call.tid] = entry
        if call.label == "effect":
            entry.instants = tuple(map(self._naming.effect, lines_of(call.data)))
        if call.label == "log":
            self._agent = call.pid
            if call.name not in _CHANGES_NO_FILE:
                entry.instants = self._naming.call(call, entry.log_bytes)
                entry.point, entry.position = entry.instants[-1], self._naming.position
        self._signal(entry.instants, Phase.BEFORE)
        if not entry.position:
            return GO
        if self._harvest:
            self._pass(entry, Phase.BEFORE, entry.log_bytes)
            for k in sorted(torn_ends(call.data)):
                torn = entry.log_bytes[: call.offset] + call.data[:k]
                self._pass(entry, Phase.TORN, torn, k)
        if self._kill is None or not self._naming.reached(self._kill):
            return GO
        entry.kill, self._kill = self._kill, None
        entry.tree = tree_of(call.pid)
        match entry.kill.phase:
            case Phase.BEFORE:
                return kill_before()
            case Phase.AFTER:
                return kill_after()
            case Phase.TORN:
                return tear(entry.kill.torn or 0)

    def left(self, call: Call) -> None:
        """A watched call is done; who made it still stands there."""
        entry = self._pending.pop(call.tid)
        self._record(call, entry)
        if self._harvest and entry.position:
            self._pass(entry, Phase.AFTER, self.room.log())
        self._signal(entry.instants, Phase.AFTER)

    def executed(self, pid: int, argv: tuple[str, ...]) -> None:
        """A process of the tree began a program."""
        self._programs[pid] = argv
        self.events.append(Exec(*self._when(), pid=pid, argv=argv, log=self.log()))

    def ended(self, pid: int, wait_status: int) -> None:
        """A process of the tree was cancelled."""
        argv = self._programs.get(pid, ())
        ended = Ended(*self._when(), pid=pid, argv=argv, signal=os.WTERMSIG(wait_status))
        self.events.append(ended)

    def dead(self, call: Call, action: Action, wait_status: int) -> None:  # noqa: ARG002
        """The killed process is reaped and nothing else has run since: take the proof."""
        entry = self._pending.pop(call.tid)
        if entry.position:
            self._record(call, entry)
        point = entry.kill
        assert point is not None  # noqa: S101 - the engine kills only where `entering` said so
        kept = {Phase.BEFORE: 0, Phase.AFTER: call.length, Phase.TORN: point.torn or 0}
        self.events.append(
            Kill(
                *self._when(),
                point=str(point),
                call=call.name,
                pid=call.pid,
                tid=call.tid,
                offset=call.offset,
                length=call.length,
                kept=kept[point.phase],
                returned=call.returned,
                before=entry.log,
                payload=self.blobs.put(call.data),
                after=self.log(),
                wait_status=wait_status,
                size=call.size,
                tree=entry.tree,
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
        self._signal((f"provider:{ordinal}",), "request")

    def answered(self, ordinal: int, complete: bool) -> None:
        """The answer went out, or its connection went away."""
        self.events.append(Answered(*self._when(), ordinal=ordinal, complete=complete))

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
        at_ms = round((time.monotonic() - self._started) * 1000, 3)
        return len(self.events) + 1, self.launch, at_ms

    def _signal(self, instants: Iterable[str], phase: str) -> None:
        """Send what is planned for this moment. Without a writer of the log there is nobody to
        send it to."""
        for instant in instants:
            at = f"{instant}/{phase}"
            name = self._signals.pop(at, None)
            if name is None or self._agent is None:
                continue
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._agent, signal.Signals[f"SIG{name}"])
                sent = Signal(*self._when(), pid=self._agent, name=name, at=at, log=self.log())
                self.events.append(sent)

    def _pass(self, entry: Entry, phase: Phase, log: bytes, torn: int | None = None) -> None:
        """The launch passes a kill point with this log."""
        assert self._key_of is not None  # noqa: S101 - `begin` harvests only then
        point = KillPoint.parse(f"{entry.point}/{f'torn@{torn}' if torn else phase}")
        self.harvested.append(Harvested(self.launch, point, self._key_of(log)))

    def _record(self, call: Call, entry: Entry) -> None:
        if call.label == "log":
            self._log_now = self.blobs.put(self.room.log())
        if call.label == "log" and entry.position:
            self.events.append(
                LogWrite(
                    *self._when(),
                    pid=call.pid,
                    call=call.name,
                    point=entry.point,
                    position=entry.position,
                    offset=call.offset,
                    length=call.length,
                    returned=call.returned,
                    log=self.log(),
                )
            )
        elif call.label == "effect":
            self._last_effect = entry
            self._effects(entry, self._journal.take(self._effects_on_disk()))
        elif call.label == "file" and call.name not in _CHANGES_NO_FILE:
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
                )
            )
