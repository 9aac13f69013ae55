"""The report folder: what is written where, and what is left alone."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from chaos.errors import UsageError
from chaos.report.failure import read_failure
from chaos.report.folder import UNFINISHED, ReportFolder, evidence_folders
from chaos.results import Verdict
from chaos.saved import load_evidence
from tests.report import sample


def folder(path: Path) -> ReportFolder:
    return ReportFolder(path, "exec", 0)


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


def test_an_older_report_makes_room_when_there_is_something_to_write(tmp_path: Path) -> None:
    """A selection that names nothing has not taken the failures of the run before."""
    first = folder(tmp_path)
    first.prepare()
    first.add(sample.scenario(), sample.scenario_result(sample.violated()))
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


def test_a_place_that_cannot_hold_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=r"cannot hold a report: .*; name another folder"):
        folder(tmp_path / "file").prepare()
