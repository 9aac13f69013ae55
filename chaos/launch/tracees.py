"""The threads that are traced, and the processes they belong to.

Bookkeeping only: who exists. A thread may show up by its parent's event or by its own first stop,
whichever comes first.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterable

from chaos.evidence import Survivor
from chaos.launch import proc


class Tracees:
    """All traced threads that have not been reaped."""

    def __init__(self, root: int) -> None:
        self.root = root
        self._process: dict[int, int] = {root: root}  # thread -> process

    def __contains__(self, tid: int) -> bool:
        return tid in self._process

    def __bool__(self) -> bool:
        return bool(self._process)

    def adopt(self, tid: int, process: int | None = None) -> None:
        """A new thread; `process` where the event tells that it is a process of its own."""
        if tid not in self._process:
            self._process[tid] = process or proc.process_of(tid)

    def forget(self, tid: int) -> None:
        """The thread was reaped, or gave its id up."""
        self._process.pop(tid, None)

    def process(self, tid: int) -> int:
        """The process of a thread."""
        return self._process[tid]

    def processes(self) -> list[int]:
        """Every process with a thread left, oldest first."""
        return list(dict.fromkeys(self._process.values()))

    def threads(self, process: int) -> list[int]:
        """The threads of one process."""
        return [tid for tid, owner in self._process.items() if owner == process]

    def survivors(self) -> tuple[Survivor, ...]:
        """Processes that still live; one that is only waiting to be reaped does not."""
        alive = (tid for tid in self._process if proc.state(tid) not in "ZX")
        processes = dict.fromkeys(self._process[tid] for tid in alive)
        return tuple(Survivor(pid, proc.argv(pid)) for pid in processes)

    def signal(self, processes: Iterable[int], number: signal.Signals) -> None:
        """Send a signal to processes; those that are gone are left out."""
        for pid in processes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
