"""From a run without a kill to the schedules of a sweep: one kill each, at every point.

Pure. A point stands for one durable system call; its phases and torn lengths make the kills. The
sweep is of depth one: what a second crash shows is the explorer's business.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from chaos.errors import ScenarioError
from chaos.evidence import (
    COPIES,
    STEP_ROLES,
    Answered,
    Effect,
    Event,
    Evidence,
    FileChange,
    Injected,
    LogWrite,
    Request,
    Signal,
    StateWrite,
)
from chaos.explore.work import Branch
from chaos.judge import judge
from chaos.points import KillPoint, Phase, PlannedLaunch, Schedule, torn_lengths
from chaos.scenario import Scenario
from chaos.toml_table import nearest

BASELINE = "baseline"
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9]+")


def points_of(reference: Evidence) -> list[str]:
    """The kill points of a run without a kill, without phases, in order of their instants."""
    return list(dict.fromkeys(place for _, place, _ in _places(reference)))


def schedules_of(
    scenario: Scenario, reference: Evidence, phases: tuple[Phase, ...], torn: str
) -> list[Branch]:
    """All schedules with one kill, with their ids: neighbours leave neighbouring crash images.

    A scenario with a `[kill] schedule` has that one only. Raises ScenarioError when its `[kill]
    points` name no point of the run, or one of its events an instant that the run does not have.
    """
    _check_events(scenario, reference)
    given = scenario.kill.schedule
    if given is not None:
        killed = any(launch.kill or launch.first for launch in given.launches)
        return [Branch(schedule_id(scenario.name, given), given)] if killed else []
    chosen: list[Branch] = []
    found: set[str] = set()  # selectors that name a point
    within = scenario.kill.steps
    for launch, place, instants in _places(reference):
        if within and scenario.steps[reference.launches[launch].step].do not in within:
            continue
        roles = [reference.launches[index].role for index in range(launch + 1)]
        named = _named_parts(scenario.kill.points, place)
        for phase, part in dict.fromkeys((*instants(torn), *named)):
            point = KillPoint.parse(f"{place}/{phase}{f'@{part}' if part else ''}")
            selectors = _selecting(scenario.kill.points, point)
            if scenario.kill.points and not selectors:
                continue
            found |= selectors
            if phase not in phases:
                continue
            launches = [PlannedLaunch(role, None) for role in roles[:-1]]
            schedule = Schedule((*launches, PlannedLaunch(roles[-1], point)))
            chosen.append(Branch(schedule_id(scenario.name, schedule), schedule))
    missed = [selector for selector in scenario.kill.points if selector not in found]
    if missed and not judge(reference):  # a target that does wrong is no fault of the scenario
        points = points_of(reference)
        there = "\n  ".join(points)
        raise ScenarioError(
            f"{scenario.path}: [kill] points {', '.join(missed)}: no such point in the run"
            f"{nearest(missed[0], points)}; its points are\n  {there}"
        )
    return chosen


def _named_parts(selectors: tuple[str, ...], place: str) -> Iterator[tuple[Phase, int | None]]:
    """The instants that are named in full, `torn@7`: they need not be among the telling ones."""
    for selector in selectors:
        if "@" in selector.partition("/")[2]:
            point = KillPoint.parse(selector)
            if point.place == place:
                yield point.phase, point.part


# Events that happen at an instant of a launch, and are seen to.
_SEEN = frozenset({"signal", "errno", "short", "stop", "resume"})


def _check_events(scenario: Scenario, reference: Evidence) -> None:
    """In the run without a kill, every event finds its instant. What only a launch after a kill
    can reach is not known here; and a target that does wrong is no fault of the scenario."""
    done = Counter(
        (event.launch + 1, event.do)
        for event in reference.events
        if isinstance(event, Signal | Injected)
    )
    launches = sum(launch.role in STEP_ROLES for launch in reference.launches)
    for event in scenario.events:
        known = event.launch <= launches
        if not known or event.kind not in _SEEN or done[event.launch, event.do]:
            continue
        if not judge(reference):
            there = "\n  ".join(_instants_of(reference, event.launch - 1))
            raise ScenarioError(
                f"{scenario.path}: {event.do} never happened: launch {event.launch} of the run "
                f"without a kill has no instant {event.at}; it has, /before and /after,\n  {there}"
            )


def _instants_of(reference: Evidence, launch: int) -> Iterator[str]:
    """What an event can happen at, in order; requests have an instant of their own."""
    for event in reference.of_launch(launch):
        place = place_of(event)
        if place is not None:
            yield f"{place}/request" if isinstance(event, Request) else place


def schedule_id(scenario: str, schedule: Schedule) -> str:
    """A short stable id that is safe as a file name."""
    parts = [
        f"{f'launch{number}-' if number > 1 else ''}{_NOT_PLAIN.sub('-', what)}"
        for number, launch in enumerate(schedule.launches, start=1)
        for what in _told(launch)
    ]
    return "-".join((scenario, *parts)) if parts else f"{scenario}-{BASELINE}"


def _told(launch: PlannedLaunch) -> Iterator[str]:
    """What a launch of a schedule is told from others by."""
    yield from (what.replace("* at ", " from then on at ") for what in launch.first)
    if launch.starts > 1:
        yield f"{launch.role}*{launch.starts}"
    if launch.kill:
        yield str(launch.kill)


# The instants of a place: its phases, each with the part of the call or answer that it lets out.
_Instants = Callable[[str], Iterator[tuple[Phase, int | None]]]


def _places(reference: Evidence) -> Iterator[tuple[int, str, _Instants]]:
    """The places of the run's steps in order, as (launch, place, what there is to die at)."""
    said: set[tuple[int, str]] = set()
    for event in reference.events:
        place = place_of(event)
        if place is None or reference.launches[event.launch].role not in STEP_ROLES:
            continue
        if (event.launch, place) not in said:
            said.add((event.launch, place))
            yield event.launch, place, partial(_INSTANTS[type(event)], reference, event)


def place_of(event: Event) -> str | None:
    """Where a kill can be tried at what happened, without a phase."""
    if isinstance(event, LogWrite | FileChange | StateWrite | Effect):
        return event.point or None
    # A request without a number is no turn of the conversation, and comes when it likes.
    return f"provider:{event.ordinal}" if isinstance(event, Request) and event.ordinal else None


def _of_write(
    reference: Evidence, event: LogWrite | FileChange, torn: str
) -> Iterator[tuple[Phase, int | None]]:
    data = _data(reference, event)
    yield Phase.BEFORE, None
    yield from ((Phase.TORN, k) for k in torn_lengths(data, torn))
    yield Phase.AFTER, None


def _data(reference: Evidence, event: LogWrite | FileChange) -> bytes:
    """The bytes that the call wrote; empty for one that writes none."""
    if isinstance(event, LogWrite):
        return reference.blobs.get(event.log)[event.offset : event.offset + event.length]
    return reference.blobs.get(event.after)[event.offset :][: event.length]


def _of_state(
    _reference: Evidence, event: StateWrite, torn: str
) -> Iterator[tuple[Phase, int | None]]:
    """The bytes of such a write are not kept, so it is torn by its length alone."""
    yield Phase.BEFORE, None
    if event.tears:
        n = event.length
        chosen = range(1, n) if torn == "every" else sorted({1, n // 2, n - 1})
        yield from ((Phase.TORN, k) for k in chosen if 0 < k < n)
    if event.call not in _UNTOLD:
        yield Phase.AFTER, None


def _of_effect(
    _reference: Evidence, _event: Effect, _torn: str
) -> Iterator[tuple[Phase, int | None]]:
    yield Phase.BEFORE, None
    yield Phase.AFTER, None


def _of_request(
    reference: Evidence, event: Request, torn: str
) -> Iterator[tuple[Phase, int | None]]:
    yield Phase.REQUEST, None
    data = reference.blobs.get(event.answer)
    count = data.count(b"\n\n") if data.startswith((b"data:", b"event:")) else 0
    chosen = range(1, count) if torn == "every" else sorted({1, count // 2, count - 1})
    yield from ((Phase.CHUNK, n) for n in chosen if 0 < n < count)
    answers = (e for e in reference.of_launch(event.launch) if isinstance(e, Answered))
    if any(e.complete and e.ordinal == event.ordinal for e in answers):
        yield Phase.RESPONSE, None


# Calls of which nobody can tell what they have done, so that a kill after one proves nothing.
_UNTOLD = COPIES | {"fallocate"}

_INSTANTS: dict[type[Event], Any] = {
    LogWrite: _of_write,
    FileChange: _of_write,
    StateWrite: _of_state,
    Effect: _of_effect,
    Request: _of_request,
}


def _selecting(selectors: tuple[str, ...], point: KillPoint) -> set[str]:
    """The selectors that name this point: `log:toolStarted` names all its tools, ordinals and
    phases, `provider` all requests."""
    place = point.place
    named, _, _ = place.partition("#")
    kind, _, _ = named.partition("[")
    return {str(point), place, named, kind, point.source} & set(selectors)
