"""The workshop: one temporary directory for a whole run of chaos, removed whatever happens.

A tiny janitor in a session of its own makes the directory, so that at no instant there is one that
nobody would remove. Every process of the harness holds a shared lock on `ALIVE` in it. The janitor
waits until the supervisor has its lock or has gone, then for the exclusive lock: it gets it when
the last of them is gone (SIGKILL included) and removes the directory. On an orderly exit the
supervisor removes it and ends the janitor; a fork of the supervisor leaves it alone. Whoever kills
the supervisor and the janitor has to clean up himself.

Does not end processes of a target: the kill engine's tracees die with their tracer.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from chaos.errors import HarnessError

ALIVE = "ALIVE"
_MEMORY = "/dev/shm"  # noqa: S108 - the files get a directory of a name that nobody can guess
_MEMORY_LEAST_BYTES = 1 << 30  # a container may have little of it

# Kept to what a bare interpreter can do at once. Its stdin ends when the supervisor has its lock,
# or is gone. The kernel closes a dying lane's files, the lock with them, before it kills the lane's
# targets, and one of these may make the directory anew: it is gone for good when it is not there
# and nobody is left who works in it or was given a path of it (HOME).
_JANITOR = """
import fcntl, os, shutil, sys, time
root = sys.argv[1]
os.mkdir(root, 0o700)
lock = os.open(os.path.join(root, "ALIVE"), os.O_RDONLY | os.O_CREAT)
try:
    print(flush=True)
except OSError:
    pass
sys.stdin.read()
fcntl.flock(lock, fcntl.LOCK_EX)
mine, limit = os.fsencode(root), time.monotonic() + 60
def lives_in_it(pid):
    try:
        where = os.readlink(f"/proc/{pid}/cwd")
        with open(f"/proc/{pid}/environ", "rb") as environment:
            return where.startswith(root) or mine in environment.read()
    except OSError:
        return False
def is_used():
    others = (pid for pid in os.listdir("/proc") if pid.isdigit() and int(pid) != os.getpid())
    return any(map(lives_in_it, others))
while (is_used() or os.path.exists(root)) and time.monotonic() < limit:
    shutil.rmtree(root, ignore_errors=True)
    time.sleep(0.01)
"""


@contextlib.contextmanager
def workshop() -> Iterator[Path]:
    """Give the directory; remove it and end the janitor on the way out, or if none can start.
    Raises HarnessError where the directory cannot be made."""
    root = Path(_place(), f"killpoint-{secrets.token_hex(4)}")
    owner = os.getpid()
    try:
        with _janitor(root):
            yield root
    finally:
        if os.getpid() == owner:
            shutil.rmtree(root, ignore_errors=True)


def _place() -> str:
    """In memory, where nobody names a TMPDIR, and where there is such a place with room, of which
    programs may be started: rooms are laid out and taken away again for every schedule, and a disk
    can take longer for that than a launch."""
    place = tempfile.gettempdir()
    if place != "/tmp" or os.environ.get("TMPDIR"):  # noqa: S108 - the default is meant
        return place
    try:
        memory = os.statvfs(_MEMORY)
    except OSError:
        return place
    fits = memory.f_bavail * memory.f_frsize >= _MEMORY_LEAST_BYTES
    usable = os.access(_MEMORY, os.W_OK | os.X_OK) and not memory.f_flag & os.ST_NOEXEC
    return _MEMORY if fits and usable else place


@contextlib.contextmanager
def _janitor(root: Path) -> Iterator[None]:
    """The janitor has made `root` and keeps it clean of us, until it is no longer needed."""
    # -I -S: no site, no environment: the janitor starts in a few milliseconds and needs nothing.
    janitor = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _JANITOR, str(root)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        assert janitor.stdin is not None  # noqa: S101 - PIPE was asked for
        assert janitor.stdout is not None  # noqa: S101 - as above
        if not janitor.stdout.readline():
            told = janitor.communicate()[1].decode(errors="replace").strip().rpartition("\n")[2]
            raise HarnessError(
                f"cannot make the temporary directory {root}: "
                f"{told or f'its helper process ended with {janitor.returncode}'}; TMPDIR must "
                "name a directory that can be written to"
            )
        lock = hold(root)
        janitor.stdin.close()
        try:
            yield
        finally:
            os.close(lock)
    finally:
        janitor.kill()
        # Not `communicate`, which would write to the stdin that was closed.
        for stream in (janitor.stdin, janitor.stdout, janitor.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        janitor.wait()


def hold(root: Path) -> int:
    """Keep `root` from the janitor until this process ends. Returns the (close-on-exec) fd. Raises
    FileNotFoundError where the janitor was first: its lock is free when it has removed `root`."""
    lock = os.open(root / ALIVE, os.O_RDONLY | os.O_CLOEXEC)
    fcntl.flock(lock, fcntl.LOCK_SH)
    if os.fstat(lock).st_nlink == 0:
        os.close(lock)
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(root / ALIVE))
    return lock
