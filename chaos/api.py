"""The Python API: run a scenario with kills of your choice, and assert on what is left.

    with Harness(launch="warm") as chaos:
        run = chaos.run("scenarios/deploy.toml", kill=after("toolStarted", tool="bash"))
        run.check()
        assert run.effects() == []

Promises: everything runs in worker processes (lanes), so the caller may have threads, signal
handlers and children of its own; a kill that the run never reaches is an error that names the
nearest point, never a pass; when the harness is closed, or a call is interrupted, nothing runs on
and nothing is left on disk.

Source: design sections 7 and 8. `chaos` itself has the names (`from chaos import …`).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from chaos.api_kills import Kill, check_reached, place_kills, with_roles
from chaos.api_run import Run, Sweep
from chaos.errors import HarnessError, UsageError
from chaos.evidence import Evidence
from chaos.explore.work import Branch, Explored, Work
from chaos.options import CLOSURE, FAULTS, LAUNCHES, TORN, Silent, SweepOptions
from chaos.points import Phase, Schedule
from chaos.report.failure import read_failure
from chaos.results import ScenarioResult
from chaos.scenario import KillSelection, Scenario, load_scenario
from chaos.supervise.fitness import check_reference
from chaos.supervise.pools import Pool, answer, pool
from chaos.supervise.schedules import points_of, schedule_id, schedules_of
from chaos.supervise.sweep import sweep_over
from chaos.supervise.workshop import workshop

# Runs without a kill are kept, so that each scenario makes them once: so many, and (but for the
# last) none that is larger than this.
_KEPT, _KEPT_BYTES = 256, 4 << 20

File = str | os.PathLike[str]
Depth = int | str  # a number of kills, or CLOSURE


class Harness:
    """Lanes that stay between calls, with what they have warmed up. Use it as a context manager,
    or `close` it. `launch`: exec | warm. `jobs`: lanes in parallel; `run` uses one."""

    def __init__(self, *, launch: str = "exec", jobs: int = 1) -> None:
        if launch not in LAUNCHES:
            raise UsageError(f"launch: expected one of {', '.join(LAUNCHES)}, found {launch!r}")
        if not isinstance(jobs, int) or jobs < 1:
            raise UsageError(f"jobs: expected 1 or more, found {jobs!r}")
        self._options = SweepOptions(launch=launch, jobs=jobs)
        self._opening = threading.Lock()
        self._opened = ExitStack()
        self._pool: Pool | None = None
        self._owner = os.getpid()
        self.last_run: Run | None = None  # what `run` gave last, or would have
        self._references: list[tuple[Scenario, tuple[Evidence, ...]]] = []

    def __enter__(self) -> Harness:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the lanes. A later call starts new ones."""
        with self._opening:
            self._pool = None
            self._opened.close()

    def kill_points(self, scenario: Scenario | File) -> list[str]:
        """The kill points of the run without a kill, without phases, in order: what `after` and
        its like take. Raises ChaosError."""
        return points_of(self._reference(_loaded(scenario)))

    def schedules(
        self, scenario: Scenario | File, *, phases: Iterable[str] | None = None
    ) -> list[Schedule]:
        """Every schedule with one kill that the scenario selects, after the one without a kill.
        `phases` as in `sweep`. Raises ChaosError."""
        scenario = _loaded(scenario)
        wanted = scenario.kill.phases if phases is None else _phases(phases)
        branches = schedules_of(scenario, self._reference(scenario), wanted, TORN[0])
        return [Schedule(), *(branch.schedule for branch in branches)]

    def run(self, scenario: Scenario | File, kill: Kill = None) -> Run:
        """Carry out one schedule and judge it.

        `kill` is a KillPoint (or its text), which is tried in the launch of the run that has it; a
        list of them, one a launch (None: that launch lives), for crashes of crashes; or a
        Schedule. Raises UsageError for a kill that was not reached, else ChaosError.
        """
        scenario = _loaded(scenario)
        schedule = place_kills(scenario, self._reference(scenario), kill)
        run = self.carry_out(scenario, schedule)
        if not isinstance(kill, Schedule):
            run = with_roles(scenario, run)
        self.last_run = run
        check_reached(run)
        return run

    def carry_out(self, scenario: Scenario, schedule: Schedule, *, whole: bool = True) -> Run:
        """Carry out a schedule as it is; a kill that is not reached makes it INCONCLUSIVE. Unless
        `whole`, an end of a recovery that passed before is not judged again. Raises ChaosError."""
        branch = Branch(schedule_id(scenario.name, schedule), schedule, verifies=whole)
        launch, references = self._options.launch, self._all_references(scenario)
        work = Work(scenario, launch, (branch,), references=references, keep=True)
        explored: list[Explored] = self._wait(lambda lanes: answer(lanes.unit(work)))
        result = explored[0].result
        if result.evidence is None:
            raise HarnessError(result.why)
        return Run(result, result.evidence)

    def sweep(
        self,
        scenario: Scenario | File,
        *,
        depth: Depth = 1,
        phases: Iterable[str] | None = None,
        torn: str = TORN[0],
        faults: str = FAULTS[0],
        fail_fast: bool = False,
    ) -> Sweep:
        """What `chaos run` does for one scenario, its options by the same names. `depth`: kills in
        a schedule, or "closure". Raises ChaosError."""
        if faults not in FAULTS or torn not in TORN:
            raise UsageError(f"faults: one of {', '.join(FAULTS)}; torn: {' or '.join(TORN)}")
        if depth != CLOSURE and (not isinstance(depth, int) or depth < 1):
            raise UsageError(f"depth: expected 1 or more, or {CLOSURE!r}, found {depth!r}")
        if faults != FAULTS[0] and depth != 1:
            raise UsageError(f"faults={faults!r} has no depth: leave depth out")
        options = replace(
            self._options,
            depth=depth if isinstance(depth, int) else None,
            phases=None if phases is None else _phases(phases),
            torn=torn,
            faults=faults,
            fail_fast=fail_fast,
        )
        found = _loaded(scenario)
        swept = self._wait(lambda lanes: sweep_over(lanes, [found], options, Silent()))
        result: ScenarioResult = swept.scenarios[0]
        if result.error:
            raise HarnessError(result.error)
        return Sweep(result)

    def _reference(self, scenario: Scenario) -> Evidence:
        return self._all_references(scenario)[0]

    def _all_references(self, scenario: Scenario) -> tuple[Evidence, ...]:
        """The runs without a kill, made once for a scenario. Raises ChaosError."""
        unkilled = replace(scenario, path="", source="", kill=KillSelection((), ()))
        for known, references in self._references:
            if known == unkilled:
                return references
        work = Work(scenario, self._options.launch)
        made: tuple[Evidence, ...] = self._wait(lambda lanes: answer(lanes.baseline(work)))
        check_reference(scenario, made[0])
        small = [kept for kept in self._references if _size(kept[1]) <= _KEPT_BYTES]
        self._references = [*small[1 - _KEPT :], (unkilled, made)]
        return made

    def _wait(self, ask: Any) -> Any:
        """What `ask` gives of the pool. Whoever is interrupted meanwhile leaves nothing running."""
        lanes = self._lanes()
        try:
            return ask(lanes)
        except Exception:
            raise
        except BaseException:
            lanes.end()
            self.close()
            raise

    def _lanes(self) -> Pool:
        with self._opening:
            if self._owner != os.getpid():  # a fork of the caller has lanes of its own
                self._owner, self._pool, self._opened = os.getpid(), None, ExitStack()
            if self._pool is None:
                root = self._opened.enter_context(workshop())
                self._pool = self._opened.enter_context(pool(root, self._options.jobs))
            return self._pool


def run(scenario: Scenario | File, kill: Kill = None, *, launch: str = "exec") -> Run:
    """`Harness.run`, once. A program with several calls keeps a Harness."""
    with Harness(launch=launch) as harness:
        return harness.run(scenario, kill)


def kill_points(scenario: Scenario | File, *, launch: str = "exec") -> list[str]:
    """`Harness.kill_points`, once."""
    with Harness(launch=launch) as harness:
        return harness.kill_points(scenario)


def sweep(
    scenario: Scenario | File,
    *,
    depth: Depth = 1,
    phases: Iterable[str] | None = None,
    launch: str = "exec",
    jobs: int = 1,
) -> Sweep:
    """`Harness.sweep`, once."""
    with Harness(launch=launch, jobs=jobs) as harness:
        return harness.sweep(scenario, depth=depth, phases=phases)


def replay(failure: File) -> Run:
    """The schedule of a failure file again, by today's target and rules. A kill that is not
    reached any more makes it INCONCLUSIVE. Raises ChaosError."""
    saved = read_failure(Path(failure))
    with Harness(launch=saved.launch) as harness:
        return replace(
            harness.carry_out(saved.scenario, saved.schedule), artifact=os.fspath(failure)
        )


def _size(references: tuple[Evidence, ...]) -> int:
    """Bytes that are kept with them."""
    return sum(len(data) for each in references for data in each.blobs.data.values())


def _loaded(scenario: Scenario | File) -> Scenario:
    return scenario if isinstance(scenario, Scenario) else load_scenario(os.fspath(scenario))


def _phases(words: Iterable[str]) -> tuple[Phase, ...]:
    chosen: Sequence[str] = [words] if isinstance(words, str) else list(words)
    for word in chosen:
        if word not in tuple(Phase):
            raise UsageError(f"unknown phase {word!r}; known here: {', '.join(Phase)}")
    if not chosen:
        raise UsageError(f"phases: expected some of {', '.join(Phase)}, found none")
    return tuple(phase for phase in Phase if phase in chosen)
