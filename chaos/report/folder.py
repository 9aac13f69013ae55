"""The report folder of `--report DIR`.

    DIR/report.json, report.txt      the whole sweep
    DIR/failures/ID.json             a schedule that did not pass: for `chaos replay`
    DIR/failures/ID/                 its evidence: for `chaos judge`
    DIR/passed/ID/                   the evidence of a schedule that passed, where it was kept

Promises: a folder that is not empty and is no such report is refused and left alone; of an older
report nothing stays.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path

from chaos.errors import UsageError
from chaos.report.counts import results_of
from chaos.report.explain import Statements
from chaos.report.failure import Failure, write_failure
from chaos.report.json_ import json_report
from chaos.report.known import Known
from chaos.report.text import text_report
from chaos.results import ScenarioResult, SweepResult, Verdict
from chaos.saved import save_evidence
from chaos.scenario import Scenario

REPORT = "report.json"
_OURS = (REPORT, "report.txt", "failures", "passed")


@dataclass(slots=True)
class ReportFolder:
    """A report on its way: `add` each scenario as it is done, `finish` at the end."""

    path: Path
    launch: str  # how the sweep starts its launches, for the failure files
    seed: int
    known: Known = field(default_factory=dict)
    artifacts: dict[str, str] = field(default_factory=dict)  # schedule id -> failure file

    def prepare(self) -> None:
        """Make the folder, and clear an older report out of it. Raises UsageError."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            there = {entry.name for entry in self.path.iterdir()}
            if there and not (REPORT in there and there <= set(_OURS)):
                raise UsageError(
                    f"{self.path}: not empty, and no report of an earlier run; "
                    "name another folder with --report, or empty this one"
                )
            for name in ("failures", "passed"):
                shutil.rmtree(self.path / name, ignore_errors=True)
            # Marks the folder as ours from the start, so that a run cut short can be repeated.
            (self.path / REPORT).write_text("{}\n", encoding="utf-8")
        except OSError as error:
            raise UsageError(
                f"{self.path}: cannot hold a report: {error.strerror}; "
                "name another folder with --report"
            ) from None

    def add(self, scenario: Scenario, done: ScenarioResult) -> None:
        """Write the evidence and the failure files of one scenario."""
        for result in results_of(done):
            place = "passed" if result.verdict is Verdict.PASS else "failures"
            if result.evidence is not None:
                save_evidence(result.evidence, self.path / place / result.id)
            if result.verdict is not Verdict.PASS:
                file = self.path / place / f"{result.id}.json"
                file.parent.mkdir(exist_ok=True)
                write_failure(Failure.of(scenario, result, self.launch, self.seed), file)
                self.artifacts[result.id] = str(file)

    def finish(self, sweep: SweepResult, statements: Statements) -> None:
        """Write the two reports."""
        text = text_report(sweep, statements, self.artifacts, self.known)
        (self.path / "report.txt").write_text(text, encoding="utf-8")
        report = json_report(sweep, self.artifacts, self.known)
        (self.path / REPORT).write_text(report, encoding="utf-8")


def evidence_folders(path: Path) -> list[Path]:
    """The saved evidence in a report folder; a folder of evidence is its own only one."""
    return sorted(file.parent for file in path.rglob("evidence.json"))
