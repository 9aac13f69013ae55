"""The families that add to a run: crowds after a crash, signals, errors of the disk."""

from __future__ import annotations

import pytest

from chaos.errors import UsageError
from chaos.evidence import Injected
from chaos.judge import inexact
from chaos.points import Phase, PlannedLaunch, Schedule
from chaos.results import Verdict
from chaos.scenario import Scenario, load_scenario, parse_scenario
from chaos.scenario_events import PlannedEvent
from chaos.supervise.disturbed import error_schedules, events_of, signal_schedules
from chaos.supervise.rivals import concurrent_schedules
from chaos.target import load_target
from tests.judge.build import AGENT_PID, Story, deploy
from tests.library import scenario_file
from tests.planted.support import run

DEPLOY = """\
name = "deploy"
about = "Once."
target.profile = "agent"
[[step]]
run = "deploy it"
[[provider.turn]]
tool_calls = [{ name = "bash", arguments = { command = "deploy" } }]
[[provider.turn]]
content = "deployed"
"""
ONE = '[kill]\nschedule = "run: log:header#1/after"\n'


def parse(text: str = DEPLOY) -> Scenario:
    return parse_scenario(text, "s.toml", lambda name: load_target(name, "/nowhere"))


def concurrent(text: str = DEPLOY) -> list[str]:
    phases = (Phase.BEFORE, Phase.AFTER)
    branches = concurrent_schedules(parse(text), deploy().evidence(), phases, "ends")
    assert len({branch.id for branch in branches}) == len(branches)
    return [str(branch.schedule) for branch in branches]


def test_every_crash_that_a_resume_follows_meets_two_and_eight() -> None:
    found = concurrent()
    assert found[:2] == [
        "run: log:runStarted#1/after; resume*2: none",
        "run: log:runStarted#1/after; resume*8: none",
    ]
    assert "run: log:operationFinished#1/before; resume*8: none" in found
    assert "run: effect:deploy#1/after; resume*2: none" in found
    assert "run: provider:1/request; resume*2: none" not in found  # no phase that was asked for


def test_a_prompt_that_is_not_accepted_is_given_by_one() -> None:
    """Two runs at once are two prompts."""
    assert not [text for text in concurrent() if "header" in text or "runStarted#1/before" in text]


def test_a_scenario_with_a_schedule_of_its_own_has_no_families() -> None:
    assert concurrent(DEPLOY + ONE) == []
    assert signal_schedules(parse(DEPLOY + ONE), deploy().evidence()) == []
    assert error_schedules(parse(DEPLOY + ONE), deploy().evidence()) == []


def test_both_signals_at_every_instant() -> None:
    found = [str(b.schedule) for b in signal_schedules(parse(), deploy().evidence())]
    for instant in ("log:header#1/before", "effect:deploy#1/after", "provider:2/request"):
        for name in ("INT", "TERM"):
            assert f"event: signal:{name} at {instant}; run: none" in found
    assert len(found) == 4 * (9 + 1) + 2 * 2  # log and effect, requests


def test_errors_and_short_writes_at_every_call() -> None:
    found = [str(b.schedule) for b in error_schedules(parse(), deploy().evidence())]
    at = "log:toolResult[bash]#1/before; run: none"
    for error in ("ENOSPC", "ENOSPC*", "EIO", "EDQUOT", "EINTR"):
        assert f"event: errno:{error} at {at}" in found
    assert f"event: short:1 at {at}" in found
    assert not [text for text in found if "effect" in text or "provider" in text]


def test_what_a_schedule_says_is_an_event_of_its_launch() -> None:
    (launch,) = Schedule.parse("event: errno:EIO* at log@3/before; run: none").launches
    assert events_of(launch, 4) == [PlannedEvent(4, "log@3/before", "errno:EIO*")]
    assert events_of(PlannedLaunch("run", None, first=("damage: cut@3",)), 1) == []


def test_what_is_no_event_is_refused() -> None:
    (launch,) = Schedule.parse("event: signal:INT; run: none").launches
    with pytest.raises(UsageError, match="write 'event: signal:INT at log@3/after'"):
        events_of(launch, 1)


def test_an_event_that_never_happened_proves_nothing() -> None:
    what = "event: errno:EIO at log:toolResult[bash]#1/before"
    story = deploy()
    evidence = story.evidence(schedule=f"{what}; run: none")
    assert inexact(evidence) == [
        "launch 1 (run): errno:EIO at log:toolResult[bash]#1/before never happened; it ended with "
        "exit code 0"
    ]
    story = Story("deploy it").launch("run")
    log = story.blobs.put(b"")
    story.event(Injected, pid=AGENT_PID, do="errno:EIO", call="write", log=log, at="log@1")
    assert inexact(story.end().evidence(schedule=f"{what}; run: none")) == []


# -- the agent itself -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("faults", "instant"),
    [
        ("concurrent", "stepAttempt-1-after"),
        ("concurrent", "assistant-1-torn"),
        ("signal", "stepAttempt-1-after"),
        ("signal", "runStarted-1-before"),
        ("error", "assistant-1-before"),
        ("error", "operationFinished-1-before"),
    ],
)
def test_the_agent_stands_it(faults: str, instant: str) -> None:
    scenario = load_scenario(scenario_file("calls/plain-answer"))
    result = run(scenario, faults=faults, jobs=1, select=lambda name: instant in name)
    (done,) = result.scenarios
    assert done.error == ""
    assert len(done.schedules) >= 2
    assert {schedule.verdict for schedule in done.schedules} == {Verdict.PASS}


@pytest.mark.slow
def test_a_replaced_file_is_whole_at_every_byte() -> None:
    """`write` and `edit`, killed after each byte that they write to a small file."""
    scenario = load_scenario(scenario_file("files/replaced-at-once"))
    result = run(scenario, torn="every", phases=(Phase.TORN,), select=lambda name: "file-" in name)
    (done,) = result.scenarios
    assert len(done.schedules) > 25
    assert {schedule.verdict for schedule in done.schedules} == {Verdict.PASS}
