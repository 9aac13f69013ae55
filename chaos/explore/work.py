"""What passes between the walk and the lanes: plain picklable values.

A unit of work names everything it needs, so that any `concurrent.futures.Executor` of processes
can carry it out, on this machine or another.
"""

from __future__ import annotations

from dataclasses import dataclass

from chaos.evidence import Evidence
from chaos.points import Schedule
from chaos.results import ScheduleResult
from chaos.scenario import Scenario

_NO_KILL = Schedule()


@dataclass(frozen=True, slots=True)
class Beyond:
    """A crash image that a launch passed through alive: the schedule that would leave it."""

    schedule: Schedule
    image: str  # its key


@dataclass(frozen=True, slots=True)
class Branch:
    """One schedule to carry out. `image` is the key that a harvest expects of its crash image.

    One that verifies is judged to its end though its image may be known, to be compared.
    """

    id: str
    schedule: Schedule
    image: str | None = None
    verifies: bool = False


@dataclass(frozen=True, slots=True)
class Work:
    """Branches from one crash image, which the kills of `prefix` make again.

    Equal images are judged to the end once in a unit. Units do not depend on the number of jobs,
    so neither do results.
    """

    scenario: Scenario
    launch: str  # exec | warm
    branches: tuple[Branch, ...] = ()
    prefix: Schedule = _NO_KILL
    references: tuple[Evidence, ...] = ()
    harvest: bool = False  # tell the images beyond each branch
    torn: str = "ends"  # the torn writes among them: ends | every
    keep: bool = False
    fail_fast: bool = False


@dataclass(frozen=True, slots=True)
class Explored:
    """What became of a branch: its verdict, its crash image, and the images beyond it."""

    branch: Branch
    result: ScheduleResult
    image: str  # key; empty without a kill
    end: str = ""  # key of what the recovery left; empty where the branch did not go so far
    beyond: tuple[Beyond, ...] = ()
