"""What /proc tells of a process: its command line, its memory, where its threads stand.

Readings of a process that may end at any moment: a reader gives the empty answer, or raises
OSError where it says so.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from pathlib import Path

_PATH_MAX = 4096
_WORD = 60  # characters of one word of a command line that is shown whole


def argv(pid: int) -> tuple[str, ...]:
    """The command line of a living process; empty when it has gone."""
    try:
        raw = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return ()
    return tuple(os.fsdecode(raw).removesuffix("\0").split("\0")) if raw else ()


def status(pid: int, key: str) -> str | None:
    """A field of /proc/PID/status, such as `Tgid` or `TracerPid`."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(errors="replace").splitlines()
    except OSError:
        return None
    return next(
        (line.split(":", 1)[1].strip() for line in lines if line.startswith(f"{key}:")), None
    )


def state(tid: int) -> str:
    """The letter of a thread's state as in ps(1): R, S, D, T, t (stopped for its tracer), Z; X when
    it is gone."""
    return (status(tid, "State") or "X")[0]


def process_of(tid: int) -> int:
    """The process (thread group) of a thread; the thread itself when it has gone."""
    return int(status(tid, "Tgid") or tid)


def read_memory(tid: int, address: int, size: int) -> bytes:
    """Up to `size` bytes; fewer (or none) where the thread itself could not read on. Raises OSError
    where the process has gone."""
    fd = os.open(f"/proc/{tid}/mem", os.O_RDONLY | os.O_CLOEXEC)
    parts = []
    try:
        while size > 0 and (part := os.pread(fd, size, address)):
            parts.append(part)
            address, size = address + len(part), size - len(part)
    except (OSError, OverflowError) as error:
        if isinstance(error, OSError) and error.errno != errno.EIO:
            raise
    finally:
        os.close(fd)
    return b"".join(parts)


def read_path(tid: int, address: int) -> str | None:
    """The NUL-terminated path at `address`; None where there is none. Raises OSError as above."""
    room = _PATH_MAX - address % _PATH_MAX  # a page is mapped whole or not at all
    data = read_memory(tid, address, room)
    if b"\0" not in data:
        data += read_memory(tid, address + room, _PATH_MAX)
    path, end, _ = data.partition(b"\0")
    return os.fsdecode(path) if end else None


def write_memory(tid: int, address: int, data: bytes) -> None:
    """Change memory of a stopped thread, read-only pages too. Raises OSError."""
    fd = os.open(f"/proc/{tid}/mem", os.O_RDWR | os.O_CLOEXEC)
    try:
        os.pwrite(fd, data, address)
    finally:
        os.close(fd)


def stacks(pids: Iterable[int]) -> str:
    """Where every thread of these processes stands: state, wait channel, system call and (where
    the machine allows it) kernel stack."""
    return "\n".join(part for pid in pids for part in _threads(pid))


def _threads(pid: int) -> Iterable[str]:
    # A forked launch has the command line of its warm parent, a whole program after -c.
    words = (word if len(word) <= _WORD else f"{word[:_WORD]!r}…" for word in argv(pid))
    yield f"process {pid}: {' '.join(words) or '(gone)'}"
    for task in sorted(Path(f"/proc/{pid}/task").glob("*"), key=lambda path: int(path.name)):
        facts = {name: _line(task / name) for name in ("comm", "wchan", "syscall", "stack")}
        state = status(int(task.name), "State") or "gone"
        yield f"  thread {task.name} {facts['comm']}: {state}, in {facts['wchan'] or '?'}"
        yield f"    syscall {facts['syscall'] or '?'}"
        if facts["stack"]:
            yield f"    stack {facts['stack']}"


def _line(path: Path) -> str:
    try:
        return " | ".join(path.read_text(errors="replace").split("\n")).strip(" |\0")
    except OSError:
        return ""
