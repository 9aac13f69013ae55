"""Shrink a failure by real runs: every candidate is carried out and judged as `chaos replay` does.

What is run is the text that will be written: a scenario file of its own, with its `[kill]
schedule`. Promises that the result broke the rule in its last run, with every kill proven exact.
Which candidates there are is the business of `chaos.explore.shrink`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace

from chaos.errors import ChaosError, ScenarioError, UsageError
from chaos.evidence import Evidence, LogWrite
from chaos.explore.shrink import Subject, Written, shrink, size
from chaos.points import PlannedLaunch, Schedule
from chaos.report.failure import Failure
from chaos.report.triage import broken_ids
from chaos.results import ScheduleResult, Verdict
from chaos.scenario import Scenario, parse_scenario
from chaos.supervise.replay import Replayer, replayer
from chaos.supervise.schedules import schedule_id
from chaos.toml_write import write_toml

MOST_RUNS = 300  # candidates carried out; what is left then is the result


@dataclass(frozen=True, slots=True)
class Shrunk:
    """A smaller failure. Sizes count kills, steps, turns, calls, events, files by name."""

    failure: Failure
    result: ScheduleResult  # of its last run
    rule: str  # the id that it keeps breaking
    before: Mapping[str, int]
    after: Mapping[str, int]
    runs: int


def shrink_failure(failure: Failure, path: str, profile: str) -> Shrunk:
    """Shrink; `path` is where the new scenario file will be, `profile` the target as it names it
    there. Raises UsageError when there is no violation to shrink, or it does not happen again."""
    if failure.verdict is not Verdict.VIOLATION:
        raise UsageError(
            f"{failure.id}: {failure.verdict} cannot be shrunk: only a violation breaks a rule"
        )
    with replayer(failure.launch) as again:
        trial = _Trial(again, failure, path, profile)
        document = tomllib.loads(failure.scenario.source)
        start = Subject(document, failure.schedule)
        written = trial(start)
        if written is None:
            raise UsageError(
                f"{failure.id}: broke {trial.rule} when it was saved, and does not any more; "
                "`chaos replay` shows what happens now"
            )
        end = shrink(start, written, trial)
        assert trial.failed is not None  # noqa: S101 - the start failed
        trial(replace(end, schedule=_as_it_went(end.schedule, trial.failed[1])))
    scenario, result = trial.failed
    return Shrunk(
        failure=Failure.of(scenario, result, failure.launch, failure.seed),
        result=result,
        rule=trial.rule,
        before=size(start),
        after=size(end),
        runs=trial.runs,
    )


class _Trial:
    """Carries candidates out. Remembers the last that broke the rule."""

    def __init__(self, again: Replayer, failure: Failure, path: str, profile: str) -> None:
        self._again = again
        self._target = failure.scenario.target
        self._path = path
        self._profile = profile
        self._about = f"Shrunk from {failure.id}."
        self._name = failure.scenario.name.removesuffix("-shrunk") + "-shrunk"
        self.rule = broken_ids(failure.violations)[0]
        self.failed: tuple[Scenario, ScheduleResult] | None = None
        self.runs = 0

    def __call__(self, subject: Subject) -> Written | None:
        """What its launches wrote, if it breaks the rule."""
        if self.runs >= MOST_RUNS:
            return None
        try:
            scenario = self._scenario(subject)
        except ScenarioError:
            return None  # a script that cannot be told costs nothing
        self.runs += 1
        ident = schedule_id(scenario.name, subject.schedule)
        try:
            result = self._again.run(ident, scenario, subject.schedule)
        except ChaosError:
            return None
        if self.rule not in broken_ids(result.violations) or result.why:
            return None
        self.failed = scenario, result
        return _written(result.evidence) if result.evidence else ()

    def _scenario(self, subject: Subject) -> Scenario:
        document = {
            **subject.document,
            "name": self._name,
            "about": self._about,
            "target": {**subject.document["target"], "profile": self._profile},
            "kill": {"schedule": str(subject.schedule)},
        }
        return parse_scenario(write_toml(document), self._path, lambda _: self._target)


def _as_it_went(schedule: Schedule, result: ScheduleResult) -> Schedule:
    """With the roles that its launches had; a kill that went has moved the others."""
    launches = result.evidence.launches if result.evidence else ()
    roles = [launch.role for launch in launches]
    kills = [planned.kill for planned in schedule.launches]
    return Schedule(tuple(map(PlannedLaunch, roles, kills)))


def _written(evidence: Evidence) -> Written:
    return [
        [event.point for event in evidence.of_launch(index) if isinstance(event, LogWrite)]
        for index in range(len(evidence.launches))
    ]
