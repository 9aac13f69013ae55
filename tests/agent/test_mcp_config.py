"""Servers come from one file that the user has named and that nobody else can change."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from agent.failures import UsageFailure
from agent.mcp.config import (
    MAX_SERVERS,
    VARIABLE,
    HttpServer,
    Server,
    StdioServer,
    configured_servers,
)

WORKSPACE = Path("/workspace")


def configured(path: Path, value: Any, **environ: str) -> tuple[Server, ...]:
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return configured_servers({VARIABLE: str(path), **environ}, WORKSPACE)


def test_without_the_variable_there_are_no_servers() -> None:
    assert configured_servers({}, WORKSPACE) == ()
    assert configured_servers({VARIABLE: ""}, WORKSPACE) == ()


def test_servers_come_in_the_order_of_the_file(tmp_path: Path) -> None:
    tracker = {"url": "https://example.org/mcp", "headers": {"A": "Bearer ${KEY}"}, "timeout_s": 9}
    files = {"command": "files", "args": ["-${V}"], "env": {"ROOT": "${HOME}/x", "PLAIN": "$HOME"}}
    value = {"mcpServers": {"tracker": tracker, "files": files, "bare": {"command": "${BIN}"}}}
    assert configured(tmp_path / "mcp.json", value, KEY="k", HOME="/h", BIN="c", V="v") == (
        HttpServer("tracker", 9, "https://example.org/mcp", {"A": "Bearer k"}),
        StdioServer("files", 120, "files", ("-v",), {"ROOT": "/h/x", "PLAIN": "$HOME"}),
        StdioServer("bare", 120, "c", (), {}),
    )


def test_values_that_may_be_secret_are_not_shown() -> None:
    assert "key" not in repr(HttpServer("s", 1, "http://h/", {"A": "key"}))
    assert "key" not in repr(StdioServer("s", 1, "c", (), {"A": "key"}))


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ("{", "not JSON"),
        ('{"mcpServers": {}, "mcpServers": {}}', "stands twice"),
        ({}, "the key 'mcpServers' is missing"),
        ({"mcpServers": []}, "expected an object"),
        ({"mcpServers": {"a b": {"command": "c"}}}, "expected a name of 1 to 24 letters"),
        ({"mcpServers": {"s": {}}}, "s: the key 'command' is missing"),
        ({"mcpServers": {"s": {"command": ""}}}, "command: expected some text"),
        ({"mcpServers": {"s": {"command": "c", "url": "http://h/"}}}, "'command' is unknown"),
        ({"mcpServers": {"s": {"command": "c", "arg": []}}}, "known are command, args, env"),
        ({"mcpServers": {"s": {"command": "c", "env": {"A": 1}}}}, "A: expected a string"),
        ({"mcpServers": {"s": {"command": "c", "timeout_s": 0}}}, "integer from 1 to 3600"),
        ({"mcpServers": {"s": {"url": "ftp://h/"}}}, "expected http"),
        ({"mcpServers": {"s": {"url": "http://h/", "headers": {"A": "${NO}"}}}}, "has no NO"),
        (
            {"mcpServers": {f"s{n}": {"command": "c"} for n in range(MAX_SERVERS + 1)}},
            "at most 16 servers, found 17",
        ),
    ],
)
def test_a_mistake_is_refused_with_its_place(tmp_path: Path, value: Any, complaint: str) -> None:
    with pytest.raises(UsageFailure, match=complaint) as caught:
        configured(tmp_path / "mcp.json", value)
    assert str(tmp_path / "mcp.json") in str(caught.value)


def test_a_file_that_the_agents_tools_can_write_is_not_trusted(tmp_path: Path) -> None:
    inside = tmp_path / ".agent" / "mcp.json"
    inside.parent.mkdir()
    inside.write_text('{"mcpServers": {}}')
    link = tmp_path.parent / f"{tmp_path.name}-link"
    link.symlink_to(inside)
    for path in (inside, link):
        with pytest.raises(UsageFailure, match="lies in the workspace"):
            configured_servers({VARIABLE: str(path)}, Path(os.path.realpath(tmp_path)))


def test_a_file_that_others_can_write_is_not_trusted(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text('{"mcpServers": {}}')
    assert configured_servers({VARIABLE: str(path)}, WORKSPACE) == ()
    path.chmod(0o646)
    with pytest.raises(UsageFailure, match="can be changed by other users"):
        configured_servers({VARIABLE: str(path)}, WORKSPACE)


def test_a_file_of_another_user_is_not_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "mcp.json"
    path.write_text('{"mcpServers": {}}')
    if os.geteuid() == 0:
        os.chown(path, 12345, 12345)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.raises(UsageFailure, match="can be changed by other users"):
        configured_servers({VARIABLE: str(path)}, WORKSPACE)


def test_what_is_no_readable_file_is_named(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for name, complaint in {
        "mcp.json": "expected an absolute path",
        str(tmp_path / "missing"): "missing: No such file",
        str(tmp_path / "fifo"): "expected a regular file",
        str(tmp_path): "expected a regular file|Is a directory",
    }.items():
        with pytest.raises(UsageFailure, match=complaint):
            configured_servers({VARIABLE: name}, WORKSPACE)


def test_a_file_without_end_is_not_read_to_its_end(tmp_path: Path) -> None:
    with pytest.raises(UsageFailure, match="at most 1048576 bytes"):
        configured(tmp_path / "mcp.json", " " * (1 << 20) + "{}")
