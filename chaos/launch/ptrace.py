"""The few ptrace(2) requests and system calls that Python has no function for, in plain ctypes.

Each function is one kernel call on one stopped thread. A thread that was killed while it stood
still raises `Gone`; its exit is reported by waitpid as usual. Does not decide anything.

Source: ptrace(2), signalfd(2), prctl(2).
"""

from __future__ import annotations

import ctypes
import errno
import os
import signal
from collections.abc import Iterable

from chaos.launch.table import Arch

WALL = 0x40000000  # __WALL: threads and children alike

# Events, as in status >> 16 of a stop.
EVENT_FORK, EVENT_VFORK, EVENT_CLONE, EVENT_EXEC = 1, 2, 3, 4
EVENT_SECCOMP, EVENT_STOP = 7, 128
SYSCALL_STOP = signal.SIGTRAP | 0x80

_CONT, _DETACH, _SYSCALL = 7, 17, 24
_GETEVENTMSG, _GETREGSET, _SETREGSET = 0x4201, 0x4204, 0x4205
_SEIZE, _INTERRUPT, _LISTEN = 0x4206, 0x4207, 0x4208
_NT_PRSTATUS = 1

_SYSGOOD, _EXITKILL, _TRACESECCOMP = 1 << 0, 1 << 20, 1 << EVENT_SECCOMP
_FOLLOW = 1 << EVENT_FORK | 1 << EVENT_VFORK | 1 << EVENT_CLONE | 1 << EVENT_EXEC
_OPTIONS = _SYSGOOD | _EXITKILL | _TRACESECCOMP | _FOLLOW

_SET_CHILD_SUBREAPER, _GET_CHILD_SUBREAPER = 36, 37
_SFD_FLAGS = os.O_CLOEXEC | os.O_NONBLOCK

_libc = ctypes.CDLL(None, use_errno=True)
_ptrace = _libc.ptrace
_ptrace.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)
_ptrace.restype = ctypes.c_long


class Gone(Exception):  # noqa: N818 - not an error: the thread was killed where it stood
    """The thread does not exist any more, or runs towards its death."""


class _Iovec(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("size", ctypes.c_size_t))


def _request(request: int, tid: int, address: int | None, data: object) -> None:
    if _ptrace(request, tid, address, data) == -1:
        code = ctypes.get_errno()
        if code == errno.ESRCH:
            raise Gone
        raise OSError(code, os.strerror(code))


def seize(tid: int) -> None:
    """Become the tracer of a running process and of all it will make; it dies with this process.

    Raises OSError (EPERM, ENOSYS) where tracing is refused, Gone where the process has ended.
    """
    _request(_SEIZE, tid, 0, _OPTIONS)


def has_children(group: int) -> bool:
    """Is there a child or a tracee of this process in a process group, whatever it does? Also one
    that has not run yet and so has no status to wait for."""
    options = os.WEXITED | os.WSTOPPED | os.WNOHANG | os.WNOWAIT | WALL
    try:
        os.waitid(os.P_PGID, group, options)
    except ChildProcessError:
        return False
    return True


def resume(tid: int, sig: int = 0) -> None:
    """Let the thread run on, with a signal delivered if it stood at one."""
    _request(_CONT, tid, 0, sig)


def resume_to_exit(tid: int) -> None:
    """Let the thread run to the exit stop of the call at whose entry it stands."""
    _request(_SYSCALL, tid, 0, 0)


def interrupt(tid: int) -> None:
    """Bring a running thread to a stop."""
    _request(_INTERRUPT, tid, 0, 0)


def listen(tid: int) -> None:
    """Leave the thread in its group stop (SIGSTOP, SIGTSTP …) until SIGCONT."""
    _request(_LISTEN, tid, 0, 0)


def detach(tid: int, sig: int = 0) -> None:
    """Give up the thread. Its filtered calls fail with ENOSYS from now on."""
    _request(_DETACH, tid, 0, sig)


def event_message(tid: int) -> int:
    """What the event tells: the new thread, the former thread id, the filter's data."""
    message = ctypes.c_ulong()
    _request(_GETEVENTMSG, tid, 0, ctypes.byref(message))
    return message.value


class Registers:
    """The general registers of a stopped thread, by what a system call uses them for."""

    def __init__(self, arch: Arch, tid: int) -> None:
        self._arch, self._tid = arch, tid
        self._words = (ctypes.c_uint64 * arch.words)()
        self._transfer(_GETREGSET)

    def _transfer(self, request: int) -> None:
        iovec = _Iovec(ctypes.addressof(self._words), ctypes.sizeof(self._words))
        _request(request, self._tid, _NT_PRSTATUS, ctypes.byref(iovec))

    @property
    def number(self) -> int:
        """Number of the system call."""
        return self._words[self._arch.number]

    @property
    def result(self) -> int:
        """What the call returned, signed."""
        return ctypes.c_int64(self._words[self._arch.result]).value

    def arg(self, index: int) -> int:
        """Argument `index`, unsigned 64 bits."""
        return self._words[self._arch.args[index]]

    def arg_int(self, index: int) -> int:
        """Argument `index` as a C int."""
        return ctypes.c_int32(self.arg(index) & 0xFFFFFFFF).value

    def arg_long(self, index: int) -> int:
        """Argument `index` as a signed 64-bit number."""
        return ctypes.c_int64(self.arg(index)).value

    def set_arg(self, index: int, value: int) -> None:
        """Change an argument in the thread."""
        self._words[self._arch.args[index]] = value
        self._transfer(_SETREGSET)

    def set_result(self, value: int) -> None:
        """Change what the call returns (at its exit stop)."""
        self._words[self._arch.result] = value & 0xFFFF_FFFF_FFFF_FFFF
        self._transfer(_SETREGSET)

    def skip_call(self) -> None:
        """At the entry stop: the call does not happen."""
        regset = self._arch.number_regset
        if regset is None:
            self._words[self._arch.number] = 0xFFFF_FFFF_FFFF_FFFF
            self._transfer(_SETREGSET)
            return
        number = ctypes.c_int32(-1)
        iovec = _Iovec(ctypes.addressof(number), ctypes.sizeof(number))
        _request(_SETREGSET, self._tid, regset, ctypes.byref(iovec))

    def rewind_call(self) -> None:
        """At the entry stop: the call does not happen now; the thread stands before it again."""
        self._words[self._arch.repeated] = self.number
        self._words[self._arch.pointer] -= self._arch.call_bytes
        self._transfer(_SETREGSET)
        self.skip_call()


def signal_descriptor(signals: Iterable[int]) -> int:
    """A non-blocking signalfd for blocked signals of this process."""
    bits = sum(1 << (number - 1) for number in signals)
    mask = ctypes.create_string_buffer(bits.to_bytes(8, "little"), 128)  # sigset_t
    fd = int(_libc.signalfd(-1, mask, _SFD_FLAGS))
    if fd == -1:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return fd


def subreaper(on: bool) -> bool:
    """Should orphans below this process become its children? Returns what held before."""
    before = ctypes.c_int()
    _libc.prctl(_GET_CHILD_SUBREAPER, ctypes.byref(before), 0, 0, 0)
    _libc.prctl(_SET_CHILD_SUBREAPER, int(on), 0, 0, 0)
    return bool(before.value)
