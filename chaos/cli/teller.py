"""Tells of a sweep as it goes on: each scenario is printed and saved when it is done.

Promises that a sweep cut short has told what it knew.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from enum import Enum

from chaos.cli.screen import Screen
from chaos.cli.tally import Tally
from chaos.report.folder import ReportFolder
from chaos.report.text import failures, heading, scenario_line, schedule_lines, totals
from chaos.results import ScenarioResult, ScheduleResult, SweepResult
from chaos.scenario import Scenario


class Telling(Enum):
    """How much is told."""

    QUIET = "failures and the sums"
    USUAL = "a line for each scenario too"
    VERBOSE = "a line for each schedule too"


class Watcher:
    """A listener of the supervisor that shows how far the sweep is, and nothing of its results."""

    def __init__(self, screen: Screen, tally: Tally) -> None:
        self.screen = screen
        self.tally = tally

    def scenario_started(self, name: str) -> None:  # noqa: ARG002 - as a listener has it
        """The first of them begins the sweep."""
        self.screen.open()

    def schedules_planned(self, name: str, more: int) -> None:
        self.tally.plan(name, more, time.monotonic())

    def schedule_done(self, name: str, result: ScheduleResult) -> None:
        """Told with its scenario, when its verdict is final."""
        self.tally.take(name, result)
        self.screen.tick()

    def scenario_done(self, result: ScenarioResult) -> None:
        self.tally.end(result.name)


class Teller(Watcher):
    """One that prints and saves them too."""

    def __init__(
        self,
        scenarios: Sequence[Scenario],
        folder: ReportFolder,
        screen: Screen,
        tally: Tally,
        telling: Telling,
    ) -> None:
        super().__init__(screen, tally)
        self.scenarios: Mapping[str, Scenario] = {s.name: s for s in scenarios}
        self.folder = folder
        self.telling = telling
        self.told: set[str] = set()
        self.spoken = telling is not Telling.QUIET
        self.apart = False  # what was told last was a failure explained

    def head(self) -> None:
        """What comes first."""
        if self.telling is not Telling.QUIET:
            self.screen.write(heading())

    def scenario_done(self, result: ScenarioResult) -> None:
        super().scenario_done(result)
        self.told.add(result.name)
        try:
            self.folder.add(self.scenarios[result.name], result)
        finally:  # a disk that is full does not keep back what was found
            self._tell(result)
        if self.tally.over == len(self.scenarios):
            self.screen.close()

    def _tell(self, result: ScenarioResult) -> None:
        explained = failures(result, self.folder.artifacts, self.folder.known)
        parts = [explained]
        if self.telling is not Telling.QUIET:
            parts.insert(0, scenario_line(result))
        if self.telling is Telling.VERBOSE:
            parts.insert(1, schedule_lines(result))
        if text := "".join(parts):
            # What is explained has an empty line on both sides, wherever more follows.
            self.screen.write(
                "\n" + text if self.apart and self.spoken and text[0] != "\n" else text
            )
            self.spoken = True
            self.apart = bool(explained)

    def rest(self, result: SweepResult) -> None:
        """The scenarios that an interruption left unfinished."""
        for scenario in result.scenarios:
            if scenario.name not in self.told:
                self.scenario_done(scenario)

    def sums(self, result: SweepResult) -> None:
        """What comes last."""
        text = totals(result, self.folder.known)
        self.screen.write(text if self.spoken else text.lstrip("\n"))
