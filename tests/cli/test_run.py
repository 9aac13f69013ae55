"""`chaos run`: exit codes, what is told and where, and which options reach the sweep."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from junitparser import JUnitXml

import chaos.cli.run
from chaos.cli import main
from chaos.errors import NothingSelected
from chaos.options import Listener
from chaos.points import Phase
from chaos.report.failure import read_failure
from chaos.results import SweepResult
from tests.cli.conftest import Sweep
from tests.report import sample

pytestmark = pytest.mark.usefixtures("elsewhere")


@pytest.mark.usefixtures("full_disk")
def test_a_violation_is_told_where_its_evidence_cannot_be_saved(
    sweep: Callable[..., Sweep], capsys: pytest.CaptureFixture[str]
) -> None:
    sweep(sample.passed(), sample.violated())
    assert main(["run"]) == 3
    out, err = capsys.readouterr()
    assert "\nVIOLATION  deploy-" in out
    assert "chaos-report: cannot hold the report: No space left on device" in err


def test_a_green_run(sweep: Callable[..., Sweep], capsys: pytest.CaptureFixture[str]) -> None:
    stand_in = sweep(sample.passed())
    assert main(["run"]) == 0
    out, err = capsys.readouterr()
    assert [s.name for s in stand_in.scenarios] == ["deploy"]  # from ./scenarios
    assert out.splitlines()[1].startswith("deploy ")
    assert out.endswith("1 passed (seed 7)\n")
    assert err == ""


def test_a_violation_is_explained_and_can_be_replayed(
    sweep: Callable[..., Sweep], capsys: pytest.CaptureFixture[str]
) -> None:
    sweep(sample.passed(), sample.violated())
    assert main(["run", "--launch", "warm"]) == 1
    out, err = capsys.readouterr()
    file = Path("chaos-report/failures").resolve() / f"{sample.violated().id}.json"
    assert f"  again     chaos replay {file}\n" in out  # from any directory
    assert "\n  E2        " in out
    assert read_failure(Path(file)).launch == "warm"
    assert "the report is in " in err
    assert sample.SECRET not in out


def test_an_explanation_stands_apart_from_the_line_of_the_next_scenario(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("scenarios/other.toml").write_text(sample.SCENARIO.replace('"deploy"', '"other"', 1))
    broken = sample.sweep_result(sample.violated())
    good = [replace(sample.scenario_result(sample.passed()), name=n) for n in ("other", "other")]

    def sweep(_: object, __: object, listener: Listener) -> SweepResult:
        for done in (*broken.scenarios, *good):
            listener.scenario_done(done)
        return broken

    monkeypatch.setattr(chaos.cli.run, "sweep", sweep)
    assert main(["run"]) == 1
    out = capsys.readouterr().out
    assert re.search(r"again     chaos replay .*\n\nother .*\nother ", out)


def test_the_options_reach_the_sweep(sweep: Callable[..., Sweep]) -> None:
    stand_in = sweep(sample.passed())
    line = (
        "run scenarios/deploy.toml -k baseline --phases after,before --torn every --jobs 3 "
        "--launch warm --seed 5 --fail-fast --keep --report kept --faults damage"
    )
    assert main(line.split()) == 0
    options = stand_in.options
    assert options.select is not None
    assert options.select("deploy deploy-baseline")
    assert not options.select("deploy deploy-log-header-1-after")
    assert options.phases == (Phase.BEFORE, Phase.AFTER)
    assert (options.torn, options.jobs, options.launch, options.seed) == ("every", 3, "warm", 5)
    assert options.fail_fast
    assert options.keep
    assert options.faults == "damage"
    assert Path("kept/report.txt").exists()


@pytest.mark.parametrize("depth", ["2", "closure"])
def test_only_kills_have_a_depth(depth: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--faults", "damage", "--depth", depth]) == 4
    assert "--faults damage has no depth: leave --depth out" in capsys.readouterr().err


def test_a_known_fault_is_green(
    sweep: Callable[..., Sweep], capsys: pytest.CaptureFixture[str]
) -> None:
    sweep(sample.violated())
    Path("known.txt").write_text("E2 toolStarted > effect  # issue 7\n")
    assert main(["run", "--known", "known.txt"]) == 0
    out = capsys.readouterr().out
    assert "known  E2 toolStarted > effect  (1 schedule): issue 7\n" in out
    assert "\n1 fault:\n  E2 toolStarted > effect  (1 schedule, known)\n" in out


def test_fail_fast_does_not_go_with_known_faults(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--known", "known.txt", "--fail-fast"]) == 4
    assert "--fail-fast would stop at a known fault" in capsys.readouterr().err


def test_a_known_fault_that_has_gone_is_red_and_the_line_is_named(
    sweep: Callable[..., Sweep], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("known.txt").write_text("\nE2 toolStarted > effect  # issue 7\n")
    sweep(sample.passed())
    assert main(["run", "--known", "known.txt"]) == 4
    err = capsys.readouterr().err
    assert "known.txt:2: known fault not met any more: E2 toolStarted > effect" in err
    sweep(sample.inconclusive())  # this says more than a line too many
    assert main(["run", "--known", "known.txt"]) == 3
    sweep(sample.passed(), interrupted=True)  # what was not run cannot be missed
    assert main(["run", "--known", "known.txt"]) == 2


def test_quiet_is_the_sums_and_failures_only(
    sweep: Callable[..., Sweep], capsys: pytest.CaptureFixture[str]
) -> None:
    sweep(sample.passed())
    assert main(["run", "-q"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert line.endswith("1 passed (seed 7)")
    sweep(sample.passed(), sample.violated())
    assert main(["run", "--quiet"]) == 1
    assert capsys.readouterr().out.startswith("\nVIOLATION  deploy-log-toolStarted")


def test_verbose_is_every_schedule_with_its_verdict(
    sweep: Callable[..., Sweep], capsys: pytest.CaptureFixture[str]
) -> None:
    sweep(sample.passed(), sample.violated())
    assert main(["run", "-v"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[2:4] == [
        "  PASS             0.10 s  deploy-baseline",
        "  VIOLATION        0.40 s  deploy-log-toolStarted-bash-1-after",
    ]


def test_forced_colours_change_no_word(
    sweep: Callable[..., Sweep],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    sweep(sample.passed(), sample.violated())
    assert main(["run"]) == 1
    plain = capsys.readouterr().out
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert main(["run"]) == 1
    coloured = capsys.readouterr().out
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == plain


def test_an_interrupted_sweep_reports_what_it_has(
    sweep: Callable[..., Sweep], capsys: pytest.CaptureFixture[str]
) -> None:
    sweep(sample.passed(), sample.violated(), interrupted=True)
    assert main(["run"]) == 2
    assert "interrupted; so far: 1 scenario, 2 schedules" in capsys.readouterr().out
    report = json.loads(Path("chaos-report/report.json").read_text())
    assert report["interrupted"] is True
    assert Path(report["scenarios"][0]["schedules"][1]["artifact"]).exists()


def test_inconclusive_is_never_green(sweep: Callable[..., Sweep]) -> None:
    sweep(sample.passed(), sample.inconclusive())
    assert main(["run"]) == 3


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (NothingSelected("no schedule matches"), 5, "chaos: no schedule matches\n"),
        (KeyboardInterrupt(), 2, "chaos: interrupted\n"),
        (PermissionError(13, "Permission denied", "/x"), 3, "chaos: the system refused: [Errno 13"),
        # A fault of the harness must not exit with 1, which would accuse the target.
        (RuntimeError("oops"), 3, "chaos: a fault of chaos itself, please report it:\nTraceback"),
    ],
)
def test_errors_of_a_sweep(
    error: BaseException,
    code: int,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def broken(*_: object) -> SweepResult:
        raise error

    monkeypatch.setattr(chaos.cli.run, "sweep", broken)
    assert main(["run"]) == code
    assert capsys.readouterr().err.startswith(message)


def test_json_on_stdout_is_nothing_but_json(
    sweep: Callable[..., Sweep], capsys: pytest.CaptureFixture[str]
) -> None:
    sweep(sample.violated())
    assert main(["run", "--json", "-"]) == 1
    out, err = capsys.readouterr()
    assert json.loads(out)["summary"]["violations"] == 1
    assert "1 VIOLATION" in err


def test_junit_on_stdout_is_nothing_but_junit(
    sweep: Callable[..., Sweep], capsys: pytest.CaptureFixture[str]
) -> None:
    sweep(sample.passed())
    assert main(["run", "--junit", "-"]) == 0
    out, err = capsys.readouterr()
    assert JUnitXml.fromstring(out.encode()).tests == 1
    assert "1 passed (seed 7)" in err


def test_reports_for_machines(sweep: Callable[..., Sweep]) -> None:
    sweep(sample.passed())
    assert main(["run", "--json", "r.json", "--junit", "r.xml"]) == 0
    assert json.loads(Path("r.json").read_text())["version"] == 1
    assert ET.fromstring(Path("r.xml").read_text()).tag == "testsuites"


def test_a_folder_that_may_not_be_written_to_is_told_before_the_sweep(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("chaos.cli.output.os.access", lambda *_: False)  # root may write anywhere
    assert main(["run", "--json", "report.json"]) == 4
    assert "report.json: cannot be written; expected a file in" in capsys.readouterr().err


def test_a_file_that_cannot_be_written_after_all_is_named(
    sweep: Callable[..., Sweep], capsys: pytest.CaptureFixture[str]
) -> None:
    sweep(sample.passed())
    assert main(["run", "--junit", "/dev/full"]) == 3
    assert "/dev/full: cannot be written: No space left on device" in capsys.readouterr().err
