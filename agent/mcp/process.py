"""The host process, under a guard that ends it and everything it started with the agent.

    agent ── guard (a fork, no exec) ── host (a fork, no exec) ── servers

As with the guard of `bash`, the guard is parent and subreaper of the tree and watches a pipe whose
other end only the agent has: at EOF the agent is dead, however it died, and the guard kills every
descendant. It holds the session's lock until they are gone, and not longer: no call of a server
can land after a resume has said "interrupted".

What it promises: after `close` returned or the agent died, no process of the tree lives. Neither
host nor servers hold the lock or the log. If the guard is killed, the kernel kills the host, and
the servers see the end of their input.
What it does not do: it does not know what the host is for.

Source: session contract, section 6 ("Children").
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
from collections.abc import Callable
from typing import Never

from agent.descriptors import keep_only
from agent.process_tree import die_with_parent, kill_descendants, set_subreaper

_CATCHABLE = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}

Serve = Callable[[socket.socket], None]  # what the host does, until its channel is closed


class GuardedProcess:
    """A running host. `channel` leads to it, and has reached its end when the host has ended."""

    def __init__(self, serve: Serve, lock_fd: int | None) -> None:
        """Fork guard and host. Raises OSError where the machine has no room for them."""
        self.channel, theirs = socket.socketpair()
        alive_r, self._alive_w = os.pipe()
        # A signal between fork and the guard's own settings must not raise in the guard.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            self._guard = os.fork()
            if self._guard == 0:
                _guard(serve, theirs, alive_r, lock_fd)
        except OSError:
            self.channel.close()
            os.close(self._alive_w)
            raise
        finally:
            theirs.close()
            os.close(alive_r)
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    def close(self, grace_s: float) -> None:
        """End the host: by itself within `grace_s` seconds, else killed. Twice is harmless."""
        if self._alive_w < 0:
            return
        self.channel.close()
        try:
            ended = os.pidfd_open(self._guard)
            try:
                poll = select.poll()
                poll.register(ended, select.POLLIN)
                poll.poll(grace_s * 1000)
            finally:
                os.close(ended)
        except ProcessLookupError:
            pass  # who ignores SIGCHLD has nobody to wait for
        finally:  # also when a signal handler raises meanwhile
            os.close(self._alive_w)
            self._alive_w = -1
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self._guard, 0)


def _guard(serve: Serve, channel: socket.socket, alive_r: int, lock_fd: int | None) -> Never:
    """The guard process. It never returns to the caller."""
    with contextlib.suppress(BaseException):  # a fork must not run the agent's handlers
        os.setsid()
        set_subreaper(True)
        signal.set_wakeup_fd(-1)
        for number in _CATCHABLE - {signal.SIGCHLD}:
            signal.signal(number, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # an ignored SIGCHLD would eat exit statuses
        signal.pthread_sigmask(signal.SIG_SETMASK, {signal.SIGCHLD})
        guard = os.getpid()
        host = os.fork()
        if host == 0:
            _host(serve, channel, guard)
        keep_only(alive_r, lock_fd)
        poll = select.poll()
        poll.register(os.pidfd_open(host), select.POLLIN)
        poll.register(alive_r, select.POLLIN)
        poll.poll()
    with contextlib.suppress(BaseException):
        kill_descendants()
    os._exit(0)


def _host(serve: Serve, channel: socket.socket, guard: int) -> Never:
    """The host process: default signals, no descriptor but its channel."""
    with contextlib.suppress(BaseException):  # as in the guard; the agent sees the channel end
        die_with_parent()
        if os.getppid() == guard:  # else it died before the kernel could be asked
            for number in _CATCHABLE:
                signal.signal(number, signal.SIG_DFL)
            signal.signal(signal.SIGPIPE, signal.SIG_IGN)  # a server may end before it is told so
            signal.pthread_sigmask(signal.SIG_SETMASK, ())
            keep_only(channel.fileno())
            serve(channel)
    os._exit(0)
