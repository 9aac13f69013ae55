"""What is true when a thread enters a watched call: noted before anything of the call happens.

Reads the log, the workspace and /proc; keeps no history.
"""

from __future__ import annotations

from pathlib import Path

from chaos.evidence import ABSENT, Blobs, Process
from chaos.launch.model import Call
from chaos.launch.proc import argv
from chaos.points import KillPoint
from chaos.supervise.room import Room


class Entry:
    """What was true when a thread entered a watched call."""

    def __init__(self, room: Room, blobs: Blobs, call: Call) -> None:
        self.call = call
        self.log_bytes = room.log()
        self.log = blobs.put(self.log_bytes)
        self.kill: KillPoint | None = None
        self.tree: tuple[Process, ...] = ()  # where the process is to be killed
        self.instants: tuple[str, ...] = ()  # its names in a scenario's events, without a phase
        self.position = 0  # > 0: a kill point on the session log
        self.point = ""
        self.path = Path(call.new_path or call.path)
        self.content = room.content(self.path, blobs) if call.label == "file" else ABSENT
        self.argv: tuple[str, ...] = ()
        self.holds_log = False
        if call.label == "effect":
            self.argv = argv(call.pid)
            self.holds_log = _holds(call.pid, room.log_path())


def _holds(pid: int, log: Path | None) -> bool:
    """Does process `pid` have the session log open (and with it, perhaps, its lock)?"""
    try:
        wanted = log.stat() if log else None
        links = list(Path(f"/proc/{pid}/fd").iterdir()) if wanted else []
    except OSError:
        return False
    for link in links:
        try:
            found = link.stat()
        except OSError:
            continue
        if wanted and (found.st_dev, found.st_ino) == (wanted.st_dev, wanted.st_ino):
            return True
    return False
