"""Replay: one schedule again, at the first try, from any directory.

Runs in this very process (there is nothing to run in parallel). With `hold` the target is stopped
at the kill point instead of being killed, so that a debugger can look at it.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace

from chaos.evidence import Evidence
from chaos.explore.work import Work
from chaos.points import Schedule
from chaos.report.failure import Failure
from chaos.results import ScheduleResult
from chaos.scenario import KillSelection, Scenario
from chaos.supervise.conclude import conclude
from chaos.supervise.course import Course, Held
from chaos.supervise.lane import Lane, references
from chaos.supervise.workshop import workshop

Hold = Callable[[Held], None]


class Replayer:
    """Runs one schedule after the other in a lane of its own. `with replayer(launch) as …`."""

    def __init__(self, lane: Lane, launch: str) -> None:
        self._lane = lane
        self._launch = launch
        self._last: Scenario | None = None
        self._references: tuple[Evidence, ...] = ()  # of the last scenario

    def run(
        self, ident: str, scenario: Scenario, schedule: Schedule, hold: Hold | None = None
    ) -> ScheduleResult:
        """Carry out and judge. Raises ChaosError when the harness cannot do it."""
        started = time.monotonic()
        unkilled = replace(scenario, source="", kill=KillSelection((), ()))
        if unkilled != self._last:
            self._references = references(self._lane, Work(unkilled, self._launch))
            self._last = unkilled
        stage = self._lane.stage(scenario.target, self._launch)
        made = Course(stage, scenario, schedule, hold=hold).run()
        evidence = replace(made, references=self._references)
        return conclude(ident, evidence, time.monotonic() - started, keep=True)


@contextlib.contextmanager
def replayer(launch: str) -> Iterator[Replayer]:
    """A replayer, with a temporary directory that goes with it. `launch`: exec | warm."""
    with workshop() as root, closing(Lane(root)) as lane:
        yield Replayer(lane, launch)


def replay(failure: Failure, hold: Hold | None = None) -> ScheduleResult:
    """Run the failure's schedule and judge it. `hold` is called while the target stands still.

    Raises ChaosError when the harness cannot do it; a different verdict is no error.
    """
    with replayer(failure.launch) as again:
        return again.run(failure.id, failure.scenario, failure.schedule, hold)
