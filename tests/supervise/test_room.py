"""A room is read without being caught by what a target leaves in it."""

from __future__ import annotations

import os
import sqlite3
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


def test_files_that_hold_a_session_are_known_by_their_globs(tmp_path: Path) -> None:
    room = Room(tmp_path / "lane", "", ("own",), ("~/.mine/*.db*", "sessions/*.json"))
    room.reset({"sessions/a/1.json": "{}", "own/x": "", "b": ""}, {})
    known = {
        f"{room.home}/.mine/s.db": "state",
        f"{room.home}/.mine/s.db-wal": "state",
        f"{room.home}/.mine/s.db-shm": None,  # an index in memory, which no crash needs
        f"{room.home}/sessions/1.json": None,  # another place of the same name
        f"{room.home}/.mine/": None,
        f"{room.workspace}/sessions/a/1.json": "state",  # `*` stands for `/`, too
        f"{room.workspace}/sessions/1.json.tmp": "file",
        f"{room.workspace}/own/x": None,
        f"{room.workspace}/": "directory",
    }
    assert {path: room.classify(path) for path in known} == known
    assert room.relative(f"{room.home}/.mine/s.db") == "~/.mine/s.db"
    assert room.glob_of("~/.mine/s.db") == "~/.mine/*.db*"
    assert set(room.tree(Blobs())) == {"b"}
    assert room.state_files() == ("own/x", "sessions/a/1.json")


def test_a_log_may_lie_in_the_home(tmp_path: Path) -> None:
    room = Room(tmp_path / "lane", "~/.mine/*/*.jsonl", ())
    room.reset({".mine/w/2.jsonl": "not this"}, {".mine/w/1.jsonl": "log\n"})
    assert room.log() == b"log\n"
    assert room.classify(f"{room.home}/.mine/w/1.jsonl") == "log"
    assert room.classify(f"{room.workspace}/.mine/w/2.jsonl") == "file"


def test_a_database_is_known_by_its_first_bytes(tmp_path: Path) -> None:
    room = Room(tmp_path / "lane", "", (), ("*.db*",))
    sqlite3.connect(tmp_path / "s.db").execute("CREATE TABLE t (x)").connection.close()
    (tmp_path / "s.db-wal").write_bytes(b"7\x7f\x06\x82")
    assert room.is_database(tmp_path / "s.db")
    assert not room.is_database(tmp_path / "s.db-wal")
    assert not room.is_database(tmp_path / "none")
