"""Planted bugs that a kill cannot show, and a loss of power does."""

from __future__ import annotations

import os
from pathlib import Path

import agent.store
import agent.tools.files
from agent.store import SessionStore
from tests.planted.table import bug

SYNCED = "power-loss/synced-before-it-acts"


@bug("L2", 1, SYNCED, faults="power-loss")
def facts_not_synced() -> None:
    """`--durability fsync` that forgets the fsync of a fact."""
    write = SessionStore._write

    def unsynced(self: SessionStore, line: bytes) -> None:
        self.sync = False
        write(self, line)
        self.sync = True

    SessionStore._write = unsynced  # type: ignore[method-assign]


@bug("L2", 1, SYNCED, faults="power-loss")
def name_of_the_log_not_synced() -> None:
    """The facts are synced, and the directory that holds the file is not: the file may be gone."""
    agent.store.sync_directory = lambda directory: None


@bug("E5", 1, SYNCED, faults="power-loss")
def file_renamed_before_its_bytes_are_synced() -> None:
    """The classic: the new name is durable before what it names."""
    real = os.fsync

    def only_directories(fd: int) -> None:
        if Path(f"/proc/self/fd/{fd}").resolve().suffix == ".jsonl" or os.path.isdir(
            f"/proc/self/fd/{fd}"
        ):
            real(fd)

    agent.tools.files.os.fsync = only_directories  # type: ignore[attr-defined]
