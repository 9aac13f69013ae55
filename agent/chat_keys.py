"""What a person can do while the agent works: Esc ends the operation, Ctrl-C the program.

The work is done in the main thread, and keys come to it as signals: the terminal is opened once
more with O_ASYNC, so that the kernel sends SIGIO when a key is pressed. No thread reads keys, so a
tool's guard can be forked at any time; with a thread, every fork would be a gamble on the locks
that it holds. The line editor does not run meanwhile.

What it promises: both only throw the switch of the operation, at any instant, as a signal handler
may; Esc is told from the sequences of other keys, which begin with the same byte; at the end the
terminal is as it was, and keys pressed meanwhile are forgotten.
What it does not do: it reads no text. A SIGKILL leaves the terminal without echo, as it does with
any program; shells mend that themselves, elsewhere `stty sane` does.

Source: session contract, section 6 ("Abort").
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import select
import signal
import termios
from collections.abc import Callable
from typing import Any

from agent.signals import ABORTING, AbortSwitch, woken_by_signals

_ESCAPE = b"\x1b"
# What keys other than Esc send: cursor and function keys (CSI, SS3), then Alt with a key.
_SEQUENCE = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|O.|[^\x1b\[O])", re.DOTALL)
_REST_S = 0.05  # the rest of a sequence comes at once; after this long it was the key alone
_CHUNK = 1 << 16


class Interruptions:
    """A context manager around one operation. `terminal` is a descriptor of the terminal.

    `switch` is thrown by Esc, SIGINT and SIGTERM; `leaving` says that a signal was among them.
    Main thread only.
    """

    def __init__(self, terminal: int) -> None:
        self.switch = AbortSwitch()
        self.leaving = False
        self._terminal = terminal
        self._undo = contextlib.ExitStack()

    def __enter__(self) -> Interruptions:
        with contextlib.ExitStack() as undo:
            undo.enter_context(self.switch)
            undo.enter_context(woken_by_signals(self.switch))
            for number in ABORTING:
                _handle(undo, number, self._leave)
            self._watch_keys(undo)
            self._undo = undo.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._undo.close()

    def _leave(self, *_: object) -> None:
        self.leaving = True
        self.switch.request()

    def _watch_keys(self, undo: contextlib.ExitStack) -> None:
        # Opened anew: flags of the descriptor we were given are shared with the shell.
        path = os.ttyname(self._terminal)
        keys = os.open(path, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
        undo.callback(os.close, keys)
        before = termios.tcgetattr(keys)
        undo.callback(_restore, keys, before)
        _handle(undo, signal.SIGIO, lambda *_: self._look(keys))
        fcntl.fcntl(keys, fcntl.F_SETOWN, os.getpid())
        flags = fcntl.fcntl(keys, fcntl.F_GETFL)
        undo.callback(fcntl.fcntl, keys, fcntl.F_SETFL, flags)
        fcntl.fcntl(keys, fcntl.F_SETFL, flags | os.O_ASYNC)
        # A shell that stopped the program with Ctrl-Z has made the terminal its own meanwhile.
        _handle(undo, signal.SIGCONT, lambda *_: _silence(keys, before))
        termios.tcsetattr(keys, termios.TCSADRAIN, _silent(before))
        self._look(keys)  # what came before the kernel was asked to tell

    def _look(self, keys: int) -> None:
        """Take the keys that are there."""
        with contextlib.suppress(OSError):  # none is there, or the terminal is gone
            data = os.read(keys, _CHUNK)
            if data.endswith((_ESCAPE, _ESCAPE + b"[", _ESCAPE + b"O")):
                data += _rest(keys)
            if _ESCAPE in _SEQUENCE.sub(b"", data):
                self.switch.request()


def _rest(keys: int) -> bytes:
    ready, _, _ = select.select([keys], [], [], _REST_S)
    return os.read(keys, _CHUNK) if ready else b""


def _silence(keys: int, before: list[Any]) -> None:
    with contextlib.suppress(OSError, termios.error):  # the terminal is gone
        if os.tcgetpgrp(keys) == os.getpgrp():  # in the background it belongs to the shell
            termios.tcsetattr(keys, termios.TCSADRAIN, _silent(before))


def _restore(keys: int, attributes: list[Any]) -> None:
    with contextlib.suppress(termios.error):  # the terminal is gone
        termios.tcsetattr(keys, termios.TCSAFLUSH, attributes)


def _silent(attributes: list[Any]) -> list[Any]:
    """Keys come one by one and are not echoed; Ctrl-C stays a signal."""
    changed = [*attributes[:6], list(attributes[6])]
    changed[3] &= ~(termios.ICANON | termios.ECHO)
    changed[6][termios.VMIN], changed[6][termios.VTIME] = 1, 0
    return changed


def _handle(undo: contextlib.ExitStack, number: int, handler: Callable[..., None]) -> None:
    undo.callback(signal.signal, number, signal.signal(number, handler))
