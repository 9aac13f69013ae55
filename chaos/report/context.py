"""What a report for a CI service needs beside the results: files by the names it knows.

Pure. A scenario file is named relative to the root of the repository, and by the line that tells
most of a schedule: the kill that the file asks for, else the step in which the kill fell, else its
name.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from chaos.points import Schedule
from chaos.report.known import Known
from chaos.results import ScenarioResult, ScheduleResult
from chaos.scenario import Scenario
from chaos.toml_lines import Path as Keys
from chaos.toml_lines import key_lines

_lines = lru_cache(maxsize=64)(key_lines)  # a scenario has hundreds of schedules


@dataclass(frozen=True, slots=True)
class Context:
    """The same for every schedule of a sweep."""

    artifacts: Mapping[str, str]  # schedule id -> failure file, as a person names it
    known: Known
    scenarios: Mapping[str, Scenario]  # by name
    root: str  # of the repository, absolute
    launch: str  # exec | warm

    def file(self, scenario: ScenarioResult) -> str:
        """The scenario file, relative to the root where it is below."""
        return scenario.path.removeprefix(f"{self.root.rstrip('/')}/")

    def line(self, scenario: ScenarioResult, result: ScheduleResult | None = None) -> int:
        """1-based, the line that tells most."""
        known = self.scenarios.get(scenario.name)
        if known is None:
            return 1
        lines = _lines(known.source)
        return next((lines[keys] for keys in _telling(known, result) if keys in lines), 1)

    def again(self, result: ScheduleResult) -> list[str]:
        """The command that runs it again, where there is a failure file."""
        file = self.artifacts.get(result.id)
        return [f"chaos replay {shlex.quote(file)}"] if file else []


def _telling(scenario: Scenario, result: ScheduleResult | None) -> list[Keys]:
    """Keys of the scenario file, the one that tells most first."""
    keys: list[Keys] = []
    if result is not None:
        kills = Schedule.parse(result.schedule).kills
        for index, selector in enumerate(scenario.kill.points):
            if kills and selector in str(kills[0]):
                keys.append(("kill", "points", index))
        keys.append(("kill", "schedule"))
        keys += [("step", step) for step in _steps(result)]
    return [*keys, ("name",)]


def _steps(result: ScheduleResult) -> list[int]:
    """The step in which the first kill fell, if it is known."""
    evidence = result.evidence
    if evidence is None:
        return []
    first = next((kill.launch for kill in evidence.kills), 0)
    return [launch.step for launch in evidence.launches if launch.index == first]
