"""A wrong command line, of any command: exit code 4, told on stderr, and nothing on stdout."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from chaos.cli import main
from tests.cli.conftest import Sweep
from tests.report import sample

pytestmark = pytest.mark.usefixtures("elsewhere")


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
        (["certify", "agent", "--report", "loop"], "loop: cannot hold a report: "),
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
