"""The sweep: the walk of every scenario, carried out over parallel lanes.

Each scenario begins with its run without a kill (its reference, and the list of its points); then
come the levels of its walk, whose units of work the lanes of all scenarios share. Results come
back in the order of the walk whatever the number of jobs. Ctrl-C, SIGTERM and SIGHUP end the
lanes and give what is there.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from types import FrameType
from typing import Any

from chaos.errors import ChaosError, NothingSelected, ScenarioError
from chaos.explore.work import Work
from chaos.options import Listener, SweepOptions
from chaos.results import SweepResult, Verdict
from chaos.scenario import Scenario
from chaos.supervise.fitness import check_reference
from chaos.supervise.pools import Pool, answer, pool
from chaos.supervise.progress import Progress, Unit
from chaos.supervise.schedules import points_of
from chaos.supervise.workshop import workshop

# What asks a sweep to end, and what it does to a process that has no wish of its own.
_INTERRUPTIONS: dict[signal.Signals, Any] = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.SIG_DFL,
    signal.SIGHUP: signal.SIG_DFL,
}
Whole = Callable[[], AbstractContextManager[None]]


def sweep(scenarios: Sequence[Scenario], options: SweepOptions, listener: Listener) -> SweepResult:
    """Run all. Raises NothingSelected when no schedule is left by the selection."""
    started = time.monotonic()
    interrupted = False
    with workshop() as root, pool(root, options.jobs, options.executor) as lanes:
        run = _Sweep(lanes, scenarios, options, listener)
        try:
            with one_interruption() as run.whole:
                run.all()
        except KeyboardInterrupt:
            interrupted = True
            lanes.end()
    result = run.result(time.monotonic() - started, interrupted=interrupted)
    nothing = not any(each.schedules or each.error for each in result.scenarios)
    if nothing and not interrupted:
        raise NothingSelected("no schedule matches the selection; `chaos points` lists the points")
    return result


def sweep_over(
    lanes: Pool, scenarios: Sequence[Scenario], options: SweepOptions, listener: Listener
) -> SweepResult:
    """Run all over lanes that the caller keeps. An interruption is the caller's, too."""
    started = time.monotonic()
    run = _Sweep(lanes, scenarios, options, listener)
    run.all()
    return run.result(time.monotonic() - started)


def baseline_points(scenario: Scenario, options: SweepOptions) -> list[str]:
    """The kill points of a scenario's run without a kill."""
    with workshop() as root, pool(root, 1) as lanes:
        reference = answer(lanes.baseline(Work(scenario, options.launch)))[0]
    check_reference(scenario, reference)
    return points_of(reference)


class _Sweep:
    """All scenarios over one pool: whatever is done leads to what is submitted next."""

    def __init__(
        self,
        lanes: Pool,
        scenarios: Sequence[Scenario],
        options: SweepOptions,
        listener: Listener,
    ) -> None:
        self.lanes = lanes
        self.options = options
        self.listener = listener
        self.progress = [Progress(scenario, options) for scenario in scenarios]
        self.whole: Whole = nullcontext  # around what is not to be done by half
        # What is being done: for whom, and what comes then.
        self._then: dict[Future[Any], tuple[Progress, Callable[[Future[Any]], None]]] = {}
        self._stopping = False

    def all(self) -> None:
        with self.whole():
            for progress in self.progress:
                self.listener.scenario_started(progress.scenario.name)
                future = self.lanes.baseline(progress.baseline())
                self._then[future] = progress, partial(self._baseline_done, progress)
        last = time.monotonic()
        while self._then:
            done, _ = wait(self._then, return_when=FIRST_COMPLETED)
            last, since = time.monotonic(), last
            with self.whole():
                for future in done:
                    progress, then = self._then.pop(future)
                    progress.spend((last - since) / len(done))
                    then(future)

    def result(self, seconds: float, *, interrupted: bool = False) -> SweepResult:
        """What there is now."""
        results = tuple(progress.result() for progress in self.progress)
        return SweepResult(results, seconds, self.options.seed, interrupted)

    def _baseline_done(self, progress: Progress, future: Future[Any]) -> None:
        try:
            units = progress.begin(answer(future))
        except ScenarioError:
            raise  # nothing more is done: the user mends the file first
        except ChaosError as error:
            progress.error = str(error)
            units = []
        self._submit(progress, units)

    def _unit_done(self, progress: Progress, unit: Unit, future: Future[Any]) -> None:
        if future.cancelled():
            progress.stop([unit])
            self._level_done(progress)
            return
        try:
            explored = answer(future)
        except ScenarioError:
            raise  # as above
        except ChaosError as error:
            progress.failed(unit, str(error))
        else:
            for result in progress.take(unit, explored):
                self.listener.schedule_done(progress.scenario.name, result)
                if self.options.fail_fast and result.verdict is not Verdict.PASS:
                    self._stopping = True
                    self._cancel(self.progress)
            if progress.out_of_time():
                self._cancel([progress])
        self._level_done(progress)

    def _level_done(self, progress: Progress) -> None:
        if progress.level_is_done:
            self._go_on(progress, progress.next_level())

    def _cancel(self, whose: Sequence[Progress]) -> None:
        """What has not begun for these scenarios is not carried out. On a cluster what has begun
        is given up, too: Dask lets go of whatever is not done."""
        for future, (progress, _) in self._then.items():
            if progress in whose:
                future.cancel()

    def _go_on(self, progress: Progress, units: list[Unit]) -> None:
        """Submit a further level, where time is left for it."""
        if units and progress.out_of_time():
            progress.stop(units)
            units = []
        self._submit(progress, units)

    def _submit(self, progress: Progress, units: list[Unit]) -> None:
        """Submit a level; a scenario without a further one is done."""
        if units and self._stopping:
            progress.stop(units)
            units = []
        if units:
            more = sum(len(unit.work.branches) for unit in units)
            self.listener.schedules_planned(progress.scenario.name, more)
        for unit in units:
            future = self.lanes.unit(unit.work)
            self._then[future] = progress, partial(self._unit_done, progress, unit)
        if not units:
            self.listener.scenario_done(progress.result())


@contextmanager
def one_interruption() -> Iterator[Whole]:
    """The first of them is a KeyboardInterrupt; further ones change nothing (a CI runner sends
    several), so that the partial report is written whole. It waits for the end of what is done
    `with` what this gives: a scenario is told and saved, or it is not."""
    asked = waits = False

    def interrupt(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        nonlocal asked
        for later in _INTERRUPTIONS:
            signal.signal(later, signal.SIG_IGN)
        asked = True
        if not waits:
            raise KeyboardInterrupt

    @contextmanager
    def whole() -> Iterator[None]:
        nonlocal waits
        waits = True
        try:
            yield
        finally:
            waits = False
        if asked:
            raise KeyboardInterrupt

    for number in _INTERRUPTIONS:
        signal.signal(number, interrupt)
    yield whole
    for number, default in _INTERRUPTIONS.items():
        signal.signal(number, default)
