"""The target's process tree as it stands at an instant: who lives, waits, holds what, speaks.

Read while the target is held. Linux tells a process's children directly, which is a hundred times
cheaper than a walk over all processes; psutil tells the rest. A process that goes in between is
left out.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import psutil

from chaos.evidence import Process

_PEER, _INODE = 2, 9  # fields of /proc/net/tcp


def tree_of(pid: int) -> tuple[Process, ...]:
    """The process `pid` and its descendants, parents first."""
    return tuple(_walk(pid))


def _walk(pid: int) -> Iterator[Process]:
    try:
        found = psutil.Process(pid)
        with found.oneshot():
            times = found.cpu_times()
            yield Process(
                pid=pid,
                ppid=found.ppid(),
                argv=tuple(found.cmdline()),
                status=found.status(),
                threads=found.num_threads(),
                descriptors=found.num_fds(),
                memory_bytes=found.memory_info().rss,
                cpu_s=times.user + times.system,
            )
        children = _children(pid)
    except (psutil.Error, OSError):
        return
    for child in children:
        yield from _walk(child)


def speaker(port: int) -> int | None:
    """The process below this one that is connected to a port of 127.0.0.1; of several, the
    ancestor. None: there is none (any more)."""
    wanted = {f"socket:[{inode}]" for inode in _connected_to(port)}
    return next((pid for pid in _below(os.getpid()) if _holds_one_of(pid, wanted)), None)


def _children(pid: int) -> list[int]:
    tasks = list(Path(f"/proc/{pid}/task").iterdir())
    return [int(c) for task in tasks for c in (task / "children").read_text().split()]


def _below(pid: int) -> Iterator[int]:
    """The descendants of a process, parents first."""
    with contextlib.suppress(OSError):
        for child in _children(pid):
            yield child
            yield from _below(child)


def _connected_to(port: int) -> Iterator[str]:
    """The inodes of the sockets that are connected to a local port."""
    peer = f"0100007F:{port:04X}"
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[_PEER] == peer:
            yield fields[_INODE]


def _holds_one_of(pid: int, wanted: set[str]) -> bool:
    with contextlib.suppress(OSError):
        for link in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                if str(link.readlink()) in wanted:
                    return True
    return False
