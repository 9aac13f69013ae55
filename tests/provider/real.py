"""Courses of the real agent under faults of the provider: forked warm, one lane a test module."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from chaos.evidence import Evidence, Launch, Request
from chaos.judge.history import History, history_of
from chaos.points import Schedule
from chaos.scenario import Scenario, parse_scenario
from chaos.scenario_events import PlannedEvent
from chaos.supervise.course import Course
from chaos.supervise.lane import Lane
from chaos.target import load_target

# Everything instead of a sample: `CHAOS_FULL=1 pytest tests/provider`.
FULL = bool(os.environ.get("CHAOS_FULL"))


@pytest.fixture(name="lane", scope="module")
def lane_fixture(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lane]:
    lane = Lane(tmp_path_factory.mktemp("lane"))
    yield lane
    lane.close()


def scenario(text: str) -> Scenario:
    """A scenario of the built-in agent."""
    return parse_scenario(text, "s.toml", lambda name: load_target(name, str(Path(__file__))))


def under(scenario: Scenario, fault: str) -> Scenario:
    """The scenario with this fault at the first request of its first launch."""
    return replace(scenario, events=(PlannedEvent(1, "provider:1/request", fault),))


def course(
    lane: Lane, scenario: Scenario, schedule: str = "run: none", *, whole: bool = True
) -> Evidence:
    """What a schedule leaves. `whole`: with the resume that must do nothing and the probe turn."""
    stage = lane.stage(scenario.target, "warm")
    return Course(stage, scenario, Schedule.parse(schedule)).run(known_end=lambda _: not whole)


def steps(evidence: Evidence) -> list[Launch]:
    """The launches of the schedule, without what comes after it."""
    return [launch for launch in evidence.launches if launch.role not in ("idle", "probe")]


def log_after(evidence: Evidence, launch: Launch) -> History:
    """The log that a launch left."""
    return history_of(evidence.blobs.get(launch.log_after))


def facts(history: History) -> list[str]:
    """What the log holds, in order."""
    return [fact.type for fact in history.view.facts]


def requests(evidence: Evidence, of: list[Launch]) -> list[Request]:
    """The requests of these launches."""
    indexes = {launch.index for launch in of}
    return [e for e in evidence.events if isinstance(e, Request) and e.launch in indexes]
