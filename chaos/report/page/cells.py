"""Where a schedule stands on the kill map: its row, its column, and its name within the cell.

A row is a boundary (a kill point without its phase) in a launch, after some number of kills; a
column is the beginning, the inside or the end of what happens there. A schedule of several kills
stands for its last one. What is no kill has a place too:

    event: errno:EIO at log:assistant#1/before; run: none    the boundary and phase of its instant
    run: P; power-loss: data=2 names=0; resume: none         that of the kill it followed
    run: P; resume*8: none                                   likewise
    run: none; damage: cut@812; resume: none                 a row for each kind of damage

Pure.
"""

from __future__ import annotations

from dataclasses import dataclass

from chaos.errors import UsageError
from chaos.points import DAMAGE, EVENT, POWER_LOSS, KillPoint, Phase, Schedule, told
from chaos.report.counts import number_of

COLUMNS = ("before", "within", "after")
_COLUMN = {
    Phase.BEFORE: 0,
    Phase.REQUEST: 0,
    Phase.TORN: 1,
    Phase.CHUNK: 1,
    Phase.AFTER: 2,
    Phase.RESPONSE: 2,
}
NO_KILL = "no kill"
MANY = 3  # kills; a walk may go on for twenty, and all recoveries look alike by then


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the map. Rows of one heading stand together."""

    kills: int  # how many kills a schedule of this row has, MANY at most
    launch: int  # the launch it happens in, 0-based; -1 without a kill
    heading: str
    place: str


@dataclass(frozen=True, slots=True)
class Cell:
    """A schedule's place."""

    row: Row
    column: int  # of COLUMNS
    label: str  # what tells it from others of the same row and column


def cell_of(schedule: Schedule) -> Cell:
    """The place of a schedule."""
    kills = len(schedule.kills)
    at = _last(schedule)
    if at is None:
        return Cell(Row(0, -1, "", NO_KILL), 2, "to its end")
    planned = schedule.launches[at]
    for damage in told(planned.first, DAMAGE):
        kind, sign, rest = damage.partition("@")
        killed = _last_kill(schedule, at)
        after = "" if killed is None else f", after {schedule.launches[killed].kill}"
        row = _row(schedule, at, kills, f"damage: {kind}")
        return Cell(row, 1, f"{sign}{rest}{after}" if sign else f"{kind}{after}")
    for event in told(planned.first, EVENT):
        do, _, instant = event.partition(" at ")
        return _placed(schedule, at, kills, instant, do)
    killed = at if planned.kill else _last_kill(schedule, at)
    if killed is None:
        return Cell(_row(schedule, at, 0, "from the start"), 0, str(planned))
    then = [f"{POWER_LOSS} {what}" for what in told(planned.first, POWER_LOSS)]
    if planned.starts > 1:
        then.append(f"then {planned.starts} starts at once")
    label = ", ".join(then)
    return _placed(schedule, killed, kills, str(schedule.launches[killed].kill), label)


def _last(schedule: Schedule) -> int | None:
    """The last launch of which the schedule says anything."""
    said = (
        index
        for index, launch in enumerate(schedule.launches)
        if launch.kill or launch.first or launch.starts > 1
    )
    return max(said, default=None)


def _last_kill(schedule: Schedule, before: int) -> int | None:
    return max((i for i in range(before) if schedule.launches[i].kill), default=None)


def _placed(schedule: Schedule, at: int, kills: int, instant: str, label: str) -> Cell:
    try:
        point = KillPoint.parse(instant)
    except UsageError:  # the start of a launch, or whatever an event may be named by one day
        return Cell(_row(schedule, at, kills, instant), 0, label)
    part = "" if point.part is None else f"@{point.part}"
    row = _row(schedule, at, kills, point.place)
    return Cell(row, _COLUMN[point.phase], " ".join(filter(None, (f"{point.phase}{part}", label))))


def _row(schedule: Schedule, at: int, kills: int, place: str) -> Row:
    """Under a heading such as `launch 2 (resume), after 1 kill`."""
    before = len(Schedule(schedule.launches[:at]).kills)
    if before >= MANY:
        return Row(MANY, MANY, f"after {MANY} kills or more", place)
    name = f"launch {at + 1} ({schedule.launches[at].role})"
    after = f", after {number_of(before, 'kill')}" if before else ""
    return Row(kills, at, name + after, place)
