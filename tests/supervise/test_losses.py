"""The power-loss family: at which instants power is lost, and what a run could lose."""

from __future__ import annotations

from dataclasses import replace

from chaos.evidence import Evidence
from chaos.results import ScenarioResult, Verdict
from chaos.scenario import Scenario, load_scenario
from chaos.supervise.losses import could_be_lost, loss_schedules
from tests.judge.build import deploy
from tests.library import scenario_file
from tests.planted.support import run

SYNCED = "power-loss/synced-before-it-acts"


def scenario(durability: str) -> Scenario:
    found = load_scenario(scenario_file("calls/deploy-is-never-repeated"))
    return replace(found, target=replace(found.target, durability=durability))


def reference() -> Evidence:
    """A run that syncs nothing."""
    return deploy().evidence()


def test_a_target_that_promises_nothing_is_told_what_it_could_lose() -> None:
    assert could_be_lost(scenario("process"), reference()) == (
        "a loss of power could take what was acted upon:",
        "not synced when request 1 was sent: user, runStarted, stepAttempt",
        "not synced when a program was started: assistant, usage, toolStarted",
        "not synced when request 2 was sent: toolResult, stepAttempt",
    )
    assert loss_schedules(scenario("process"), reference()) == []


def test_a_target_that_promises_more_is_put_to_the_test() -> None:
    assert could_be_lost(scenario("fsync"), reference()) == ()
    made = [str(branch.schedule) for branch in loss_schedules(scenario("fsync"), reference())]
    assert made[:3] == [
        "run: log:header#1/after; power-loss: data=0 names=1; resume: none",
        "run: log:header#1/after; power-loss: data=0+half names=1; resume: none",
        "run: log:header#1/after; power-loss: data=0 names=0; resume: none",
    ]
    assert "run: provider:1/request; power-loss: data=2 names=1; resume: none" in made
    assert len(set(made)) == len(made)


def sweep(name: str, **chosen: object) -> ScenarioResult:
    (result,) = run(load_scenario(scenario_file(name)), **chosen).scenarios
    return result


def test_the_agent_keeps_what_it_promises_with_fsync() -> None:
    result = sweep(SYNCED, faults="power-loss")
    assert (result.error, result.notes) == ("", ())
    assert {r.verdict for r in result.schedules} == {Verdict.PASS}
    assert len(result.schedules) > 20


def test_a_family_that_has_nothing_to_do_says_so() -> None:
    result = sweep("regression/17-two-writers", faults="signal")
    assert result.notes == ("--faults signal finds nothing to do here",)
    assert sweep("calls/plain-answer", faults="signal", shard=(3, 3)).notes == ()
