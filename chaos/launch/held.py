"""Hold a process at its kill point, free for a debugger, instead of killing it at once.

The process is stopped by SIGSTOP and detached where it stands: a call it was about to make has not
happened, and its instruction pointer is before that call again. Everything else of the tree is
stopped too, but stays traced.

Meant for looking. The seccomp filter stays, and without its tracer a filtered call fails with
ENOSYS: a held process must not be continued, only read and killed. It dies with this process by
PDEATHSIG if it is the root, not by EXITKILL.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections.abc import Callable, Collection
from pathlib import Path

from chaos.errors import HarnessError
from chaos.launch import proc, ptrace
from chaos.launch.ptrace import Gone, Registers
from chaos.launch.table import Arch
from chaos.launch.tracees import Tracees

_STOP_LIMIT_S = 10.0
_END_LIMIT_MS = 10_000


def hold_still(
    arch: Arch,
    tracees: Tracees,
    process: int,
    at_entry: Collection[int],
    at_exit: Collection[int],
    hold: Callable[[int], None],
) -> int:
    """Stop the tree, set `process` free where it stands, call `hold`, kill. Returns the wait
    status of the dead process (plain SIGKILL where another process is its parent).

    `at_entry` and `at_exit` are the threads that stand at such a stop already.
    """
    tracees.signal(tracees.processes(), signal.SIGSTOP)  # pending for those that stand already
    for tid in tracees.threads(process):
        with contextlib.suppress(Gone):
            if tid in at_entry:
                Registers(arch, tid).rewind_call()
            if tid in at_entry or tid in at_exit:
                ptrace.detach(tid)
            else:
                _detach_at_next_stop(arch, tracees, tid)
        if tid != process:
            tracees.forget(tid)
    _await_stop(process)
    try:
        hold(process)
    except BaseException:  # Ctrl-C while somebody looks: it is no tracee, which would die with us
        _kill(process)
        tracees.forget(process)
        raise
    try:
        return _kill(process)
    finally:
        tracees.signal(tracees.processes(), signal.SIGCONT)


def _detach_at_next_stop(arch: Arch, tracees: Tracees, tid: int) -> None:
    """The thread runs, or has a stop that was not served yet. SIGSTOP alone does not bring it to a
    stop: the kernel may have given that to another thread, which waits for its own detach."""
    ptrace.interrupt(tid)
    _, status = os.waitpid(tid, ptrace.WALL)
    if not os.WIFSTOPPED(status):
        return
    event, number = status >> 16, os.WSTOPSIG(status)
    if event == ptrace.EVENT_SECCOMP:
        Registers(arch, tid).rewind_call()
    elif event == ptrace.EVENT_CLONE:
        new = ptrace.event_message(tid)
        known = new in tracees
        tracees.announce(new, tid)
        if not known and new in tracees and tracees.process(new) == tracees.process(tid):
            _detach_at_next_stop(arch, tracees, new)
            tracees.forget(new)
    ptrace.detach(tid, 0 if event else number)


def _await_stop(process: int) -> None:
    """SIGSTOP is pending for all threads, but each takes it on its own way back to user mode. The
    kernel tells that to the parent only, which need not be this process: look until it is so."""
    limit = time.monotonic() + _STOP_LIMIT_S
    tasks = Path(f"/proc/{process}/task")
    while any(proc.state(int(task.name)) not in "TX" for task in tasks.iterdir()):
        if time.monotonic() > limit:
            raise HarnessError(f"process {process} did not stop:\n{proc.stacks([process])}")
        os.sched_yield()


def _kill(process: int) -> int:
    """The process is no tracee any more: wait for its end by a descriptor."""
    descriptor = os.pidfd_open(process)
    try:
        os.kill(process, signal.SIGKILL)
        end = select.poll()
        end.register(descriptor, select.POLLIN)
        if not end.poll(_END_LIMIT_MS):
            raise HarnessError(f"the held process {process} did not die of SIGKILL")
    finally:
        os.close(descriptor)
    try:
        return os.waitpid(process, ptrace.WALL)[1]
    except ChildProcessError:
        return int(signal.SIGKILL)  # reaped by its own parent
