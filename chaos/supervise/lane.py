"""A lane: one worker process that carries out schedules, one after the other.

A lane owns a room, a mock provider and (warm) a launcher for as long as it lives. Its work comes
as plain picklable values and its results go back the same way, so that any
`concurrent.futures.Executor` of processes can run lanes.

Promises: it dies with the supervisor; SIGINT is the supervisor's business. Does not choose work.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import secrets
import signal
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from chaos.errors import ChaosError
from chaos.evidence import Evidence, Kill
from chaos.judge import inexact, judge
from chaos.launch.warm import WarmLauncher
from chaos.points import Schedule
from chaos.provider.mock import MockProvider
from chaos.results import ScheduleResult, Verdict
from chaos.scenario import Scenario
from chaos.supervise.course import Course, Stage
from chaos.supervise.room import Room
from chaos.supervise.workshop import hold
from chaos.target import Target

_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True, slots=True)
class Work:
    """A block of neighbouring schedules of one scenario. Equal crash images inside a block are
    judged to the end once; blocks do not depend on the number of jobs, so neither do results."""

    scenario: Scenario
    schedules: tuple[tuple[str, Schedule], ...]  # (schedule id, schedule)
    launch: str  # exec | warm
    references: tuple[Evidence, ...] = ()
    keep: bool = False
    fail_fast: bool = False


class Lane:
    """What outlives a schedule, made when first needed."""

    def __init__(self, root: Path) -> None:
        self.root = root / f"lane-{os.getpid()}"
        self._token = secrets.token_hex(8)
        self._mock: MockProvider | None = None
        self._warm: dict[str, WarmLauncher] = {}

    def stage(self, target: Target, launch: str) -> Stage:
        """Where a course of this target runs."""
        if self._mock is None:
            self._mock = MockProvider()
        room = Room(self.root, target.log, target.state)
        launcher = self._warm_launcher(target) if launch == "warm" else None
        return Stage(room, self._mock, launcher, self._token)

    def close(self) -> None:
        """End the mock and the warm parents."""
        if self._mock is not None:
            self._mock.close()
        for launcher in self._warm.values():
            launcher.close()

    def _warm_launcher(self, target: Target) -> WarmLauncher:
        if target.warm is None:
            raise ChaosError(f"{target.path}: no [warm] table, so --launch warm cannot be used")
        if target.source not in self._warm:
            self._warm[target.source] = WarmLauncher(target.warm.module, target.warm.preload)
        return self._warm[target.source]


_lane: Lane | None = None


def start(root: str) -> None:
    """Initialiser of a worker process."""
    global _lane  # noqa: PLW0603 - a process is a lane; this is its one state
    parent = os.getppid()
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)  # the supervisor died before the line above
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    hold(Path(root))
    _lane = Lane(Path(root))


def perform(work: Work) -> list[ScheduleResult]:
    """Carry out and judge a block, in the worker process."""
    assert _lane is not None  # noqa: S101 - `start` is the pool's initialiser
    return perform_in(_lane, work)


def perform_in(lane: Lane, work: Work) -> list[ScheduleResult]:
    """Carry out and judge a block in this process."""
    results: list[ScheduleResult] = []
    judged: dict[str, str] = {}  # crash image -> schedule that judged it to the end

    for ident, schedule in work.schedules:
        image: list[str] = []

        def merge(key: str, image: list[str] = image) -> str | None:
            image.append(key)
            return judged.get(key)

        result = _guarded(lane, work, ident, schedule, merge)
        results.append(result)
        if result.merged_into is None:
            judged.update((key, ident) for key in image[-1:])
        if work.fail_fast and result.verdict is not Verdict.PASS:
            break
    return results


def baseline(work: Work) -> tuple[Evidence, ...]:
    """The references of a scenario, in the worker process."""
    assert _lane is not None  # noqa: S101 - as in `perform`
    return references(_lane, work)


def references(lane: Lane, work: Work) -> tuple[Evidence, ...]:
    """The runs without a kill: as the scenario says, and (if it has any) without its faults."""
    stage = lane.stage(work.scenario.target, work.launch)
    wanted = (True, False) if work.scenario.events else (True,)
    return tuple(
        Course(stage, work.scenario, Schedule(), faults=faults).run() for faults in wanted
    )


def _guarded(
    lane: Lane,
    work: Work,
    ident: str,
    schedule: Schedule,
    merge: Callable[[str], str | None],
) -> ScheduleResult:
    started = time.monotonic()
    try:
        course = Course(lane.stage(work.scenario.target, work.launch), work.scenario, schedule)
        evidence = replace(course.run(merge), references=work.references)
        return conclude(ident, evidence, time.monotonic() - started, keep=work.keep)
    except ChaosError as error:
        why = str(error)
    except Exception:  # the harness must never take its own fault for the target's
        why = traceback.format_exc()
    return ScheduleResult(
        id=ident,
        schedule=str(schedule),
        verdict=Verdict.HARNESS_ERROR,
        violations=(),
        why=why,
        kills=0,
        exact=0,
        seconds=time.monotonic() - started,
    )


def conclude(
    ident: str, evidence: Evidence, seconds: float, *, keep: bool = False
) -> ScheduleResult:
    """Judge evidence. A broken rule is a violation even where the kill was not exact, since rules
    hold in every run; without one, an inexact kill proves nothing and is INCONCLUSIVE."""
    violations = tuple(judge(evidence))
    doubts = inexact(evidence)
    if violations:
        verdict = Verdict.VIOLATION
    else:
        verdict = Verdict.INCONCLUSIVE if doubts else Verdict.PASS
    kills = sum(isinstance(event, Kill) for event in evidence.events)
    return ScheduleResult(
        id=ident,
        schedule=evidence.schedule,
        verdict=verdict,
        violations=violations,
        why="; ".join(doubts),
        kills=kills,
        exact=0 if doubts else kills,
        seconds=seconds,
        merged_into=evidence.merged_into,
        evidence=evidence if keep or verdict is not Verdict.PASS else None,
    )


@contextlib.contextmanager
def lane_here(root: Path) -> Iterator[Lane]:
    """A lane in this very process, for a single schedule."""
    lane = Lane(root)
    try:
        yield lane
    finally:
        lane.close()
