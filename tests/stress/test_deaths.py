"""The harness is killed a few times; what it leaves behind is found."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.stress import runs
from tests.stress.deaths import VICTIMS, Deaths, candidates, faults
from tests.stress.runs import MARK, Run, belonging, whole_report

REPORT = {"scenarios": [{"schedules": [{}, {}]}], "summary": {"schedules": 2, "errors": 0}}


def test_a_death_of_each_kind_leaves_nothing(tmp_path: Path) -> None:
    told: list[str] = []
    deaths = Deaths(tmp_path, seed=0, jobs=1, tell=told.append)
    deaths.measure()
    for index in range(len(VICTIMS)):
        deaths.one(index, again=index == len(VICTIMS) - 1)
    assert told == []
    assert deaths.counts.total() == len(VICTIMS)
    assert deaths.counts["too late"] < len(VICTIMS)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    """One that is over, with nothing wrong; its process is not chaos."""
    run = Run(tmp_path, ())
    run.temporary.mkdir()
    run.report.mkdir()
    (run.report / "report.json").write_text(json.dumps(REPORT))
    (tmp_path / "output").write_text("as it said\n")
    run.process = subprocess.Popen([sys.executable, "-c", ""])
    yield run
    run.process.wait()


def told(run: Run, *codes: int) -> list[str]:
    return list(faults(run, codes, 2, [run.report / "report.json"]))


def test_a_launch_is_no_warm_parent(tmp_path: Path) -> None:
    """It is a fork of one, with the same command line; killing it would accuse the target."""
    fork = "import os, time; os.fork(); print(flush=True); time.sleep(60)"
    run = Run(tmp_path, ())
    run.temporary.mkdir()
    with subprocess.Popen(
        [sys.executable, "-c", fork, "warm_parent"],
        env={MARK: run.mark},
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as parent:
        run.process = parent
        try:
            assert parent.stdout is not None
            assert parent.stdout.read(2) == b"\n\n"  # both are there
            assert len(run.processes()) == 2
            found = candidates(run, "warm parent")
            assert found is not None
            assert [each.pid for each in found] == [parent.pid]
        finally:
            os.killpg(parent.pid, signal.SIGKILL)


def test_of_a_run_that_left_nothing_there_is_nothing_to_tell(run: Run) -> None:
    assert told(run, 0) == []


def test_another_end_is_told_with_what_it_said(run: Run) -> None:
    assert told(run, 1, 3) == ["it ended with 0, not with 1 or 3: as it said\n"]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('{"summary": {"sche', "half a report"),
        ("{}", "half a report"),
        (json.dumps({**REPORT, "scenarios": []}), "summary tells of 2 schedules, it has 0"),
        (None, "is missing"),
    ],
)
def test_half_a_report_is_told(run: Run, text: str | None, fault: str) -> None:
    file = run.report / "report.json"
    file.unlink()
    if text is not None:
        file.write_text(text)
    (found,) = told(run, 0)
    assert fault in found


def test_fewer_schedules_than_there_are_is_told(run: Run) -> None:
    file = run.report / "report.json"
    assert list(faults(run, (0,), 3, [file])) == [f"{file}: expected 3 schedules, found 2"]


@pytest.fixture
def _hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left gets no time to go."""
    monkeypatch.setattr(runs._left.retry, "stop", lambda _: True)


@pytest.fixture(params=["mark", "place"])
def straggler(request: pytest.FixtureRequest, run: Run) -> Iterator[int]:
    """A process that outlives its run: it bears the mark, or lives in the run's directory."""
    marked = request.param == "mark"
    process = subprocess.Popen(
        [sys.executable, "-c", "input()"],
        stdin=subprocess.PIPE,
        env={MARK: run.mark} if marked else {},
        cwd="/" if marked else run.temporary,
    )
    yield process.pid
    process.communicate()


@pytest.mark.usefixtures("_hurried")
def test_a_process_that_lives_on_is_found(run: Run, straggler: int) -> None:
    (found,) = told(run, 0)
    assert found.startswith(f"left: process {straggler}: ")


@pytest.mark.usefixtures("_hurried")
def test_a_temporary_file_is_found(run: Run) -> None:
    (run.temporary / "killpoint-1").mkdir()
    assert told(run, 0) == [f"left: {run.temporary}/killpoint-1"]


def test_a_process_that_only_waits_to_be_reaped_does_not_count(run: Run) -> None:
    environment = {MARK: run.mark}
    process = subprocess.Popen([sys.executable, "-c", ""], env=environment, stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.read()  # it has ended, or is about to
    assert run.left() == []
    process.communicate()


def test_this_process_is_never_its_own_victim() -> None:
    assert list(belonging("no such mark", "/no/such/place")) == []


def test_no_report_is_no_half_report(tmp_path: Path) -> None:
    assert whole_report(tmp_path / "report.json") is None
