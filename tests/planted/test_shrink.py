"""From a planted bug to one fault, the smallest failure, and a file that fails at the first try."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from chaos.cli import main
from chaos.points import Phase, Schedule
from chaos.report.failure import Failure, read_failure, write_failure
from chaos.report.triage import broken_ids, faults_of_all
from chaos.results import SweepResult, Verdict
from chaos.supervise.replay import replay
from tests.planted.bugs import BUGS
from tests.planted.support import ROOT, planted, run

AFTER = (Phase.AFTER,)
REPLAY_LIMIT_S = 5


def failure_file(bug: str, schedule: str, path: Path) -> Path:
    """A failure as a sweep would have saved it, were it not at its smallest."""
    scenario = planted(BUGS[bug].scenario, bug)
    failure = Failure("big", scenario, Schedule.parse(schedule), Verdict.PASS, (), "", "warm")
    result = replay(failure)
    assert result.verdict is Verdict.VIOLATION
    file = path / "big.json"
    write_failure(Failure.of(scenario, result, "warm", 0), file)
    return file


def swept(bug: str, depth: int | None = 1) -> SweepResult:
    result = run(planted(BUGS[bug].scenario, bug), depth=depth, phases=AFTER)
    assert result.scenarios[0].error == ""
    return result


@pytest.mark.parametrize(
    ("bug", "fingerprint"),
    [
        ("later-call-first", "L6 unanswered-calls > toolStarted"),
        ("scan-back-in-recovery", "R1 assistant > end"),
        ("scan-back", "R1 no-kill"),
    ],
)
def test_many_failures_are_one_fault(bug: str, fingerprint: str) -> None:
    (fault,) = faults_of_all(swept(bug))
    assert fault.fingerprint == fingerprint
    assert len(fault.results) > 3
    assert len(Schedule.parse(fault.smallest.schedule).kills) == BUGS[bug].depth


BIG = {
    # bug: its rule, a schedule with kills and phases that it does not need, the kills that it does
    "later-call-first": (
        "L6",
        "run: log:runStarted#1/torn@9; resume: log:assistant#1/before; "
        "resume: log:toolStarted[write]#1/after",
        1,
    ),
    "scan-back-in-recovery": (
        "R1",
        "run: log:toolResult[read]#1/before; resume: log:assistant#2/torn@5",
        1,
    ),
    "a-third-attempt": (
        "R1",
        "run: log:header#1/after; run: log:assistant#1/before; resume: log:assistant#1/torn@9",
        2,
    ),
}


@pytest.fixture(scope="module")
def shrunk(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder in which the big failure of a bug was shrunk to `small.*`."""

    @cache
    def folder(bug: str) -> Path:
        made = tmp_path_factory.mktemp(bug)
        file = failure_file(bug, BIG[bug][1], made)
        assert main(["shrink", str(file), "--out", str(made / "small.toml"), "--pytest"]) == 0
        return made

    return folder


@pytest.mark.parametrize("bug", BIG)
def test_it_is_shrunk_and_replays_from_the_file_at_the_first_try(
    bug: str, shrunk: Callable[[str], Path]
) -> None:
    rule, _, least = BIG[bug]
    small = read_failure(shrunk(bug) / "small.json")
    assert broken_ids(small.violations)[0] == rule
    assert len(small.schedule.kills) == least
    assert {la.kill.phase for la in small.schedule.launches if la.kill} == {Phase.AFTER}
    assert [la.role for la in small.schedule.launches] == ["run", "resume"][:least]
    assert small.scenario.files == {}
    assert "[expect]" not in small.scenario.source

    started = time.monotonic()
    again = replay(small)
    assert time.monotonic() - started < REPLAY_LIMIT_S
    assert broken_ids(again.violations) == broken_ids(small.violations)


def test_the_new_scenario_stands_on_its_own(shrunk: Callable[[str], Path], tmp_path: Path) -> None:
    """With its target beside it and its schedule in it, `chaos run` finds the failure."""
    scenario = shrunk("a-third-attempt") / "small.toml"
    report = tmp_path / "report"
    assert main(["run", str(scenario), "--launch", "warm", "--report", str(report)]) == 1
    summary = json.loads((report / "report.json").read_text())["summary"]
    assert (summary["schedules"], summary["violations"]) == (2, 1)  # the other: without a kill


def test_the_test_that_is_written_fails_now_and_passes_when_it_is_mended(
    shrunk: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = shutil.copytree(shrunk("a-third-attempt"), tmp_path / "copy")
    assert pytest_of(folder, "test_small.py") == 1
    mend(folder / "small.json")
    assert pytest_of(folder, "test_small.py") == 0


def mend(file: Path) -> None:
    """The same failure file for the agent without its bug."""
    text = file.read_text()
    mended = text.replace("tests.planted", "agent").replace('\\"a-third-attempt\\", ', "")
    assert mended != text
    file.write_text(mended)


def pytest_of(folder: Path, name: str) -> int:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", name]
    env = {"PYTHONPATH": str(ROOT), "PATH": ""}
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, check=False).returncode


def test_a_third_attempt_is_found_by_the_closure_and_not_at_depth_one() -> None:
    assert faults_of_all(swept("a-third-attempt")) == ()
    deep = swept("a-third-attempt", depth=None)
    assert deep.scenarios[0].closure.complete
    (fault,) = faults_of_all(deep)
    assert fault.fingerprint == "R1 stepAttempt > end"
    assert len(Schedule.parse(fault.smallest.schedule).kills) == 2


def test_what_does_not_fail_any_more_is_not_shrunk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    schedule = "run: log:stepAttempt#1/after; resume: log:stepAttempt#1/after"
    file = failure_file("a-third-attempt", schedule, tmp_path)
    mend(file)
    monkeypatch.chdir(tmp_path)
    assert main(["shrink", str(file)]) == 4
    assert "broke R1 when it was saved, and does not any more" in capsys.readouterr().err
    assert list(tmp_path.glob("*-shrunk*")) == []
