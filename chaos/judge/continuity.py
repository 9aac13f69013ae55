"""Continuity: between the events that were seen, nothing changed the log; between two launches,
nothing but what the schedule did.

Pure, and part of the proof of kills (`chaos.judge.proof`): a log that changes by itself makes the
kill before it prove nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from chaos.damage import Damage
from chaos.errors import UsageError
from chaos.evidence import (
    LOG_NAME,
    SYNCS,
    WRITES,
    Blobs,
    Event,
    Evidence,
    Kill,
    Launch,
    LogWrite,
    Sync,
)
from chaos.judge.case import shown
from chaos.points import DAMAGE, POWER_LOSS, told
from chaos.power_loss import Loss, unsynced


def continuity(evidence: Evidence) -> Iterator[str]:
    """The log is the same from event to event, but for the calls that were seen to change it."""
    name, earlier = None, None  # of the log now, and before the last event
    for launch in evidence.launches:
        here = where(launch)
        if name is not None:
            yield from (f"{here}: {fault}" for fault in _between(evidence, launch, name))
        name = earlier = launch.log_before
        for event in evidence.of_launch(launch.index):
            fault = _step(event, name, earlier, evidence.blobs)
            if fault:
                yield f"{here}, event {event.order}: {fault}"
            earlier, name = name, _log_after(event, name)
        if launch.log_after != name:
            yield f"{here}: the log changed after its last event"
            name = launch.log_after


def _between(evidence: Evidence, launch: Launch, name: str) -> Iterator[str]:
    """Before a launch, the log is what the launch before left, or what was done to that."""
    blobs = evidence.blobs
    found, expected = blobs.get(launch.log_before), blobs.get(name)
    try:
        for how in told(launch.first, DAMAGE):
            expected = Damage.parse(how).apply(expected)
        for how in told(launch.first, POWER_LOSS):
            expected = _after_loss(evidence, launch, Loss.parse(how))
    except UsageError as error:
        yield str(error)
        return
    if found != expected:
        planned = f", not by {', '.join(launch.first)} alone" if launch.first else ""
        yield f"the log changed between two launches{planned}"


def _after_loss(evidence: Evidence, launch: Launch, loss: Loss) -> bytes:
    """The log that a loss of power before this launch leaves."""
    past = [event for event in evidence.events if event.launch < launch.index]
    syncs = (event for event in past if isinstance(event, Sync))
    names = (name for sync in syncs for name in (sync.path, *sync.names))
    log = next((name for name in names if name.endswith(LOG_NAME)), LOG_NAME)
    first = evidence.launches[0]
    before = evidence.blobs.get(first.log_before) or None
    state = unsynced(past, evidence.blobs, log, before, first.files_before)
    return state.after(loss).get(log, b"")


def _log_after(event: Event, name: str) -> str:
    if isinstance(event, Kill):
        return event.log_after
    return getattr(event, "log", name)


def _step(event: Event, name: str, earlier: str, blobs: Blobs) -> str | None:
    """What is wrong with an event that found the log `name`, and `earlier` one event before."""
    if isinstance(event, LogWrite):
        return _write_fault(event, blobs.get(name), blobs.get(event.log))
    if isinstance(event, Kill) and event.point.startswith("log"):
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
    if event.call in WRITES:
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
    elif event.call in SYNCS or event.returned is None or event.returned < 0:
        expected, same = len(before), after == before
    else:
        return None  # a truncate or a rename may do anything to it
    if same:
        return None
    return (
        f"{event.call} at {event.offset} returned {event.returned}: expected a log of {expected} "
        f"bytes, changed there only, found {len(after)} bytes; {difference(before, after)}"
    )


def difference(expected: bytes, found: bytes) -> str:
    """Where two byte strings part."""
    if expected == found:
        return "the bytes are equal"
    pairs = zip(expected, found, strict=False)
    at = next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(expected), len(found)))
    return (
        f"from byte {at} expected {shown(repr(expected[at : at + 40]))} of {len(expected)}, "
        f"found {shown(repr(found[at : at + 40]))} of {len(found)}"
    )


def where(launch: Launch) -> str:
    """`launch 2 (resume)`."""
    return f"launch {launch.index + 1} ({launch.role})"
