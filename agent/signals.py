"""The switch that asks for an abort: thrown by a signal, a key or another thread, at any instant.

What it promises: `request` does nothing but set a flag and make a descriptor readable, so that it
is safe in a signal handler and from any thread, and no append is ever cut in two by an exception.
A signal that comes just before a wait ends it too.
What it does not do: it makes nothing durable and stops nothing; see `agent.abort`.

Source: session contract, section 6 ("Abort").
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

ABORTING = (signal.SIGINT, signal.SIGTERM)
_CHUNK = 1 << 16


class AbortSwitch:
    """Thrown once, for one operation. A context manager, because it holds two descriptors."""

    def __init__(self) -> None:
        self.requested = False
        self._fd, self.wakeup_fd = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)

    def request(self) -> None:
        """Ask for the abort. Asking again changes nothing."""
        self.requested = True
        if self.wakeup_fd >= 0:
            with contextlib.suppress(BlockingIOError):  # full, so readable
                os.write(self.wakeup_fd, b"\0")

    def fileno(self) -> int:
        """Readable from the first request on; and, until a `wait` has seen it, when another signal
        was handled."""
        return self._fd

    def wait(
        self, events: Mapping[int, int], timeout_s: float | None = None, *, heeded: bool = False
    ) -> set[int]:
        """Poll descriptors for events; give the ready ones, none after `timeout_s` seconds.

        Comes back, perhaps with none ready, when the switch is thrown, unless that was `heeded`
        before. No other signal ends the wait.
        """
        poll = select.poll()
        for fd, wanted in events.items():
            poll.register(fd, wanted)
        if not heeded:
            poll.register(self._fd, select.POLLIN)
        until = time.monotonic() + (timeout_s or 0)
        while True:
            left_ms = None if timeout_s is None else max(until - time.monotonic(), 0) * 1000
            ready = {fd for fd, _ in poll.poll(left_ms)}
            if self.requested or ready != {self._fd}:
                return ready & events.keys()
            self._forget()

    def _forget(self) -> None:
        """What made it readable threw nothing. A handler that is still to run makes it so anew; the
        byte of one that has run since the last look was taken, too."""
        with contextlib.suppress(BlockingIOError):
            os.read(self._fd, _CHUNK)
        if self.requested:
            self.request()

    def __enter__(self) -> AbortSwitch:
        return self

    def __exit__(self, *_: object) -> None:
        ends, self._fd, self.wakeup_fd = (self._fd, self.wakeup_fd), -1, -1
        for fd in ends:
            os.close(fd)


@contextmanager
def aborting_signals() -> Iterator[AbortSwitch]:
    """In the block, SIGINT and SIGTERM throw the switch. Main thread only.

    After it they do nothing: the work is over, and an impatient second signal must not change how
    the program ends. A signal that the parent had ignored stays ignored, as under nohup.
    """
    with AbortSwitch() as switch:
        for number in ABORTING:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, lambda *_: switch.request())
        with woken_by_signals(switch):
            yield switch


@contextmanager
def woken_by_signals(switch: AbortSwitch) -> Iterator[None]:
    """Every signal that has a handler ends a wait for the switch. Handlers themselves wait for the
    interpreter: where a signal comes as it enters a wait of the system, only what C writes at once
    is felt before the wait is over. Main thread only."""
    before = signal.set_wakeup_fd(switch.wakeup_fd, warn_on_full_buffer=False)
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)


def end_undisturbed() -> None:
    """Last thing before the interpreter takes itself down, which would drop the handlers."""
    for number in ABORTING:
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_IGN)
