"""`chaos run`: sweep the scenarios, print as results come, write the reports."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path

from chaos.cli.expression import compile_expression
from chaos.cli.find import find_scenarios
from chaos.cli.output import complain, near, say, tell
from chaos.cli.screen import Screen, screen_for
from chaos.cli.tally import Tally
from chaos.errors import UsageError
from chaos.judge import STATEMENTS
from chaos.options import FAULTS, SweepOptions
from chaos.report.counts import exit_code
from chaos.report.folder import ReportFolder
from chaos.report.json_ import json_report
from chaos.report.junit import junit_report
from chaos.report.known import NONE, Known, accepted, gone, read_known
from chaos.report.text import failures, heading, scenario_line, schedule_lines, totals
from chaos.report.triage import faults_of_all
from chaos.results import ScenarioResult, ScheduleResult, SweepResult
from chaos.scenario import Scenario
from chaos.supervise.sweep import sweep
from chaos.whole import write_whole

STDOUT = "-"


def command(args: argparse.Namespace) -> int:
    """Run all and give the exit code of design section 7."""
    options = SweepOptions(
        phases=args.phases,
        torn=args.torn,
        faults=args.faults,
        jobs=args.jobs,
        executor=args.executor,
        launch=args.launch,
        depth=args.depth,
        budget_s=args.budget,
        max_states=args.max_states,
        verify_dedup=args.verify_dedup,
        shard=args.shard,
        seed=args.seed,
        fail_fast=args.fail_fast,
        select=compile_expression(args.k) if args.k else None,
        keep=args.keep,
    )
    if options.faults != FAULTS[0] and options.depth != 1:
        raise UsageError(f"--faults {options.faults} has no depth: leave --depth out")
    scenarios = find_scenarios(args.scenarios)
    for file in (args.json, args.junit):
        _check_writable(file)
    if args.known and args.fail_fast:
        raise UsageError("--fail-fast would stop at a known fault; leave it out, or --known")
    known = read_known(Path(args.known)) if args.known else NONE
    folder = ReportFolder(
        Path(args.report).resolve(), args.launch, args.seed, known, options, args.line
    )
    folder.prepare()

    to_stderr = args.json == STDOUT
    tally = Tally.of((s.name for s in scenarios), time.monotonic(), deep=options.depth != 1)
    screen = screen_for(
        sys.stderr if to_stderr else sys.stdout,
        tell if to_stderr else say,
        tally,
        quiet=args.quiet,
    )
    telling = Telling.QUIET if args.quiet else Telling.VERBOSE if args.verbose else Telling.USUAL
    listener = _Teller(scenarios, folder, screen, tally, telling)
    try:
        listener.head()
        result = sweep(scenarios, options, listener)
        listener.rest(result)
    finally:
        screen.close()
    listener.sums(result)
    folder.finish(result, STATEMENTS)
    faults = faults_of_all(result)
    _write(args.json, json_report(result, folder.artifacts, known))
    _write(args.junit, junit_report(result, accepted(known, faults)))
    code = exit_code(result, accepted(known, faults))
    if code:
        complain(f"the report is in {folder.path}")
        return code
    return _check_true(args.known, known, gone(known, faults))


def _check_true(file: str, known: Known, past: Sequence[str]) -> int:
    """Say which known faults were not met in a sweep that is green but for known ones."""
    for fingerprint in past:
        complain(
            f"{file}:{known[fingerprint].line}: known fault not met any more: {fingerprint}\n"
            "  take the line out, or look for what this run left out"
        )
    return UsageError.exit_code if past else 0


class Telling(Enum):
    """How much is told."""

    QUIET = "failures and the sums"
    USUAL = "a line for each scenario too"
    VERBOSE = "a line for each schedule too"


class _Teller:
    """Prints and saves each scenario when it is done: a sweep cut short has told what it knew."""

    def __init__(
        self,
        scenarios: Sequence[Scenario],
        folder: ReportFolder,
        screen: Screen,
        tally: Tally,
        telling: Telling,
    ) -> None:
        self.scenarios: Mapping[str, Scenario] = {s.name: s for s in scenarios}
        self.folder = folder
        self.screen = screen
        self.tally = tally
        self.telling = telling
        self.told: set[str] = set()
        self.spoken = telling is not Telling.QUIET

    def head(self) -> None:
        """What comes first."""
        if self.telling is not Telling.QUIET:
            self.screen.write(heading())

    def scenario_started(self, name: str) -> None:
        self.tally.begin(name)
        self.screen.open()

    def schedules_planned(self, name: str, more: int) -> None:
        self.tally.plan(name, more)

    def schedule_done(self, name: str, result: ScheduleResult) -> None:
        """Told with its scenario, when its verdict is final."""
        self.tally.take(name, result)
        self.screen.tick()

    def scenario_done(self, result: ScenarioResult) -> None:
        self.told.add(result.name)
        self.tally.end(result.name)
        self.folder.add(self.scenarios[result.name], result)
        files = {ident: near(Path(file)) for ident, file in self.folder.artifacts.items()}
        parts = [failures(result, STATEMENTS, files, self.folder.known)]
        if self.telling is not Telling.QUIET:
            parts.insert(0, scenario_line(result))
        if self.telling is Telling.VERBOSE:
            parts.insert(1, schedule_lines(result))
        if text := "".join(parts):
            self.spoken = True
            self.screen.write(text)
        if self.tally.over == len(self.scenarios):
            self.screen.close()

    def rest(self, result: SweepResult) -> None:
        """The scenarios that an interruption left unfinished."""
        self.screen.close()
        for scenario in result.scenarios:
            if scenario.name not in self.told:
                self.scenario_done(scenario)

    def sums(self, result: SweepResult) -> None:
        """What comes last."""
        text = totals(result)
        self.screen.write(text if self.spoken else text.lstrip("\n"))


def _check_writable(file: str | None) -> None:
    """Refuse before a sweep of a minute, not after it."""
    if file in (None, STDOUT):
        return
    path = Path(str(file))
    if path.is_dir() or not path.parent.is_dir():
        raise UsageError(f"{file}: cannot be written; expected a file in a folder that exists")


def _write(file: str | None, text: str) -> None:
    if file == STDOUT:
        say(text)
    elif file is not None:
        write_whole(Path(file), text)
