"""The switch of an abort, and the signals that throw it."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from agent.signals import ABORTING, AbortSwitch, aborting_signals

ROOT = Path(__file__).parents[2]


def readable(switch: AbortSwitch) -> bool:
    return bool(select.select([switch], [], [], 0)[0])


def test_a_thrown_switch_is_readable_for_whoever_waits_and_stays_so() -> None:
    with AbortSwitch() as switch:
        assert (switch.requested, readable(switch)) == (False, False)
        for _ in range(3):
            switch.request()
            assert (switch.requested, readable(switch)) == (True, True)
    switch.request()  # after the operation: harmless


def test_no_tool_inherits_it() -> None:
    with AbortSwitch() as switch:
        assert not os.get_inheritable(switch.fileno())


@pytest.mark.parametrize("number", ABORTING)
def test_a_signal_throws_it_and_raises_nothing(number: signal.Signals) -> None:
    with aborting_signals() as switch:
        os.kill(os.getpid(), number)
        assert switch.requested
        assert readable(switch)
    os.kill(os.getpid(), number)  # after the block: nothing happens


@pytest.mark.parametrize("number", ABORTING)
def test_a_wait_ends_though_no_handler_has_run(number: signal.Signals) -> None:
    """As where the signal comes between the last look of the interpreter and the wait itself: here
    another thread takes it, which interrupts no wait of this one."""
    with aborting_signals() as switch:
        other = threading.Timer(0.1, signal.raise_signal, [number])
        other.start()
        ready, _, _ = select.select([switch], [], [], 20)
        assert ready == [switch]
        assert switch.requested
        other.join()


def test_other_signals_end_no_wait() -> None:
    """They make the descriptor readable all the same, handled in time or not."""
    before = signal.signal(signal.SIGUSR1, lambda *_: None)
    here, there = os.pipe()
    try:
        with aborting_signals() as switch:
            signal.raise_signal(signal.SIGUSR1)
            assert readable(switch)
            started = time.monotonic()
            assert switch.wait({}, 0.2) == set()
            assert time.monotonic() - started >= 0.2
            os.write(there, b"x")
            signal.raise_signal(signal.SIGUSR1)
            assert switch.wait({here: select.POLLIN}, 20) == {here}
            signal.raise_signal(signal.SIGTERM)
            assert switch.wait({}, 20) == set()
            assert switch.requested
    finally:
        signal.signal(signal.SIGUSR1, before)
        os.close(here)
        os.close(there)


def test_a_request_that_comes_as_another_signal_is_taken_note_of_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its handler runs between the last look and the read, which takes its byte, too."""
    read = os.read

    def interrupted(fd: int, size: int) -> bytes:
        signal.raise_signal(signal.SIGTERM)
        return read(fd, size)

    before = signal.signal(signal.SIGUSR1, lambda *_: None)
    try:
        with aborting_signals() as switch:
            signal.raise_signal(signal.SIGUSR1)
            monkeypatch.setattr(os, "read", interrupted)
            started = time.monotonic()
            assert switch.wait({}, 20) == set()
            assert time.monotonic() - started < 10
            assert switch.requested
            assert readable(switch)
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_what_was_heeded_ends_no_wait() -> None:
    with AbortSwitch() as switch:
        switch.request()
        started = time.monotonic()
        assert switch.wait({}, 0.2, heeded=True) == set()
        assert time.monotonic() - started >= 0.2


def test_a_signal_that_was_ignored_stays_ignored() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with aborting_signals() as switch:
        os.kill(os.getpid(), signal.SIGINT)
        assert not switch.requested
        os.kill(os.getpid(), signal.SIGTERM)
        assert switch.requested


PROGRAM = """
import atexit, os, signal
from agent.signals import aborting_signals, end_undisturbed

class Last:
    def __del__(self, kill=os.kill, number=signal.SIGTERM, pid=os.getpid()):
        kill(pid, number)

with aborting_signals():
    pass
end_undisturbed()
atexit.register(os.kill, os.getpid(), signal.SIGINT)
os.last = Last()  # goes when the interpreter takes its modules apart
raise SystemExit(42)
"""


def test_a_signal_while_the_interpreter_ends_changes_no_exit_code() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM], cwd=ROOT, stderr=subprocess.PIPE
    ) as program:
        _, err = program.communicate(timeout=30)
    assert (program.returncode, err) == (42, b"")
