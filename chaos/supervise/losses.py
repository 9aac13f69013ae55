"""The power-loss family: at which instants power is lost, and what a loss leaves in the room.

The choice is pure, and over the events of the run without a kill: at the entry and the exit of
every call, and at every request and effect, each loss that `chaos.power_loss` knows there. The
room is laid out from the events of the lineage itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile
from pathlib import PurePosixPath

from chaos.errors import HarnessError, UsageError
from chaos.evidence import (
    LOG_NAME,
    STEP_ROLES,
    Blobs,
    Effect,
    Event,
    Evidence,
    Exec,
    FileChange,
    Launch,
    LogWrite,
    Request,
)
from chaos.explore.work import Branch
from chaos.judge.log import read_log
from chaos.points import POWER_LOSS, KillPoint, PlannedLaunch, Schedule
from chaos.power_loss import Loss, Unsynced, unsynced
from chaos.scenario import Scenario
from chaos.supervise.room import Room
from chaos.supervise.schedules import place_of, schedule_id


def loss_schedules(scenario: Scenario, reference: Evidence) -> list[Branch]:
    """Every loss of power in the steps of the run, once each: a kill, then what it took. None of a
    target that does not promise to survive it: `could_be_lost` tells of that."""
    if scenario.target.durability == "process":
        return []
    chosen: dict[str, Branch] = {}
    for launch, point, state in _instants(scenario, reference):
        roles = [reference.launches[index].role for index in range(launch + 1)]
        alive = (PlannedLaunch(role, None) for role in roles[:-1])
        for loss in state.losses():
            schedule = Schedule(
                (
                    *alive,
                    PlannedLaunch(roles[-1], KillPoint.parse(point)),
                    PlannedLaunch("resume", None, first=(f"{POWER_LOSS}: {loss}",)),
                )
            )
            ident = schedule_id(scenario.name, schedule)
            chosen[ident] = Branch(ident, schedule)
    return list(chosen.values())


def could_be_lost(scenario: Scenario, reference: Evidence) -> tuple[str, ...]:
    """What a loss of power could take although somebody outside had seen its consequence: of a
    target that promises to survive the death of its process only, this is worth knowing, and no
    fault."""
    if scenario.target.durability != "process":
        return ()
    said: list[str] = []
    known = 0  # facts that were told of already
    state = unsynced_of(scenario.target.log, reference.launches[0], (), reference.blobs)
    for event in _of_steps(reference):
        if isinstance(event, Request | Exec | Effect):
            durable = state.after(Loss(0, 0)).get(state.log, b"")
            facts = read_log(reference.blobs.get(event.log)).facts
            lost = facts[max(known, len(read_log(durable).facts)) :]
            known = len(facts)
            if lost:
                what = _OUTSIDE[type(event)].format(event)
                said.append(f"not synced when {what}: {', '.join(fact.type for fact in lost)}")
        state.take(event, reference.blobs)
    return ("a loss of power could take what was acted upon:", *said) if said else ()


_OUTSIDE: dict[type[Event], str] = {
    Request: "request {0.ordinal} was sent",
    Exec: "a program was started",
    Effect: "effect {0.name!r} happened",
}


def _instants(scenario: Scenario, reference: Evidence) -> Iterator[tuple[int, str, Unsynced]]:
    """Launch, kill point and what is unsynced there, which is another thing at the next instant."""
    state = unsynced_of(scenario.target.log, reference.launches[0], (), reference.blobs)
    for event in _of_steps(reference):
        place = place_of(event)
        if place and isinstance(event, LogWrite | FileChange):
            yield event.launch, f"{place}/before", state
        state.take(event, reference.blobs)
        if place:
            phase = "request" if isinstance(event, Request) else "after"
            yield event.launch, f"{place}/{phase}", state


def _of_steps(reference: Evidence) -> Iterator[Event]:
    """The events of the steps of the run."""
    roles = [launch.role for launch in reference.launches]
    return takewhile(lambda event: roles[event.launch] in STEP_ROLES, reference.events)


def unsynced_of(log_glob: str, first: Launch, events: Sequence[Event], blobs: Blobs) -> Unsynced:
    """What is unsynced after these events of a lineage whose first launch is `first`."""
    log = str(PurePosixPath(log_glob).parent / LOG_NAME)
    log_before = blobs.get(first.log_before) or None
    return unsynced(events, blobs, log, log_before, first.files_before)


def lose(room: Room, how: str, state: Unsynced) -> None:
    """Make the room what a loss of power leaves. Raises HarnessError where the lineage has not
    come to where the loss was chosen."""
    try:
        left = state.after(Loss.parse(how))
    except UsageError as error:
        raise HarnessError(f"{POWER_LOSS}: {error}") from None
    log = left.pop(state.log, None)
    room.lay_log(log)
    room.lay_files(left)
