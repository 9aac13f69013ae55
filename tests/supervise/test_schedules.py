"""From a run without a kill to its schedules: which steps, and whether every signal was sent."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from chaos.errors import ScenarioError
from chaos.points import Phase
from chaos.scenario import Scenario, parse_scenario
from chaos.supervise.schedules import schedules_of
from chaos.target import load_target
from tests.judge.build import deploy

DEPLOY = """\
name = "deploy"
about = "Once."
target.profile = "agent"
[[step]]
run = "deploy it"
[[step]]
resume = true
[[provider.turn]]
tool_calls = [{ name = "bash", arguments = { command = "deploy" } }]
[[provider.turn]]
content = "deployed"
"""


def parse(text: str) -> Scenario:
    return parse_scenario(text, "s.toml", lambda name: load_target(name, "/nowhere"))


def points(text: str, **end: Any) -> list[str]:
    story = deploy(steps=("run", "resume")).launch("resume").cut().end(**end)
    story.launches[1] = replace(story.launches[1], step=1)
    made = schedules_of(parse(text), story.evidence(), (Phase.AFTER,), "ends")
    return [str(branch.schedule) for branch in made]


def test_every_write_and_every_effect_of_every_step() -> None:
    found = points(DEPLOY)
    assert len(found) == 11
    assert found[0] == "run: log:header#1/after"
    assert found[-1] == "run: none; resume: log:ftruncate#1/after"


def test_only_the_steps_that_the_scenario_names() -> None:
    chosen = DEPLOY + '[kill]\nsteps = ["resume"]\n'
    assert points(chosen) == ["run: none; resume: log:ftruncate#1/after"]


def signal(launch: int, at: str) -> str:
    return f'{DEPLOY}[[event]]\nlaunch = {launch}\nat = "{at}"\ndo = "signal:INT"\n'


def test_a_signal_at_an_instant_that_the_run_does_not_have() -> None:
    with pytest.raises(ScenarioError) as caught:
        points(signal(1, "effect:deploy#2/after"))
    first, *there = str(caught.value).splitlines()
    assert first == (
        "s.toml: signal:INT never happened: launch 1 of the run without a kill has no instant "
        "effect:deploy#2/after; it has, /before and /after,"
    )
    assert "  effect:deploy#1" in there
    assert "  provider:2/request" in there


def test_a_target_that_does_wrong_is_no_fault_of_the_scenario() -> None:
    assert len(
        points(signal(1, "effect:deploy#2/after"), stderr="Traceback (most recent call last):")
    )


def test_what_only_a_launch_after_a_kill_can_reach_is_not_known() -> None:
    assert len(points(signal(3, "log:assistant#1/after"))) == 11


def test_each_selector_must_name_a_point_of_the_run() -> None:
    chosen = (
        f'{DEPLOY}[kill]\npoints = ["log:header#1/after", "log:nonsense", "provider:7/request"]\n'
    )
    with pytest.raises(ScenarioError, match="log:nonsense, provider:7/request: no such point"):
        points(chosen)
    assert points(chosen, stderr="Traceback (most recent call last):") == [
        "run: log:header#1/after"
    ]
