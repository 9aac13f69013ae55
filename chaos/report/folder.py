"""The report folder of `--report DIR`.

    DIR/report.html                  the whole sweep, to look at, once it is over
    DIR/report.json, report.txt      the same for scripts, and as it was printed
    DIR/UNFINISHED                   until then, and where it was killed
    DIR/failures/ID.json             a schedule that did not pass: for `chaos replay`
    DIR/failures/ID/                 its evidence: for `chaos judge`; of each fault the smallest ten
    DIR/passed/ID/                   the evidence of a schedule that passed, where it was kept

Promises: a folder that is not empty and is no such report is refused and left alone, and so is one
in which another run is writing; of an older report nothing stays; a report.json that is there is
whole, however the run ended.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from chaos.errors import HarnessError, UsageError
from chaos.options import SweepOptions
from chaos.report.counts import results_of
from chaos.report.failure import Failure, write_failure
from chaos.report.json_ import json_report
from chaos.report.known import Known
from chaos.report.text import text_report
from chaos.report.triage import with_evidence
from chaos.results import ScenarioResult, SweepResult, Verdict
from chaos.saved import save_evidence
from chaos.scenario import Scenario
from chaos.whole import is_part_of, write_whole

REPORT = "report.json"
UNFINISHED = "UNFINISHED"
PAGE = "report.html"
_SCHEDULES = ("failures", "passed")
_OURS = (REPORT, "report.txt", PAGE, UNFINISHED, *_SCHEDULES)
_UNFINISHED = "The run that writes here is not over, or was killed. It can be started again.\n"


@dataclass(slots=True, weakref_slot=True)
class ReportFolder:
    """A report on its way: `add` each scenario as it is done, `finish` at the end."""

    path: Path
    known: Known = field(default_factory=dict)
    options: SweepOptions = field(default_factory=SweepOptions)
    command: str = ""  # the command line of the sweep
    artifacts: dict[str, str] = field(default_factory=dict)  # schedule id -> failure file
    _begun: bool = False  # is nothing of an older run left?

    def prepare(self) -> None:
        """Make the folder, and clear an older report out of it, but for its failures: they stay
        until there is something to write, so that a mistyped selection takes nobody's. Raises
        UsageError."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock()
            there = {entry.name for entry in self.path.iterdir()}
            parts = {name for name in there if any(is_part_of(name, ours) for ours in _OURS)}
            whole = there - parts
            if whole and not (whole & {REPORT, UNFINISHED} and whole <= set(_OURS)):
                raise UsageError(
                    f"{self.path}: not empty, and no report of an earlier run; "
                    "name another folder with --report, or empty this one"
                )
            # Marks the folder as ours from the start, so that a run cut short can be repeated.
            write_whole(self.path / UNFINISHED, _UNFINISHED)
            for name in there - {UNFINISHED, *_SCHEDULES}:
                _remove(self.path / name)
        except OSError as error:
            raise UsageError(
                f"{self.path}: cannot hold a report: {error.strerror}; "
                "name another folder with --report"
            ) from None

    def _lock(self) -> None:
        """One run at a time, or their schedules would stand in one report. Until the end of this
        object, or of the process."""
        directory = os.open(self.path, os.O_RDONLY)
        weakref.finalize(self, os.close, directory)
        try:
            fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(
                f"{self.path}: another run is writing its report here; "
                "wait for its end, or name another folder with --report"
            ) from None
        except OSError:
            return  # a file system without locks

    def _begin(self) -> None:
        """Something is to be written: what an older run said of its schedules goes, once."""
        if not self._begun:
            self._begun = True
            for name in _SCHEDULES:
                _remove(self.path / name)

    def add(self, scenario: Scenario, done: ScenarioResult) -> None:
        """Write the evidence and the failure files of one scenario. Raises HarnessError."""
        with self._saving():
            self._add(scenario, done)

    def _add(self, scenario: Scenario, done: ScenarioResult) -> None:
        self._begin()
        kept = with_evidence(done, everything=self.options.keep)
        for result in results_of(done):
            place = "passed" if result.verdict is Verdict.PASS else "failures"
            if result.evidence is not None and result.id in kept:
                save_evidence(result.evidence, self.path / place / result.id)
            if result.verdict is not Verdict.PASS:
                file = self.path / place / f"{result.id}.json"
                file.parent.mkdir(exist_ok=True)
                options = self.options
                write_failure(Failure.of(scenario, result, options.launch, options.seed), file)
                self.artifacts[result.id] = str(file)

    def finish(self, sweep: SweepResult) -> None:
        """Write the reports. Raises HarnessError."""
        with self._saving():
            self._finish(sweep)

    def _finish(self, sweep: SweepResult) -> None:
        # Nothing of the page is needed until the sweep is over.
        from chaos.report.page import Told, html_report

        self._begin()
        text = text_report(sweep, self.artifacts, self.known)
        write_whole(self.path / "report.txt", text)
        report = json_report(sweep, self.artifacts, self.known)
        write_whole(self.path / REPORT, report)
        told = Told(str(self.path), self.known, self.options, self.command)
        write_whole(self.path / PAGE, html_report(sweep, told))
        (self.path / UNFINISHED).unlink()

    @contextmanager
    def _saving(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise HarnessError(
                f"{self.path}: cannot hold the report: {error.strerror}; "
                "make room, or name another folder with --report"
            ) from None


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def evidence_folders(path: Path) -> list[Path]:
    """The saved evidence in a report folder; a folder of evidence is its own only one."""
    return sorted(file.parent for file in path.rglob("evidence.json"))
