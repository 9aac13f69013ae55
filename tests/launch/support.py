"""A room for one traced program, and a handler that notes everything and kills where it is told."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from chaos.launch.model import GO, Action, Call, Command, Launcher, Outcome, Service
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
    killed: Call | None = None
    wait_status: int | None = None
    before_death: bytes = b""  # the log at the entry of the call that was killed
    at_death: bytes = b""

    def classify(self, path: str) -> str | None:
        return "log" if path == os.path.realpath(self.log) else None

    def entering(self, call: Call) -> Action:
        self.entered.append(replace(call))
        self.at_entry.append(self.read())
        return self.plan(len(self.entered), call)

    def left(self, call: Call) -> None:
        self.returned.append(replace(call))

    def executed(self, pid: int, argv: tuple[str, ...]) -> None:
        self.programs.append(argv)

    def ended(self, pid: int, wait_status: int) -> None:
        self.ends.append(wait_status)

    def dead(self, call: Call, action: Action, wait_status: int) -> None:
        self.killed, self.wait_status = call, wait_status
        self.before_death, self.at_death = self.at_entry[-1], self.read()

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
