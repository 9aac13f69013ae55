"""Planted bugs of locks, of two starts at once, of a disk that fails, and of what outlives whom."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path
from typing import Any

import agent.guard
import agent.store
from agent.failures import SessionBusy
from agent.store import SessionStore
from tests.planted.table import With, bug

# -- locks ----------------------------------------------------------------------------------------


def _busy(path: Path) -> SessionBusy:
    return SessionBusy(f"session busy: {path} is there; remove it", None)


def _lock_file(name: str, session: Path) -> Path:
    return session.parent.parent / name


@bug("X1", 1, "plain-answer")
def a_lock_file_that_nobody_removes() -> None:
    """The lock is a file: who dies leaves it behind, and the session never opens again."""
    close = SessionStore.close

    def lock(_: int, path: Path, *__: Any) -> None:
        try:
            os.close(os.open(_lock_file("owned", path), os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            raise _busy(path) from None

    def close_and_remove(self: SessionStore) -> None:
        _lock_file("owned", self.path).unlink(missing_ok=True)
        close(self)

    agent.store.lock = lock
    SessionStore.close = close_and_remove  # type: ignore[method-assign]


@bug("X1", 0, "concurrent/pid-of-a-stranger")
def a_pid_is_the_lock() -> None:
    """Whoever has the pid that the file names is the owner. (A fresh session asks nobody.)"""

    def lock(fd: int, path: Path, *_: Any) -> None:
        file = _lock_file("agent.pid", path)
        if os.fstat(fd).st_size and file.exists():
            with contextlib.suppress(ProcessLookupError):
                with contextlib.suppress(PermissionError):  # it lives, and is not ours
                    os.kill(int(file.read_text()), 0)
                raise _busy(path)
        elif not file.exists():
            file.write_text(str(os.getpid()))

    agent.store.lock = lock


@bug("X2", 0, "concurrent/second-resume-at-every-stop")
def a_lock_that_grows_old() -> None:
    """An owner that has not been heard of for a while is taken for dead; it was only stopped."""
    append = SessionStore.append

    def lock(_: int, path: Path, *__: Any) -> None:
        file = _lock_file("alive", path)
        until = time.monotonic() + 2.0
        while file.exists() and time.time() - file.stat().st_mtime < 0.5:
            if time.monotonic() > until:
                raise _busy(path)
            time.sleep(0.02)
        file.touch()

    def append_alive(self: SessionStore, *facts: Any) -> Any:
        _lock_file("alive", self.path).touch()
        return append(self, *facts)

    agent.store.lock = lock
    SessionStore.append = append_alive  # type: ignore[method-assign]


@bug("X2", 0, "concurrent/second-resume-during-an-effect")
def no_lock() -> None:
    """Everybody may write."""
    agent.store.lock = lambda *_: None


@bug("L3", 1, "deploy-is-never-repeated", faults="concurrent")
def the_log_is_read_before_it_is_locked() -> None:
    """Who waited for the session goes on from what it was before the wait."""
    lock = agent.store.lock
    taken: list[Any] = []

    def lock_later(*given: Any) -> None:
        taken.append(given)

    def init(self: SessionStore, *given: Any) -> None:
        real(self, *given)
        lock(*taken.pop())

    real = SessionStore.__init__
    agent.store.lock = lock_later
    SessionStore.__init__ = init  # type: ignore[method-assign]


# -- the disk -------------------------------------------------------------------------------------


@bug("L1", 0, "plain-answer", faults="error")
def a_short_write_is_taken_for_a_whole_one() -> None:
    """What the kernel did not take is forgotten, and the next line sticks to the part."""

    def write(fd: int, data: Any) -> int:
        os.write(fd, data)
        return len(data)

    agent.store.os = With(os, write=write)  # type: ignore[assignment]


@bug("P1", 0, "errors/disk-full-from-then-on")
def a_full_disk_is_not_noticed() -> None:
    """What cannot be written is taken for written."""

    def write(fd: int, data: Any) -> int:
        with contextlib.suppress(OSError):
            return os.write(fd, data)
        return len(data)

    agent.store.os = With(os, write=write)  # type: ignore[assignment]


@bug("L1", 0, "errors/short-write-then-an-error")
def a_torn_line_stays_in_hand() -> None:
    """A failed write is tried once more from its beginning, behind the part that was taken."""
    real = SessionStore._write

    def write(self: SessionStore, line: bytes) -> None:
        try:
            real(self, line)
        except agent.store.StoreFailure:
            self._failed = False
            os.lseek(self._fd, 0, os.SEEK_END)
            real(self, line)

    SessionStore._write = write  # type: ignore[method-assign]


@bug("R2", 0, "errors/sync-fails")
def a_failed_sync_is_not_noticed() -> None:
    """What could not be made durable is taken for durable."""

    def fsync(fd: int) -> None:
        with contextlib.suppress(OSError):
            os.fsync(fd)

    agent.store.os = With(os, fsync=fsync)  # type: ignore[assignment]


# -- descendants ----------------------------------------------------------------------------------


@bug("X1", 1, "processes/only-the-agent-is-killed")
def tools_outlive_the_agent() -> None:
    """The guard ends with the agent, and kills nobody."""
    watch = agent.guard._watch

    def watch_and_leave(*given: Any) -> str:
        report = watch(*given)
        if report.startswith("aborted"):
            os._exit(0)
        return report

    agent.guard._watch = watch_and_leave
    agent.guard.die_with_parent = lambda: None
