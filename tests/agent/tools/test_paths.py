"""No tool leaves the workspace, whatever links say, and none changes the agent's own state."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.agent.tools.conftest import Call


@pytest.mark.parametrize(
    "path", ["", "..", "../secret", "/etc/hostname", "link/secret", "a/../../secret", "loose"]
)
def test_outside_is_refused(workspace: Path, call: Call, path: str) -> None:
    (workspace.parent / "secret").write_text("secret")
    (workspace / "link").symlink_to("..")
    (workspace / "loose").symlink_to("../not-there-yet")
    for result in (
        call("read", path=path),
        call("write", path=path, content="x"),
        call("edit", path=path, old_text="secret", new_text="x"),
    ):
        assert result.kind == "error"
        assert "outside the workspace" in result.text or "path is empty" in result.text
    assert (workspace.parent / "secret").read_text() == "secret"
    assert not (workspace.parent / "not-there-yet").exists()


def test_inside_may_be_written_in_any_way(workspace: Path, call: Call) -> None:
    assert call("write", path=f"{workspace}/a/./b/../c.txt", content="x").kind == "success"
    assert (workspace / "a" / "c.txt").read_text() == "x"


def test_an_error_text_is_text_even_where_a_file_name_is_not(workspace: Path, call: Call) -> None:
    (workspace / "link").symlink_to(os.fsdecode(b"missing-\xff"))
    result = call("read", path="link")
    assert result.kind == "error"
    assert "missing-\ufffd: No such file" in result.text


def test_a_loop_of_links_is_an_error(workspace: Path, call: Call) -> None:
    (workspace / "a").symlink_to("b")
    (workspace / "b").symlink_to("a")
    assert call("read", path="a").kind == "error"


@pytest.mark.parametrize("path", [".agent", ".agent/sessions/x.jsonl", "state/x"])
def test_the_agents_own_state_is_not_changed(workspace: Path, call: Call, path: str) -> None:
    (workspace / "state").symlink_to(".agent")
    result = call("write", path=path, content="x")
    assert result.kind == "error"
    assert "belongs to the agent" in result.text
