"""Standard streams that are closed, full or left by their reader."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from agent.workspace import Workspace
from tests.agent.test_view import ID, log

ROOT = Path(__file__).parents[2]


@pytest.fixture(name="session")
def _session(tmp_path: Path) -> Path:
    path = Workspace.at(str(tmp_path)).path_of_new(ID)
    path.write_bytes(log())
    return path


def shell(line: str, workspace: Path, unbuffered: str = "") -> subprocess.CompletedProcess[str]:
    """The agent, as a shell starts it with redirections."""
    return subprocess.run(
        ["bash", "-c", f"{sys.executable} -m agent {line}"],
        cwd=workspace,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "PYTHONUNBUFFERED": unbuffered,
            "AGENT_API_KEY": "",
            "OPENROUTER_API_KEY": "",
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("command", ["sessions", "show {id}", "inspect {path}", "--help"])
@pytest.mark.parametrize(
    ("stdout", "why"), [(">&-", "Bad file descriptor"), (">/dev/full", "No space left on device")]
)
def test_what_was_asked_for_and_cannot_be_printed_is_exit_1(
    command: str, stdout: str, why: str, unbuffered: str, session: Path, tmp_path: Path
) -> None:
    line = command.format(id=ID, path=session)
    done = shell(f"{line} {stdout}", tmp_path, unbuffered)
    assert done.stderr == f"standard output cannot be written: {why}\n"
    assert done.returncode == 1


@pytest.mark.parametrize("stderr", ["2>&-", "2>/dev/full"])
def test_messages_that_nobody_gets_change_nothing(
    stderr: str, session: Path, tmp_path: Path
) -> None:
    done = shell(f"sessions {stderr}", tmp_path)
    assert (done.returncode, done.stdout[:36]) == (0, ID)
    assert shell(f"inspect gone {stderr}", tmp_path).returncode == 2


@pytest.mark.parametrize("streams", [">&-", ">/dev/full", "<&- >&- 2>&-"])
def test_a_command_that_works_does_so_without_streams(streams: str, tmp_path: Path) -> None:
    # It cannot ask a model, and says so by its exit code and in the log alone.
    settings = "AGENT_API_KEY=k AGENT_MODEL=m AGENT_BASE_URL=http://127.0.0.1:9"
    start = f"run --session {ID} hello {streams}"
    done = subprocess.run(
        ["bash", "-c", f"{settings} {sys.executable} -m agent {start}"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
        timeout=60,
    )
    assert done.returncode == 1
    (path,) = Workspace.at(str(tmp_path)).session_files()
    data = path.read_bytes()
    assert data.endswith(b"\n")
    assert b'"operationFinished"' in data
    assert b"session " not in data  # nothing that was meant for a stream


def test_a_reader_that_has_gone_has_what_it_wanted(session: Path, tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "agent", "show", ID],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": ""},
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")
