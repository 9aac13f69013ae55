"""How far a sweep came, where it was cut short: it never claims a closure that it did not reach."""

from __future__ import annotations

import math
import os
import signal
from collections import Counter

import pytest

from chaos.options import Silent
from chaos.results import ScheduleResult, Verdict
from chaos.scenario import load_scenario
from chaos.supervise.progress import BLOCK, Progress
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
    assert (found.closure.depth, found.closure.cut) == (1, True)
    assert found.closure.states > 0


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


def test_a_scenario_goes_as_far_as_its_own_time_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A level is cut in the middle, and of this scenario only."""
    scenarios = [
        load_scenario(scenario_file(name))
        for name in ("deploy-is-never-repeated", "streamed-calls")
    ]
    (first,) = sweep(scenarios[:1], options(), Silent()).scenarios

    def out_of_time(self: Progress) -> bool:
        taken = sum(map(len, self._results.values()))
        return self.scenario is scenarios[0] and taken > len(first.schedules)

    monkeypatch.setattr(Progress, "out_of_time", out_of_time)
    cut, whole = sweep(scenarios, options(depth=None), Silent()).scenarios
    assert whole.closure.complete
    assert not cut.closure.complete
    assert cut.closure.left > 0
    assert len(first.schedules) < len(cut.schedules) < 100  # of 158


@pytest.mark.parametrize("jobs", [1, 2])
def test_all_scenarios_together_spend_what_the_clock_shows(
    monkeypatch: pytest.MonkeyPatch, jobs: int
) -> None:
    spent: Counter[str] = Counter()
    monkeypatch.setattr(Progress, "spend", lambda self, s: spent.update({self.scenario.name: s}))
    scenarios = [
        load_scenario(scenario_file(name)) for name in ("plain-answer", "length-cuts-the-calls")
    ]
    result = sweep(scenarios, options(jobs=jobs), Silent())
    assert 0.5 * result.seconds < sum(spent.values()) <= result.seconds
    assert all(spent[each.name] > 0.1 * result.seconds for each in scenarios)


def test_the_first_level_is_whole_whatever_its_time() -> None:
    scenario = load_scenario(scenario_file("plain-answer"))
    progress = Progress(scenario, options(depth=None, budget_s=2.0, jobs=2))
    progress.spend(2.0)
    assert progress._units([]) == []
    assert progress.next_level() == []
    assert not progress.out_of_time()
    progress.spend(0.1)
    assert progress.out_of_time()
    first = Progress(scenario, options(depth=None, budget_s=2.0))
    first.spend(3.0)
    assert not first.out_of_time()


def test_each_kill_counts_once_whichever_family_makes_it() -> None:
    """Damages befall what a kill left: it is made once for all that begin there."""
    scenario = load_scenario(scenario_file("deploy-is-never-repeated"))
    (found,) = sweep([scenario], options(faults="damage"), Silent()).scenarios
    ways = Counter(r.schedule.partition(" damage:")[0] for r in found.schedules if r.kills)
    made = [r for r in found.schedules if r.made]
    assert len(ways) == 3
    assert len(made) == sum(math.ceil(count / BLOCK) for count in ways.values())
    assert all(r.made_exact == r.made == 1 for r in made)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("only-the-agent-is-killed", 'one kill a schedule: with [kill] scope = "process"'),
        ("17-two-writers", "one kill a schedule: it is chance which comes first"),
    ],
)
def test_nothing_is_explored_beyond_an_image_that_chance_makes(name: str, why: str) -> None:
    """Tools that are spared go on for a while; of eight starts, any may come first."""
    (found,) = sweep([load_scenario(scenario_file(name))], options(depth=None), Silent()).scenarios
    assert {r.verdict for r in found.schedules} == {Verdict.PASS}
    assert max(r.kills for r in found.schedules) == found.closure.depth == 1
    assert not found.closure.complete
    assert found.notes[0].startswith(why)
