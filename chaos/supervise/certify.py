"""Certify: the standard course of a target, as far as its time allows.

Each scenario is run without a kill (as often as its dialect asks), then killed at its telling
points, one kill a schedule. A schedule is begun if it would be over within the budget, were it as
long as the longest so far; the first of each lane always is. What is not begun is counted, not
judged. Ctrl-C ends it as it ends a sweep. Does not choose what is telling, and does not judge.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import replace
from itertools import zip_longest
from math import inf
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
    courses = [Course(scenario, options, listener) for scenario in scenarios]
    until = started + (inf if options.budget_s is None else options.budget_s)
    with workshop() as root, pool(root, options.jobs) as lanes:
        try:
            with one_interruption():
                carry_out(courses, lanes, options.jobs, until)
        except KeyboardInterrupt:
            interrupted = True
            lanes.end()
    results = tuple(course.result() for course in courses)
    for result in results:
        listener.scenario_done(result)
    return SweepResult(results, time.monotonic() - started, options.seed, interrupted)


def carry_out(courses: Sequence[Course], lanes: Pool, jobs: int, until: float) -> None:
    """Until all is done, or `until` (monotonic) would be passed."""
    baselines = [lanes.baseline(course.work()) for course in courses]
    for course, made in zip(courses, baselines, strict=True):
        course.begin(made)
    turns = zip_longest(*(course.units() for course in courses))
    units = deque(each for turn in turns for each in turn if each is not None)
    begun: dict[Future[Any], tuple[Course, float]] = {}
    longest = 0.0
    while True:
        # No more than there are lanes: what is submitted is begun.
        while units and len(begun) < jobs and (not longest or time.monotonic() + longest <= until):
            course, work = units.popleft()
            begun[lanes.unit(work)] = course, time.monotonic()
        if not begun:
            return
        for future in wait(begun, return_when=FIRST_COMPLETED).done:
            course, since = begun.pop(future)
            longest = max(longest, time.monotonic() - since)
            course.take(future)


class Course:
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

    def units(self) -> list[tuple[Course, Work]]:
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
