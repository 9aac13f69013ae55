"""What a start costs: each command imports only what it needs."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.agent.test_view import log

ROOT = Path(__file__).parents[2]
# What takes long to import, and what only a command that works needs.
WORKING = {"httpx", "tenacity", "psutil", "prompt_toolkit", "mcp", "agent.loop", "agent.tools"}


@pytest.fixture(name="file")
def _file(tmp_path: Path) -> Path:
    file = tmp_path / "log.jsonl"
    file.write_bytes(log())
    return file


def start(*arguments: str | Path) -> str:
    """Run Python with these arguments; standard error."""
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, "AGENT_API_KEY": "", "OPENROUTER_API_KEY": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stderr


def imported(*arguments: str | Path) -> set[str]:
    told = start("-X", "importtime", "-m", "agent", *arguments)
    return {line.rpartition("|")[2].strip() for line in told.splitlines() if "|" in line}


def test_inspect_imports_nothing_that_works_and_not_even_the_planner(file: Path) -> None:
    found = imported("inspect", file)
    assert "agent.reducer" in found
    assert not found & {*WORKING, "agent.planner", "pathlib"}


def test_show_and_sessions_import_nothing_that_works(tmp_path: Path) -> None:
    assert not imported("sessions", "--workspace", tmp_path) & WORKING
    assert not imported("show", "--workspace", tmp_path, "x") & WORKING


def test_a_run_imports_the_http_client_only_when_it_asks(tmp_path: Path) -> None:
    found = imported("run", "--workspace", tmp_path, "hello")  # it has no key, so it never asks
    assert "agent.loop" in found
    assert not found & {"httpx", "tenacity", "prompt_toolkit", "mcp"}


def test_inspect_starts_within_a_few_times_the_bare_interpreter(file: Path) -> None:
    """80 ms on an idle machine; as a ratio of processor time it holds on a busy one too."""

    def cost(*arguments: str | Path) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        start(*arguments)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    bare = min(cost("-c", "pass") for _ in range(7))
    inspect = min(cost("-m", "agent", "inspect", file) for _ in range(7))
    assert inspect < 7 * bare
