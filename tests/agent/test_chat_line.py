"""The history of typed lines: private, and never in the way. Typing itself: test_chat.py."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from prompt_toolkit.history import History, InMemoryHistory

from agent.chat_line import _history


def kept(history: History) -> list[str]:
    return list(history.load_history_strings())


def test_lines_are_kept_in_a_file_of_their_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / ".agent" / "chat-history"
    _history(path).store_string("一行 e\u0301\nin two lines")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert kept(_history(path)) == ["一行 e\u0301\nin two lines"]


def test_a_history_that_others_could_read_becomes_private(tmp_path: Path) -> None:
    path = tmp_path / "h"
    path.touch(0o644)
    _history(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_bytes_that_a_kill_left_are_no_obstacle(tmp_path: Path) -> None:
    path = tmp_path / "h"
    _history(path).store_string("whole")
    with path.open("ab") as file:
        file.write(b"\n# 2026\n+to\xff")
    history = _history(path)
    history.store_string("next")
    assert kept(history)[0] == "next"
    assert "whole" in kept(history)


@pytest.mark.parametrize("kind", ["link", "directory", "fifo", "no directory"])
def test_where_no_history_can_be_kept_there_is_one_in_memory(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "h"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("somebody's")
    match kind:
        case "link":
            path.symlink_to(elsewhere)
        case "directory":
            path.mkdir()
        case "fifo":
            os.mkfifo(path)
        case _:
            path = elsewhere / "h"
    history = _history(path)
    assert isinstance(history, InMemoryHistory)
    assert elsewhere.read_text() == "somebody's"


def test_a_disk_that_takes_no_more_ends_no_line(tmp_path: Path) -> None:
    path = tmp_path / "h"
    history = _history(path)
    path.unlink()
    path.mkdir()
    history.store_string("a line")
