"""Each planted bug is caught by the rule that is there for it, at the least number of kills."""

from __future__ import annotations

from collections import Counter

import pytest

from chaos.judge import RULES
from chaos.judge.case import Need
from tests.planted.bugs import BUGS
from tests.planted.score import kills, settings, smallest
from tests.planted.support import planted, run


@pytest.mark.parametrize("name", BUGS)
def test_it_is_caught(name: str) -> None:
    bug = BUGS[name]
    (scenario,) = run(planted(bug.scenario, name), **settings(bug)).scenarios
    assert scenario.error == ""
    caught = smallest(scenario)
    assert caught, f"{name} was not caught by {len(scenario.schedules)} schedules"
    found = {violation.id for violation in caught.violations}
    assert bug.rule in found, f"{caught.schedule}: {sorted(found)}"
    assert kills(caught) == bug.depth, caught.schedule


# rule -> why it has no second, different bug
ONE_ONLY: dict[str, str] = {}


def test_every_rule_is_proved_by_two_bugs() -> None:
    proved = Counter(bug.rule for bug in BUGS.values())
    of_facts = [rule for rule in RULES if not rule.needs & {Need.WIRE, Need.LINES, Need.CALLS}]
    assert {rule.id for rule in of_facts if proved[rule.id] < 2} == set(ONE_ONLY)
    assert all(proved[rule.id] for rule in of_facts)
