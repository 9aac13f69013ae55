"""Fault families: what a sweep does to a session, beside letting it run.

    kill        dies at every point of the run; the crashes of crashes
    damage      its log is damaged while nothing runs
    power-loss  dies, and what was not synced is lost
    concurrent  dies, and several resumes start at the same instant
    signal      is sent SIGINT or SIGTERM at an instant
    error       a call of it on the log or a workspace file fails, or writes less than it was given

A table of family → schedules. Families are never mixed: a verdict of one says nothing of another.
Each family gives groups of branches; the branches of a group start from one image, which the
schedule before them makes. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from chaos.damage import Damage, damages_of
from chaos.evidence import STEP_ROLES, Evidence, LogWrite
from chaos.explore.work import Branch
from chaos.options import FAULTS
from chaos.points import DAMAGE, KillPoint, Phase, PlannedLaunch, Schedule
from chaos.scenario import Scenario
from chaos.supervise.disturbed import error_schedules, signal_schedules
from chaos.supervise.losses import loss_schedules
from chaos.supervise.rivals import concurrent_schedules
from chaos.supervise.schedules import schedule_id, schedules_of


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a sweep asks of a family."""

    phases: tuple[Phase, ...]
    torn: str  # ends | every: also of the cuts of a damaged log


Group = tuple[Schedule, Sequence[Branch]]
Groups = Iterator[Group]


def kills(scenario: Scenario, reference: Evidence, wanted: Wanted) -> Groups:
    """One kill each, at every point of the run."""
    yield Schedule(), schedules_of(scenario, reference, wanted.phases, wanted.torn)


def power_losses(scenario: Scenario, reference: Evidence, _wanted: Wanted) -> Groups:
    """A kill each, and what it lost."""
    yield Schedule(), loss_schedules(scenario, reference)


# Kinds of fact after which a crash image tells most: a request or a tool is on its way, or was just
# answered; an abort or a compaction has begun.
_TELLING = ("stepAttempt", "toolStarted", "toolResult", "abortRequested", "compactionStarted")
_LAST = 2  # lines of a crash image that are damaged; the others are those of a whole log


def damages(scenario: Scenario, reference: Evidence, wanted: Wanted) -> Groups:
    """One damage each, of the log that the run leaves, and of the ends of the logs of a few crash
    images."""
    if scenario.kill.schedule is not None:
        return  # it says all that is to be done
    launches = [launch for launch in reference.launches if launch.role in STEP_ROLES]
    whole = Schedule(tuple(PlannedLaunch(launch.role, None) for launch in launches))
    log = reference.blobs.get(launches[-1].log_after)
    yield whole, _damaged(scenario, whole, damages_of(log, every=wanted.torn == "every"))
    for event in _telling(reference):
        kill = KillPoint.parse(f"{event.point}/{Phase.AFTER}")
        prefix = Schedule(
            (*whole.launches[: event.launch], PlannedLaunch(launches[event.launch].role, kill))
        )
        left = damages_of(reference.blobs.get(event.log), last=_LAST)
        yield prefix, _damaged(scenario, prefix, left)


def _telling(reference: Evidence) -> Iterator[LogWrite]:
    """The first write of each telling fact in the steps of the run."""
    said: set[str] = set()
    for event in reference.events:
        if reference.launches[event.launch].role in STEP_ROLES and isinstance(event, LogWrite):
            kind = event.point.removeprefix("log:").partition("[")[0].partition("#")[0]
            if kind in _TELLING and kind not in said:
                said.add(kind)
                yield event


def _damaged(scenario: Scenario, prefix: Schedule, damages: Iterable[Damage]) -> list[Branch]:
    branches = []
    for damage in damages:
        last = PlannedLaunch("resume", None, first=(f"{DAMAGE}: {damage}",))
        schedule = Schedule((*prefix.launches, last))
        branches.append(Branch(schedule_id(scenario.name, schedule), schedule))
    return branches


def concurrent(scenario: Scenario, reference: Evidence, wanted: Wanted) -> Groups:
    """A kill each, then a crowd."""
    yield Schedule(), concurrent_schedules(scenario, reference, wanted.phases, wanted.torn)


def signals(scenario: Scenario, reference: Evidence, _wanted: Wanted) -> Groups:
    """One signal each."""
    yield Schedule(), signal_schedules(scenario, reference)


def errors(scenario: Scenario, reference: Evidence, _wanted: Wanted) -> Groups:
    """One error each, of one call or of all from then on."""
    yield Schedule(), error_schedules(scenario, reference)


Family = Callable[[Scenario, Evidence, Wanted], Groups]
_ROWS = (kills, damages, power_losses, concurrent, signals, errors)
FAMILIES: dict[str, Family] = dict(zip(FAULTS, _ROWS, strict=True))
