"""Waiting for the next thing to happen, in one place: a child's state, the service, a deadline.

SIGCHLD is blocked and read from a signalfd, so that one epoll wakes for both; nothing is polled.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
from types import TracebackType

from chaos.launch.model import Service
from chaos.launch.ptrace import signal_descriptor


class Waiter:
    """Context manager around the life of one launch. Restores the signal mask."""

    def __init__(self, service: Service | None) -> None:
        self._service = service

    def __enter__(self) -> Waiter:
        self._mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
        self._signals = signal_descriptor({signal.SIGCHLD})
        self._epoll = select.epoll()
        self._epoll.register(self._signals, select.EPOLLIN)
        if self._service is not None:
            self._epoll.register(self._service.fileno(), select.EPOLLIN)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._epoll.close()
        os.close(self._signals)
        signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)

    def wait(self, timeout_s: float, *, with_service: bool = True) -> bool:
        """Return when a child changed, the service has work, or the time is over. True: the
        service has work. Without the service, its work waits."""
        timeout_s = max(timeout_s, 0.0)
        if with_service:
            ready = {fd for fd, _ in self._epoll.poll(timeout_s)}
        else:
            ready = set(select.select([self._signals], [], [], timeout_s)[0])
        if self._signals in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(self._signals, 4096)
        return bool(ready - {self._signals})
