"""What a launched process does between its fork and the program under test.

Standard library only: the warm parent, which may be any Python that a target brings along, uses it
too.

Promises: nothing of the target runs before a tracer has said go; at EOF on the go-pipe (the tracer
died) the child exits; it dies with its parent; the filter is the last thing set before the program.
Side effect that users must know: no_new_privs takes the power from sudo and all setuid programs.
"""

from __future__ import annotations

import ctypes
import os
import signal

GO = b"g"

_PR_SET_PDEATHSIG, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 1, 22, 38
_SECCOMP_MODE_FILTER = 2
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_OPENED = (os.O_RDONLY, _CREATE, _CREATE)  # the standard streams


# Made before any fork: what a child makes for itself, it pays for in pages of its own.
_prctl = ctypes.CDLL(None, use_errno=True).prctl
_prctl.argtypes = (ctypes.c_int, *[ctypes.c_ulong] * 4)


class _Program(ctypes.Structure):
    """struct sock_fprog: a count of 8-byte instructions and where they are."""

    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


class Filter:
    """A seccomp filter in memory, ready to be installed."""

    def __init__(self, instructions: bytes) -> None:
        self._buffer = ctypes.create_string_buffer(instructions, len(instructions))
        self._program = _Program(len(instructions) // 8, ctypes.addressof(self._buffer))
        self._address = ctypes.addressof(self._program)

    def arm(self) -> None:
        """Install it for this process and all it makes. Raises OSError."""
        prctl(_PR_SET_NO_NEW_PRIVS, 1)
        prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, self._address)


def prctl(option: int, argument: int, address: int = 0) -> None:
    """prctl(2). Raises OSError."""
    if _prctl(option, argument, address, 0, 0) == -1:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def die_with_parent() -> None:
    """SIGKILL for this process when the thread that forked it ends."""
    prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def settle(streams: tuple[str, str, str], cwd: str, keep: int) -> None:
    """A session, standard streams (files: input, output, error) and working directory of its own;
    no descriptor from above but `keep`. Raises OSError."""
    os.setsid()
    for number, (path, flags) in enumerate(zip(streams, _OPENED, strict=True)):
        opened = os.open(path, flags, 0o666)
        if opened == number:  # the stream was closed when the harness started
            os.set_inheritable(number, True)
        else:
            os.dup2(opened, number)
            os.close(opened)
    os.chdir(cwd)
    os.closerange(3, keep)
    os.closerange(keep + 1, os.sysconf("SC_OPEN_MAX"))


def plain_signals() -> None:
    """No signal blocked; default dispositions for those that Python or the harness ignores."""
    for number in (signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def await_go(go: int) -> None:
    """Wait until the tracer holds this process; exit where there will be none. Comes before all
    that can fail, so that the tracer never meets a child that has died already."""
    if os.read(go, 1) != GO:
        os._exit(0)
    os.close(go)
