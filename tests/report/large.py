"""A sweep of three thousand schedules, a tenth of them broken, to see what a report makes of it."""

from __future__ import annotations

from dataclasses import replace

from chaos.points import Schedule
from chaos.results import ScenarioResult, ScheduleResult, SweepResult, Verdict
from tests.report import sample

SCENARIOS = 64
PHASES = ("before", "torn@1", "torn@276", "after")
FACTS = (
    *("header", "runStarted", "stepAttempt", "assistant", "toolStarted[bash]", "toolResult[bash]"),
    *("usage", "compaction", "abortRequested", "user", "note", "end"),
)
POINTS = tuple(f"log:{name}#1" for name in FACTS)


def large_sweep() -> SweepResult:
    """64 scenarios of 12 points and 4 phases, and their runs without a kill."""
    scenarios = tuple(map(_scenario, range(SCENARIOS)))
    return SweepResult(scenarios, 240.0, 0)


def _scenario(number: int) -> ScenarioResult:
    name = f"a-scenario-with-a-name-that-says-something-{number}"
    schedules = [
        ScheduleResult(f"{name}-baseline", str(Schedule()), Verdict.PASS, (), "", 0, 0, 0.1)
    ]
    schedules += [
        _schedule(name, point, phase, broken=(number + at) % 10 == 0)
        for at, point in enumerate(POINTS)
        for phase in PHASES
    ]
    path = f"/s/{name}.toml"
    return ScenarioResult(name, path, POINTS, tuple(schedules), sample.CLOSURE, 3.0)


def _schedule(name: str, point: str, phase: str, *, broken: bool) -> ScheduleResult:
    ident = f"{name}-{point}-{phase}".translate({ord(sign): "-" for sign in ":[]#@"})
    schedule = f"run: {point}/{phase}"
    if not broken:
        return ScheduleResult(ident, schedule, Verdict.PASS, (), "", 1, 1, 0.07)
    return replace(sample.violated(), id=ident, schedule=schedule)
