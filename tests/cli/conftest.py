"""What the tests of the commands share: a directory of their own, and a supervisor that only
reports prepared results. That the real one does its work is shown by its own tests.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import chaos.cli.run
from chaos.cli import main
from chaos.options import Listener, SweepOptions
from chaos.results import ScheduleResult, SweepResult
from chaos.scenario import Scenario
from tests.report import sample


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test has a working directory of its own, with one scenario in it."""
    (tmp_path / "scenarios").mkdir()
    (tmp_path / "scenarios/deploy.toml").write_text(sample.SCENARIO)
    monkeypatch.chdir(tmp_path)


class Sweep:
    """A stand-in for `sweep` that gives prepared results and remembers what it was asked."""

    def __init__(self, *results: ScheduleResult, interrupted: bool = False) -> None:
        self.result = sample.sweep_result(*results, interrupted=interrupted)
        self.scenarios: Sequence[Scenario] = ()
        self.options = SweepOptions()

    def __call__(
        self, scenarios: Sequence[Scenario], options: SweepOptions, listener: Listener
    ) -> SweepResult:
        self.scenarios, self.options = scenarios, options
        if not self.result.interrupted:
            listener.scenario_started("deploy")
            listener.scenario_done(self.result.scenarios[0])
        return self.result


@pytest.fixture
def sweep(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Sweep]:
    def prepare(*results: ScheduleResult, interrupted: bool = False) -> Sweep:
        stand_in = Sweep(*results, interrupted=interrupted)
        monkeypatch.setattr(chaos.cli.run, "sweep", stand_in)
        return stand_in

    return prepare


@pytest.fixture
def saved(sweep: Callable[..., Sweep], capsys: pytest.CaptureFixture[str]) -> str:
    sweep(sample.violated())
    main(["run"])
    capsys.readouterr()
    return f"chaos-report/failures/{sample.violated().id}.json"


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no room for the evidence of a schedule."""

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("chaos.report.folder.save_evidence", full)
