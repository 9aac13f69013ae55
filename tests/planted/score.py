"""The score of the harness against the planted bugs: `make mutants`.

A bug is caught when its rule is among those that its smallest schedule reports. Prints a line a
bug: what caught it, how soon, by which schedule. Exit code 1 when one is missed, or caught by the
wrong rule only.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from dataclasses import dataclass

from chaos.options import Silent
from chaos.points import Phase, Schedule
from chaos.results import ScenarioResult, ScheduleResult, Verdict
from chaos.supervise.sweep import sweep
from tests.planted.bugs import BUGS
from tests.planted.support import options, planted
from tests.planted.table import Bug

ONE: dict[str, object] = {"jobs": 1, "fail_fast": True}
CALLS = (Phase.BEFORE, Phase.AFTER, Phase.TORN)


@dataclass(frozen=True, slots=True)
class Score:
    """What became of one bug."""

    verdict: str  # caught | missed | wrong rule
    found: str  # ids that its smallest schedule reports
    schedule: str
    seconds: float  # to the first schedule that failed


class Clock(Silent):
    """Notes when the first schedule failed."""

    def __init__(self) -> None:
        self.started = time.monotonic()
        self.first: float | None = None

    def schedule_done(self, name: str, result: ScheduleResult) -> None:
        if self.first is None and result.verdict is Verdict.VIOLATION:
            self.first = time.monotonic() - self.started


def settings(bug: Bug) -> dict[str, object]:
    """The sweep that must catch it: its least depth, its family. One lane carries schedules out
    in their order, fewest kills first, so the first that fails is the smallest."""
    phases = CALLS if bug.cut else (Phase.AFTER,)
    return {"depth": max(bug.depth, 1), "faults": bug.faults, "phases": phases} | ONE


def smallest(scenario: ScenarioResult) -> ScheduleResult | None:
    """The broken schedule with the fewest kills, the earliest of them."""
    broken = [r for r in scenario.schedules if r.verdict is Verdict.VIOLATION]
    return min(broken, key=kills, default=None)


def kills(result: ScheduleResult) -> int:
    """How many kills a schedule has."""
    return len(Schedule.parse(result.schedule).kills)


def score(name: str) -> Score:
    """Run one bug and see what catches it."""
    bug, clock = BUGS[name], Clock()
    (scenario,) = sweep([planted(bug.scenario, name)], options(**settings(bug)), clock).scenarios
    found = smallest(scenario)
    if found is None or clock.first is None:
        return Score("missed", scenario.error, "", 0.0)
    ids = sorted({violation.id for violation in found.violations})
    verdict = "caught" if bug.rule in ids else "wrong rule"
    return Score(verdict, " ".join(ids), found.schedule, clock.first)


def main(names: list[str]) -> int:
    """Score the bugs of these names, or all."""
    counts: Counter[str] = Counter()
    for name in names or BUGS:
        done = score(name)
        counts[done.verdict] += 1
        expected = BUGS[name].rule
        print(f"{done.verdict:<10} {expected:<4} {done.seconds:5.1f} s  {name}", flush=True)
        print(f"{'':<17}by {done.found or 'nothing'}  {done.schedule}", flush=True)
    print(
        f"{sum(counts.values())} planted bugs: {counts['caught']} caught, {counts['missed']} "
        f"missed, {counts['wrong rule']} by the wrong rule"
    )
    return 0 if counts["caught"] == sum(counts.values()) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
