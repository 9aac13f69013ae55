"""The standard streams: closed, full, without a reader."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from chaos.cli import main

ROOT = Path(__file__).parents[2]


def test_help_is_no_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    assert "exit codes: 0 all passed" in capsys.readouterr().out


def test_it_tells_its_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"chaos {version('killpoint')}\n"


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
@pytest.mark.parametrize("command", ["--help", "--version", "run --help", "judge {log}"])
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
