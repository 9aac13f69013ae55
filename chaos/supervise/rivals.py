"""The concurrent family: several resumes at the same instant, from every crash image of a run.

    run: log:toolStarted[bash]#1/after; resume*2: none
    run: log:toolStarted[bash]#1/after; resume*8: none

Pure. Only crashes that a `resume` or an `abort` follows: two runs at once are two prompts, which
both count.
"""

from __future__ import annotations

from collections.abc import Iterator

from chaos.evidence import Effect, Evidence, FileChange, LogWrite, Request, Sha
from chaos.explore.work import Branch
from chaos.points import Phase, PlannedLaunch, Schedule
from chaos.scenario import Scenario
from chaos.scenario_schedule import CROWDS
from chaos.supervise.schedules import place_of, schedule_id, schedules_of
from chaos.supervise.steps import next_launch

STARTS = (2, 8)  # at once


def concurrent_schedules(
    scenario: Scenario, reference: Evidence, phases: tuple[Phase, ...], torn: str
) -> list[Branch]:
    """For every crash of the first level, each of `STARTS`."""
    if scenario.kill.schedule is not None:
        return []  # it says all that is to be done
    found: list[Branch] = []
    logs = dict(_logs(reference))
    for branch in schedules_of(scenario, reference, phases, torn):
        *_, last = branch.schedule.launches
        assert last.kill is not None  # noqa: S101 - each of them has one
        launch = len(branch.schedule.launches) - 1
        before, after = logs[launch, last.kill.place]
        log = after if last.kill.phase is Phase.AFTER else before
        role = _next_role(scenario, reference, launch, log)
        if role in CROWDS:
            for starts in STARTS:
                crowd = PlannedLaunch(role, None, starts)
                schedule = Schedule((*branch.schedule.launches, crowd))
                found.append(Branch(schedule_id(scenario.name, schedule), schedule))
    return found


def _logs(reference: Evidence) -> Iterator[tuple[tuple[int, str], tuple[Sha, Sha]]]:
    """By launch and place: the log at the entry of the call, and at its exit."""
    log = {launch.index: launch.log_before for launch in reference.launches}
    for event in reference.events:
        if isinstance(event, LogWrite | FileChange | Effect | Request):
            before = log[event.launch]
            log[event.launch] = event.log
            if place := place_of(event):
                entry = before if isinstance(event, LogWrite) else event.log
                yield (event.launch, place), (entry, event.log)


def _next_role(scenario: Scenario, reference: Evidence, launch: int, log: Sha) -> str:
    """What brings to its end what a crash of this launch leaves, with `log`."""
    step = reference.launches[launch].step
    begun = next(known.log_before for known in reference.launches if known.step == step)
    get = reference.blobs.get
    return next_launch(scenario.steps, step, get(begun), get(log))[1]
