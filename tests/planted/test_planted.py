"""Each planted bug is caught by the rule that is there for it, at the least number of kills."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from types import ModuleType

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


def test_each_replaces_what_is_there() -> None:
    """One that gives the agent a name which it does not have plants nothing."""
    script = "from tests.planted import test_planted; test_planted.plant_each()"
    done = subprocess.run(
        [sys.executable, "-c", script], check=False, capture_output=True, text=True
    )
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)


def plant_each() -> None:
    """Plant every bug in a process of its own; say which names of the agent are new then."""
    for name, bug in BUGS.items():
        pid = os.fork()
        if pid == 0:
            before = dict(_names())
            bug.plant()
            for new, value in _names():
                # A module may be imported as a bug is planted.
                if new not in before and not isinstance(value, ModuleType):
                    print(f"{name}: the agent has no {new}", flush=True)
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0, name


def _names() -> Iterator[tuple[str, object]]:
    """What can be replaced in the agent: the names in its modules and in their classes."""
    modules = [m for name, m in sys.modules.items() if name.partition(".")[0] == "agent"]
    for module in modules:
        for name, value in vars(module).items():
            yield f"{module.__name__}.{name}", value
            if isinstance(value, type) and value.__module__ == module.__name__:
                inner = vars(value).items()
                yield from ((f"{module.__name__}.{name}.{key}", each) for key, each in inner)


# rule -> why it has no second, different bug
ONE_ONLY: dict[str, str] = {}


def test_every_rule_is_proved_by_two_bugs() -> None:
    proved = Counter(bug.rule for bug in BUGS.values())
    of_facts = [rule for rule in RULES if not rule.needs & {Need.WIRE, Need.LINES, Need.CALLS}]
    assert {rule.id for rule in of_facts if proved[rule.id] < 2} == set(ONE_ONLY)
    assert all(proved[rule.id] for rule in of_facts)
