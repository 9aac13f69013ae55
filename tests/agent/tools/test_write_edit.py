"""`write` and `edit` replace a file in one step and leave nothing else behind."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent.signals import AbortSwitch
from agent.tools import CallContext
from agent.tools.base import ToolError
from agent.tools.files import TEMPORARY_PREFIX, replace_file, sweep_call, temporary_beside
from tests.agent.support import no_abort
from tests.agent.tools.conftest import Call


def names(workspace: Path) -> list[str]:
    return sorted(path.name for path in workspace.iterdir() if path.name != ".agent")


def test_write_makes_the_directories_on_the_way(workspace: Path, call: Call) -> None:
    result = call("write", path="a/b/c.txt", content="é\n")
    assert (result.kind, result.text) == ("success", "Wrote 3 bytes to a/b/c.txt.")
    assert (workspace / "a/b/c.txt").read_text() == "é\n"


def test_a_replaced_file_keeps_its_mode_and_is_another_file(workspace: Path, call: Call) -> None:
    target = workspace / "run.sh"
    target.write_text("old")
    target.chmod(0o750)
    inode = target.stat().st_ino
    with target.open() as reader:  # an open reader goes on seeing the old bytes
        assert call("write", path="run.sh", content="new").kind == "success"
        assert reader.read() == "old"
    assert target.read_text() == "new"
    assert target.stat().st_mode & 0o777 == 0o750
    assert target.stat().st_ino != inode
    assert names(workspace) == ["run.sh"]


def test_a_link_inside_the_workspace_is_followed(workspace: Path, call: Call) -> None:
    (workspace / "real").write_text("old")
    (workspace / "link").symlink_to("real")
    call("write", path="link", content="new")
    assert (workspace / "link").is_symlink()
    assert (workspace / "real").read_text() == "new"


def test_what_was_replaced_but_is_not_durable_is_said_to_be_so(
    workspace: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("agent.tools.files.sync_directory", fail)
    context = CallContext(
        workspace, "018f0000-0000-7000-8000-000000000001", None, {}, no_abort(AbortSwitch()), True
    )
    with pytest.raises(ToolError, match="written, but not durable yet: Input/output error"):
        replace_file(workspace / "a", b"new", context)
    assert (workspace / "a").read_text() == "new"


@pytest.mark.parametrize("step", ["write", "rename", "fchmod"])
def test_a_failed_replacement_changes_nothing(
    workspace: Path, call: Call, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    (workspace / "a").write_text("old")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    if step == "write":
        monkeypatch.setattr("agent.tools.files.open", lambda fd, _: _Full(fd), raising=False)
    else:
        monkeypatch.setattr(Path if step == "rename" else os, step, fail)
    result = call("write", path="a", content="new")
    assert result.kind == "error"
    assert "No space left on device" in result.text
    assert (workspace / "a").read_text() == "old"
    assert names(workspace) == ["a"]


class _Full:
    """A file on a full disk."""

    def __init__(self, fd: int) -> None:
        os.close(fd)

    def __enter__(self) -> _Full:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def write(self, _: bytes) -> None:
        raise OSError(28, "No space left on device")


def test_a_directory_or_device_is_not_replaced(workspace: Path, call: Call) -> None:
    (workspace / "d").mkdir()
    os.mkfifo(workspace / "p")
    for path in ("d", "p"):
        assert "not a regular file" in call("write", path=path, content="x").text
    assert names(workspace) == ["d", "p"]


def test_edit_needs_exactly_one_place(workspace: Path, call: Call) -> None:
    target = workspace / "a"
    target.write_bytes(b"one\r\ntwo\xff\r\none\r\n")
    assert "occurs 2 times" in call("edit", path="a", old_text="one", new_text="1").text
    assert "does not occur" in call("edit", path="a", old_text="three", new_text="3").text
    assert "is empty" in call("edit", path="a", old_text="", new_text="3").text
    assert "is not a file" in call("edit", path="b", old_text="x", new_text="3").text
    assert call("edit", path="a", old_text="two", new_text="zwei").kind == "success"
    assert target.read_bytes() == b"one\r\nzwei\xff\r\none\r\n"


def test_the_sweep_removes_exactly_what_the_killed_call_left(workspace: Path) -> None:
    mine, others = "018f0000-0000-7000-8000-00000000000a", "018f0000-0000-7000-8000-00000000000b"
    (workspace / "d").mkdir()
    left = temporary_beside(workspace / "d" / "file", mine)
    left.write_text("half")
    kept = temporary_beside(workspace / "d" / "file", others)
    kept.write_text("another session's")
    sweep_call(workspace, {"path": "d/file"}, mine)
    assert not left.exists()
    assert kept.exists()
    left.symlink_to("elsewhere")
    sweep_call(workspace, {"path": "d/file"}, mine)
    assert left.is_symlink()
    for path in ("../x", ".agent/x", "", 5, None, "a\0b"):
        sweep_call(workspace, {"path": path}, mine)
    assert left.name.startswith(TEMPORARY_PREFIX)
