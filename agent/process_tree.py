"""Descendants of this process: find them, kill them, see them gone.

What it promises: `kill_descendants` returns when this process has no child left, alive or zombie;
if it is a child subreaper, that means no descendant at all, those in sessions of their own too.
`terminate_descendants` asks them first, and leaves the rest to it.
What it does not do: it cannot end a process that the kernel does not let this user kill (a set-uid
program); it then waits for that process, for as long as it lives.

Source: session contract, section 6 ("Children"). Linux only: it reads /proc.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_LOOK_AGAIN_S = 0.02  # bound on waiting for SIGCHLD, for a child forked between look and kill


def set_subreaper(on: bool) -> None:
    """While on, orphans among the descendants become children of this process, not of init."""
    _prctl(_PR_SET_CHILD_SUBREAPER, int(on))


def die_with_parent() -> None:
    """Ask the kernel for SIGKILL when the parent dies. Call it between fork and exec."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def kill_descendants() -> None:
    """SIGKILL every descendant until none is left, and reap them.

    One pass is not enough: a process may fork between being listed and being killed. Its child is
    found by the next pass, because an orphan comes back to this subreaper.
    """
    while not _reaped_all():
        for pid in _descendants(os.getpid()):
            _signal(pid, signal.SIGKILL)
        signal.sigtimedwait({signal.SIGCHLD}, _LOOK_AGAIN_S)


def terminate_descendants(grace_s: float, hurried: Callable[[], bool]) -> None:
    """SIGTERM every descendant; return when all have ended, after `grace_s`, or when `hurried`."""
    for pid in _descendants(os.getpid()):
        _signal(pid, signal.SIGTERM)
    deadline = time.monotonic() + grace_s
    while not (_reaped_all() or hurried() or time.monotonic() > deadline):
        signal.sigtimedwait({signal.SIGCHLD}, _LOOK_AGAIN_S)


def _signal(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(OSError):  # gone already, or not ours to end
        os.kill(pid, number)


def _reaped_all() -> bool:
    """Reap what can be reaped. True when there is no child left."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return True
    return False


def _descendants(root: int) -> list[int]:
    """Pids below `root`, from one pass over /proc.

    /proc/PID/task/TID/children would be shorter, but is not on every kernel, and skips entries
    while children exit.
    """
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208 - no Path objects in a loop over processes
        if name.isdecimal():
            try:
                stat = Path("/proc", name, "stat").read_bytes()
            except OSError:
                continue  # ended meanwhile
            # pid (comm) state ppid …; comm may hold spaces and parentheses
            parent = int(stat[stat.rindex(b")") + 2 :].split()[1])
            children.setdefault(parent, []).append(int(name))
    found = list(children.get(root, ()))
    for pid in found:  # grows while it is walked
        found += children.get(pid, ())
    return found


_LIBC = ctypes.CDLL(None, use_errno=True)


def _prctl(option: int, value: int) -> None:
    if _LIBC.prctl(option, ctypes.c_ulong(value), 0, 0, 0) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"prctl({option}): {os.strerror(code)}")
