"""The promise of a kill point: the bytes on disk are those that the point names, every time."""

from __future__ import annotations

import errno
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from chaos.launch.model import Action, Call

from .support import (
    PROGRAMS,
    PYTHON,
    Notes,
    Room,
    fail,
    kill_after,
    kill_before,
    kill_nth,
    short,
    tear,
)

WRITER = (*PYTHON, PROGRAMS / "writer.py")


def expected(notes: Notes, kept: int) -> bytes:
    """The log as the point promises it: as it was at entry, with `kept` bytes of the call."""
    call, before = notes.killed, notes.before_death
    assert call is not None
    at = call.offset
    return before[:at].ljust(at, b"\0") + call.data[:kept] + before[at + kept :]


def assert_exact(room: Room, argv: tuple[str | Path, ...], number: int, call: Call) -> int:
    """Kill at watched call `number` in each phase. Returns the kills made."""
    length = call.length
    torn = sorted({1, length // 2, length - 1} - {0, length})
    plans = [(kill_before(), 0), (kill_after(), length), *((tear(k), k) for k in torn)]
    for action, kept in plans:
        notes, outcome = room.run(*argv, plan=kill_nth(number, action))
        assert notes.killed is not None, f"call {number} was not reached"
        assert notes.killed.returned == (kept or None)
        assert notes.at_death == expected(notes, kept)
        assert notes.wait_status == 9
        assert outcome.killed
    return len(plans)


@pytest.mark.parametrize(
    ("lines", "threads", "processes"),
    [(3, 1, 1), (2, 4, 1), (2, 1, 2)],
    ids=["plain", "threads", "parent and child"],
)
def test_every_point_of_every_write_is_exact(
    room: Room, load: None, lines: int, threads: int, processes: int
) -> None:
    argv = (*WRITER, room.log, str(lines), str(threads), str(processes))
    reference, _ = room.run(*argv)
    kills = sum(
        assert_exact(room, argv, number, call)
        for number, call in enumerate(reference.entered, start=1)
    )
    assert kills == lines * threads * processes * 5


def test_a_shell_that_appends(room: Room) -> None:
    argv = room.shell('for i in 1 2 3; do echo "line $i" >> "$LOG"; done')
    for number in (1, 2, 3):
        call = Call(0, 0, "write", "log", "", length=len("line 1\n"))
        assert_exact(room, argv, number, call)


def test_every_call_that_takes_bytes_can_be_torn_at_every_byte(room: Room, vectors: Path) -> None:
    reference, _ = room.run(vectors, room.log)
    names = [call.name for call in reference.entered]
    assert names == ["write", "pwrite64", "writev", "pwritev", "pwritev2", "pwritev2"]
    for number, call in enumerate(reference.entered, start=1):
        assert (call.data, call.length) == (b"first,second,third\n", 19)
        assert call.offset == 19 * (number - 1)
        for kept in range(1, 19):
            notes, _ = room.run(vectors, room.log, plan=kill_nth(number, tear(kept)))
            assert notes.at_death == expected(notes, kept)
            assert notes.killed is not None
            assert notes.killed.returned == kept


@pytest.mark.parametrize("number", range(1, 7))
def test_a_short_write_is_seen_by_the_program_and_leaves_no_trace_in_it(
    room: Room, vectors: Path, number: int
) -> None:
    notes, outcome = room.run(vectors, room.log, plan=kill_nth(number, short(8)))
    assert outcome.wait_status == 0  # 3 << 8: it found its vectors changed
    assert [call.returned for call in notes.returned][number - 1 : number + 1] == [8, 11]
    assert room.log.read_bytes() == b"first,second,third\n" * 6


def test_an_injected_error_is_what_the_program_sees(room: Room) -> None:
    script = """
import os
fd = os.open(os.environ["LOG"], os.O_WRONLY | os.O_CREAT)
try:
    os.write(fd, b"one")
except OSError as error:
    os.write(fd, error.strerror.encode())
"""
    notes, _ = room.run(*PYTHON, "-c", script, plan=kill_nth(1, fail(errno.ENOSPC)))
    assert [call.returned for call in notes.returned] == [-errno.ENOSPC, 23]
    assert room.log.read_bytes() == b"No space left on device"


def test_calls_are_served_one_at_a_time_whoever_makes_them(room: Room, load: None) -> None:
    """Entry and exit alternate, and between them the log changes by that one call only."""
    order: list[str] = []

    class Alternating(Notes):
        def entering(self, call: Call) -> Action:
            order.append("entry")
            return super().entering(call)

        def left(self, call: Call) -> None:
            order.append("exit")
            assert self.read() == self.at_entry[-1] + call.data
            super().left(call)

    notes = Alternating(room.log)
    room.run(*WRITER, room.log, "10", "4", "2", notes=notes)
    assert order == ["entry", "exit"] * 80
    lines = [json.loads(line) for line in room.log.read_text().splitlines()]
    assert len(lines) == 80


@pytest.mark.parametrize("action", [kill_before, kill_after])
def test_nobody_goes_on_between_a_kill_and_the_look_at_what_it_left(
    room: Room, action: Callable[[], Action]
) -> None:
    """The agent dies while its tool stands before a write: the tool, which dies with the agent,
    must not get to write."""
    waited = 0
    for _ in range(30):
        notes, _ = room.run(
            *PYTHON,
            PROGRAMS / "late_tool.py",
            room.log,
            plan=lambda number, call: action() if call.data == b"agent\n" else kill_after(),
            notes=Notes(room.log),
        )
        assert notes.killed is not None
        if notes.killed.data == b"agent\n" and len(notes.entered) == 1:
            waited += 1
            assert room.log.read_bytes() == (b"agent\n" if action is kill_after else b"")
    assert waited > 0
