"""The command line: exit codes, where things are written, and what a mistake is told.

The supervisor is replaced by a stand-in that reports prepared results; that it does its own work
is shown by its own tests.
"""

from __future__ import annotations

import errno
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from junitparser import JUnitXml

import chaos.cli.doctor
import chaos.cli.points
import chaos.cli.replay
import chaos.cli.run
import chaos.cli.shrink
from chaos.cli import main
from chaos.cli.expression import compile_expression
from chaos.errors import NothingSelected, UsageError
from chaos.launch.doctor import Check
from chaos.options import Listener, SweepOptions
from chaos.points import Phase
from chaos.report.failure import Failure, read_failure, write_failure
from chaos.results import ScheduleResult, SweepResult
from chaos.saved import save_evidence
from chaos.scenario import Scenario
from chaos.supervise.course import Held
from chaos.supervise.shrink import Shrunk
from tests.report import sample

ROOT = Path(__file__).parent.parent


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test has a working directory of its own, with one scenario in it."""
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


# -- chaos run ----------------------------------------------------------------------------------


def test_a_violation_is_told_where_its_evidence_cannot_be_saved(
    sweep: Callable[..., Sweep],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("chaos.report.folder.save_evidence", full)
    sweep(sample.passed(), sample.violated())
    assert main(["run"]) == 3
    out, err = capsys.readouterr()
    assert "\nVIOLATION  deploy-" in out
    assert "chaos-report: cannot hold the report: No space left on device" in err


def test_junit_on_stdout_is_nothing_but_junit(
    sweep: Callable[..., Sweep], capsys: pytest.CaptureFixture[str]
) -> None:
    sweep(sample.passed())
    assert main(["run", "--junit", "-"]) == 0
    out, err = capsys.readouterr()
    assert JUnitXml.fromstring(out.encode()).tests == 1
    assert "1 passed (seed 7)" in err


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


def test_json_on_stdout_is_nothing_but_json(
    sweep: Callable[..., Sweep], capsys: pytest.CaptureFixture[str]
) -> None:
    sweep(sample.violated())
    assert main(["run", "--json", "-"]) == 1
    out, err = capsys.readouterr()
    assert json.loads(out)["summary"]["violations"] == 1
    assert "1 VIOLATION" in err


def test_reports_for_machines(sweep: Callable[..., Sweep]) -> None:
    sweep(sample.passed())
    assert main(["run", "--json", "r.json", "--junit", "r.xml"]) == 0
    assert json.loads(Path("r.json").read_text())["version"] == 1
    assert ET.fromstring(Path("r.xml").read_text()).tag == "testsuites"


GITHUB = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": "summary.md"}


def test_github_is_told_in_its_own_way(
    sweep: Callable[..., Sweep],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    for name, value in {**GITHUB, "GITHUB_WORKSPACE": str(tmp_path)}.items():
        monkeypatch.setenv(name, value)
    sweep(sample.passed(), sample.violated())
    Path("summary.md").write_text("of an earlier command\n")
    assert main(["run", "--github"]) == 1
    lines = capsys.readouterr().out.splitlines()
    # Until the annotations, nothing that an agent wrote is taken for a command.
    assert re.fullmatch(r"::stop-commands::[0-9a-f]{32}", lines[0])
    annotation = lines.pop()
    assert lines[-1] == f"::{lines[0].rpartition(':')[2]}::"
    assert annotation.startswith("::error file=")
    assert f"chaos replay chaos-report/failures/{sample.violated().id}.json" in annotation
    summary = Path("summary.md").read_text()
    assert summary.startswith("of an earlier command\n## Killpoint\n")


def test_the_token_is_another_in_each_run(
    sweep: Callable[..., Sweep],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    sweep(sample.passed())
    tokens = {main(["run", "--github"]) or capsys.readouterr().out.splitlines()[0] for _ in "ab"}
    assert len(tokens) == 2


def test_off_github_there_are_annotations_and_no_more(
    sweep: Callable[..., Sweep],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    for name in (*GITHUB, "GITHUB_WORKSPACE"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / ".git").mkdir()
    sweep(sample.violated())
    assert main(["run", "--github", "--json", "-"]) == 1
    out, err = capsys.readouterr()
    json.loads(out)
    assert [line for line in err.splitlines() if line.startswith("::")] == [
        line for line in err.splitlines() if line.startswith("::error file=")
    ]


def test_a_summary_that_cannot_be_written_changes_nothing(
    sweep: Callable[..., Sweep],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "scenarios")
    sweep(sample.passed())
    assert main(["run", "--github"]) == 0
    assert "GITHUB_STEP_SUMMARY=scenarios: cannot be written: Is a dir" in capsys.readouterr().err


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


# -- mistakes -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ([], "the following arguments are required: COMMAND"),
        (["rnu"], "invalid choice: 'rnu'"),
        (["run", "--jobs", "0"], "argument --jobs: expected a number in 1…64, found '0'"),
        (["run", "--phases", "befor"], "unknown phase 'befor'; did you mean 'before'?"),
        (["run", "-q", "-v"], "argument -v/--verbose: not allowed with argument -q/--quiet"),
        (["run", "--jops", "2"], "unrecognized arguments: --jops"),
        (["run", "--shard", "3/2"], "expected I/N with 1 ≤ I ≤ N, such as 1/4, found '3/2'"),
        (["run", "--verify-dedup", "2"], "expected a share such as 0.1 or 10%, found '2'"),
        (["run", "--depth", "deep"], "expected a number in 1…16 or closure, found 'deep'"),
        (["run", "--budget", "soon"], "expected a time such as 60s or 2m, found 'soon'"),
        (["run", "--max-states", "0"], "--max-states: expected a number in 1…"),
        (["run", "-k", "a and"], "-k 'a and': expected a word, 'not' or '(', found the end"),
        (["run", "scenarios/deplyo.toml"], "did you mean 'scenarios/deploy.toml'?"),
        (["run", "empty"], "empty: no scenario in this folder (a file *.toml)"),
        (["run", "--json", "no/such/r.json"], "no/such/r.json: cannot be written"),
        (["run", "--junit", "scenarios"], "scenarios: cannot be written"),
        (["run", "--json", "-", "--junit", "-"], "standard output takes one of them"),
        (["run", "--report", "loop"], "loop: cannot hold a report: "),
        (["run", "--report", "scenarios"], "scenarios: not empty, and no report of an earlier run"),
        (["points", "empty"], "empty: no scenario in this folder"),
        (["replay", "gone.json"], "gone.json: cannot be read: No such file or directory"),
        (["judge", "gone.jsonl"], "gone.jsonl: cannot be read: No such file or directory"),
        (
            ["judge", "empty"],
            "empty: no saved evidence here; `chaos run --keep --report DIR` keeps it",
        ),
    ],
)
def test_a_mistake_is_told_on_stderr(
    argv: list[str], message: str, sweep: Callable[..., Sweep], capsys: pytest.CaptureFixture[str]
) -> None:
    sweep(sample.passed())
    Path("empty").mkdir()
    Path("loop").symlink_to("loop")
    assert main(argv) == 4
    out, err = capsys.readouterr()
    assert err.startswith("chaos: ")
    assert message in err
    assert out == ""
    assert "Traceback" not in err


def test_all_that_is_wrong_in_all_scenarios_is_told_at_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("scenarios/b.toml").write_text("nmae = 1\n")
    Path("scenarios/c.toml").write_text("name = \n")
    Path("scenarios/d.toml").write_text(sample.SCENARIO)
    assert main(["run"]) == 4
    err = capsys.readouterr().err
    assert "b.toml:1: unknown key 'nmae'; did you mean 'name'?" in err
    assert "c.toml:1: not valid TOML" in err
    assert "d.toml: deploy.toml" not in err
    assert "the name 'deploy' is taken by" in err


def test_without_any_scenario(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "scenarios").rename(tmp_path / "others")
    assert main(["run"]) == 4
    assert "no scenario named, and no folder scenarios/ in" in capsys.readouterr().err


def test_help_is_no_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    assert "exit codes: 0 all passed" in capsys.readouterr().out


def test_the_module_runs_as_a_program() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "chaos", "run", "gone"],
        cwd=ROOT,
        env={"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 4
    assert done.stderr.startswith("chaos: gone: no such scenario file or folder")


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("command", ["--help", "run --help", "judge {log}"])
@pytest.mark.parametrize(
    ("stdout", "message"),
    [
        (">&-", "chaos: standard output is closed; let it lead somewhere, at least to /dev/null"),
        (">/dev/full", "chaos: standard output cannot be written: No space left on device"),
    ],
)
def test_a_result_that_cannot_be_written_is_never_green(
    stdout: str, message: str, command: str, unbuffered: str, tmp_path: Path
) -> None:
    (tmp_path / "log.jsonl").write_bytes(b"{}\n")
    line = command.format(log=tmp_path / "log.jsonl")
    done = shell(f"{line} {stdout}", unbuffered)
    assert (done.returncode, done.stderr) == (3, f"{message}\n")


@pytest.mark.parametrize("stderr", ["2>&-", "2>/dev/full"])
def test_a_message_that_cannot_be_written_changes_nothing(stderr: str) -> None:
    assert shell(f"run gone {stderr}").returncode == 4
    assert shell(f"--help {stderr}").returncode == 0


def test_a_reader_that_has_gone_is_told_nothing() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "chaos", "--help"],
        cwd=ROOT,
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")  # as if by SIGPIPE, like other programs


def shell(line: str, unbuffered: str = "") -> subprocess.CompletedProcess[str]:
    """Chaos, as a shell starts it with redirections."""
    return subprocess.run(
        ["bash", "-c", f"{sys.executable} -m chaos {line}"],
        cwd=ROOT,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        capture_output=True,
        text=True,
        check=False,
    )


# -- -k -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "matches"),
    [
        ("deploy", True),
        ("DEPLOY", True),
        ("ploy and after", True),
        ("deploy and not after", False),
        ("not deploy or after", True),
        ("not (deploy or after)", False),
        ("read or deploy and before", False),  # `and` binds tighter
        ("(read or deploy) and after", True),
    ],
)
def test_selections(expression: str, matches: bool) -> None:
    assert compile_expression(expression)("deploy deploy-log-header-1-after") is matches


@pytest.mark.parametrize("expression", [" ", "and", "a b", "(a", "a)", "not", "a or or b"])
def test_selections_that_make_no_sense(expression: str) -> None:
    with pytest.raises(UsageError, match=r"expected .*, found "):
        compile_expression(expression)


# -- the other commands -------------------------------------------------------------------------


def test_points(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    found = ["log:header#1", "log:runStarted#1"]
    monkeypatch.setattr(chaos.cli.points, "baseline_points", lambda *_: found)
    assert main(["points", "scenarios/deploy.toml"]) == 0
    assert capsys.readouterr().out == "log:header#1\nlog:runStarted#1\n"


@pytest.fixture
def saved(sweep: Callable[..., Sweep], capsys: pytest.CaptureFixture[str]) -> str:
    sweep(sample.violated())
    main(["run"])
    capsys.readouterr()
    return f"chaos-report/failures/{sample.violated().id}.json"


@pytest.mark.parametrize(
    ("today", "code", "words"),
    [
        (sample.violated(), 1, "same as saved: VIOLATION(E2)\n"),
        (sample.passed(), 0, "saved: VIOLATION(E2)\nnow:   PASS\n"),
    ],
)
def test_replay_compares_with_what_was_saved(
    today: ScheduleResult,
    code: int,
    words: str,
    saved: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked: list[Failure] = []

    def replay(failure: Failure, hold: object) -> ScheduleResult:
        assert hold is None
        asked.append(failure)
        return today

    monkeypatch.setattr(chaos.cli.replay, "replay", replay)
    assert main(["replay", saved]) == code
    assert str(asked[0].schedule) == sample.violated().schedule
    out = capsys.readouterr().out
    assert out.endswith(words)
    assert sample.SECRET not in out


def test_replay_holds_for_a_debugger(
    saved: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def replay(_: Failure, hold: Callable[[Held], None]) -> ScheduleResult:
        hold(Held(7, sample.POINT, "/room/workspace", ("agent", "resume", "a b")))
        return sample.violated()

    monkeypatch.setattr(chaos.cli.replay, "replay", replay)
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n"))
    assert main(["replay", saved, "--hold"]) == 1
    out, err = capsys.readouterr()
    assert f"held at   {sample.POINT}\npid       7\nworkspace /room/workspace\n" in out
    assert "resume    agent resume 'a b'\n" in out
    assert "Enter kills it" in err


@pytest.fixture
def shrink(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """A stand-in that takes nothing away and remembers where it was told to write."""
    asked: list[tuple[str, str]] = []

    def shrink_failure(failure: Failure, path: str, profile: str) -> Shrunk:
        asked.append((path, profile))
        after = {"kill": 1, "turn": 2, "file": 0}
        return Shrunk(failure, sample.violated(), "E2", {**after, "turn": 3}, after, 9)

    monkeypatch.setattr(chaos.cli.shrink, "shrink_failure", shrink_failure)
    return asked


def test_shrink_writes_a_scenario_a_failure_file_and_a_test(
    saved: str, shrink: list[tuple[str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["shrink", saved, "--pytest"]) == 0
    out = capsys.readouterr().out
    file = Path("deploy-shrunk.json").resolve()
    assert f"  again     chaos replay {file}\n" in out  # from any directory
    assert out.endswith(
        "shrunk    1 -> 1 kill, 3 -> 2 turns (9 runs; still E2)\n"
        "scenario  deploy-shrunk.toml\ntest      test_deploy_shrunk.py\n"
    )
    assert shrink == [(str(Path("deploy-shrunk.toml").resolve()), "agent")]
    assert Path("deploy-shrunk.toml").read_text() == sample.SCENARIO
    assert read_failure(Path("deploy-shrunk.json")).id == sample.violated().id
    compile(Path("test_deploy_shrunk.py").read_text(), "test_deploy_shrunk.py", "exec")
    assert not list(Path().glob("*.target.toml"))  # the built-in one is found from anywhere


def test_shrink_carries_a_target_along_that_is_not_found_by_its_name(
    saved: str, shrink: list[tuple[str, str]]
) -> None:
    changed = json.loads(Path(saved).read_text())
    changed["target"]["source"] += "\n# changed since\n"
    Path(saved).write_text(json.dumps(changed))
    assert main(["shrink", saved, "--out", "scenarios/small.toml"]) == 0
    assert shrink[0][1] == "./small.target.toml"
    written = Path("scenarios/small.target.toml").read_text()
    assert written == changed["target"]["source"]
    assert not list(Path().glob("**/test_*.py"))


@pytest.mark.parametrize("out", ["gone/x.toml", "x.json", "scenarios"])
def test_shrink_refuses_a_place_before_the_work(
    saved: str, out: str, shrink: list[tuple[str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["shrink", saved, "--out", out]) == 4
    assert "expected a file NAME.toml in a folder that exists" in capsys.readouterr().err
    assert shrink == []


def test_only_a_violation_can_be_shrunk(saved: str, capsys: pytest.CaptureFixture[str]) -> None:
    changed = json.loads(Path(saved).read_text())
    Path(saved).write_text(json.dumps({**changed, "verdict": "INCONCLUSIVE"}))
    assert main(["shrink", saved]) == 4
    assert "INCONCLUSIVE cannot be shrunk" in capsys.readouterr().err


def test_judge_recomputes_saved_evidence(capsys: pytest.CaptureFixture[str]) -> None:
    # The sample's header is no header: today's rules say so, whatever was said when it was saved.
    save_evidence(sample.evidence(), Path("kept/some-id"))
    assert main(["judge", "kept"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("VIOLATION  some-id\n")
    assert "\n  L1 " in out
    assert out.endswith("\n1 judged again: 0 passed\n")


def test_judge_names_what_a_log_breaks(capsys: pytest.CaptureFixture[str]) -> None:
    Path("log.jsonl").write_bytes(sample.AFTER)
    assert main(["judge", "log.jsonl"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("log.jsonl: L1: INVALID_HEADER at line 1: ")


@pytest.mark.parametrize("command", ["judge", "replay", "run", "run --known"])
@pytest.mark.parametrize(
    ("subject", "message"),
    [
        ("pipe", "pipe: cannot be read: expected a regular file, found a pipe"),
        ("/dev/zero", "/dev/zero: cannot be read: expected a regular file, found a device"),
        ("x" * 5000, "cannot be read: File name too long"),
        ("round.toml", "cannot be read: Too many levels of symbolic links"),
    ],
)
def test_what_cannot_be_a_file_of_ours_is_refused(
    command: str, subject: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo("pipe")
    Path("round.toml").symlink_to("round.toml")
    assert main([*command.split(), subject]) == 4
    assert message in capsys.readouterr().err


def test_a_link_that_leads_to_itself_in_a_folder_of_scenarios(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("scenarios/round.toml").symlink_to("round.toml")
    assert main(["run"]) == 4
    assert "round.toml: cannot be read: Too many levels" in capsys.readouterr().err


@pytest.mark.parametrize(
    "argv",
    [
        ["run", ""],
        ["points", ""],
        ["judge", ""],
        ["replay", ""],
        ["shrink", ""],
        ["run", "--report", ""],
        ["run", "--known", ""],
        ["run", "--json", ""],
        ["run", "--junit", ""],
        ["shrink", "f.json", "--out", ""],
    ],
)
def test_an_empty_name_is_not_the_current_directory(
    argv: list[str], sweep: Callable[..., Sweep], capsys: pytest.CaptureFixture[str]
) -> None:
    sweep(sample.passed())
    assert main(argv) == 4
    assert "expected the name of a file or folder, found ''" in capsys.readouterr().err


def test_judge_says_where_the_evidence_of_a_failure_file_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "one.json"
    write_failure(Failure.of(sample.scenario(), sample.violated(), "warm", 0), file)
    assert main(["judge", str(file)]) == 4
    said = capsys.readouterr().err
    assert f"chaos judge {tmp_path / 'one'}`" in said
    assert f"chaos replay {file}`" in said


def test_judge_is_quiet_about_a_good_log(capsys: pytest.CaptureFixture[str]) -> None:
    header = {
        "kind": "header",
        "version": 2,
        "id": "01890f3e-7b5a-7cc0-98c4-dc0c0c07398f",
        "createdAt": 1,
        "cwd": "/w",
        "provider": "p",
        "model": "m",
        "environmentIdentity": "/w",
    }
    Path("log.jsonl").write_text(json.dumps(header) + "\n")
    assert main(["judge", "log.jsonl"]) == 0
    assert capsys.readouterr() == ("", "")


def test_doctor_names_the_cure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    checks = [Check("python", True, "3.12"), Check("ptrace", False, "EPERM", "allow SYS_PTRACE")]
    monkeypatch.setattr(chaos.cli.doctor, "probe", lambda: checks)
    assert main(["doctor"]) == 3
    out = capsys.readouterr().out
    assert out == "ok      python: 3.12\nFAILED  ptrace: EPERM\n        allow SYS_PTRACE\n"
    monkeypatch.setattr(chaos.cli.doctor, "probe", lambda: checks[:1])
    assert main(["doctor"]) == 0
