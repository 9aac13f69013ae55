"""From a run without a kill to the schedules of a sweep: one kill each, at every point.

Pure. A point stands for one durable system call; its phases and torn lengths make the kills. The
sweep is of depth one: what a second crash shows is the explorer's business.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from chaos.errors import ScenarioError
from chaos.evidence import STEP_ROLES, Effect, Evidence, LogWrite, Request, Signal
from chaos.explore.work import Branch
from chaos.judge import judge
from chaos.points import KillPoint, Phase, PlannedLaunch, Schedule, torn_ends
from chaos.scenario import Scenario
from chaos.toml_table import nearest

BASELINE = "baseline"
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9]+")


def points_of(reference: Evidence) -> list[str]:
    """The kill points of a run without a kill, without phases, in order of their instants."""
    return [write.point for _, write in _writes(reference)]


def schedules_of(
    scenario: Scenario, reference: Evidence, phases: tuple[Phase, ...], torn: str
) -> list[Branch]:
    """All schedules with one kill, with their ids: neighbours leave neighbouring crash images.

    A scenario with a `[kill] schedule` has that one only. Raises ScenarioError when its `[kill]
    points` name no point of the run, or one of its signals an instant that the run does not have.
    """
    _check_signals(scenario, reference)
    given = scenario.kill.schedule
    if given is not None:
        killed = any(launch.kill for launch in given.launches)
        return [Branch(schedule_id(scenario.name, given), given)] if killed else []
    chosen: list[Branch] = []
    found = False
    within = scenario.kill.steps
    for launch, write in _writes(reference):
        if within and scenario.steps[reference.launches[launch].step].do not in within:
            continue
        roles = [reference.launches[index].role for index in range(launch + 1)]
        for phase, k in _instants(reference, write, torn):
            point = KillPoint.parse(f"{write.point}/{f'torn@{k}' if k else phase}")
            if not _selected(scenario.kill.points, point):
                continue
            found = True
            if phase not in phases:
                continue
            launches = [PlannedLaunch(role, None) for role in roles[:-1]]
            schedule = Schedule((*launches, PlannedLaunch(roles[-1], point)))
            chosen.append(Branch(schedule_id(scenario.name, schedule), schedule))
    if scenario.kill.points and not found:
        points = points_of(reference)
        there = "\n  ".join(points)
        raise ScenarioError(
            f"{scenario.path}: [kill] points {', '.join(scenario.kill.points)}: no such point in "
            f"the run{nearest(scenario.kill.points[0], points)}; its points are\n  {there}"
        )
    return chosen


def _check_signals(scenario: Scenario, reference: Evidence) -> None:
    """In the run without a kill, every signal finds its instant. What only a launch after a kill
    can reach is not known here; and a target that does wrong is no fault of the scenario."""
    sent = {(event.launch + 1, event.at) for event in reference.events if isinstance(event, Signal)}
    for event in scenario.events:
        known = event.launch <= len(reference.launches)
        unsent = event.signal and known and (event.launch, event.at) not in sent
        if unsent and not judge(reference):
            there = "\n  ".join(_instants_of(reference, event.launch - 1))
            raise ScenarioError(
                f"{scenario.path}: {event.do} was never sent: launch {event.launch} of the run "
                f"without a kill has no instant {event.at}; it has, /before and /after,\n  {there}"
            )


def _instants_of(reference: Evidence, launch: int) -> Iterator[str]:
    """What a signal can be sent at, in order; requests have an instant of their own."""
    effects: Counter[str] = Counter()
    for event in reference.of_launch(launch):
        if isinstance(event, LogWrite):
            yield event.point
        elif isinstance(event, Effect):
            effects[event.name] += 1
            yield f"effect:{event.name}#{effects[event.name]}"
        elif isinstance(event, Request):
            yield f"provider:{event.ordinal}/request"


def schedule_id(scenario: str, schedule: Schedule) -> str:
    """A short stable id that is safe as a file name."""
    kills = [
        f"{f'launch{number}-' if number > 1 else ''}{_NOT_PLAIN.sub('-', str(launch.kill))}"
        for number, launch in enumerate(schedule.launches, start=1)
        if launch.kill
    ]
    return "-".join((scenario, *kills)) if kills else f"{scenario}-{BASELINE}"


def _writes(reference: Evidence) -> Iterator[tuple[int, LogWrite]]:
    for event in reference.events:
        if isinstance(event, LogWrite) and reference.launches[event.launch].role in STEP_ROLES:
            yield event.launch, event


def _instants(
    reference: Evidence, write: LogWrite, torn: str
) -> Iterator[tuple[Phase, int | None]]:
    for phase in (Phase.BEFORE, Phase.TORN, Phase.AFTER):
        if phase is not Phase.TORN:
            yield phase, None
        elif write.length > 1:
            data = reference.blobs.get(write.log)[write.offset : write.offset + write.length]
            lengths = range(1, write.length) if torn == "every" else sorted(torn_ends(data))
            yield from ((phase, k) for k in lengths)


def _selected(selectors: tuple[str, ...], point: KillPoint) -> bool:
    """Does a selector name this point? `log:toolStarted` names all its tools, ordinals, phases."""
    if not selectors:
        return True
    full = str(point)
    place, _, _ = full.partition("/")
    named, _, _ = place.partition("#")
    kind, _, _ = named.partition("[")
    return not {full, place, named, kind}.isdisjoint(selectors)
