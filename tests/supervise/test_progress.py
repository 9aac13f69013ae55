"""How far a sweep came, where it was cut short: it never claims a closure that it did not reach."""

from __future__ import annotations

import os
import signal

from chaos.options import Silent
from chaos.results import ScheduleResult
from chaos.scenario import load_scenario
from chaos.supervise.sweep import sweep
from tests.library import scenario_file
from tests.planted.support import options


class Impatient(Silent):
    """Presses Ctrl-C when so many schedules are done."""

    def __init__(self, patience: int) -> None:
        self.patience = patience

    def schedule_done(self, name: str, result: ScheduleResult) -> None:
        self.patience -= 1
        if self.patience == 0:
            raise KeyboardInterrupt


def test_an_interrupted_walk_is_not_closed() -> None:
    scenario = load_scenario(scenario_file("plain-answer"))
    result = sweep([scenario], options(depth=None), Impatient(3))
    (found,) = result.scenarios
    assert result.interrupted
    assert 0 < len(found.schedules) < 30  # a level is about thirty
    assert not found.closure.complete
    assert found.closure.left > 0


class Told(Silent):
    """Gets a SIGTERM in the middle of telling, twice."""

    def __init__(self) -> None:
        self.whole = 0

    def schedule_done(self, name: str, result: ScheduleResult) -> None:
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGTERM)
        self.whole += 1


def test_an_interruption_leaves_nothing_told_by_half() -> None:
    told = Told()
    result = sweep([load_scenario(scenario_file("plain-answer"))], options(jobs=1), told)
    assert result.interrupted
    assert told.whole == len(result.scenarios[0].schedules) > 0


def test_a_scenario_that_was_never_begun_is_not_closed() -> None:
    scenarios = [
        load_scenario(scenario_file(name)) for name in ("plain-answer", "length-cuts-the-calls")
    ]
    found = sweep(scenarios, options(depth=None, jobs=1), Impatient(1)).scenarios
    assert [scenario.closure.complete for scenario in found] == [False, False]
    assert any(scenario.schedules == () for scenario in found)  # whichever came second
