"""Each planted bug is caught by the rule that is there for it, at the least number of kills."""

from __future__ import annotations

import pytest

from chaos.points import Phase, Schedule
from chaos.results import Verdict
from tests.planted.bugs import BUGS
from tests.planted.support import planted, run


@pytest.mark.parametrize("name", BUGS)
def test_it_is_caught(name: str) -> None:
    bug = BUGS[name]
    result = run(
        planted(bug.scenario, name),
        depth=max(bug.depth, 1),
        faults=bug.faults,
        fail_fast=bug.faults == "damage",  # damages of the run without a kill come first
        phases=(Phase.BEFORE, Phase.AFTER, Phase.TORN) if bug.torn else (Phase.AFTER,),
    )
    (scenario,) = result.scenarios
    assert scenario.error == ""
    caught = [r for r in scenario.schedules if r.verdict is Verdict.VIOLATION]
    assert caught, f"{name} was not caught by {len(scenario.schedules)} schedules"
    smallest = min(caught, key=lambda r: r.kills)
    found = {violation.id for violation in smallest.violations}
    kills = sum(launch.kill is not None for launch in Schedule.parse(smallest.schedule).launches)
    assert bug.rule in found, f"{smallest.schedule}: {sorted(found)}"
    assert kills == bug.depth, smallest.schedule
