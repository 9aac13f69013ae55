"""Kill points and schedules: the names of instants, and how they are written.

Pure. A **kill point** names one instant at which the target can be stopped dead, by what it means
(`log:toolStarted[bash]#1/after`, `log:assistant#2/torn@17`) or by position (`log@5/before`: the
fifth durable system call on the session log in that launch). A **schedule** gives each launch at
most one kill: `run: log:toolStarted#1/after; resume: log:toolResult#1/torn@9; resume: none`.

Source: design section 2. This module only parses, prints and compares; it does not know which
points exist in a run.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from chaos.errors import UsageError


class Phase(StrEnum):
    """Where in the system call the target dies."""

    BEFORE = "before"  # on entry: nothing was written
    TORN = "torn"  # exactly k bytes reach the file
    AFTER = "after"  # on exit, before the next instruction of the target


SOURCES = ("log",)  # file, provider and effect join with issue 5's families

_NAMED = r"(?P<name>[A-Za-z][A-Za-z0-9_.-]*)(?:\[(?P<tool>[^\]]+)\])?#(?P<ordinal>[1-9][0-9]{0,15})"
_POINT = re.compile(
    r"(?P<source>[a-z]+)(?::" + _NAMED + r"|@(?P<position>[1-9][0-9]{0,15}))"
    r"/(?:(?P<phase>before|after)|torn@(?P<torn>[1-9][0-9]{0,15}))"
)
_EXAMPLES = "log:toolStarted[bash]#1/after, log:assistant#2/torn@17 or log@5/before"


@dataclass(frozen=True, slots=True)
class KillPoint:
    """One instant. `name` is None for a point addressed by position; `torn` is a byte count."""

    source: str
    name: str | None
    tool: str | None
    ordinal: int
    phase: Phase
    torn: int | None = None

    @classmethod
    def parse(cls, text: str) -> KillPoint:
        """Read a point as it is printed. Raises UsageError with examples."""
        match = _POINT.fullmatch(text.strip())
        if match is None or match["source"] not in SOURCES:
            raise UsageError(f"not a kill point: {text!r}; write for example {_EXAMPLES}")
        torn = match["torn"]
        return cls(
            source=match["source"],
            name=match["name"],
            tool=match["tool"],
            ordinal=int(match["ordinal"] or match["position"]),
            phase=Phase.TORN if torn else Phase(match["phase"]),
            torn=int(torn) if torn else None,
        )

    def __str__(self) -> str:
        tool = f"[{self.tool}]" if self.tool else ""
        where = f"@{self.ordinal}" if self.name is None else f":{self.name}{tool}#{self.ordinal}"
        phase = f"torn@{self.torn}" if self.phase is Phase.TORN else str(self.phase)
        return f"{self.source}{where}/{phase}"


@dataclass(frozen=True, slots=True)
class PlannedLaunch:
    """One launch of a schedule: its role as written (`run`, `resume`) and its kill, if any."""

    role: str
    kill: KillPoint | None

    def __str__(self) -> str:
        return f"{self.role}: {self.kill or 'none'}"


@dataclass(frozen=True, slots=True)
class Schedule:
    """Launches in order. Launches past the end of the schedule run without a kill."""

    launches: tuple[PlannedLaunch, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Schedule:
        """Read a schedule as it is printed. Raises UsageError."""
        launches = []
        for part in filter(None, (p.strip() for p in text.split(";"))):
            role, colon, point = (p.strip() for p in part.partition(":"))
            if not colon or not role:
                raise UsageError(f"not a launch: {part!r}; write for example 'resume: none'")
            kill = None if point == "none" else KillPoint.parse(point)
            launches.append(PlannedLaunch(role, kill))
        return cls(tuple(launches))

    def kill_at(self, launch: int) -> KillPoint | None:
        """The kill planned for launch number `launch` (0-based), if any."""
        return self.launches[launch].kill if launch < len(self.launches) else None

    def __str__(self) -> str:
        return "; ".join(map(str, self.launches)) or "run: none"


def torn_ends(data: bytes) -> set[int]:
    """Telling cuts of one write: its first byte, its middle, all but its last byte (the LF), and
    the inside of its first multibyte character."""
    ends = {1, len(data) // 2, len(data) - 1}
    multibyte = next((i for i, byte in enumerate(data) if byte >= 0xC0), None)
    if multibyte is not None:
        ends.add(multibyte + 1)
    return {k for k in ends if 0 < k < len(data)}
