"""Failure files: one schedule that did not pass, with all that is needed to run it again.

A `FAILURE.json` embeds the text of its scenario and target, so it replays from any directory even
when the files have changed or gone since.
"""

from __future__ import annotations

from dataclasses import dataclass

from chaos.points import Schedule
from chaos.results import Verdict, Violation
from chaos.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Failure:
    """A schedule and what was said of it."""

    id: str
    scenario: Scenario
    schedule: Schedule
    verdict: Verdict
    violations: tuple[Violation, ...]
    why: str
    launch: str = "exec"  # how its launches were started: exec | warm
    seed: int = 0
