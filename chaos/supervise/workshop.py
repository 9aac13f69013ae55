"""The workshop: one temporary directory for a whole run of chaos, removed whatever happens.

Every process of the harness holds a shared lock on `ALIVE` in it. A tiny janitor in a session of
its own waits for the exclusive lock: it gets it when the last of them is gone (SIGKILL included)
and removes the directory. On an orderly exit the supervisor removes it and ends the janitor.

Does not end processes of a target: the kill engine's tracees die with their tracer.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ALIVE = "ALIVE"

# Kept to what a bare interpreter can do at once: it must be waiting before anything can go wrong.
_JANITOR = """
import fcntl, os, shutil, sys
root = sys.argv[1]
lock = os.open(os.path.join(root, "ALIVE"), os.O_RDONLY)
print(flush=True)
fcntl.flock(lock, fcntl.LOCK_EX)
for attempt in range(1000):  # a target that is about to die with its lane may still be writing
    shutil.rmtree(root, ignore_errors=True)
    if not os.path.exists(root):
        break
"""


@contextlib.contextmanager
def workshop() -> Iterator[Path]:
    """Give the directory; remove it and end the janitor on the way out, or if none can start."""
    root = Path(tempfile.mkdtemp(prefix="killpoint-"))
    try:
        (root / ALIVE).touch()
        lock = hold(root)
        try:
            with _janitor(root):
                yield root
        finally:
            os.close(lock)
    finally:
        shutil.rmtree(root, ignore_errors=True)


@contextlib.contextmanager
def _janitor(root: Path) -> Iterator[None]:
    """The janitor waits for the lock from now on, until it is no longer needed."""
    # -I -S: no site, no environment: the janitor starts in a few milliseconds and needs nothing.
    janitor = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _JANITOR, str(root)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        assert janitor.stdout is not None  # noqa: S101 - PIPE was asked for
        janitor.stdout.readline()
        yield
    finally:
        janitor.send_signal(signal.SIGKILL)
        janitor.communicate()


def hold(root: Path) -> int:
    """Keep `root` from the janitor until this process ends. Returns the (close-on-exec) fd."""
    lock = os.open(root / ALIVE, os.O_RDONLY | os.O_CLOEXEC)
    fcntl.flock(lock, fcntl.LOCK_SH)
    return lock
