"""From kills as a caller names them to a schedule, and whether the run reached them.

Pure. A single point goes to the launch that has it in the run without a kill; what a later launch
has, only the run can tell, so that is asked afterwards.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from chaos.api_run import Run
from chaos.errors import UsageError
from chaos.evidence import STEP_ROLES, Evidence, LogWrite
from chaos.points import KillPoint, PlannedLaunch, Schedule
from chaos.report.timeline import launch_end, launch_name
from chaos.scenario import Scenario
from chaos.scenario_schedule import read_schedule
from chaos.supervise.schedules import place_of, schedule_id
from chaos.toml_table import nearest

Kill = KillPoint | str | Schedule | Sequence[KillPoint | str | None] | None


def place_kills(scenario: Scenario, reference: Evidence, kill: Kill) -> Schedule:
    """The schedule that `kill` asks for. Raises UsageError for what is no point or schedule."""
    if kill is None:
        return Schedule()
    if isinstance(kill, Schedule):
        return read_schedule(str(kill), scenario.target.durability)
    if isinstance(kill, KillPoint | str):
        point = _point(kill)
        before = [None] * _launch_of(reference, point.place)
        return _schedule(scenario, [*before, point])
    kills = [None if each is None else _point(each) for each in kill]
    return _schedule(scenario, kills) if any(kills) else Schedule()


def with_roles(scenario: Scenario, run: Run) -> Run:
    """The run, its schedule told with the roles that the launches had."""
    planned = Schedule.parse(run.schedule).launches
    roles = [launch.role for launch in run.launches]
    roles += [launch.role for launch in planned[len(roles) :]]
    schedule = Schedule(
        tuple(replace(each, role=role) for each, role in zip(planned, roles, strict=False))
    )
    if not planned:
        return run
    evidence = replace(run.evidence, schedule=str(schedule))
    ident = schedule_id(scenario.name, schedule)
    result = replace(run.result, id=ident, schedule=str(schedule), evidence=evidence)
    return Run(result, evidence)


def check_reached(run: Run) -> None:
    """Raises UsageError naming the first kill that was not reached, and the nearest point."""
    for index, planned in enumerate(Schedule.parse(run.schedule).launches):
        if planned.kill is None:
            continue
        if index >= len(run.launches):
            last = launch_name(run.evidence, len(run.launches) - 1)
            raise UsageError(
                f"{planned.kill} of launch {index + 1} was never reached: {last} was the last, "
                f"{launch_end(run.launches[-1])}. A list of kills has one for each launch"
            )
        if all(made.launch != index for made in run.evidence.kills):
            raise UsageError(_never_reached(run, index, planned.kill))


def _never_reached(run: Run, index: int, kill: KillPoint) -> str:
    launch = launch_name(run.evidence, index)
    places = list(dict.fromkeys(_places(run.evidence, index)))
    if kill.place in places:
        hint = f"; it passed {kill.place}, but nothing there is {str(kill).rpartition('/')[2]!r}"
    else:
        hint = nearest(kill.place, places) if places else "; it has no points"
    told = f"{kill} was never reached: {launch}, {launch_end(run.launches[index])}{hint}"
    return f"{told}\n{run.explain()}" if run.violations else told


def _point(kill: KillPoint | str) -> KillPoint:
    if isinstance(kill, KillPoint | str):
        return KillPoint.parse(kill) if isinstance(kill, str) else kill
    raise UsageError(
        f"not a kill point: {kill!r}; write for example after('toolStarted', tool='bash'), or its "
        "text, 'log:toolStarted[bash]#1/after'"
    )


def _schedule(scenario: Scenario, kills: Sequence[KillPoint | None]) -> Schedule:
    """With roles as far as they are known before the run: the step's, then a resume of it."""
    steps = [step.do for step in scenario.steps]
    launches: list[PlannedLaunch] = []
    for kill in kills:
        killed = bool(launches) and launches[-1].kill is not None
        role = "resume" if killed or not steps else steps.pop(0)
        launches.append(PlannedLaunch(role, kill))
    return Schedule(tuple(launches))


def _launch_of(reference: Evidence, place: str) -> int:
    """The first launch of the run that has this place; the first one, where none is known to."""
    steps = [launch.index for launch in reference.launches if launch.role in STEP_ROLES]
    having = (index for index in steps if place in set(_names(reference, index)))
    return next(having, 0)


def _places(evidence: Evidence, index: int) -> Iterator[str]:
    return filter(None, map(place_of, evidence.of_launch(index)))


def _names(evidence: Evidence, index: int) -> Iterator[str]:
    """The names of the places of a launch: in full, without what tells its kind apart, and (of the
    log) by position."""
    counted: Counter[str] = Counter()
    for event in evidence.of_launch(index):
        place = place_of(event)
        if place is None:
            continue
        yield place
        kind = place.partition("#")[0].partition("[")[0]
        counted[kind] += 1
        yield f"{kind}#{counted[kind]}"
        if isinstance(event, LogWrite):
            yield f"log@{event.position}"
