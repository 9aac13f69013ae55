"""However a tool brings a line into the effect journal, it is seen, or the run proves nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from chaos.provider.script import ToolCall
from chaos.results import ScheduleResult, Verdict
from chaos.scenario import Scenario, load_scenario
from tests.library import scenario_file
from tests.planted.support import run

SCENARIO = Path(scenario_file("calls/deploy-is-never-repeated"))
SEEN = {
    "write": 'echo ping >> "$CHAOS_EFFECTS"',
    "copy_file_range": 'echo ping > x; cp x "$CHAOS_EFFECTS"',
    "cat": 'echo ping > x; cat x > "$CHAOS_EFFECTS"',
    "rename": 'echo ping > x; mv x "$CHAOS_EFFECTS"',
    "sendfile": "echo ping > x; python3 -c 'import os; "
    'os.sendfile(os.open(os.environ["CHAOS_EFFECTS"], os.O_WRONLY), os.open("x", 0), None, 5)\'',
    "in two parts": 'printf pi >> "$CHAOS_EFFECTS"; printf "ng\\n" >> "$CHAOS_EFFECTS"',
    "without a line end": 'printf ping >> "$CHAOS_EFFECTS"',
}


def forbidden(command: str) -> Scenario:
    """The bash call runs `command`; the effect `ping` must never happen."""
    scenario = load_scenario(str(SCENARIO))
    call = ToolCall.of("bash", {"command": command})
    turns = (replace(scenario.turns[0], tool_calls=(call,)), *scenario.turns[1:])
    return replace(scenario, turns=turns, expect_effects={"ping": "never"})


def baseline(command: str) -> ScheduleResult:
    result = run(forbidden(command), select=lambda name: name.endswith("-baseline"))
    ((schedule,),) = (scenario.schedules for scenario in result.scenarios)
    return schedule


@pytest.mark.parametrize("command", SEEN.values(), ids=list(SEEN))
def test_it_is_counted(command: str) -> None:
    found = baseline(command)
    assert found.verdict is Verdict.VIOLATION, found.why
    assert "E2" in {violation.id for violation in found.violations}
    assert any("effect 'ping'" in violation.message for violation in found.violations)


def test_a_change_that_no_call_explains_proves_nothing() -> None:
    hard_link = 'ln "$CHAOS_EFFECTS" h; echo ping >> h; rm h'
    found = baseline(hard_link)
    assert found.verdict in (Verdict.VIOLATION, Verdict.INCONCLUSIVE), found
    assert "ping" in str(found.violations) or "effect journal changed" in found.why
