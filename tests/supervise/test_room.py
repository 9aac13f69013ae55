"""A room is read without being caught by what a target leaves in it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from chaos.errors import HarnessError
from chaos.evidence import ABSENT, Blobs
from chaos.supervise import room as room_module
from chaos.supervise.room import Room


@pytest.fixture
def room(tmp_path: Path) -> Room:
    made = Room(tmp_path / "lane", ".agent/sessions/*.jsonl", (".agent",))
    made.reset({"a": "text"}, {})
    return made


def test_what_is_no_regular_file_is_absent_and_does_not_hang(room: Room) -> None:
    os.mkfifo(room.workspace / "pipe")
    (room.workspace / "loop").symlink_to("loop")
    blobs = Blobs()
    tree = room.tree(blobs)
    assert (tree["pipe"], tree["loop"], blobs.get(tree["a"])) == (ABSENT, ABSENT, b"text")


def test_a_fifo_or_a_folder_named_like_a_log_is_none(room: Room) -> None:
    sessions = room.workspace / ".agent" / "sessions"
    sessions.mkdir(parents=True)
    os.mkfifo(sessions / "z.jsonl")
    (sessions / "zz.jsonl").mkdir()
    assert room.log() == b""
    (sessions / "a.jsonl").write_bytes(b"log\n")
    assert room.log() == b"log\n"


def test_a_journal_that_is_gone_is_empty(room: Room) -> None:
    room.effects.unlink()
    assert room.read(room.effects) is None


def test_a_file_too_large_to_keep_is_told(room: Room) -> None:
    os.truncate(room.workspace / "a", room_module.LARGEST_BYTES + 1)
    with pytest.raises(HarnessError, match="make the scenario's files smaller"):
        room.tree(Blobs())


def test_a_full_filesystem_is_the_harness_s_own_trouble(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    room.require_space()
    monkeypatch.setattr(room_module, "LEAST_FREE_BYTES", 1 << 62)
    with pytest.raises(HarnessError, match="make room, or name another directory in TMPDIR"):
        room.require_space()
