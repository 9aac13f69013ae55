"""The report folder: what is written where, and what is left alone."""

from __future__ import annotations

import errno
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from chaos.errors import HarnessError, UsageError
from chaos.options import SweepOptions
from chaos.report.failure import read_failure
from chaos.report.folder import UNFINISHED, ReportFolder, evidence_folders
from chaos.results import Verdict
from chaos.saved import load_evidence
from tests.report import sample


def folder(path: Path) -> ReportFolder:
    return ReportFolder(path)


def test_a_report_on_disk(tmp_path: Path) -> None:
    report = folder(tmp_path / "new/report")
    report.prepare()
    sweep = sample.sweep_result(sample.passed(), sample.violated(), sample.inconclusive())
    report.add(sample.scenario(), sweep.scenarios[0])
    report.finish(sweep)

    ident = sample.violated().id
    file = report.path / "failures" / f"{ident}.json"
    assert report.artifacts[ident] == str(file)
    assert read_failure(file).id == ident
    assert load_evidence(report.path / "failures" / ident) == sample.evidence()
    assert json.loads((report.path / "report.json").read_text())["summary"]["schedules"] == 3
    assert f"chaos replay {file}" in (report.path / "report.txt").read_text()
    page = (report.path / "report.html").read_text()
    assert ident in page
    assert sample.SECRET not in page
    # Without evidence there is still a schedule to run again.
    assert (report.path / "failures" / f"{sample.inconclusive().id}.json").exists()


def test_evidence_that_was_kept_is_found(tmp_path: Path) -> None:
    report = folder(tmp_path)
    report.prepare()
    kept = replace(sample.violated(), id="kept", verdict=Verdict.PASS, violations=())
    report.add(sample.scenario(), sample.scenario_result(kept, sample.violated()))
    names = [path.relative_to(tmp_path).as_posix() for path in evidence_folders(tmp_path)]
    assert names == [f"failures/{sample.violated().id}", "passed/kept"]


@pytest.mark.parametrize(("keep", "kept"), [(False, 10), (True, 12)])
def test_of_a_fault_the_smallest_schedules_leave_their_evidence(
    tmp_path: Path, keep: bool, kept: int
) -> None:
    """A sweep with a thousand failures must not fill the disk; each can be replayed."""
    report = ReportFolder(tmp_path, options=SweepOptions(keep=keep))
    report.prepare()
    alike = [replace(sample.violated(), id=f"alike-{number:02}") for number in range(12)]
    sweep = sample.sweep_result(sample.passed(), *alike)
    report.add(sample.scenario(), sweep.scenarios[0])
    report.finish(sweep)
    found = [path.name for path in evidence_folders(tmp_path)]
    assert found == [result.id for result in alike[:kept]]
    assert len(list((tmp_path / "failures").glob("*.json"))) == 12
    page = (tmp_path / "report.html").read_text()
    rows = json.loads(page.partition('id="data">')[2].partition("</script>")[0])
    assert sum(row[-1] for row in rows["scenarios"][0]["schedules"]) == kept


def test_an_older_report_makes_room_when_there_is_something_to_write(tmp_path: Path) -> None:
    """A selection that names nothing has not taken the failures of the run before."""
    first = folder(tmp_path)
    first.prepare()
    first.add(sample.scenario(), sample.scenario_result(sample.violated()))
    del first  # its run is over
    second = folder(tmp_path)
    second.prepare()
    assert (tmp_path / "failures" / f"{sample.violated().id}.json").exists()
    second.add(sample.scenario(), sample.scenario_result(sample.inconclusive()))
    left = {path.name for path in (tmp_path / "failures").iterdir()}
    assert left == {f"{sample.inconclusive().id}.json"}


def test_a_run_that_is_not_over_has_no_report(tmp_path: Path) -> None:
    done = sample.sweep_result(sample.passed())
    for _ in range(2):  # the second time an older report is there
        report = folder(tmp_path)
        report.prepare()
        assert [path.name for path in tmp_path.iterdir()] == [UNFINISHED]
        report.finish(done)
        assert not (tmp_path / UNFINISHED).exists()
        assert json.loads((tmp_path / "report.json").read_text())["summary"]["schedules"] == 1


def test_what_a_killed_run_left_makes_room(tmp_path: Path) -> None:
    for left in ([".UNFINISHED.part"], [UNFINISHED, ".report.json.part", "report.txt"]):
        for name in left:
            (tmp_path / name).write_text("half")
        folder(tmp_path).prepare()
        assert [path.name for path in tmp_path.iterdir()] == [UNFINISHED]


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(UsageError, match="not empty, and no report of an earlier run"):
        folder(tmp_path).prepare()
    # A report among other things is refused too: only what is ours may be cleared away.
    (tmp_path / "report.json").write_text("{}")
    with pytest.raises(UsageError, match="not empty"):
        folder(tmp_path).prepare()
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


def test_only_what_is_in_it_is_cleared_away(tmp_path: Path) -> None:
    """A link among it leads elsewhere, and goes alone."""
    elsewhere, report = tmp_path / "elsewhere", tmp_path / "report"
    for each in (elsewhere, report):
        each.mkdir()
    (elsewhere / "thesis.txt").write_text("years of work")
    (report / "report.json").write_text("{}")
    (report / "failures").symlink_to(elsewhere)
    made = folder(report)
    made.prepare()
    made.finish(sample.sweep_result(sample.passed()))
    assert not (report / "failures").exists()
    assert (elsewhere / "thesis.txt").exists()


def test_two_runs_at_once_are_not_in_one_report(tmp_path: Path) -> None:
    first = folder(tmp_path)
    first.prepare()
    with pytest.raises(UsageError, match="another run is writing its report here; wait for"):
        folder(tmp_path).prepare()
    del first
    folder(tmp_path).prepare()


def test_a_name_that_is_not_utf_8(tmp_path: Path) -> None:
    report = folder(tmp_path / "caf\udce9")
    report.prepare()
    sweep = sample.sweep_result(sample.violated())
    report.add(sample.scenario(), sweep.scenarios[0])
    report.finish(sweep)
    assert "caf\\udce9/failures" in (report.path / "report.txt").read_text()


def test_a_disk_that_is_full_is_told_with_the_name_of_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    report, sweep = folder(tmp_path), sample.sweep_result(sample.violated())
    report.prepare()
    monkeypatch.setattr("chaos.report.folder.save_evidence", full)
    with pytest.raises(HarnessError, match=f"{tmp_path}: cannot hold the report: No space left"):
        report.add(sample.scenario(), sweep.scenarios[0])
    monkeypatch.setattr("chaos.report.folder.write_whole", full)
    with pytest.raises(HarnessError, match=f"{tmp_path}: cannot hold the report: No space left"):
        report.finish(sweep)


def test_a_place_that_cannot_hold_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for name in ("file", "loop"):
        with pytest.raises(UsageError, match=r"cannot hold a report: .*; name another folder"):
            folder(tmp_path / name).prepare()
