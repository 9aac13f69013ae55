"""A lane: one worker process that carries out schedules, one after the other.

A lane owns a room, a mock provider and (warm) a launcher for as long as it lives, and is the only
thread of its process (`lane_process`). Its work comes as plain picklable values and its results go
back the same way, so it does not matter whose process it is. Does not choose work.
"""

from __future__ import annotations

import os
import secrets
import time
import traceback
from dataclasses import replace
from pathlib import Path

from chaos.errors import ChaosError, HarnessError, ScenarioError, UsageError
from chaos.evidence import Evidence, Kill
from chaos.explore.work import Branch, Explored, Work
from chaos.judge import judge
from chaos.launch.warm import WarmLauncher
from chaos.points import PlannedLaunch, Schedule
from chaos.provider.mock import MockProvider
from chaos.results import ScheduleResult, Verdict
from chaos.scenario import Scenario
from chaos.supervise.checkpoint import Checkpoint
from chaos.supervise.conclude import conclude, harness_error
from chaos.supervise.course import Course
from chaos.supervise.rehearsal import Rehearsal
from chaos.supervise.room import Room
from chaos.supervise.same_twice import difference, steady
from chaos.supervise.stage import Stage
from chaos.target import Target

_TRIES = 3  # of a schedule whose kill is not reached, where chance may be at work


class Lane:
    """What outlives a schedule, made when first needed."""

    def __init__(self, root: Path) -> None:
        # Of one length whatever the pid, as 9 and 4194304: the path stands in what targets write,
        # and a torn write is named by its bytes in whichever lane it was found.
        self.root = root / f"lane-{os.getpid():07}"
        self._token = secrets.token_hex(8)
        self._api_key = f"sk-killpoint-{secrets.token_hex(12)}"
        self._mock: MockProvider | None = None
        self._warm: dict[str, tuple[WarmLauncher, Rehearsal]] = {}
        self._ends: dict[str, set[str]] = {}  # by scenario: what recoveries left, judged and good

    def ends(self, scenario: Scenario) -> set[str]:
        """Keys of the ends of this scenario from which an idle resume and a probe turn passed."""
        return self._ends.setdefault(
            scenario.path + scenario.source + scenario.target.source, set()
        )

    def stage(self, target: Target, launch: str) -> Stage:
        """Where a course of this target runs."""
        if self._mock is None:
            self._mock = MockProvider()
        room = Room(self.root, target.log, target.state, target.session.durable)
        launcher = self._warm_launcher(target) if launch == "warm" else None
        return Stage(room, self._mock, launcher, self._token, self._api_key)

    def close(self) -> None:
        """End the mock and the warm parents."""
        if self._mock is not None:
            self._mock.close()
        for launcher, rehearsal in self._warm.values():
            launcher.close()
            rehearsal.close()

    def _warm_launcher(self, target: Target) -> WarmLauncher:
        if target.warm is None:
            raise ChaosError(f"{target.path}: no [warm] table, so --launch warm cannot be used")
        if target.source not in self._warm:
            rehearsal = Rehearsal(self.root.with_suffix(f".rehearsal-{len(self._warm)}"), target)
            launcher = WarmLauncher(
                target.warm.module, target.warm.preload, rehearsal.commands, rehearsal
            )
            self._warm[target.source] = launcher, rehearsal
        return self._warm[target.source][0]


def baseline(lane: Lane, work: Work) -> tuple[Evidence, ...]:
    """The references of a scenario. Raises HarnessError where the run without a kill is not the
    same twice: nothing can be said by comparing with it then."""
    once = references(lane, work)
    stage = lane.stage(work.scenario.target, work.launch)
    twice = Course(stage, work.scenario, Schedule()).run()
    if not work.scenario.target.session.by_facts:
        once = (steady(once[0], twice), *once[1:])
    found = difference(once[0], twice, stage.chance())
    if found and not judge(once[0]):  # a target that does wrong is told of that first
        raise HarnessError(
            f"{work.scenario.path}: two runs without a kill differ in {found}\nTake the chance out "
            "of the scenario or the target: time, random numbers, process ids, the order of "
            "parallel work"
        )
    return once


def references(lane: Lane, work: Work) -> tuple[Evidence, ...]:
    """The runs without a kill: as the scenario says, and (if it has any) without its events."""
    stage = lane.stage(work.scenario.target, work.launch)
    wanted = (True, False) if work.scenario.events else (True,)
    return tuple(Course(stage, work.scenario, Schedule(), events=events).run() for events in wanted)


def explore(lane: Lane, work: Work) -> list[Explored]:
    """Carry out and judge a unit."""
    explored: list[Explored] = []
    judged: dict[str, str] = {}  # crash image -> schedule that judged it to the end
    places = _Places(_reach(lane, work))
    for branch in work.branches:
        done = _carry_out(lane, work, branch, places, judged)
        if branch is work.branches[0] and branch.image is None:
            # In a walk, the kills before were those of another schedule; here they are nobody's.
            done = replace(done, result=replace(done.result, inherited=0))
        explored.append(done)
        if done.image and done.result.merged_into is None:
            judged[done.image] = branch.id
        if work.fail_fast and done.result.verdict is not Verdict.PASS:
            break
    return explored


class _Places:
    """Where the branches of a unit can start: at its crash image, or where an earlier branch stood
    between two launches on the same way to its kill. Launches are made once for all that share
    them."""

    def __init__(self, start: Checkpoint | None) -> None:
        self._start = start
        self._passed: dict[tuple[PlannedLaunch, ...], Checkpoint] = {}

    def note(self, course: Course) -> None:
        """A course stands between two launches."""
        way = course.schedule.launches[: len(course.launches)]
        if len(way) < len(course.schedule.launches) and way not in self._passed:
            self._passed[way] = course.checkpoint()

    def nearest(self, schedule: Schedule) -> Checkpoint | None:
        """The furthest place on the way of a schedule; None: it starts from nothing."""
        way = schedule.launches
        known = (self._passed.get(way[:made]) for made in range(len(way) - 1, 0, -1))
        return next(filter(None, known), self._start)


def _reach(lane: Lane, work: Work) -> Checkpoint | None:
    """Make the image that the unit starts from, by its kills; without one, by a run to its end."""
    if not work.prefix.launches:
        return None
    course = Course(lane.stage(work.scenario.target, work.launch), work.scenario, work.prefix)
    made = course.run(lambda _: "stop here", known_end=lambda _: True)
    if made.merged_into is None and any(launch.kill for launch in work.prefix.launches):
        raise HarnessError(
            f"{work.scenario.name}: the kills of {str(work.prefix)!r} were made before and were "
            "not reached again: the target does not do the same thing twice"
        )
    return course.checkpoint()


def _carry_out(
    lane: Lane, work: Work, branch: Branch, places: _Places, judged: dict[str, str]
) -> Explored:
    started = time.monotonic()
    tries = 1 if work.scenario.target.session.by_facts else _TRIES
    try:
        course, result = _once(lane, work, branch, places, judged)
        for tried in range(2, tries + 1):
            if not _missed(branch, result):
                break
            course, result = _once(lane, work, branch, places, judged)
            if _missed(branch, result):
                result = replace(result, why=f"{result.why} (tried {tried} times)")
        result = replace(result, seconds=time.monotonic() - started)
    except ChaosError as error:
        if isinstance(error, UsageError) and branch.schedule == work.scenario.kill.schedule:
            # No fault of ours: the scenario asks for what its run does not have.
            where = f"{work.scenario.path}: [kill] schedule {str(branch.schedule)!r}"
            raise ScenarioError(f"{where}: {error}") from None
        return Explored(branch, harness_error(branch, str(error), started), "")
    except Exception:  # the harness must never take its own fault for the target's
        return Explored(branch, harness_error(branch, traceback.format_exc(), started), "")
    return Explored(branch, result, course.image, course.end, tuple(course.beyond()))


def _once(
    lane: Lane, work: Work, branch: Branch, places: _Places, judged: dict[str, str]
) -> tuple[Course, ScheduleResult]:
    started = time.monotonic()
    start = places.nearest(branch.schedule)
    course = Course(
        lane.stage(work.scenario.target, work.launch),
        work.scenario,
        branch.schedule,
        start=start,
        harvest=work.harvest,
        torn=work.torn,
    )
    ends = lane.ends(work.scenario)
    if branch.verifies:
        made = course.run(passed=places.note)
    else:
        made = course.run(judged.get, ends.__contains__, places.note)
    evidence = replace(made, references=work.references)
    result = conclude(branch.id, evidence, time.monotonic() - started, keep=work.keep)
    if start is not None:
        result = replace(result, inherited=sum(isinstance(e, Kill) for e in start.events))
    if result.verdict is not Verdict.PASS:
        course.stage.room.require_space()
    if result.verdict is Verdict.PASS and evidence.merged_into is None and course.end:
        ends.add(course.end)
    return course, result


def _missed(branch: Branch, result: ScheduleResult) -> bool:
    """Was a kill of the schedule not reached? A target that is not read has its chances, and may
    reach it the next time."""
    planned = sum(launch.kill is not None for launch in branch.schedule.launches)
    return result.verdict is Verdict.INCONCLUSIVE and result.kills < planned
