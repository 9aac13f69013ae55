"""Real kills at files, effects and on the wire are proven exact; the same evidence, forged, is not.

So is what a schedule does to a session beside kills: starts at the same instant, lost power.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from chaos.evidence import Evidence, Kill, Rival
from chaos.judge import inexact
from chaos.scenario import load_scenario
from tests.library import scenario_file
from tests.planted.support import run

POINTS = (
    "effect:ship#1/before",
    "effect:ship#1/after",
    "file:write[.killpoint-tmp-*]#1/torn@5",
    "file:rename[status.txt]#1/before",
    "file:rename[status.txt]#1/after",
    "provider:2/request",
    "provider:2/response",
)


def sweep(name: str, points: tuple[str, ...] = (), **chosen: object) -> dict[str, Evidence]:
    """Evidence by the first kill of its schedule."""
    scenario = load_scenario(scenario_file(name))
    scenario = replace(scenario, kill=replace(scenario.kill, points=points))
    (result,) = run(scenario, keep=True, **chosen).scenarios
    assert result.error == ""
    found = [r.evidence for r in result.schedules if r.evidence is not None and r.kills]
    return {next(e.point for e in f.events if isinstance(e, Kill)): f for f in found}


@pytest.fixture(name="kills", scope="module")
def _kills() -> dict[str, Evidence]:
    streamed = sweep("calls/streamed-calls", ("provider:1/chunk@1",))
    return sweep("calls/three-calls-in-one-turn", POINTS) | streamed


def forged(evidence: Evidence, change: Callable[[Kill], Kill]) -> list[str]:
    events = tuple(change(e) if isinstance(e, Kill) else e for e in evidence.events)
    kill = next(e for e in events if isinstance(e, Kill))
    schedule = f"{evidence.launches[0].role}: {kill.point}"
    return inexact(replace(evidence, events=events, schedule=schedule))


@pytest.mark.parametrize("point", [*POINTS, "provider:1/chunk@1"])
def test_it_is_exact(kills: dict[str, Evidence], point: str) -> None:
    assert inexact(kills[point]) == []


@pytest.mark.parametrize(
    ("point", "fields", "fault"),
    [
        ("effect:ship#1/after", {"wait_status": 15}, "expected a death by signal 9"),
        ("effect:ship#1/after", {"point": "effect:sink#1/after"}, "handed over are ['ship', '']"),
        ("effect:ship#1/after", {"point": "effect:ship#2/after"}, "expected 2 effects of this"),
        ("effect:ship#1/before", {"point": "effect:ship#2/before"}, "expected 1 effects of this"),
        ("effect:ship#1/before", {"point": "effect:ship#1/after"}, "expected write to return 5"),
        ("file:write[.killpoint-tmp-*]#1/torn@5", {"kept": 6}, "expected 5 bytes kept, found 6"),
        ("file:write[.killpoint-tmp-*]#1/torn@5", {"after": ""}, "bytes at death differ"),
        (
            "file:write[.killpoint-tmp-*]#1/torn@5",
            {"point": "file:write#2/torn@5"},
            "expected number 2 of its kind, found number 1",
        ),
        ("file:rename[status.txt]#1/after", {"path": "a"}, "last change of a file is not of a"),
        ("file:rename[status.txt]#1/after", {"after": ""}, "bytes at death differ"),
        ("file:rename[status.txt]#1/after", {"call": "unlink"}, "the call killed at is unlink"),
        ("file:rename[status.txt]#1/before", {"point": "file@9/before"}, "expected call 9 on fil"),
        ("provider:2/request", {"wait_status": 0}, "expected a death by signal 9"),
        ("provider:2/request", {"point": "provider:3/request"}, "request 3 had not arrived"),
        ("provider:2/request", {"point": "provider:2/response"}, "answer had not been sent"),
        ("provider:2/response", {"point": "provider:2/request"}, "answer had been sent"),
        ("provider:2/response", {"log": ""}, "the log changed before this Kill"),
        ("provider:1/chunk@1", {"point": "provider:1/response"}, "answer had not been sent"),
    ],
)
def test_a_forged_one_is_not(
    kills: dict[str, Evidence], point: str, fields: dict[str, Any], fault: str
) -> None:
    faults = forged(kills[point], lambda kill: replace(kill, **fields))
    assert any(fault in each for each in faults), faults


def test_as_many_starts_as_the_schedule_says() -> None:
    (crowd,) = sweep("regression/17-two-writers").values()
    assert inexact(crowd) == []
    rival = next(e for e in crowd.events if isinstance(e, Rival))
    fewer = replace(crowd, events=tuple(e for e in crowd.events if e is not rival))
    assert "launch 2 (resume): expected 8 starts at one instant, found 7" in inexact(fewer)


def test_no_more_is_lost_than_the_schedule_says() -> None:
    name, point = "power-loss/synced-before-it-acts", "log:assistant#1/after"
    lost = sweep(name, faults="power-loss")[point]
    assert inexact(lost) == []
    first, second, *rest = lost.launches
    kept = replace(second, log_before=first.log_after)
    found = inexact(replace(lost, launches=(first, kept, *rest)))
    fault = "the log changed between two launches, not by power-loss: data=0"
    assert any(fault in each for each in found)
