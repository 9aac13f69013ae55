"""Calls of real servers, made with the official SDK: over stdio and over streamable HTTP.

The host is a fork of this process, so the SDK is imported once, here.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from tenacity import retry, retry_if_result, stop_after_delay, wait_fixed

from agent.failures import AgentFailure
from agent.mcp import host
from agent.mcp.config import HttpServer, Server, StdioServer
from agent.mcp.servers import Host, offered_tools
from agent.mcp.tools import Listed
from agent.signals import AbortSwitch
from agent.tools import BUILTIN_TOOLS, CallContext, ToolResult
from tests.agent.support import no_abort
from tests.library import scenario_file

PROGRAM = str(Path(__file__).parents[1] / "programs" / "mcp_server.py")
SCENARIO = Path(scenario_file("calls/mcp-call-is-never-repeated"))
TOKEN = {"Authorization": "Bearer token"}
CALL_ID = "018f0000-0000-7000-8000-000000000001"

Call = Callable[..., ToolResult]


def stdio(name: str = "desk", timeout_s: int = 20, **env: str) -> StdioServer:
    """The test server as a program."""
    return StdioServer(name, timeout_s, sys.executable, (PROGRAM, "stdio"), env)


def shell(script: str, name: str = "desk") -> StdioServer:
    """A shell script as a server. `$DESK` starts the small one of the scenario, at once."""
    desk = f"{sys.executable} -I -S desk.py"
    return StdioServer(name, 20, "sh", ("-c", script.replace("$DESK", desk)), {})


@contextmanager
def calling(workspace: Path, *servers: Server) -> Iterator[Call]:
    """Calls of the servers' tools, by server and tool."""
    with AbortSwitch() as switch, offered_tools(servers, workspace, None, switch) as tools:
        context = CallContext(workspace, CALL_ID, None, {}, no_abort(switch))

        def call(server: str, tool: str, /, **arguments: Any) -> ToolResult:
            return tools[f"mcp__{server}__{tool}"].call(arguments, context)

        yield call


Started = Callable[[], set[psutil.Process]]


@pytest.fixture(name="started")
def _started(call: Call) -> Started:
    """What the test has started and what has not ended: guard, host and servers."""
    me = psutil.Process()
    before = set(me.children(recursive=True))
    return lambda: set(me.children(recursive=True)) - before


@retry(
    retry=retry_if_result(lambda seen: not seen), stop=stop_after_delay(5), wait=wait_fixed(0.01)
)
def seen(file: Path, line: str) -> bool:
    """Wait until a server has written the line."""
    return file.exists() and line in file.read_text().splitlines()


@pytest.fixture(name="workspace", scope="module")
def _workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    workspace = Path(os.path.realpath(tmp_path_factory.mktemp("mcp")))
    (workspace / ".agent").mkdir()
    scenario = tomllib.loads(SCENARIO.read_text(encoding="utf-8"))
    (workspace / "desk.py").write_text(scenario["files"]["desk.py"])
    return workspace


@pytest.fixture(name="over_http", scope="module")
def _over_http() -> Iterator[HttpServer]:
    with subprocess.Popen(
        [sys.executable, PROGRAM, "http"], stdout=subprocess.PIPE, encoding="ascii"
    ) as server:
        assert server.stdout is not None
        port = server.stdout.readline().strip()
        yield HttpServer("web", 20, f"http://127.0.0.1:{port}/mcp", TOKEN)
        server.kill()


@pytest.fixture(name="call", scope="module")
def _call(workspace: Path, over_http: HttpServer) -> Iterator[Call]:
    notes = str(workspace / "notes")
    with calling(workspace, stdio(timeout_s=1, MCP_TEST_FILE=notes), over_http) as call:
        yield call


BOTH = pytest.mark.parametrize("server", ["desk", "web"])


def test_another_signal_is_no_listing(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = Host.listed

    def at_once(self: Host) -> list[Listed]:
        assert select.select([self._channel], [], [], 0)[0] == [self._channel]
        return listed(self)

    monkeypatch.setattr(Host, "listed", at_once)
    with AbortSwitch() as switch:
        os.write(switch.wakeup_fd, b"\0")  # as the interpreter does where a signal has a handler
        server = shell("sleep 0.3; exec $DESK")
        with offered_tools([server], workspace, None, switch) as tools:
            assert tools.keys() > BUILTIN_TOOLS.keys()


@BOTH
def test_a_call_gives_the_text_of_its_result(call: Call, server: str) -> None:
    assert call(server, "echo", text="hé\n") == ToolResult("success", "hé\n")


@BOTH
def test_an_error_of_the_tool_is_an_error_result(call: Call, server: str) -> None:
    result = call(server, "fail", why="no paper")
    assert result.kind == "error"
    assert "no paper" in result.text


@BOTH
def test_arguments_that_the_server_refuses_are_an_error_result(call: Call, server: str) -> None:
    result = call(server, "echo", wrong=1)
    assert result.kind == "error"
    assert "text" in result.text


@BOTH
def test_what_is_no_text_is_named(call: Call, server: str) -> None:
    expected = "a picture:\n[image, image/png: not shown]"
    assert call(server, "mixed") == ToolResult("success", expected)


@BOTH
def test_a_huge_result_is_cut_and_kept(call: Call, server: str, workspace: Path) -> None:
    result = call(server, "flood", lines=3_000)
    lines = result.text.splitlines()
    kept = f".agent/tool-output/{CALL_ID}.txt"
    assert (lines[0], lines[1999]) == ("line 1001 ✓", "line 3000 ✓")
    assert kept in lines[-1]
    assert len((workspace / kept).read_text().splitlines()) == 3_000


def test_a_server_runs_in_the_workspace_without_the_agents_variables(
    call: Call, workspace: Path
) -> None:
    names = call("desk", "environment").text.split()
    assert names.pop() == str(workspace)
    assert "PATH" in names
    assert not [name for name in names if name.startswith(("AGENT_", "OPENROUTER", "PYTEST"))]


def test_a_call_that_takes_too_long_is_cancelled_and_the_server_goes_on(
    call: Call, workspace: Path
) -> None:
    result = call("desk", "wait", seconds=60)
    assert result.kind == "error"
    assert "timed out after 1 s" in result.text
    assert seen(workspace / "notes", "cancelled")
    assert call("desk", "echo", text="still here").text == "still here"


def test_a_server_that_dies_in_a_call_takes_no_other_with_it(
    workspace: Path, over_http: HttpServer
) -> None:
    with calling(workspace, stdio(), over_http) as call:
        for result in (call("desk", "die"), call("desk", "echo", text="x")):
            assert result.kind == "error"
            assert "last words of the server" in result.text
        assert call("web", "echo", text="alive").text == "alive"


def test_a_message_without_end_does_not_fill_the_memory(
    workspace: Path, started: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = psutil.Process().memory_info().data + (16 << 20)
    monkeypatch.setattr(host, "_MEMORY_LIMIT", limit)
    with calling(workspace, stdio(timeout_s=2)) as call:
        (guard,) = set(psutil.Process().children()) & started()
        (host_process,) = guard.children()
        (server,) = host_process.children()
        assert host_process.rlimit(psutil.RLIMIT_DATA) == (limit, limit)
        assert server.rlimit(psutil.RLIMIT_DATA) != (
            limit,
            limit,
        )  # what it needs is its own affair
        assert call("desk", "babble").kind == "error"


def test_servers_are_closed_in_reverse_order(workspace: Path, started: Started) -> None:
    first, second = (shell(f"$DESK; echo {name} >>order", name) for name in ("b", "a"))
    with calling(workspace, first, second):
        assert len(started()) == 6  # guard, host, and two servers below their shells
    assert (workspace / "order").read_text().split() == ["a", "b"]
    assert not started()


def test_an_error_in_the_work_closes_them_too(workspace: Path, started: Started) -> None:
    with pytest.raises(ZeroDivisionError), calling(workspace, shell("$DESK")):
        raise ZeroDivisionError
    assert not started()


def test_a_server_that_ignores_its_end_is_killed(workspace: Path, started: Started) -> None:
    with calling(workspace, shell("trap '' TERM; $DESK; setsid sleep 60")):
        pass
    assert not started()


@pytest.mark.parametrize(
    ("server", "why"),
    [
        (StdioServer("desk", 1, "/no/such/program", (), {}), "No such file"),
        (shell("echo no licence >&2; exit 1"), "its last words: no licence"),
        (shell("echo nonsense; exec sleep 60"), "did not list its tools within 1 s"),
        (HttpServer("desk", 1, "http://127.0.0.1:9/mcp", {}), "connect"),
    ],
)
def test_a_server_that_cannot_be_used_is_named_before_anything_is_accepted(
    workspace: Path, started: Started, monkeypatch: pytest.MonkeyPatch, server: Server, why: str
) -> None:
    monkeypatch.setattr(host, "START_LIMIT_S", 1)
    with (
        pytest.raises(AgentFailure, match=f"(?s)the MCP server desk cannot be used: .*{why}"),
        calling(workspace, server),
    ):
        raise AssertionError("not reached")
    assert not started()


def test_the_headers_of_the_configuration_are_sent(workspace: Path, over_http: HttpServer) -> None:
    refused = pytest.raises(AgentFailure, match="MCP server web cannot be used")
    with refused, calling(workspace, replace(over_http, headers={})):
        pass


def test_without_the_sdk_the_cure_is_named(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "agent.mcp.host", None)
    cure = pytest.raises(AgentFailure, match=r"pip install 'killpoint\[mcp\]'")
    with cure, calling(workspace, stdio()):
        pass


def test_an_abort_while_the_servers_start_leaves_the_built_in_tools(
    workspace: Path, started: Started
) -> None:
    with AbortSwitch() as switch:
        switch.request()
        with offered_tools([stdio()], workspace, None, switch) as tools:
            assert tools == BUILTIN_TOOLS
    assert not started()


def test_without_servers_nothing_is_started(workspace: Path, started: Started) -> None:
    with AbortSwitch() as switch, offered_tools([], workspace, None, switch) as tools:
        assert tools is BUILTIN_TOOLS
        assert not started()
