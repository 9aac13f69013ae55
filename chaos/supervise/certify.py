"""Certify: the standard course of a target, as far as its time allows.

Each scenario is run without a kill (as often as its dialect asks), then killed at its telling
points, one kill a schedule; whatever is not begun when the budget ends is counted, not judged.
Ctrl-C ends it as it ends a sweep. Does not choose what is telling, and does not judge.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import Future, as_completed
from dataclasses import replace
from itertools import zip_longest
from typing import Any

from chaos.errors import ChaosError, ScenarioError
from chaos.evidence import Evidence
from chaos.explore.work import Branch, Explored, Work
from chaos.options import Listener, SweepOptions
from chaos.points import Schedule
from chaos.results import Closure, ScenarioResult, ScheduleResult, SweepResult
from chaos.scenario import Scenario
from chaos.supervise.conclude import conclude
from chaos.supervise.fitness import check_reference
from chaos.supervise.pools import Pool, answer, pool
from chaos.supervise.progress import result_of, unsteady
from chaos.supervise.schedules import schedule_id, schedules_of
from chaos.supervise.sweep import one_interruption
from chaos.supervise.telling import telling
from chaos.supervise.workshop import workshop

_NO_KILL = Schedule()


def certify(
    scenarios: Sequence[Scenario], options: SweepOptions, listener: Listener
) -> SweepResult:
    """Run the course. Of the options: `jobs`, `launch` and `budget_s` (of the whole course). The
    evidence of all schedules is kept. Raises ScenarioError for a target that is not fit."""
    started = time.monotonic()
    interrupted = False
    courses = [_Course(scenario, options, listener) for scenario in scenarios]
    until = started + options.budget_s if options.budget_s is not None else None
    with workshop() as root, pool(root, options.jobs) as lanes:
        try:
            with one_interruption():
                _carry_out(courses, lanes, until)
        except KeyboardInterrupt:
            interrupted = True
            lanes.end()
    results = tuple(course.result() for course in courses)
    for result in results:
        listener.scenario_done(result)
    return SweepResult(results, time.monotonic() - started, options.seed, interrupted)


def _carry_out(courses: Sequence[_Course], lanes: Pool, until: float | None) -> None:
    baselines = [lanes.baseline(course.work()) for course in courses]
    for course, made in zip(courses, baselines, strict=True):
        course.begin(made)
    turns = zip_longest(*(course.units() for course in courses))
    units = [each for turn in turns for each in turn if each is not None]
    waiting = {lanes.unit(work): course for course, work in units}
    for future in as_completed(waiting):
        if not future.cancelled():
            waiting[future].take(future)
        if until is not None and time.monotonic() > until:
            for later in waiting:
                later.cancel()


class _Course:
    """One scenario of it."""

    def __init__(self, scenario: Scenario, options: SweepOptions, listener: Listener) -> None:
        self._scenario, self._options, self._listener = scenario, options, listener
        self._references: tuple[Evidence, ...] = ()
        self._branches: list[Branch] = []
        self._results: dict[str, ScheduleResult] = {}
        self._error = ""

    def work(self, *branches: Branch) -> Work:
        """A unit of work: these branches, or (none) the runs without a kill."""
        refs = self._references
        return Work(self._scenario, self._options.launch, branches, references=refs, keep=True)

    def begin(self, made: Future[Any]) -> None:
        """The runs without a kill are done: judge the first, and choose the kills."""
        name = self._scenario.name
        self._references = self._answer(made)
        if not self._references:
            return
        first = self._references[0]
        check_reference(self._scenario, first)
        phases = self._scenario.kill.phases
        self._branches = telling(schedules_of(self._scenario, first, phases, "ends"), first)
        self._listener.scenario_started(name)
        self._listener.schedules_planned(name, len(self._branches) + 1)
        evidence = replace(first, references=self._references)
        seconds = sum(launch.seconds for launch in first.launches)
        self._take(conclude(schedule_id(name, _NO_KILL), evidence, seconds, keep=True))

    def units(self) -> list[tuple[_Course, Work]]:
        """A unit for each kill: neighbours have nothing to share."""
        return [(self, self.work(branch)) for branch in self._branches]

    def take(self, future: Future[Any]) -> None:
        """A kill was tried."""
        explored: Sequence[Explored] = self._answer(future)
        for each in explored:
            self._take(each.result)

    def _answer(self, future: Future[Any]) -> Any:
        """What a lane gave; nothing where it failed. Raises ScenarioError: the user mends the file
        first."""
        try:
            return answer(future)
        except ScenarioError:
            raise
        except ChaosError as error:
            self._error = str(error)
            return ()

    def _take(self, result: ScheduleResult) -> None:
        self._results[result.id] = result
        self._listener.schedule_done(self._scenario.name, result)

    def result(self) -> ScenarioResult:
        """What there is now, in the order of the plan."""
        names = [schedule_id(self._scenario.name, _NO_KILL), *(b.id for b in self._branches)]
        done = tuple(self._results[name] for name in names if name in self._results)
        left = len(names) - len(done) if self._references else 0
        notes = list(unsteady(self._references[0])) if self._references else []
        if left:
            why = "" if self._error else ": the time is over"
            notes.append(f"{left} of {len(self._branches)} chosen kills not tried{why}")
        closure = Closure(not left, 0, 1, 0, 0, left, 1)
        return result_of(self._scenario, self._references, done, closure, self._error, notes)
