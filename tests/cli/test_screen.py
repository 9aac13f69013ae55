"""A sweep on a terminal: progress below, results above, and a whole terminal at the end.

A real pseudo-terminal, read by a terminal emulator; the program waits between the stages.
"""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyte
import pytest

from chaos.cli.screen import HEARTBEAT_S, Lines, Live, screen_for
from chaos.cli.tally import Tally
from tests.report import sample

ROOT = Path(__file__).parents[2]
LIMIT_S = 20.0


class Terminal:
    """The program of `tests.cli.programs` on a terminal of this size."""

    def __init__(self, folder: Path, columns: int, rows: int, **environment: str) -> None:
        self.screen = pyte.Screen(columns, rows)
        self.stream = pyte.ByteStream(self.screen)
        self.raw = b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            env = {**os.environ, "TERM": "xterm-256color", "PYTHONPATH": str(ROOT), **environment}
            for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES"):
                if name not in environment:
                    env.pop(name, None)
            argv = [sys.executable, "-m", "tests.cli.programs", "run", "deploy.toml"]
            os.execvpe(sys.executable, argv, env)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        attributes = termios.tcgetattr(self.fd)
        attributes[3] &= ~termios.ECHO
        termios.tcsetattr(self.fd, termios.TCSANOW, attributes)

    def until(self, seen: Callable[[str], bool]) -> str:
        """Read until the screen shows it."""
        end = time.monotonic() + LIMIT_S
        while not seen(self.text):
            assert time.monotonic() < end, f"never seen; the screen shows\n{self.text}"
            if not self._read(end):
                break
        assert seen(self.text), self.text
        return self.text

    def go_on(self) -> None:
        os.write(self.fd, b"\n")

    def end(self) -> int:
        """Read to the end and give the exit code."""
        end = time.monotonic() + LIMIT_S
        while self._read(end):
            assert time.monotonic() < end, self.text
        code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        self.pid = 0
        return code

    def _read(self, end: float) -> bool:
        ready, _, _ = select.select([self.fd], [], [], max(0.0, end - time.monotonic()))
        try:
            data = os.read(self.fd, 65536) if ready else b""
        except OSError:  # the other side has gone
            return False
        self.raw += data
        self.stream.feed(data)
        return bool(data)

    def close(self) -> None:
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.fd)

    @property
    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self.screen.display).rstrip()


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Callable[..., Terminal]]:
    opened: list[Terminal] = []

    def open_one(columns: int = 100, rows: int = 50, **environment: str) -> Terminal:
        opened.append(Terminal(tmp_path, columns, rows, **environment))
        return opened[-1]

    yield open_one
    for each in opened:
        each.close()


def shown(text: str, *words: str) -> bool:
    return all(word in text for word in words)


def test_progress_is_below_and_goes_when_results_come(terminal: Callable[..., Terminal]) -> None:
    seen = terminal()
    seen.until(
        lambda text: shown(text, "scenario    ", "run without a kill", "runs without a kill  ")
    )
    seen.go_on()
    text = seen.until(lambda text: shown(text, "1 of 40   ", "1 of 40 schedules", "0 violations"))
    assert text.splitlines()[-2].startswith("deploy ")
    assert seen.screen.cursor.hidden
    seen.go_on()
    seen.until(lambda text: shown(text, "2 of 40 schedules", "1 violation "))
    seen.go_on()
    assert seen.end() == 1
    assert "kills/s" not in seen.text
    assert not seen.screen.cursor.hidden
    assert shown(seen.text, "VIOLATION  deploy-log-", "  killed ", "1 passed, 1 VIOLATION (seed 7)")
    assert b"\x1b[1;31mVIOLATION" in seen.raw


def test_ctrl_c_leaves_a_whole_terminal_and_what_is_known(
    terminal: Callable[..., Terminal],
) -> None:
    seen = terminal()
    seen.go_on()
    seen.until(lambda text: "1 of 40 schedules" in text)
    os.write(seen.fd, b"\x03")
    assert seen.end() == 2
    assert "interrupted; so far: 1 scenario, 1 schedule" in seen.text
    assert "kills/s" not in seen.text
    assert not seen.screen.cursor.hidden


@pytest.mark.parametrize(("columns", "rows"), [(40, 50), (20, 50), (100, 5)])
def test_a_small_terminal_has_a_line_or_two(
    columns: int, rows: int, terminal: Callable[..., Terminal]
) -> None:
    seen = terminal(columns, rows)
    seen.go_on()
    seen.until(lambda text: "1 of 40" in text)
    lines = [line for line in seen.text.splitlines() if line and "1 of 40" in line]
    assert len(lines) <= 2
    seen.go_on()
    seen.go_on()
    seen.go_on()
    assert seen.end() == 1
    assert not seen.screen.cursor.hidden


def test_no_color_is_no_colour_with_progress_all_the_same(
    terminal: Callable[..., Terminal],
) -> None:
    seen = terminal(NO_COLOR="1")
    seen.go_on()
    seen.until(lambda text: "1 of 40 schedules" in text)
    for _ in range(3):
        seen.go_on()
    assert seen.end() == 1
    assert b"\x1b[1;31m" not in seen.raw
    assert not [
        part for part in seen.raw.split(b"\x1b[")[1:] if part.lstrip(b"0123456789;")[:1] == b"m"
    ]


def test_a_dumb_terminal_gets_plain_lines(terminal: Callable[..., Terminal]) -> None:
    seen = terminal(TERM="dumb")
    for _ in range(4):
        seen.go_on()
    assert seen.end() == 1
    assert b"\x1b" not in seen.raw
    assert "1 passed, 1 VIOLATION (seed 7)" in seen.text


def test_which_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    tally = Tally.of(["deploy"], 0.0, deep=False)
    monkeypatch.setenv("TERM", "xterm")
    master, slave = pty.openpty()
    with (
        open(slave, "w", encoding="utf-8") as utf8,
        open(os.dup(slave), "w", encoding="ascii") as ascii_,
    ):
        assert isinstance(screen_for(utf8, utf8.write, tally, quiet=False), Live)
        assert isinstance(screen_for(utf8, utf8.write, tally, quiet=True), Lines)
        assert isinstance(screen_for(ascii_, ascii_.write, tally, quiet=False), Lines)
    assert isinstance(screen_for(None, print, tally, quiet=False), Lines)
    os.close(master)


def test_a_log_shows_a_sign_of_life_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = 1000.0
    monkeypatch.setattr("chaos.cli.screen.time.monotonic", lambda: now)
    tally = Tally.of(["deploy", "read"], now, deep=True)
    tally.plan("deploy", 40, now)
    written: list[str] = []
    lines = Lines(None, written.append, tally)
    lines.write("scenario\n")

    def after(seconds: float) -> str:
        nonlocal now
        now += seconds
        tally.take("deploy", sample.passed())
        lines.tick()
        return capsys.readouterr().err

    assert after(HEARTBEAT_S - 1) == ""
    assert after(1) == (
        "chaos: at work: 0 of 2 scenarios, 2 of 40 schedules, 0 kills/s, 0 violations, 0:30\n"
    )
    assert after(HEARTBEAT_S - 1) == ""  # counted from the last sign of life
    lines.write("a result\n")
    assert after(HEARTBEAT_S - 1) == ""  # and from results
    assert after(2000) != ""
    assert after(100) == ""  # an hour has fewer of them
    assert after(10) != ""
    assert written == ["scenario\n", "a result\n"]
