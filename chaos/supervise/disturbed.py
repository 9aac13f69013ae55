"""The families of what befalls a run that nobody kills: signals, and errors of its disk.

    event: signal:TERM at log:stepAttempt#1/after; run: none
    event: errno:ENOSPC* at log:toolResult[bash]#1/before; run: none

Such an event is one of a scenario file (`chaos.scenario_events`), said by the schedule. The choice
is pure, and over the run without a kill: signals at every instant of the log, of effects and of
requests; errors and short writes at every call on the log and on workspace files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from chaos.evidence import STEP_ROLES, Effect, Event, Evidence, FileChange, LogWrite, Request
from chaos.explore.work import Branch
from chaos.points import EVENT, PlannedLaunch, Schedule, told
from chaos.scenario import Scenario
from chaos.scenario_events import PlannedEvent, read_event
from chaos.supervise.schedules import place_of, schedule_id

_EventsAt = Callable[[Event, str], Iterator[str]]
_SIGNALS = ("signal:INT", "signal:TERM")
_ERRORS = ("errno:ENOSPC", "errno:ENOSPC*", "errno:EIO", "errno:EDQUOT", "errno:EINTR")


def signal_schedules(scenario: Scenario, reference: Evidence) -> list[Branch]:
    """Each signal once, at every instant."""
    return _branches(scenario, reference, _signals)


def error_schedules(scenario: Scenario, reference: Evidence) -> list[Branch]:
    """Each error and a few short writes once, at every call."""
    return _branches(scenario, reference, _errors)


def events_of(planned: PlannedLaunch, launch: int) -> list[PlannedEvent]:
    """What a schedule says of launch number `launch` (1-based). Raises UsageError."""
    return [read_event(said, launch) for said in told(planned.first, EVENT)]


def _branches(scenario: Scenario, reference: Evidence, events_at: _EventsAt) -> list[Branch]:
    if scenario.kill.schedule is not None or scenario.events:
        return []  # it says all that is to be done; what befalls it would meet other launches
    chosen: dict[str, Branch] = {}
    for event in reference.events:
        launch = reference.launches[event.launch]
        place = place_of(event)
        if launch.role not in STEP_ROLES or place is None:
            continue
        alive = tuple(PlannedLaunch(each.role, None) for each in reference.launches[: event.launch])
        for do in events_at(event, place):
            last = PlannedLaunch(launch.role, None, first=(f"{EVENT}: {do}",))
            schedule = Schedule((*alive, last))
            ident = schedule_id(scenario.name, schedule)
            chosen[ident] = Branch(ident, schedule)
    return list(chosen.values())


def _signals(event: Event, place: str) -> Iterator[str]:
    instants: Iterable[str] = ("before", "after")
    if isinstance(event, Request):
        instants = ("request",)
    yield from (f"{do} at {place}/{instant}" for instant in instants for do in _SIGNALS)


def _errors(event: Event, place: str) -> Iterator[str]:
    if isinstance(event, Effect | Request):
        return
    yield from (f"{do} at {place}/before" for do in _ERRORS)
    if isinstance(event, LogWrite | FileChange):
        lengths = sorted({1, event.length // 2, event.length - 1})
        yield from (f"short:{n} at {place}/before" for n in lengths if 0 < n < event.length)
