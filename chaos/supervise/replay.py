"""Replay: one saved schedule again, at the first try, from any directory.

Runs in this very process (there is nothing to run in parallel). With `hold` the target is stopped
at the kill point instead of being killed, so that a debugger can look at it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from chaos.explore.work import Work
from chaos.report.failure import Failure
from chaos.results import ScheduleResult
from chaos.supervise.conclude import conclude
from chaos.supervise.course import Course, Held
from chaos.supervise.lane import lane_here, references
from chaos.supervise.workshop import workshop


def replay(failure: Failure, hold: Callable[[Held], None] | None = None) -> ScheduleResult:
    """Run the failure's schedule and judge it. `hold` is called while the target stands still.

    Raises ChaosError when the harness cannot do it; a different verdict is no error.
    """
    started = time.monotonic()
    with workshop() as root, lane_here(root) as lane:
        work = Work(failure.scenario, failure.launch)
        known = references(lane, work)
        stage = lane.stage(failure.scenario.target, failure.launch)
        course = Course(stage, failure.scenario, failure.schedule, hold=hold)
        evidence = replace(course.run(), references=known)
        return conclude(failure.id, evidence, time.monotonic() - started, keep=True)
