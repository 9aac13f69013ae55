"""Warm and cold launches, killed and harvested images lead to the same verdicts.

Five scenarios in every test run: three plain ones, one whose schedule names a launch without a
kill, one in which a launch finds something changed; with `--slow` all of them (`make test-slow`).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from chaos.points import Phase
from chaos.results import ScenarioResult, Verdict
from chaos.scenario import load_scenario
from chaos.supervise.drift import clock_library
from tests.library import SCENARIOS
from tests.planted.support import run

PLAIN = ("plain-answer", "deploy-is-never-repeated", "safe-read-is-replayed")
FEW = (*PLAIN, "second-resume-of-a-recovery", "another-system-prompt")
ALL = [
    pytest.param(path, id=path.stem, marks=() if path.stem in FEW else pytest.mark.slow)
    for path in SCENARIOS.values()
]


def sweep(path: Path, **chosen: object) -> ScenarioResult:
    (scenario,) = run(load_scenario(str(path)), phases=(Phase.AFTER,), **chosen).scenarios
    assert scenario.error == ""
    return scenario


def verdicts(scenario: ScenarioResult) -> dict[str, tuple[Verdict, tuple[str, ...]]]:
    return {r.id: (r.verdict, tuple(v.id for v in r.violations)) for r in scenario.schedules}


@pytest.mark.parametrize("path", ALL)
def test_a_fork_of_a_warm_interpreter_is_judged_as_a_fresh_process(path: Path) -> None:
    shifts_clock = any(event.kind == "clock" for event in load_scenario(str(path)).events)
    if shifts_clock and clock_library() is None:
        pytest.skip("a cold launch with another clock needs libfaketime, which is not here")
    assert verdicts(sweep(path)) == verdicts(sweep(path, launch="exec"))


@pytest.mark.parametrize("path", ALL)
def test_the_harvest_shows_the_images_that_kills_leave(path: Path) -> None:
    harvested, killed = sweep(path, depth=2), sweep(path, depth=2, kill_all=True)
    assert harvested.closure.states == killed.closure.states
    assert verdicts(harvested).items() <= verdicts(killed).items()
    left_out = [r for r in killed.schedules if r.id not in verdicts(harvested)]
    assert all(r.merged_into for r in left_out)  # they lead to nothing new
    assert left_out or path.stem not in PLAIN  # a course may never pass the same image twice
    assert {r.verdict for r in killed.schedules} == {Verdict.PASS}
