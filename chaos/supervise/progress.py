"""A scenario on its way through a sweep: its references, its walk, its results in order.

Pure bookkeeping between the walk (which chooses) and the pool (which carries out).
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from chaos.evidence import Evidence, FileChange, LogWrite, StateWrite
from chaos.explore.walk import Walk
from chaos.explore.work import Branch, Explored, Work
from chaos.judge import RULES
from chaos.judge.applicable import not_applicable
from chaos.options import FAULTS, SweepOptions
from chaos.points import POWER_LOSS, Schedule, Scope
from chaos.results import Closure, ScenarioResult, ScheduleResult, Verdict
from chaos.scenario import Scenario
from chaos.supervise import losses
from chaos.supervise.families import FAMILIES, Group, Wanted
from chaos.supervise.fitness import check_options, check_reference
from chaos.supervise.same_twice import unsteady_calls
from chaos.supervise.schedules import points_of, schedule_id

# Branches in a unit of the first level: enough neighbours for equal images to meet, few enough to
# share out among lanes.
BLOCK = 12


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit of work and its place in the order of results."""

    number: int
    work: Work


class Progress:
    """One scenario."""

    def __init__(self, scenario: Scenario, options: SweepOptions) -> None:
        check_options(scenario, options)
        self.scenario = scenario
        self.options = options
        self.error = ""
        self._open: dict[int, Unit] = {}  # what is being carried out, by number
        phases = options.phases or scenario.kill.phases
        self._chance = _chance(scenario)
        self._depth = 1 if self._chance else options.depth
        self._walk = Walk(
            lambda schedule: schedule_id(scenario.name, schedule),
            depth=self._depth,
            phases=phases,
            kill_all=options.kill_all,
            max_states=options.max_states,
            verify=self._verifies,
        )
        self._phases = tuple(phases)
        self._spent_s = 0.0
        self._references: tuple[Evidence, ...] = ()
        self._notes: tuple[str, ...] = ()
        self._results: dict[int, list[ScheduleResult]] = {}
        self._waiting: dict[int, Sequence[Explored]] = {}  # done, and not told to the walk yet
        self._numbers = 0

    def baseline(self) -> Work:
        """The work that gives the references."""
        return Work(self.scenario, self.options.launch)

    def begin(self, references: tuple[Evidence, ...]) -> list[Unit]:
        """The first level: the run without a kill itself, and every kill of it that is wanted.

        Raises ScenarioError when the scenario's selection names no point.
        """
        self._references = references
        check_reference(self.scenario, references[0])
        if self.options.faults == POWER_LOSS:
            self._notes = losses.could_be_lost(self.scenario, references[0])
        family = FAMILIES[self.options.faults]
        wanted = Wanted(self._phases, self.options.torn)
        groups = list(family(self.scenario, references[0], wanted))
        idle = self.options.faults != FAULTS[0] and not any(branches for _, branches in groups)
        if idle and not self._notes:
            self._notes = (f"--faults {self.options.faults} finds nothing to do here",)
        self._notes += tuple(unsteady(references[0]))
        if self._chance and self.options.depth != 1:
            self._notes += (f"one kill a schedule: {self._chance}",)
        return self._units(self._blocks(groups))

    def _blocks(self, groups: Sequence[Group]) -> Iterator[tuple[Schedule, list[Branch]]]:
        """The branches that are wanted, in blocks that start from one image."""
        wanted = self.options.select or (lambda _: True)
        part, parts = self.options.shard
        baseline = Branch(schedule_id(self.scenario.name, Schedule()), Schedule())
        for prefix, branches in _led_by(baseline, groups):
            chosen = [
                replace(b, verifies=self._verifies(b.schedule))
                for b in branches
                if wanted(f"{self.scenario.name} {b.id}") and _stable(b.id) % parts == part - 1
            ]
            for at in range(0, len(chosen), BLOCK):
                yield prefix, chosen[at : at + BLOCK]

    def _verifies(self, schedule: Schedule) -> bool:
        """Is this schedule in the share that is judged again where its image is known? The seed
        and its name decide, so that neither order nor jobs do."""
        chance = _stable(f"{self.options.seed} {schedule}") / 2**32
        return chance < self.options.verify_dedup

    def take(self, unit: Unit, explored: Sequence[Explored]) -> list[ScheduleResult]:
        """A unit is done."""
        del self._open[unit.number]
        # Only the walk may turn a result into an error, and it must hear of units in their order
        # to choose the same schedules whatever the number of jobs.
        self._results[unit.number] = [e.result for e in explored]
        self._waiting[unit.number] = explored
        return self._results[unit.number]

    def failed(self, unit: Unit, why: str) -> None:
        """A unit could not be carried out: none of its schedules was judged."""
        self.stop([unit])
        self.error = why
        self._results[unit.number] = []

    def next_level(self) -> list[Unit]:
        """All units of a level are done: the next one. Empty: the walk is over."""
        self._tell_the_walk()
        return self._units(self._walk.next_level())

    def _tell_the_walk(self) -> None:
        for number, explored in sorted(self._waiting.items()):
            self._results[number] = [self._walk.took(e) for e in explored]
        self._waiting.clear()

    def stop(self, units: Iterable[Unit]) -> None:
        """These units will not be carried out."""
        for unit in units:
            del self._open[unit.number]
            self._walk.stop([(unit.work.prefix, list(unit.work.branches))])

    @property
    def level_is_done(self) -> bool:
        """Is nothing of the level being carried out any more?"""
        return not self._open

    def spend(self, seconds: float) -> None:
        """So much of the sweep's time was this scenario's: that until something of it was done,
        since something was done before. All scenarios together spend what the clock shows."""
        self._spent_s += seconds

    def out_of_time(self) -> bool:
        """Is the time used up that the scenario may take? The first level is always whole."""
        budget_s = self.options.budget_s
        return budget_s is not None and self._walk.level > 1 and self._spent_s > budget_s

    def result(self) -> ScenarioResult:
        """What there is now: of a sweep that was interrupted, what is still open is left."""
        self._tell_the_walk()
        self.stop(tuple(self._open.values()))
        closure = self._walk.closure()
        done = [r for _, results in sorted(self._results.items()) for r in results]
        closure = replace(closure, complete=closure.complete and bool(self._references))
        inherited = tuple(_inherit(done))
        return result_of(
            self.scenario, self._references, inherited, closure, self.error, self._notes
        )

    def _units(self, level: Iterable[tuple[Schedule, list[Branch]]]) -> list[Unit]:
        units = []
        for prefix, branches in level:
            work = Work(
                self.scenario,
                self.options.launch,
                tuple(branches),
                prefix,
                self._references,
                harvest=self._depth != 1,
                torn=self.options.torn,
                keep=self.options.keep,
                fail_fast=self.options.fail_fast,
            )
            unit = Unit(self._numbers, work)
            units.append(unit)
            self._open[unit.number] = unit
            self._numbers += 1
        return units


def _chance(scenario: Scenario) -> str:
    """Why a crash image of this scenario cannot be made again; empty: it can."""
    scope, schedule = scenario.kill.scope, scenario.kill.schedule
    if scope in (Scope.PROCESS, Scope.GROUP):
        return f'with [kill] scope = "{scope}" it is chance how far the processes come that live on'
    if schedule is not None and any(launch.starts > 1 for launch in schedule.launches):
        return "it is chance which comes first of those that [kill] schedule starts at once"
    return ""


def _led_by(baseline: Branch, groups: Sequence[Group]) -> Iterator[Group]:
    """The run without a kill comes first, with the branches that start where it starts."""
    together = [
        each for prefix, branches in groups[:1] if prefix == Schedule() for each in branches
    ]
    yield Schedule(), [baseline, *together]
    yield from groups[1:] if together else groups


def result_of(
    scenario: Scenario,
    references: Sequence[Evidence],
    schedules: Sequence[ScheduleResult],
    closure: Closure,
    error: str,
    notes: Iterable[str],
) -> ScenarioResult:
    """What is told of a scenario. Without `references` its run without a kill is not done."""
    return ScenarioResult(
        name=scenario.name,
        path=scenario.path,
        points=tuple(points_of(references[0])) if references else (),
        schedules=tuple(schedules),
        closure=closure,
        seconds=sum(result.seconds for result in schedules),
        error=error,
        notes=tuple(notes),
        not_applicable=not_applicable(RULES, references[0].facts) if references else {},
    )


def unsteady(reference: Evidence) -> Iterator[str]:
    """What is not killed at, since it happens only sometimes."""
    calls = Counter(f"{e.call} {_file_of(e)}".strip() for e in unsteady_calls(reference))
    if calls:
        told = ", ".join(f"{call} ({count})" for call, count in sorted(calls.items()))
        yield f"calls that only one of two runs without a kill made, not killed at: {told}"


def _file_of(event: LogWrite | StateWrite | FileChange) -> str:
    match event:
        case StateWrite():
            return event.glob
        case FileChange():
            return event.path
    return "of the session log"


def _stable(text: str) -> int:
    """A number in 0 … 2**32-1 that is the same in every process and on every machine."""
    return zlib.crc32(text.encode())


def _inherit(results: Sequence[ScheduleResult]) -> Iterable[ScheduleResult]:
    """A schedule that ended in another's crash image has that one's verdict too."""
    by_id = {result.id: result for result in results}
    for result in results:
        image = by_id.get(result.merged_into or "")
        if image is None or result.verdict is not Verdict.PASS or image.verdict is Verdict.PASS:
            yield result
        else:
            yield replace(
                result,
                verdict=image.verdict,
                violations=image.violations,
                why=image.why or f"the same crash image as {image.id}",
            )
