"""Proof of kills: did each kill happen as its point promised, and did anything pass unseen?

Pure. `inexact` gives reasons, in order of launches; none means that every planned kill happened
at its point, with signal 9, and left exactly the bytes that the point promises, recomputed here
from what the kill recorded; and that the log never changed without an event.

The bytes promised, by kind of call (design section 2: the proof of a kill):

    write and its like   the first `kept` bytes of the payload, at `offset`; the rest as before
    truncate             before: unchanged. after: cut (or filled with zeros) to `size`
    sync                 unchanged
    rename, link         after: the bytes of the file that now bears the name, as `payload`
    unlink               after: no bytes

A kill at the exchange with the model promises that the exchange had come to this instant, and
that the log was what it was then: nothing of it became durable.

Does not ask whether the target did right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from chaos.errors import UsageError
from chaos.evidence import (
    SYNCS,
    WRITES,
    Answered,
    Blobs,
    Effect,
    Event,
    Evidence,
    FileChange,
    Injected,
    Kill,
    Launch,
    LogWrite,
    Request,
    Rival,
    Signal,
    StateWrite,
)
from chaos.judge.continuity import continuity, difference, where
from chaos.judge.log import point_name, split_torn
from chaos.points import EVENT, KillPoint, Phase, Schedule, Scope, told
from chaos.transcript import line_name

SIGKILL = 9


def inexact(evidence: Evidence) -> list[str]:
    """Why the kills of this schedule prove nothing. Empty: they are exact."""
    return [*_planned(evidence), *_unseen(evidence), *continuity(evidence)]


def kill_faults(kill: Kill, blobs: Blobs) -> list[str]:
    """What differs between a kill and its promise, as far as the kill alone shows it."""
    try:
        point = KillPoint.parse(kill.point)
    except UsageError as error:
        return [str(error)]
    faults = []
    if kill.wait_status & 0x7F != SIGKILL:
        faults.append(
            f"expected a death by signal {SIGKILL}, found wait status {kill.wait_status:#06x}"
        )
    if point.source == "provider":
        return faults
    kept = _kept(point, kill)
    if kill.kept != kept:
        faults.append(f"expected {kept} bytes kept, found {kill.kept}")
    if not _returned_as_due(point, kill, kept):
        due = {Phase.BEFORE: "nothing"}.get(point.phase, kept)
        faults.append(f"expected {kill.call} to return {due}, found {kill.returned}")
    promised = _promised(kill, point.phase, blobs)
    after = blobs.get(kill.after)
    if isinstance(promised, str):
        faults.append(promised)
    elif promised != after:
        faults.append(f"the bytes at death differ from the promise: {difference(promised, after)}")
    return faults


def _kept(point: KillPoint, kill: Kill) -> int:
    """Bytes that reach the file where the kill happens as promised."""
    if point.phase is Phase.TORN:  # a torn call never keeps all of its bytes; else it was not torn
        return min(point.part or 0, max(kill.length - 1, 0))
    return kill.length if point.phase is Phase.AFTER else 0


def _returned_as_due(point: KillPoint, kill: Kill, kept: int) -> bool:
    if point.phase is Phase.BEFORE:
        return kill.returned is None
    if kill.call in WRITES:
        return kill.returned == kept
    return kill.returned is not None and kill.returned >= 0  # an open returns a descriptor


def _promised(kill: Kill, phase: Phase, blobs: Blobs) -> bytes | str:
    """The bytes that the log must hold; or why they cannot be told."""
    before = blobs.get(kill.before)
    if phase is Phase.BEFORE or kill.call in SYNCS:
        return before
    if kill.call in WRITES:
        return _written(before, blobs.get(kill.payload), kill)
    make = _REPLACED.get(kill.call)
    if make is None:
        return f"the bytes promised by {kill.call} cannot be recomputed"
    return make(kill, before, blobs)


def _written(before: bytes, payload: bytes, kill: Kill) -> bytes | str:
    if kill.offset < 0:
        return f"the place of the {kill.call} in the file is not known"
    if len(payload) != kill.length:
        return f"expected a payload of {kill.length} bytes, found {len(payload)}"
    start = before[: kill.offset].ljust(kill.offset, b"\0")
    return start + payload[: kill.kept] + before[kill.offset + kill.kept :]


def _truncated(kill: Kill, before: bytes, _blobs: Blobs) -> bytes | str:
    if kill.size is None:
        return f"the size asked for by {kill.call} is not known"
    return before[: kill.size].ljust(kill.size, b"\0")


def _renamed(kill: Kill, _before: bytes, blobs: Blobs) -> bytes:
    return blobs.get(kill.payload)


def _unlinked(_kill: Kill, _before: bytes, _blobs: Blobs) -> bytes:
    return b""


_REPLACED: dict[str, Callable[[Kill, bytes, Blobs], bytes | str]] = {
    "truncate": _truncated,
    "ftruncate": _truncated,
    "open": _truncated,
    "openat": _truncated,
    "openat2": _truncated,
    "creat": _truncated,
    "rename": _renamed,
    "renameat": _renamed,
    "renameat2": _renamed,
    "link": _renamed,
    "linkat": _renamed,
    "unlink": _unlinked,
    "unlinkat": _unlinked,
}


def _planned(evidence: Evidence) -> Iterator[str]:
    """Each planned kill happened once, at its point, as promised; and no other kill did."""
    schedule = Schedule.parse(evidence.schedule)
    kills = {e.launch: e for e in evidence.events if isinstance(e, Kill)}
    for index, planned in enumerate(schedule.launches):
        if planned.kill is not None and index >= len(evidence.launches):
            yield f"launch {index + 1}: never started, its kill at {planned.kill} is missing"
    for launch in evidence.launches:
        here = where(launch)
        yield from _befell(evidence, launch, schedule)
        yield from _started(evidence, launch, schedule)
        wanted, kill = schedule.kill_at(launch.index), kills.get(launch.index)
        if kill is None:
            if wanted is not None:
                yield f"{here}: {wanted} was never reached; it ended {_end(launch)}"
            elif launch.killed:
                yield f"{here}: it was killed, but no proof of that was recorded"
            continue
        if str(wanted) != kill.point:
            yield f"{here}: expected a kill at {wanted or 'no point'}, found one at {kill.point}"
        if not launch.killed:
            yield f"{here}: a kill at {kill.point} was recorded, but it ended {_end(launch)}"
        yield from (f"{here}: {fault}" for fault in kill_faults(kill, evidence.blobs))
        yield from (f"{here}: {fault}" for fault in _meaning(evidence, kill))


def _started(evidence: Evidence, launch: Launch, schedule: Schedule) -> Iterator[str]:
    """As many processes started at once as the schedule says, and each one's end is told."""
    wanted = schedule.of(launch.index).starts
    ended = (e.held is None for e in evidence.of_launch(launch.index) if isinstance(e, Rival))
    found = 1 + sum(ended)
    if found != wanted and not launch.timed_out:
        yield f"{where(launch)}: expected {wanted} starts at one instant, found {found}"


def _befell(evidence: Evidence, launch: Launch, schedule: Schedule) -> Iterator[str]:
    """Each event that the schedule plans for a launch happened in it."""
    events = evidence.of_launch(launch.index)
    done = {e.do for e in events if isinstance(e, Signal | Injected)}
    for event in told(schedule.of(launch.index).first, EVENT):
        if event.partition(" at ")[0] not in done:
            yield f"{where(launch)}: {event} never happened; it ended {_end(launch)}"


def _meaning(evidence: Evidence, kill: Kill) -> Iterator[str]:
    """What was killed at is what the point names, counted in its launch."""
    try:
        point = KillPoint.parse(kill.point)
    except UsageError:
        return  # said by `kill_faults`
    events = [e for e in evidence.of_launch(kill.launch) if e.order < kill.order]
    for fault in _MEANING[point.source](events, kill, point, evidence):
        yield f"{kill.point}: {fault}"


def _of_log(
    events: Sequence[Event], kill: Kill, point: KillPoint, evidence: Evidence
) -> Iterator[str]:
    """The killed call is the last that is recorded of the log."""
    writes = [e.point for e in events if isinstance(e, LogWrite)]
    name, tool = kill.call, None
    if kill.length:
        blobs, facts = evidence.blobs, evidence.facts
        line = split_torn(blobs.get(kill.before))[1] + blobs.get(kill.payload)
        read = facts.dialect == "transcript"
        name, tool = line_name(line, facts.transcript) if read else point_name(line)
    if point.name is not None and (name != point.name or point.detail not in (None, tool)):
        found = f"{name}[{tool}]" if tool else name
        yield f"the bytes handed over are of a {found}"
    yield from _number(writes, point, "the log")


def _of_file(
    events: Sequence[Event],
    kill: Kill,
    point: KillPoint,
    _evidence: Evidence,
) -> Iterator[str]:
    """The killed call is the last that is recorded of a file (of the workspace, or one that holds
    the session), unless its process outlived it."""
    kind = StateWrite if point.source == "state" else FileChange
    changes = [e for e in events if isinstance(e, kind)]
    points = [e.point for e in changes]
    outlived = kill.returned is None and kill.caller != kill.pid and kill.scope != Scope.TREE
    if outlived:
        points.append(point.place)
    if point.name is not None and kill.call != point.name:
        yield f"the call killed at is {kill.call}"
    if not outlived and (not changes or changes[-1].path != kill.path):
        yield f"the last change of a file is not of {kill.path}"
    yield from _number(points, point, "files")


def _of_effect(
    events: Sequence[Event], kill: Kill, point: KillPoint, evidence: Evidence
) -> Iterator[str]:
    """The line handed over is the effect, which has happened as often as its number says."""
    lines = evidence.blobs.get(kill.payload).decode("utf-8", "replace").split("\n")
    if point.name is None:
        return  # a call need not make a whole effect: its position cannot be told from effects
    if point.name not in lines:
        yield f"the bytes handed over are {lines}"
    count = sum(isinstance(e, Effect) and e.name == point.name for e in events)
    expected = point.ordinal if point.phase is Phase.AFTER else point.ordinal - 1
    if count != expected:
        yield f"expected {expected} effects of this name by then, found {count}"


def _of_exchange(
    events: Sequence[Event],
    _kill: Kill,
    point: KillPoint,
    _evidence: Evidence,
) -> Iterator[str]:
    """The request had arrived, and of its answer as much was sent as the point says."""
    arrived = any(isinstance(e, Request) and e.ordinal == point.ordinal for e in events)
    sent = any(isinstance(e, Answered) and e.ordinal == point.ordinal for e in events)
    if not arrived:
        yield f"request {point.ordinal} had not arrived"
    if sent != (point.phase is Phase.RESPONSE):
        yield f"its answer had {'' if sent else 'not '}been sent"


_MEANING: dict[str, Callable[[Sequence[Event], Kill, KillPoint, Evidence], Iterator[str]]] = {
    "log": _of_log,
    "file": _of_file,
    "state": _of_file,
    "effect": _of_effect,
    "provider": _of_exchange,
}


def _number(points: Sequence[str], point: KillPoint, of: str) -> Iterator[str]:
    """The last of `points`, the calls of this source in order, has the number in the name."""
    if point.name is None:
        if len(points) != point.ordinal:
            yield f"expected call {point.ordinal} on {of}, found {len(points)}"
        return
    named = f"{point.source}:{point.name}"
    wanted = f"{named}[{point.detail}]#" if point.detail else None
    count = sum(each.startswith(wanted) if wanted else _bare(each) == named for each in points)
    if count != point.ordinal:
        yield f"expected number {point.ordinal} of its kind, found number {count}"


def _bare(point: str) -> str:
    """`log:toolStarted` of `log:toolStarted[bash]#1`."""
    return point.partition("#")[0].partition("[")[0]


def _unseen(evidence: Evidence) -> Iterator[str]:
    for launch in evidence.launches:
        for change in launch.unseen:
            yield f"{where(launch)}: a durable change passed by the engine unseen: {change}"


def _end(launch: Launch) -> str:
    if launch.timed_out:
        return "at its time limit"
    if launch.signal is not None:
        return f"by signal {launch.signal}"
    return f"with exit code {launch.exit_code}"
