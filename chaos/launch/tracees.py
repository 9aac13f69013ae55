"""The threads that are traced, and the processes they belong to.

Bookkeeping only: who exists. A thread is announced by its parent's event and shows itself by its
own first stop; either may come first, and it may even have ended before it is announced.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterable

from chaos.evidence import Survivor
from chaos.launch import proc, ptrace


class Tracees:
    """All traced threads that have not been reaped."""

    def __init__(self, root: int) -> None:
        self.root = root  # the first
        self.roots = {root}  # every process that the engine started
        self.living_roots = {root}
        self._process: dict[int, int] = {root: root}  # thread -> process
        self._family: dict[int, int] = {root: root}  # process -> the root that it descends from
        self._unannounced: set[int] = set()  # showed itself, or ended, before its parent's event
        self._ever = {root}
        self._killed_groups: set[int] = set()

    def __contains__(self, tid: int) -> bool:
        return tid in self._process

    def __bool__(self) -> bool:
        return bool(self._process)

    def add_root(self, pid: int) -> None:
        """The engine started another process, beside the first."""
        self.roots.add(pid)
        self.living_roots.add(pid)
        self._ever.add(pid)
        self._process[pid] = self._family[pid] = pid

    def announce(self, tid: int, parent: int) -> None:
        """The event of a thread `parent`: a new thread, which may be known already, or gone."""
        self._family[tid] = self.family(self.process(parent))
        self._ever.add(tid)
        if tid in self._unannounced:
            self._unannounced.discard(tid)
        else:
            self._process[tid] = proc.process_of(tid)

    def show(self, tid: int) -> None:
        """A stop of the thread itself."""
        if tid not in self._process:
            self._process[tid] = proc.process_of(tid)
            self._unannounced.add(tid)
            self._ever.add(tid)

    def end(self, tid: int) -> None:
        """The thread was reaped."""
        self.living_roots.discard(tid)
        self._family.pop(tid, None)
        if self._process.pop(tid, None) is None:
            self._unannounced.add(tid)

    def forget(self, tid: int) -> None:
        """The thread gave its id up, or was given free: nothing more will be heard of it."""
        self._process.pop(tid, None)

    def process(self, tid: int) -> int:
        """The process of a thread."""
        return self._process[tid]

    def processes(self) -> list[int]:
        """Every process with a thread left, oldest first."""
        return list(dict.fromkeys(self._process.values()))

    def family(self, process: int) -> int:
        """The root that it descends from; the first, where its parent died before it could tell."""
        return self._family.get(process, self.root)

    def threads(self, process: int) -> list[int]:
        """The threads of one process."""
        return [tid for tid, owner in self._process.items() if owner == process]

    def group(self, process: int) -> list[int]:
        """The processes of its process group, itself included."""
        wanted = self.group_of(process)
        return [pid for pid in self.processes() if self.group_of(pid) == wanted]

    def group_of(self, process: int) -> int:
        """Its process group; of one that is gone, a number that no group has."""
        try:
            return os.getpgid(process)
        except ProcessLookupError:
            return -process

    def survivors(self) -> tuple[Survivor, ...]:
        """Processes that still live; one that is only waiting to be reaped does not."""
        alive = (tid for tid in self._process if proc.state(tid) not in "ZX")
        processes = dict.fromkeys(self._process[tid] for tid in alive)
        return tuple(Survivor(pid, proc.argv(pid)) for pid in processes)

    def signal(self, processes: Iterable[int], number: signal.Signals) -> None:
        """Send a signal to processes; those that are gone are left out."""
        for pid in processes:
            if number == signal.SIGKILL:
                self._killed_groups.add(self.group_of(pid))
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def late_born(self) -> list[int]:
        """Groups of the target in which somebody was killed and somebody is left when all that are
        known have ended: born as its parent died, and seen by nobody yet. They are killed, or the
        next launch would take them for its own."""
        ours = self._killed_groups & self._ever  # not the one that a fork was in before it settled
        left = [group for group in ours if ptrace.has_children(group)]
        for group in left:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)
        return left
