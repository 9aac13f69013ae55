"""Each planted bug is caught by the rule that is there for it, at the least number of kills."""

from __future__ import annotations

import pytest

from chaos.judge import RULES
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


# Proved by stories in tests/judge, and not by an agent yet.
UNPROVED: frozenset[str] = frozenset()


def test_every_rule_is_proved_by_a_bug() -> None:
    proved = {bug.rule for bug in BUGS.values()}
    assert {rule.id for rule in RULES} - proved == UNPROVED
