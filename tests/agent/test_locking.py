"""The kernel's lock, and what it says about its owner."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agent.failures import SessionBusy, UsageFailure
from agent.locking import lock, owner_of

HOLDER = """
import fcntl, os, sys
fd = os.open(sys.argv[1], os.O_RDWR)
fcntl.flock(fd, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


def test_a_killed_owner_never_blocks_a_start(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.touch()
    fd = os.open(path, os.O_RDWR)
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(SessionBusy, match="wait for it") as caught:
            lock(fd, path, wait_s=0.05)
        assert caught.value.owner in (holder.pid, None)
        if caught.value.owner:  # not every kernel and container tells
            assert f"held by process {holder.pid}" in str(caught.value)
        holder.kill()
        lock(fd, path, wait_s=5)
    assert owner_of(fd) in (os.getpid(), None)
    os.close(fd)


@pytest.mark.parametrize("wait", ["0", "-1", "soon"])
def test_the_environment_bounds_the_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wait: str
) -> None:
    path = tmp_path / "log"
    path.touch()
    first, second = (os.open(path, os.O_RDWR) for _ in range(2))
    lock(first, path)
    monkeypatch.setenv("AGENT_BUSY_WAIT_S", "0.05")
    started = time.monotonic()
    with pytest.raises(SessionBusy):
        lock(second, path)
    assert 0.05 <= time.monotonic() - started < 1.5
    monkeypatch.setenv("AGENT_BUSY_WAIT_S", wait)
    with pytest.raises(UsageFailure, match="AGENT_BUSY_WAIT_S: expected more than 0"):
        lock(second, path)
    for fd in (first, second):
        os.close(fd)


def test_a_lock_that_nobody_holds_costs_no_wait(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.touch()
    fd = os.open(path, os.O_RDWR)
    assert owner_of(fd) is None
    lock(fd, path, wait_s=0)
    other = os.open(tmp_path / "other", os.O_RDWR | os.O_CREAT)
    assert owner_of(other) is None  # the lock of another file is not taken for its own
    os.close(other)
    os.close(fd)
