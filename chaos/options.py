"""What a sweep is asked to do, and whom it tells: the seam between command line and supervisor.

Pure data. The command line makes a `SweepOptions`, the supervisor obeys it and calls the
`Listener` as results come in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from chaos.points import Phase
from chaos.results import ScenarioResult, ScheduleResult

# The families; `chaos.supervise.families` says what each does.
FAULTS = ("kill", "damage", "power-loss", "concurrent", "signal", "error")
TORN = ("ends", "every")  # first and last byte of a write, and what else tells; each byte
LAUNCHES = ("exec", "warm")  # a fresh process; one forked from a warm interpreter
CLOSURE = "closure"  # the depth that a caller names instead of a number: as many kills as it takes


@dataclass(frozen=True, slots=True)
class SweepOptions:
    """How a sweep goes about it. The defaults are those of `chaos run`."""

    phases: tuple[Phase, ...] | None = None  # None: as each scenario says
    torn: str = TORN[0]
    faults: str = FAULTS[0]  # a sweep never mixes them
    jobs: int = 1  # lanes, a process each
    executor: str | None = None  # dask://HOST:PORT; None: processes of this machine
    launch: str = LAUNCHES[0]
    seed: int = 0
    fail_fast: bool = False  # stop after the first schedule that is not PASS
    select: Callable[[str], bool] | None = None  # over "SCENARIO SCHEDULE-ID"; None: all
    depth: int | None = 1  # the greatest number of kills in a schedule; None: to the closure
    budget_s: float | None = None  # of the sweep's time, for the levels of each scenario
    max_states: int | None = None  # crash images a scenario may have
    verify_dedup: float = 0.0  # share of known images that are judged again and compared
    shard: tuple[int, int] = (1, 1)  # (I, N): the I-th of N parts of the first level
    kill_all: bool = False  # make every kill, also where a harvest shows a known image
    keep: bool = False  # keep the evidence of all schedules


class Listener(Protocol):
    """Told of results in the supervisor's own process, as they come."""

    def scenario_started(self, name: str) -> None:
        """Its run without a kill is asked for."""

    def schedules_planned(self, name: str, more: int) -> None:
        """So many schedules (more) are to be carried out; a deep walk plans level by level."""

    def schedule_done(self, name: str, result: ScheduleResult) -> None: ...

    def scenario_done(self, result: ScenarioResult) -> None: ...


class Silent:
    """A listener that does not care."""

    def scenario_started(self, name: str) -> None: ...

    def schedules_planned(self, name: str, more: int) -> None: ...

    def schedule_done(self, name: str, result: ScheduleResult) -> None: ...

    def scenario_done(self, result: ScenarioResult) -> None: ...
