"""The sweep: every kill point of every scenario, each killed for real, over parallel lanes.

Two rounds: the run without a kill of each scenario (its reference, and the list of its points),
then the schedules in blocks of neighbours. Results come back in the order of the points whatever
the number of jobs. Ctrl-C ends the lanes and gives what is there.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from chaos.errors import ChaosError, HarnessError, NothingSelected
from chaos.evidence import Evidence
from chaos.options import Listener, SweepOptions
from chaos.points import Schedule
from chaos.results import ScenarioResult, ScheduleResult, SweepResult, Verdict
from chaos.scenario import Scenario
from chaos.supervise import lane
from chaos.supervise.schedules import points_of, schedule_id, schedules_of
from chaos.supervise.workshop import workshop

T = TypeVar("T")

# Schedules in a block: enough neighbours for equal images to meet, few enough to share out.
BLOCK = 24


@dataclass(slots=True)
class _Progress:
    """A scenario on its way."""

    scenario: Scenario
    started: float
    references: tuple[Evidence, ...] = ()
    blocks: dict[int, list[ScheduleResult]] = field(default_factory=dict)
    open_blocks: int = 0
    error: str = ""

    def result(self) -> ScenarioResult:
        done = tuple(r for _, block in sorted(self.blocks.items()) for r in block)
        return ScenarioResult(
            name=self.scenario.name,
            path=self.scenario.path,
            points=tuple(points_of(self.references[0])) if self.references else (),
            schedules=done,
            images=sum(r.kills > 0 and r.merged_into is None for r in done),
            seconds=time.monotonic() - self.started,
            error=self.error,
        )


def sweep(
    scenarios: Sequence[Scenario], options: SweepOptions, listener: Listener
) -> SweepResult:
    """Run all. Raises NothingSelected when no schedule is left by the selection."""
    started = time.monotonic()
    with workshop() as root, _pool(root, options.jobs) as pool:
        run = _Sweep(pool, options, listener)
        interrupted = False
        try:
            run.all(scenarios)
        except KeyboardInterrupt:
            interrupted = True
            _end_lanes()
        results = tuple(progress.result() for progress in run.progress)
    nothing = not any(result.schedules or result.error for result in results)
    if nothing and not interrupted:
        raise NothingSelected("no schedule matches the selection; `chaos points` lists the points")
    return SweepResult(results, time.monotonic() - started, options.seed, interrupted)


def baseline_points(scenario: Scenario, options: SweepOptions) -> list[str]:
    """The kill points of a scenario's run without a kill."""
    with workshop() as root, _pool(root, 1) as pool:
        work = lane.Work(scenario, (), options.launch)
        return points_of(pool.submit(lane.baseline, work).result()[0])


class _Sweep:
    """The two rounds over one pool."""

    def __init__(
        self, pool: ProcessPoolExecutor, options: SweepOptions, listener: Listener
    ) -> None:
        self.pool = pool
        self.options = options
        self.listener = listener
        self.progress: list[_Progress] = []
        self.stop = False

    def all(self, scenarios: Sequence[Scenario]) -> None:
        futures: dict[Future[tuple[Evidence, ...]], _Progress] = {}
        for scenario in scenarios:
            progress = _Progress(scenario, time.monotonic())
            self.progress.append(progress)
            work = lane.Work(scenario, (), self.options.launch)
            futures[self.pool.submit(lane.baseline, work)] = progress
        blocks: dict[Future[list[ScheduleResult]], tuple[_Progress, int]] = {}
        for future in as_completed(futures):
            progress = futures[future]
            self.listener.scenario_started(progress.scenario.name)
            try:
                progress.references = _result(future)
                blocks.update(self._submit(progress))
            except ChaosError as error:
                progress.error = str(error)
                self.listener.scenario_done(progress.result())
        for block in as_completed(blocks):
            progress, number = blocks[block]
            self._collect(progress, number, block)

    def _submit(
        self, progress: _Progress
    ) -> Iterator[tuple[Future[list[ScheduleResult]], tuple[_Progress, int]]]:
        scenario, options = progress.scenario, self.options
        phases = options.phases or scenario.kill.phases
        everything: list[tuple[str, Schedule]] = [
            (schedule_id(scenario.name, 0, None), Schedule()),
            *schedules_of(scenario, progress.references[0], phases, options.torn),
        ]
        wanted = options.select or (lambda _: True)
        chosen = [s for s in everything if wanted(f"{scenario.name} {s[0]}")]
        if not chosen:
            self.listener.scenario_done(progress.result())
        for number, start in enumerate(range(0, len(chosen), BLOCK)):
            work = lane.Work(
                scenario,
                tuple(chosen[start : start + BLOCK]),
                options.launch,
                progress.references,
                options.keep,
                options.fail_fast,
            )
            progress.open_blocks += 1
            yield self.pool.submit(lane.perform, work), (progress, number)

    def _collect(
        self, progress: _Progress, number: int, block: Future[list[ScheduleResult]]
    ) -> None:
        progress.open_blocks -= 1
        if not block.cancelled():
            try:
                progress.blocks[number] = _result(block)
            except ChaosError as error:
                progress.error = str(error)
            for result in progress.blocks.get(number, ()):
                self.listener.schedule_done(progress.scenario.name, result)
                if self.options.fail_fast and result.verdict is not Verdict.PASS:
                    self.pool.shutdown(wait=False, cancel_futures=True)
        if not progress.open_blocks:
            self.listener.scenario_done(progress.result())


def _result(future: Future[T]) -> T:
    try:
        return future.result()
    except BrokenProcessPool as error:
        raise HarnessError(
            f"a worker process of the harness died ({error}); its schedules were not judged. "
            "Look for the out-of-memory killer in the kernel log, or try fewer --jobs"
        ) from None


@contextmanager
def _pool(root: Path, jobs: int) -> Iterator[ProcessPoolExecutor]:
    """Lanes as processes. Spawned, not forked: a lane must start with nothing of its parent."""
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(jobs, context, lane.start, (str(root),))
    try:
        yield pool
    except BaseException:
        _end_lanes()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _end_lanes() -> None:
    """Kill the lanes at once: their tracees die with them."""
    for process in multiprocessing.active_children():
        process.kill()
