"""From a run without a kill to the schedules of a sweep: one kill each, at every point.

Pure. A point stands for one durable system call; its phases and torn lengths make the kills. The
sweep is of depth one: what a second crash shows is the explorer's business.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from chaos.errors import ScenarioError
from chaos.evidence import Evidence, LogWrite
from chaos.points import KillPoint, Phase, PlannedLaunch, Schedule
from chaos.scenario import Scenario

BASELINE = "baseline"
# Roles of launches in which kills are tried; idle and probe launches come after the crash.
_KILLED_ROLES = ("run", "resume")


def points_of(reference: Evidence) -> list[str]:
    """The kill points of a run without a kill, without phases, in order of their instants."""
    return [write.point for _, write in _writes(reference)]


def schedules_of(
    scenario: Scenario, reference: Evidence, phases: tuple[Phase, ...], torn: str
) -> list[tuple[str, Schedule]]:
    """All schedules with one kill, with their ids: neighbours leave neighbouring crash images.

    Raises ScenarioError when the scenario's `[kill] points` name no point of the run.
    """
    chosen: list[tuple[str, Schedule]] = []
    for launch, write in _writes(reference):
        roles = [reference.launches[index].role for index in range(launch + 1)]
        for phase, k in _instants(reference, write, phases, torn):
            point = KillPoint.parse(f"{write.point}/{f'torn@{k}' if k else phase}")
            if not _selected(scenario.kill.points, point):
                continue
            launches = [PlannedLaunch(role, None) for role in roles[:-1]]
            schedule = Schedule((*launches, PlannedLaunch(roles[-1], point)))
            chosen.append((schedule_id(scenario.name, launch, point), schedule))
    if scenario.kill.points and not chosen:
        there = "\n  ".join(points_of(reference))
        raise ScenarioError(
            f"{scenario.path}: [kill] points {list(scenario.kill.points)} name no point of this "
            f"scenario; the points of its run are\n  {there}"
        )
    return chosen


def schedule_id(scenario: str, launch: int, point: KillPoint | None) -> str:
    """A short stable id that is safe as a file name."""
    if point is None:
        return f"{scenario}-{BASELINE}"
    in_launch = f"launch{launch + 1}-" if launch else ""
    return f"{scenario}-{in_launch}{re.sub(r'[^A-Za-z0-9]+', '-', str(point)).strip('-')}"


def _writes(reference: Evidence) -> Iterator[tuple[int, LogWrite]]:
    for event in reference.events:
        if isinstance(event, LogWrite) and reference.launches[event.launch].role in _KILLED_ROLES:
            yield event.launch, event


def _instants(
    reference: Evidence, write: LogWrite, phases: tuple[Phase, ...], torn: str
) -> Iterator[tuple[Phase, int | None]]:
    for phase in (Phase.BEFORE, Phase.TORN, Phase.AFTER):
        if phase not in phases:
            continue
        if phase is not Phase.TORN:
            yield phase, None
        elif write.length > 1:
            data = reference.blobs.get(write.log)[write.offset : write.offset + write.length]
            lengths = range(1, write.length) if torn == "every" else sorted(torn_ends(data))
            yield from ((phase, k) for k in lengths)


def torn_ends(data: bytes) -> set[int]:
    """Telling cuts of one write: its first byte, its middle, all but its last byte (the LF), and
    the inside of its first multibyte character."""
    ends = {1, len(data) // 2, len(data) - 1}
    multibyte = next((i for i, byte in enumerate(data) if byte >= 0xC0), None)
    if multibyte is not None:
        ends.add(multibyte + 1)
    return {k for k in ends if 0 < k < len(data)}


def _selected(selectors: tuple[str, ...], point: KillPoint) -> bool:
    """Does a selector name this point? `log:toolStarted` names all its tools, ordinals, phases."""
    if not selectors:
        return True
    full = str(point)
    place, _, _ = full.partition("/")
    named, _, _ = place.partition("#")
    kind, _, _ = named.partition("[")
    return not {full, place, named, kind}.isdisjoint(selectors)
