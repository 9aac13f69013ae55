"""The programs that are killed for the proof of exactness, a row each, and how they are started.

gcc and node may be absent: their rows are then left out, which is told.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

PROGRAMS = Path(__file__).resolve().parent / "programs"
# No site, no environment: the interpreter starts in a third of the time.
_PYTHON = (sys.executable, "-I", "-S", str(PROGRAMS / "records.py"))
_WARM = (sys.executable, "-m", "records")


@dataclass(frozen=True, slots=True)
class Row:
    """One program with its numbers."""

    program: str  # python | warm | c | node
    lines: int
    threads: int
    processes: int
    sync: bool
    joined: int = 1  # lines that come in one call

    @property
    def name(self) -> str:
        sync = "fsync" if self.sync else "no fsync"
        return f"{self.program}, {self.threads} threads, {self.processes} processes, {sync}"

    @property
    def calls(self) -> int:
        """Calls on the file, syncs among them."""
        writes = self.lines * self.threads * self.processes // self.joined
        return writes * 2 if self.sync else writes

    def argv(self, file: Path, compiled: Path) -> tuple[str, ...]:
        """The command. `compiled` is records.c, compiled."""
        program = {
            "python": _PYTHON,
            "warm": _WARM,
            "c": (str(compiled),),
            "node": ("node", str(PROGRAMS / "records.mjs")),
        }[self.program]
        numbers = (self.lines, self.threads, self.processes, int(self.sync))
        return (*program, str(file), *map(str, numbers))


ROWS = (
    Row("python", 6, 1, 1, sync=False),
    Row("python", 6, 1, 1, sync=True),
    Row("python", 3, 4, 1, sync=True),
    Row("python", 3, 1, 4, sync=False),
    Row("python", 2, 3, 2, sync=True),
    Row("warm", 6, 1, 1, sync=True),
    Row("warm", 3, 4, 1, sync=False),
    Row("warm", 2, 3, 2, sync=True),
    Row("c", 10, 1, 1, sync=False),
    Row("c", 10, 1, 1, sync=True),
    Row("c", 4, 8, 1, sync=False),
    Row("c", 3, 4, 3, sync=True),
    Row("c", 3, 1, 8, sync=True),
    Row("node", 12, 1, 1, sync=False, joined=3),
    Row("node", 3, 3, 1, sync=True),
    Row("node", 3, 1, 3, sync=False),
)
_NEEDS = {"c": "cc", "node": "node"}


def available(rows: Iterable[Row] = ROWS) -> tuple[list[Row], list[str]]:
    """The rows that this machine can run, and what is said of the others."""
    missing = {program for program, tool in _NEEDS.items() if shutil.which(tool) is None}
    left_out = [f"{program}: left out, {_NEEDS[program]} is not installed" for program in missing]
    return [row for row in rows if row.program not in missing], sorted(left_out)


def compile_c(folder: Path) -> Path:
    """records.c as a program; nothing is made where there is no compiler."""
    program = folder / "records"
    if compiler := shutil.which("cc"):
        source = PROGRAMS / "records.c"
        subprocess.run([compiler, "-O1", "-pthread", "-o", program, source], check=True)
    return program
