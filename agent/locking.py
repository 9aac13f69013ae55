"""One writer per session: a `flock` on the session file.

What it promises: the kernel drops the lock with the last process that holds it, so a dead owner
never blocks a start, and a recycled pid is never taken for an owner. A start waits briefly, because
a killed agent's guard may still be ending its tools.
What it does not do: it does not keep readers out, and it asks nobody to give up.

Source: session contract, section 1 ("One writer").
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from agent.configuration import seconds
from agent.failures import SessionBusy

WAIT_S = 2.0  # bound on waiting for an owner that is about to end
WAIT_VARIABLE = "AGENT_BUSY_WAIT_S"  # says another bound
_LOOK_AGAIN_S = 0.02


def lock(fd: int, path: Path, wait_s: float | None = None) -> None:
    """Take the lock on the open file `fd`. Raises SessionBusy after `wait_s` seconds; None: as the
    environment says."""
    if _locked(fd):
        return
    if wait_s is None:
        wait_s = seconds(WAIT_VARIABLE, os.environ, WAIT_S)
    # tenacity takes longer to import than most starts take in all, and contention is rare.
    from tenacity import RetryError, Retrying, retry_if_result, stop_after_delay, wait_fixed

    retrying = Retrying(
        retry=retry_if_result(lambda taken: not taken),
        stop=stop_after_delay(wait_s),
        wait=wait_fixed(_LOOK_AGAIN_S),
    )
    try:
        retrying(_locked, fd)
    except RetryError:
        owner = owner_of(fd)
        who = f"process {owner}" if owner else "another process"
        raise SessionBusy(
            f"session busy: {path} is held by {who}; wait for it, or end it, and start again", owner
        ) from None


def owner_of(fd: int) -> int | None:
    """Pid of the process that took the lock on the file behind `fd`, as far as /proc/locks says."""
    found = os.fstat(fd)
    device = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"
    try:
        listed = Path("/proc/locks").read_text("ascii")
    except OSError:
        return None
    for line in listed.splitlines():
        # 1: FLOCK  ADVISORY  WRITE 4242 fd:01:131073 0 EOF
        match line.split()[1:6]:
            case ["FLOCK", _, _, pid, where] if where == device and int(pid) > 0:
                return int(pid)
    return None


def _locked(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
