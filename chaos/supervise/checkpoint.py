"""A checkpoint: a crash image with its past, to which a lane can go back for another branch.

Promises: `restore` gives the room exactly what `take` saw (names, bytes, modes, links; not mtimes),
at the same paths. Held in memory: a room is a small workspace and a log.
"""

from __future__ import annotations

import os
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path

from chaos.evidence import Blobs, Event, Launch
from chaos.supervise.room import Room


@dataclass(frozen=True, slots=True)
class _Node:
    """One file, directory or link below the room. `data` is the content or the link's target."""

    name: str
    mode: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The room after a kill, and the evidence that led there."""

    nodes: tuple[_Node, ...]
    launches: tuple[Launch, ...]
    events: tuple[Event, ...]
    blobs: Blobs
    step: int  # of the scenario, in which the kill fell

    def restore(self, room: Room) -> None:
        """Make the room what it was."""
        shutil.rmtree(room.root, ignore_errors=True)
        room.root.mkdir(parents=True)
        for node in self.nodes:
            path = room.root / node.name
            if stat.S_ISDIR(node.mode):
                path.mkdir()
            elif stat.S_ISLNK(node.mode):
                path.symlink_to(os.fsdecode(node.data))
                continue
            else:
                path.write_bytes(node.data)
            path.chmod(stat.S_IMODE(node.mode))


def nodes_of(room: Room) -> tuple[_Node, ...]:
    """Everything below the room, parents before children."""
    return tuple(_walk(room.root, ""))


def _walk(directory: Path, prefix: str) -> list[_Node]:
    found: list[_Node] = []
    with os.scandir(directory) as entries:
        for entry in sorted(entries, key=lambda e: e.name):
            mode = entry.stat(follow_symlinks=False).st_mode
            name = prefix + entry.name
            if stat.S_ISDIR(mode):
                found.append(_Node(name, mode, b""))
                found.extend(_walk(Path(entry.path), f"{name}/"))
            elif stat.S_ISLNK(mode):
                found.append(_Node(name, mode, os.fsencode(Path(entry.path).readlink())))
            elif stat.S_ISREG(mode):
                found.append(_Node(name, mode, Path(entry.path).read_bytes()))
    return found
