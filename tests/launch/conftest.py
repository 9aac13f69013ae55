"""Fixtures of the engine's tests."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from .support import PROGRAMS, Room


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path)


@pytest.fixture
def load() -> Iterator[None]:
    """A busy loop beside the test, on a small machine. It is no child of this process: the engine
    reaps those while it runs."""
    started = subprocess.run(
        ["sh", "-c", "(while :; do :; done) >&- 2>&- & echo $!"],
        capture_output=True,
        text=True,
        check=False,
        timeout=5,
    )
    yield
    for pid in started.stdout.split():
        os.kill(int(pid), signal.SIGKILL)


@pytest.fixture(scope="session")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiled vectors.c."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    program = tmp_path_factory.mktemp("programs") / "vectors"
    subprocess.run([compiler, "-O1", "-w", "-o", program, PROGRAMS / "vectors.c"], check=True)
    return program
