"""Kill points and schedules: the names of instants, and how they are written.

Pure. A **kill point** names one instant at which the target can be stopped dead, by what it means:

    log:toolStarted[bash]#1/after      a system call that changes the session log
    file:rename[notes.txt]#1/before    one that changes a workspace file
    state:pwrite64[*.db-wal]#3/after   one that changes a file which holds the session, by its glob
    effect:deploy#1/before             one that appends to the effect journal
    provider:2/request                 the exchange with the model, by request

or by position (`log@5/torn@17`: the fifth call on the session log in that launch). A **schedule**
gives each launch at most one kill, and says what happens to the session between launches:
`run: log:toolStarted#1/after; damage: cut@812; resume*8: none`.

Source: design section 2. This module only parses, prints and compares; it does not know which
points exist in a run, nor what an intervention does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from chaos.errors import UsageError


class Phase(StrEnum):
    """Where the target dies: within a system call, or within an exchange with the model."""

    BEFORE = "before"  # on entry: nothing was written
    TORN = "torn"  # exactly k bytes reach the file
    AFTER = "after"  # on exit, before the next instruction of the target
    REQUEST = "request"  # received, nothing answered
    CHUNK = "chunk"  # n events of the stream were sent
    RESPONSE = "response"  # all was sent, nothing of it is durable yet


class Scope(StrEnum):
    """Who dies with the process that a kill is meant for."""

    PROCESS = "process"  # nobody: what the OOM killer does
    GROUP = "group"  # its process group
    TREE = "tree"  # every process of the launch: what the end of a container does


CALL_PHASES = (Phase.BEFORE, Phase.TORN, Phase.AFTER)
# Which phases a source has.
SOURCES = {
    "log": CALL_PHASES,
    "file": CALL_PHASES,
    "state": CALL_PHASES,
    "effect": (Phase.BEFORE, Phase.AFTER),
    "provider": (Phase.REQUEST, Phase.CHUNK, Phase.RESPONSE),
}
DAMAGE = "damage"  # of the log: `damage: cut@812` (chaos.damage)
POWER_LOSS = "power-loss"  # `power-loss: data=2 names=0` (chaos.power_loss)
EVENT = "event"  # what befalls a launch, as in a scenario file: `event: signal:INT at log@3/after`
# What stands before a launch in a schedule: it is done to the session first, or befalls the launch.
INTERVENTIONS = (DAMAGE, POWER_LOSS, EVENT)
MOST_STARTS = 64

_NUMBER = "[1-9][0-9]{0,15}"
_POSITION = rf"@(?P<position>{_NUMBER})"
# The place of a point by source: everything before its phase.
_CALL = (
    r":(?P<name>[A-Za-z][A-Za-z0-9_.-]*)(?:\[(?P<detail>[^\];\n]+)\])?"
    rf"#(?P<ordinal>{_NUMBER})|{_POSITION}"
)
_PLACES = {
    "log": f"(?:{_CALL})",
    "file": f"(?:{_CALL})",
    "state": f"(?:{_CALL})",
    "effect": rf"(?::(?P<name>[^#;/\n]*[^#;/\s])#(?P<ordinal>{_NUMBER})|{_POSITION})",
    "provider": rf":(?P<position>{_NUMBER})",
}
_PHASE = re.compile(rf"(?P<phase>[a-z]+)(?:@(?P<part>{_NUMBER}))?")
_PLACE = {source: re.compile(source + place) for source, place in _PLACES.items()}
_COUNTED = frozenset({Phase.TORN, Phase.CHUNK})  # phases that say how much
_LAUNCH = re.compile(rf"(?P<role>[a-z]+)(?:\*(?P<starts>{_NUMBER}))?")
_EXAMPLES = (
    "log:toolStarted[bash]#1/after, log:assistant#2/torn@17, log@5/before, "
    "file:rename[notes.txt]#1/before, effect:deploy#1/after or provider:2/request"
)


@dataclass(frozen=True, slots=True)
class KillPoint:
    """One instant. `name` is None for a point addressed by position, and for the provider's."""

    source: str  # one of SOURCES
    name: str | None  # a fact type or a system call (log, file, state), an effect
    detail: str | None  # a fact's tool; a file's path, relative to the workspace; a glob
    ordinal: int
    phase: Phase
    part: int | None = None  # bytes of a torn call; events of a chunk

    @classmethod
    def parse(cls, text: str) -> KillPoint:
        """Read a point as it is printed. Raises UsageError with examples."""
        place, _, how = text.strip().rpartition("/")
        source = re.split("[:@]", place, maxsplit=1)[0]
        where = _PLACE[source].fullmatch(place) if source in SOURCES else None
        phase = _PHASE.fullmatch(how)
        if where is None or phase is None or phase["phase"] not in SOURCES[source]:
            raise UsageError(f"not a kill point: {text!r}; write for example {_EXAMPLES}")
        if (phase["part"] is not None) != (phase["phase"] in _COUNTED):
            raise UsageError(f"not a kill point: {text!r}; only torn@BYTES and chunk@EVENTS count")
        named = where.groupdict()
        return cls(
            source=source,
            name=named.get("name"),
            detail=named.get("detail"),
            ordinal=int(named.get("ordinal") or named["position"]),
            phase=Phase(phase["phase"]),
            part=int(phase["part"]) if phase["part"] else None,
        )

    @property
    def place(self) -> str:
        """The point without its phase: `log:toolStarted[bash]#1`, `log@5`, `provider:2`."""
        if self.name is None:
            return f"{self.source}{':' if self.source == 'provider' else '@'}{self.ordinal}"
        detail = f"[{self.detail}]" if self.detail else ""
        return f"{self.source}:{self.name}{detail}#{self.ordinal}"

    def __str__(self) -> str:
        part = f"@{self.part}" if self.phase in _COUNTED else ""
        return f"{self.place}/{self.phase}{part}"


def is_place(text: str) -> bool:
    """Is this how a point is named, without its phase?"""
    return any(place.fullmatch(text) for place in _PLACE.values())


@dataclass(frozen=True, slots=True)
class PlannedLaunch:
    """One launch of a schedule: its role as written (`run`, `resume`) and its kill, if any."""

    role: str
    kill: KillPoint | None
    starts: int = 1  # how many processes start at the same instant: `resume*8`
    first: tuple[str, ...] = ()  # what happens before it: "damage: cut@812"

    def __str__(self) -> str:
        starts = f"*{self.starts}" if self.starts > 1 else ""
        return "; ".join((*self.first, f"{self.role}{starts}: {self.kill or 'none'}"))


_WITHOUT_KILL = PlannedLaunch("", None)


def told(first: Iterable[str], word: str) -> list[str]:
    """What is told before a launch under one of INTERVENTIONS: `cut@812` of `damage: cut@812`."""
    return [what.removeprefix(f"{word}: ") for what in first if what.startswith(f"{word}: ")]


@dataclass(frozen=True, slots=True)
class Schedule:
    """Launches in order. Launches past the end of the schedule run without a kill."""

    launches: tuple[PlannedLaunch, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Schedule:
        """Read a schedule as it is printed. Raises UsageError."""
        launches: list[PlannedLaunch] = []
        first: list[str] = []
        for part in filter(None, (p.strip() for p in text.split(";"))):
            role, colon, what = (p.strip() for p in part.partition(":"))
            if role in INTERVENTIONS and what:
                first.append(f"{role}: {what}")
                continue
            match = _LAUNCH.fullmatch(role)
            if not colon or not match or int(match["starts"] or 1) > MOST_STARTS:
                raise UsageError(f"not a launch: {part!r}; write for example 'resume: none'")
            kill = None if what == "none" else KillPoint.parse(what)
            starts = int(match["starts"] or 1)
            launches.append(PlannedLaunch(match["role"], kill, starts, tuple(first)))
            first.clear()
        if first:
            raise UsageError(f"{first[-1]!r} is followed by no launch; add 'resume: none'")
        return cls(tuple(launches))

    def of(self, launch: int) -> PlannedLaunch:
        """What is planned for launch number `launch` (0-based)."""
        return self.launches[launch] if launch < len(self.launches) else _WITHOUT_KILL

    @property
    def kills(self) -> tuple[KillPoint, ...]:
        """The kills planned, in order, whatever their launches."""
        return tuple(launch.kill for launch in self.launches if launch.kill)

    def kill_at(self, launch: int) -> KillPoint | None:
        """The kill planned for launch number `launch` (0-based), if any."""
        return self.of(launch).kill

    def __str__(self) -> str:
        return "; ".join(map(str, self.launches)) or "run: none"


def torn_lengths(data: bytes, torn: str) -> Sequence[int]:
    """The lengths at which one write is torn: `every`, or `ends`: the telling ones."""
    return range(1, len(data)) if torn == "every" else sorted(torn_ends(data))


def torn_ends(data: bytes) -> set[int]:
    """Telling cuts of one write: its first byte, its middle, all but its last byte (the LF), and
    the inside of its first multibyte character."""
    ends = {1, len(data) // 2, len(data) - 1}
    multibyte = next((i for i, byte in enumerate(data) if byte >= 0xC0), None)
    if multibyte is not None:
        ends.add(multibyte + 1)
    return {k for k in ends if 0 < k < len(data)}
