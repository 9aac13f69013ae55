"""The engine sees what strace sees: an independent record of the same program."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from .overhead import overhead
from .support import PROGRAMS, PYTHON, Room

CALLS = "write,pwrite64,writev,pwritev,pwritev2,fsync,ftruncate,rename,unlink"
_LINE = re.compile(r"^\d+ +(\w+)\(.*\) += (\d+)$")


def by_strace(room: Room, argv: tuple[str | Path, ...]) -> list[tuple[str, int]]:
    """name and result of the calls on the log."""
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("needs strace")
    record = room.path / "record"
    room.log.unlink(missing_ok=True)
    command = [strace, "-f", "-y", "-e", f"trace={CALLS}", "-o", record, *argv]
    subprocess.run(command, check=True, env={"LOG": str(room.log), "PATH": "/usr/bin:/bin"})
    lines = [line for line in record.read_text().splitlines() if str(room.log) in line]
    matches = [_LINE.match(line) for line in lines]
    return [(match[1], int(match[2])) for match in matches if match]


def test_the_same_calls_as_strace(room: Room, vectors: Path) -> None:
    script = """
import os
log = os.open(os.environ["LOG"], os.O_RDWR | os.O_CREAT)
for n in range(5):
    os.write(log, b"x" * n)
    os.fsync(log)
os.writev(log, [b"a", b"bc"])
os.ftruncate(log, 3)
os.rename(os.environ["LOG"], os.environ["LOG"] + "2")
os.rename(os.environ["LOG"] + "2", os.environ["LOG"])
os.unlink(os.environ["LOG"])
"""
    programs: list[tuple[str | Path, ...]] = [
        (*PYTHON, "-c", script),
        (*PYTHON, PROGRAMS / "writer.py", room.log, "5", "1", "1"),
        (vectors, room.log),
        room.shell('echo one >> "$LOG"; (echo two; echo three) >> "$LOG"'),
    ]
    for argv in programs:
        notes, _ = room.run(*argv)
        seen = [(call.name, call.returned) for call in notes.returned]
        assert seen == by_strace(room, argv)
        assert len(seen) > 2


def test_tracing_is_cheap_enough_to_measure(room: Room) -> None:
    """No bound here: the machine may be busy. `make bench` prints the figures."""
    command = room.command(*room.shell('echo one >> "$LOG"'))
    cost = overhead(command, str(room.path), pairs=3)
    assert cost.stops >= 3
    assert 0 < cost.ratio < 100
