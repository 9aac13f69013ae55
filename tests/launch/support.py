"""A room for one traced program, and a handler that notes everything and kills where it is told."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from chaos.launch.model import (
    GO,
    Action,
    Call,
    Command,
    KillAt,
    Launcher,
    Outcome,
    Pause,
    Service,
    Strike,
)
from chaos.launch.tracer import trace

PROGRAMS = Path(__file__).resolve().parent.parent / "programs"
# No site, no environment: the interpreter starts in a third of the time.
PYTHON = (sys.executable, "-I", "-S")


@dataclass
class Notes:
    """A Handler. `plan` is asked for the n-th watched call (from 1) of a launch."""

    log: Path
    plan: Callable[[int, Call], Action] = lambda number, call: GO
    entered: list[Call] = field(default_factory=list)
    returned: list[Call] = field(default_factory=list)
    programs: list[tuple[str, ...]] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)  # wait statuses of others ended by a signal
    at_entry: list[bytes] = field(default_factory=list)  # the log at each entry
    pauses: dict[int, Pause] = field(default_factory=dict)  # by number of the call returned
    on_the_wire: list[Strike | Pause] = field(default_factory=list)
    rivals: list[tuple[Command, int, int]] = field(default_factory=list)  # in order of their ends
    killed: Call | None = None
    victim: int | None = None
    wait_status: int | None = None
    before_death: bytes = b""  # the log at the entry of the call that was killed
    at_death: bytes = b""

    def classify(self, path: str) -> str | None:
        return "log" if path == os.path.realpath(self.log) else None

    def entering(self, call: Call) -> Action:
        self.entered.append(replace(call))
        self.at_entry.append(self.read())
        return self.plan(len(self.entered), call)

    def left(self, call: Call) -> Pause | None:
        self.returned.append(replace(call))
        return self.pauses.get(len(self.returned))

    def served(self) -> Strike | Pause | None:
        return self.on_the_wire.pop() if self.on_the_wire else None

    def executed(self, pid: int, argv: tuple[str, ...]) -> None:
        self.programs.append(argv)

    def ended(self, pid: int, wait_status: int) -> None:
        self.ends.append(wait_status)

    def rival_ended(self, command: Command, pid: int, wait_status: int) -> None:
        self.rivals.append((command, pid, wait_status))

    def dead(self, call: Call | None, strike: Strike, pid: int, wait_status: int) -> None:
        self.killed, self.victim, self.wait_status = call, pid, wait_status
        self.before_death = self.at_entry[-1] if self.at_entry else b""
        self.at_death = self.read()

    def read(self) -> bytes:
        return self.log.read_bytes() if self.log.exists() else b""


class Room:
    """A directory with a log, in which commands run under the engine."""

    def __init__(self, path: Path) -> None:
        self.path, self.log = path, path / "session.log"

    def run(
        self,
        *argv: str | Path,
        notes: Notes | None = None,
        plan: Callable[[int, Call], Action] | None = None,
        service: Service | None = None,
        limit_s: float = 20.0,
        grace_s: float = 5.0,
        launcher: Launcher | None = None,
        hold: Callable[[int], None] | None = None,
        rivals: tuple[Command, ...] = (),
        **env: str,
    ) -> tuple[Notes, Outcome]:
        """One launch on an empty log; `env` is added to the environment."""
        self.log.unlink(missing_ok=True)
        notes = notes or Notes(self.log)
        notes.plan = plan or notes.plan
        outcome = trace(
            self.command(*argv, **env),
            notes,
            service,
            limit_s=limit_s,
            grace_s=grace_s,
            launcher=launcher,
            hold=hold,
            rivals=rivals,
        )
        return notes, outcome

    def command(self, *argv: str | Path, **env: str) -> Command:
        return Command(
            argv=tuple(map(str, argv)),
            env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "LOG": str(self.log), **env},
            cwd=str(self.path),
            stdout=str(self.path / "stdout"),
            stderr=str(self.path / "stderr"),
        )

    def shell(self, script: str) -> tuple[str, ...]:
        return ("sh", "-c", script)

    @property
    def stderr(self) -> str:
        return (self.path / "stderr").read_text()


class Wire:
    """A service: a FIFO that the target writes to. At a byte on it, something is due."""

    def __init__(self, room: Room, notes: Notes, due: Strike | Pause) -> None:
        self.path = room.path / "wire"
        os.mkfifo(self.path)
        self._fd = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK)
        self._keep = os.open(self.path, os.O_WRONLY)  # else its end would be readable for ever
        self._notes, self.due = notes, due

    def fileno(self) -> int:
        return self._fd

    def serve(self) -> None:
        try:
            os.read(self._fd, 1)
        except BlockingIOError:
            return
        self._notes.on_the_wire.append(self.due)


def kill_nth(number: int, action: Action) -> Callable[[int, Call], Action]:
    """A plan: `action` at watched call `number`, else go."""
    return lambda count, call: action if count == number else GO


def alive(pid: int) -> bool:
    """Does a process exist that is more than a zombie?"""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rsplit(")", 1)[1].split()[0] not in "ZX"


def kill_before() -> Action:
    """Kill on entry: nothing of the call happens."""
    return Action(strike=Strike(KillAt.ENTRY))


def kill_after() -> Action:
    """Let the call happen and kill at its exit."""
    return Action(strike=Strike(KillAt.EXIT))


def tear(keep: int) -> Action:
    """Let exactly `keep` bytes reach the file, then kill."""
    return Action(keep=keep, strike=Strike(KillAt.EXIT))


def short(keep: int) -> Action:
    """Let the call write `keep` bytes only, and go on."""
    return Action(keep=keep)


def fail(errno: int) -> Action:
    """The call does nothing and returns -`errno`."""
    return Action(errno=errno)
