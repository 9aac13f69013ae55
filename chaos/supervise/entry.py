"""What is true when a thread enters a watched call: noted before anything of the call happens.

Reads the log, the workspace and /proc; keeps no history.
"""

from __future__ import annotations

from pathlib import Path

from chaos.evidence import ABSENT, SYNCS, Blobs, Process
from chaos.launch.model import Call
from chaos.launch.proc import argv
from chaos.points import KillPoint
from chaos.supervise.room import Room

_KEPT = ("log", "file", "effect")  # labels of files whose every state is kept


class Entry:
    """What was true when a thread entered a watched call."""

    def __init__(self, room: Room, blobs: Blobs, call: Call) -> None:
        self.call = call
        self.log_bytes = room.log()
        self.log = blobs.put(self.log_bytes)
        self.kill: KillPoint | None = None  # the call is to be killed at
        self.tree: tuple[Process, ...] = ()  # where the process is to be killed
        self.instants: tuple[str, ...] = ()  # its names, without a phase; the fullest comes last
        self.path = call.new_path or call.path
        self.relative = room.relative(self.path)
        self.content = room.content(self.path, blobs) if call.label == "file" else ABSENT
        self._room, self._blobs = room, blobs
        self._moved: bytes | None = None
        if call.label in _KEPT:
            self._look_at_moved()
        self.argv: tuple[str, ...] = ()
        self.holds_log = False
        if call.label == "effect":
            self.content = blobs.put(room.read(room.effects) or b"")
            self.argv = argv(call.pid)
            self.holds_log = _holds(call.pid, room.log_path())

    def keep(self) -> None:
        """It is to be killed at: now the content of the file is needed, whatever file it is."""
        if self.call.label not in _KEPT:
            self.content = self._room.content(self.path, self._blobs)
            self._look_at_moved()

    def _look_at_moved(self) -> None:
        if self.call.new_path:
            self._moved = self._room.read(self.call.path)

    @property
    def point(self) -> str:
        """Its fullest name."""
        return self.instants[-1]

    def payload(self) -> bytes:
        """The bytes that the call brings: those of a write; of a rename, the file renamed."""
        return self.call.data if self._moved is None else self._moved

    @property
    def kills(self) -> bool:
        """Is it a kill point? A sync is none: it changes no byte."""
        return self.call.name not in SYNCS and self.call.label != "directory"


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
