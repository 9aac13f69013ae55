"""Keys and signals while the agent works, on a real pseudo-terminal."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import termios
import threading
from collections.abc import Iterator

import pytest

from agent.chat_keys import Interruptions


class Terminal:
    """`keyboard` is what a person types into; `device` is what the program has open."""

    def __init__(self) -> None:
        self.keyboard, self.device = os.openpty()

    def press(self, keys: bytes) -> None:
        os.write(self.keyboard, keys)

    @property
    def attributes(self) -> list[object]:
        return termios.tcgetattr(self.device)


@pytest.fixture(name="terminal")
def _terminal() -> Iterator[Terminal]:
    terminal = Terminal()
    yield terminal
    os.close(terminal.keyboard)
    os.close(terminal.device)


def thrown(work: Interruptions, timeout_s: float = 5) -> bool:
    """Wait as the agent waits."""
    work.switch.wait({}, timeout_s)
    return work.switch.requested


def test_esc_throws_the_switch_and_does_not_end_the_program(terminal: Terminal) -> None:
    with Interruptions(terminal.device) as work:
        assert not work.switch.requested
        terminal.press(b"\x1b")
        assert thrown(work)
        assert not work.leaving


@pytest.mark.parametrize(
    "keys", [b"\x1b\x1b", b"hi\x1b", b"\x1b[A\x1b", b"\x1b\x1b[A", b"\x1b[\x1b"]
)
def test_esc_among_other_keys(terminal: Terminal, keys: bytes) -> None:
    with Interruptions(terminal.device) as work:
        terminal.press(keys)
        assert thrown(work)


@pytest.mark.parametrize(
    "keys",
    [
        b"x",
        b"\r",
        b"\x1b[A",
        b"\x1bOP",
        b"\x1b[15~",
        b"\x1b[1;5C",
        b"\x1bb",
        b"\x1b[1;1R",
        "你".encode(),
    ],
    ids=repr,
)
def test_other_keys_do_nothing(terminal: Terminal, keys: bytes) -> None:
    with Interruptions(terminal.device) as work:
        terminal.press(keys)
        terminal.press(keys)
        assert not thrown(work, 0.15)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_wait_ends_though_no_handler_has_run(terminal: Terminal, number: signal.Signals) -> None:
    """Another thread takes the signal, which interrupts no wait of this one."""
    with Interruptions(terminal.device) as work:
        other = threading.Timer(0.1, signal.raise_signal, [number])
        other.start()
        assert thrown(work, 20)
        assert work.leaving
        other.join()


def test_a_sequence_that_comes_in_two_pieces_is_no_esc(terminal: Terminal) -> None:
    with Interruptions(terminal.device) as work:
        later = threading.Timer(0.01, terminal.press, [b"[A"])
        later.start()
        terminal.press(b"\x1b")
        assert not thrown(work, 0.2)
        later.join()


def test_a_key_that_came_just_before_is_seen(terminal: Terminal) -> None:
    before = termios.tcgetattr(terminal.device)
    before[3] &= ~termios.ICANON  # as the line editor leaves it for a moment
    termios.tcsetattr(terminal.device, termios.TCSANOW, before)
    terminal.press(b"\x1b")
    with Interruptions(terminal.device) as work:
        assert thrown(work)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_throws_the_switch_and_ends_the_program(
    terminal: Terminal, number: signal.Signals
) -> None:
    with Interruptions(terminal.device) as work:
        signal.raise_signal(number)
        assert thrown(work)
        assert work.leaving


def test_ctrl_c_stays_a_signal_of_the_terminal(terminal: Terminal) -> None:
    with Interruptions(terminal.device):
        assert termios.tcgetattr(terminal.device)[3] & termios.ISIG


def test_afterwards_everything_is_as_it_was(terminal: Terminal) -> None:
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGIO)
    attributes, handlers = terminal.attributes, [signal.getsignal(n) for n in numbers]
    open_files = os.listdir("/proc/self/fd")
    with contextlib.suppress(ZeroDivisionError), Interruptions(terminal.device):
        assert terminal.attributes != attributes
        terminal.press(b"typed meanwhile")
        raise ZeroDivisionError
    assert terminal.attributes == attributes
    assert [signal.getsignal(n) for n in numbers] == handlers
    assert os.listdir("/proc/self/fd") == open_files
    assert not select.select([terminal.device], [], [], 0)[0]  # it is forgotten
    terminal.press(b"\x1b\n")  # no SIGIO any more: its default would end this process
    assert select.select([terminal.device], [], [], 5)[0]


def test_a_terminal_that_goes_away_disturbs_nothing() -> None:
    keyboard, device = os.openpty()
    with Interruptions(device) as work:
        os.close(keyboard)
        assert not thrown(work, 0.1)
    os.close(device)
