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

Does not ask whether the target did right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from chaos.errors import UsageError
from chaos.evidence import Blobs, Event, Evidence, Kill, Launch, LogWrite
from chaos.judge.case import shown
from chaos.judge.log import point_name, split_torn
from chaos.points import KillPoint, Phase, Schedule

SIGKILL = 9

_WRITES = frozenset(
    {"write", "pwrite64", "writev", "pwritev", "pwritev2", "sendfile", "copy_file_range", "splice"}
)
_SYNCS = frozenset({"fsync", "fdatasync"})


def inexact(evidence: Evidence) -> list[str]:
    """Why the kills of this schedule prove nothing. Empty: they are exact."""
    return [*_planned(evidence), *_unseen(evidence), *_continuity(evidence)]


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
        faults.append(f"the bytes at death differ from the promise: {_difference(promised, after)}")
    return faults


def _kept(point: KillPoint, kill: Kill) -> int:
    """Bytes that reach the file where the kill happens as promised."""
    if point.phase is Phase.TORN:  # a torn call never keeps all of its bytes; else it was not torn
        return min(point.torn or 0, max(kill.length - 1, 0))
    return kill.length if point.phase is Phase.AFTER else 0


def _returned_as_due(point: KillPoint, kill: Kill, kept: int) -> bool:
    if point.phase is Phase.BEFORE:
        return kill.returned is None
    if kill.call in _WRITES:
        return kill.returned == kept
    return kill.returned is not None and kill.returned >= 0  # an open returns a descriptor


def _promised(kill: Kill, phase: Phase, blobs: Blobs) -> bytes | str:
    """The bytes that the log must hold; or why they cannot be told."""
    before = blobs.get(kill.before)
    if phase is Phase.BEFORE or kill.call in _SYNCS:
        return before
    if kill.call in _WRITES:
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


def _truncated(kill: Kill, before: bytes, blobs: Blobs) -> bytes | str:  # noqa: ARG001 - a row
    if kill.size is None:
        return f"the size asked for by {kill.call} is not known"
    return before[: kill.size].ljust(kill.size, b"\0")


def _renamed(kill: Kill, before: bytes, blobs: Blobs) -> bytes:  # noqa: ARG001 - a row
    return blobs.get(kill.payload)


def _unlinked(kill: Kill, before: bytes, blobs: Blobs) -> bytes:  # noqa: ARG001 - a row
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
        where = _where(launch)
        wanted, kill = schedule.kill_at(launch.index), kills.get(launch.index)
        if kill is None:
            if wanted is not None:
                yield f"{where}: {wanted} was never reached; it ended {_end(launch)}"
            elif launch.killed:
                yield f"{where}: it was killed, but no proof of that was recorded"
            continue
        if str(wanted) != kill.point:
            yield f"{where}: expected a kill at {wanted or 'no point'}, found one at {kill.point}"
        if not launch.killed:
            yield f"{where}: a kill at {kill.point} was recorded, but it ended {_end(launch)}"
        yield from (f"{where}: {fault}" for fault in kill_faults(kill, evidence.blobs))
        yield from (f"{where}: {fault}" for fault in _meaning(evidence, kill))


def _meaning(evidence: Evidence, kill: Kill) -> Iterator[str]:
    """The call that was killed is the one that its point names, counted in its launch."""
    try:
        point = KillPoint.parse(kill.point)
    except UsageError:
        return  # said by `kill_faults`
    writes = [
        e
        for e in evidence.of_launch(kill.launch)
        if isinstance(e, LogWrite) and e.order < kill.order
    ]
    if point.name is None:
        if len(writes) != point.ordinal:
            yield f"{kill.point}: expected call {point.ordinal} on the log, found {len(writes)}"
        return
    name, tool = kill.call, None
    if kill.length:
        blobs = evidence.blobs
        name, tool = point_name(split_torn(blobs.get(kill.before))[1] + blobs.get(kill.payload))
    if name != point.name or (point.tool is not None and tool != point.tool):
        found = f"{name}[{tool}]" if tool else name
        yield f"{kill.point}: the bytes handed over are of a {found}"
    named = f"{point.source}:{point.name}"
    wanted = f"{named}[{point.tool}]#" if point.tool else None
    count = sum(
        write.point.startswith(wanted) if wanted else _bare(write.point) == named
        for write in writes
    )
    if count != point.ordinal:
        yield f"{kill.point}: expected number {point.ordinal} of its kind, found number {count}"


def _bare(point: str) -> str:
    """`log:toolStarted` of `log:toolStarted[bash]#1`."""
    return point.partition("#")[0].partition("[")[0]


def _unseen(evidence: Evidence) -> Iterator[str]:
    for launch in evidence.launches:
        for change in launch.unseen:
            yield f"{_where(launch)}: a durable change passed by the engine unseen: {change}"


def _continuity(evidence: Evidence) -> Iterator[str]:
    """The log is the same from event to event, but for the calls that were seen to change it."""
    name, earlier = None, None  # of the log now, and before the last event
    for launch in evidence.launches:
        where = _where(launch)
        if name is not None and launch.log_before != name:
            yield f"{where}: the log changed between two launches"
        name = earlier = launch.log_before
        for event in evidence.of_launch(launch.index):
            fault = _step(event, name, earlier, evidence.blobs)
            if fault:
                yield f"{where}, event {event.order}: {fault}"
            earlier, name = name, _log_after(event, name)
        if launch.log_after != name:
            yield f"{where}: the log changed after its last event"
            name = launch.log_after


def _log_after(event: Event, name: str) -> str:
    if isinstance(event, Kill):
        return event.after
    return getattr(event, "log", name)


def _step(event: Event, name: str, earlier: str, blobs: Blobs) -> str | None:
    """What is wrong with an event that found the log `name`, and `earlier` one event before."""
    if isinstance(event, LogWrite):
        return _write_fault(event, blobs.get(name), blobs.get(event.log))
    if isinstance(event, Kill):
        # The killed call may have been recorded as a LogWrite of its own just before.
        if event.before not in (name, earlier):
            return "the log at the entry of the killed call is not the log of the event before"
        if name not in (event.after, event.before):
            return "the log changed between the killed call and the death"
        return None
    if _log_after(event, name) != name:
        return f"the log changed before this {type(event).__name__}, and no call was seen to do it"
    return None


def _write_fault(event: LogWrite, before: bytes, after: bytes) -> str | None:
    """Does the change fit the call, as far as its offset and its return value tell?"""
    done = max(event.returned or 0, 0)
    if event.call in _WRITES:
        if event.returned is None or not done or event.offset < 0:
            expected = len(before)
            same = after == before if not done else after.startswith(before)
        else:
            end = event.offset + done
            expected = max(len(before), end)
            same = (
                len(after) == expected
                and after[: event.offset] == before[: event.offset].ljust(event.offset, b"\0")
                and after[end:] == before[end:]
            )
    elif event.call in _SYNCS or event.returned is None or event.returned < 0:
        expected, same = len(before), after == before
    else:
        return None  # a truncate or a rename may do anything to it
    if same:
        return None
    return (
        f"{event.call} at {event.offset} returned {event.returned}: expected a log of {expected} "
        f"bytes, changed there only, found {len(after)} bytes; {_difference(before, after)}"
    )


def _difference(expected: bytes, found: bytes) -> str:
    """Where two byte strings part."""
    if expected == found:
        return "the bytes are equal"
    pairs = zip(expected, found, strict=False)
    at = next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(expected), len(found)))
    return (
        f"from byte {at} expected {shown(repr(expected[at : at + 40]))} of {len(expected)}, "
        f"found {shown(repr(found[at : at + 40]))} of {len(found)}"
    )


def _end(launch: Launch) -> str:
    if launch.timed_out:
        return "at its time limit"
    if launch.signal is not None:
        return f"by signal {launch.signal}"
    return f"with exit code {launch.exit_code}"


def _where(launch: Launch) -> str:
    return f"launch {launch.index + 1} ({launch.role})"
