"""Processes that are paused: under SIGSTOP, until their rival has ended or their time is over.

The thread that stands at the pause is no business of this module; it keeps the other threads of its
process from going on. Does not start anything.
"""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass

from chaos.launch.tracees import Tracees


@dataclass(slots=True)
class _Paused:
    until: float  # monotonic
    rival: int | None = None  # a process whose end is waited for instead


class Pauses:
    """Who is paused, and for how long."""

    def __init__(self, tracees: Tracees) -> None:
        self._tracees = tracees
        self._paused: dict[int, _Paused] = {}  # by process

    def __contains__(self, process: int) -> bool:
        return process in self._paused

    @property
    def next_end(self) -> float:
        """When (monotonic) the next one's time is over."""
        ends = (paused.until for paused in self._paused.values() if paused.rival is None)
        return min(ends, default=math.inf)

    def begin(self, process: int, seconds: float) -> None:
        """Pause a process for a time."""
        self._tracees.signal([process], signal.SIGSTOP)
        self._paused[process] = _Paused(time.monotonic() + seconds)

    def wait_for(self, process: int, rival: int) -> None:
        """The pause lasts until the process `rival` has ended, however long that takes."""
        self._paused[process].rival = rival

    def forget(self, process: int) -> None:
        """A process has ended: it is paused no longer."""
        self._paused.pop(process, None)

    def rival_ended(self, rival: int) -> None:
        """Let go on who waited for that."""
        self._end(lambda paused: paused.rival == rival)

    def end_of_time(self) -> None:
        """Let go on whose time is over."""
        now = time.monotonic()
        self._end(lambda paused: paused.rival is None and paused.until <= now)

    def _end(self, is_over: Callable[[_Paused], bool]) -> None:
        for process in [one for one, paused in self._paused.items() if is_over(paused)]:
            del self._paused[process]
            self._tracees.signal([process], signal.SIGCONT)
