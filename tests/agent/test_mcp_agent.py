"""The whole agent with an MCP server, in real processes: killed in a call, resumed, aborted."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from tenacity import retry, retry_if_result, stop_after_delay, wait_fixed

from tests.agent.support import SECRET, ModelServer, call, completion
from tests.agent.terminal import ESC, Person
from tests.agent.test_guard import gone

ID = "018f0000-0000-7000-8000-000000000001"
ROOT = Path(__file__).parents[2]
WAIT = completion(None, [call("mcp__desk__wait", {"seconds": 60})], "tool_calls")
ECHO = completion(None, [call("mcp__desk__echo", {"text": "hé"})], "tool_calls")
DONE = completion("done")


class Desk:
    """A workspace, a model and a configuration that names the server `desk`."""

    def __init__(self, folder: Path, model: ModelServer) -> None:
        self.workspace = folder / "workspace"
        self.workspace.mkdir()
        self.notes = folder / "notes"
        self.config = folder / "mcp.json"
        self.describe("Wait.")
        self.env = {**os.environ, "PYTHONPATH": str(ROOT), "AGENT_API_KEY": SECRET}
        self.env |= {"AGENT_BASE_URL": model.base_url, "AGENT_MCP_CONFIG": str(self.config)}

    def describe(self, wait: str) -> None:
        """Let the server describe its tool `wait` so."""
        env = {"MCP_TEST_FILE": str(self.notes), "MCP_TEST_ABOUT": wait}
        program = [str(ROOT / "tests" / "programs" / "mcp_server.py"), "stdio"]
        entry = {"command": sys.executable, "args": program, "env": env}
        self.config.write_text(json.dumps({"mcpServers": {"desk": entry}}))

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "agent", *arguments],
            cwd=self.workspace,
            env=self.env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )

    def end(self, *arguments: str) -> tuple[int, str]:
        """Exit code and standard error of one start."""
        with self.start(*arguments) as agent:
            _, err = agent.communicate(timeout=30)
        return agent.returncode, err

    def wait_for(self, note: str) -> None:
        """Until the server has noted that."""
        assert _noted(self.notes, note), f"no {note!r}"

    def facts(self) -> list[Any]:
        (log,) = (self.workspace / ".agent" / "sessions").iterdir()
        lines = [json.loads(line) for line in log.read_text().splitlines()[1:]]
        return [fact for line in lines for fact in (line if isinstance(line, list) else [line])]

    def results(self) -> list[dict[str, Any]]:
        return [fact["entry"] for fact in self.facts() if "result" in fact.get("entry", {})]


@retry(
    retry=retry_if_result(lambda noted: not noted), stop=stop_after_delay(20), wait=wait_fixed(0.02)
)
def _noted(notes: Path, note: str) -> bool:
    return notes.exists() and note in notes.read_text().splitlines()


@pytest.fixture(name="model")
def _model(request: pytest.FixtureRequest) -> Iterator[ModelServer]:
    with ModelServer(*request.param) as model:
        yield model


def answers(*bodies: Any) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("model", [bodies], indirect=True, ids=[""])


@answers(ECHO, DONE)
def test_the_model_is_offered_the_tools_and_gets_their_results(
    tmp_path: Path, model: ModelServer
) -> None:
    desk = Desk(tmp_path, model)
    assert desk.end("run", "--session", ID, "go")[0] == 0
    offered = [tool["function"]["name"] for tool in model.requests[0]["tools"]]
    assert offered[:4] == ["read", "write", "edit", "bash"]
    assert "mcp__desk__echo" in offered
    assert model.requests[1]["messages"][-1]["content"] == "hé"
    (intent,) = (f["record"] for f in desk.facts() if f.get("record", {}).get("replayKey"))
    assert (intent["replay"], intent["replayKey"]) == ("never", "mcp:desk:echo")
    desk.wait_for("ended test")


@answers(WAIT, DONE)
def test_killed_in_a_call(tmp_path: Path, model: ModelServer) -> None:
    desk = Desk(tmp_path, model)
    with desk.start("run", "--session", ID, "go") as agent:
        desk.wait_for("waiting")
        tree = psutil.Process(agent.pid).children(recursive=True)
        assert len(tree) >= 3  # guard, host, server
        agent.send_signal(signal.SIGKILL)
    assert gone(tree)

    # A server that has changed its tool meanwhile is another configuration.
    desk.describe("Wait, and then do something else.")
    code, err = desk.end("resume", ID)
    assert code == 3
    assert "configuration_changed" in err
    assert "mcp__desk__wait differs: use the version of its MCP server" in err

    # As before, the call counts as interrupted: it is not made again.
    desk.describe("Wait.")
    assert desk.end("resume", ID)[0] == 0
    assert [result["result"] for result in desk.results()] == [
        {"type": "synthetic", "reason": "interrupted"}
    ]
    assert desk.notes.read_text().splitlines().count("waiting") == 1


@answers(WAIT)
def test_aborted_in_a_call(tmp_path: Path, model: ModelServer) -> None:
    desk = Desk(tmp_path, model)
    with desk.start("run", "--session", ID, "go") as agent:
        desk.wait_for("waiting")
        tree = psutil.Process(agent.pid).children(recursive=True)
        agent.send_signal(signal.SIGINT)
        assert agent.wait(10) == 130
        assert gone(tree)
    desk.wait_for("cancelled")  # the server was told
    assert desk.facts()[-1]["record"]["outcome"] == "aborted"
    assert [result["result"]["reason"] for result in desk.results()] == ["interrupted"]


@answers(WAIT, ECHO, DONE)
def test_a_chat_keeps_its_servers_from_prompt_to_prompt(tmp_path: Path, model: ModelServer) -> None:
    desk = Desk(tmp_path, model)
    person = Person(desk.workspace, model.base_url, AGENT_MCP_CONFIG=str(desk.config))
    with contextlib.closing(person):
        person.says("wait for it")
        desk.wait_for("waiting")
        person.press(ESC)
        person.sees("abort")
        person.says("and now an echo")
        person.sees("done")
        person.says("/exit")
        assert person.leaves() == 0
    assert model.requests[-1]["messages"][-1]["content"] == "hé"
    notes = [line.split()[0] for line in desk.notes.read_text().splitlines()]
    assert notes == ["started", "waiting", "cancelled", "ended"]


def test_a_mistake_in_the_configuration_leaves_no_session(tmp_path: Path) -> None:
    with ModelServer() as model:
        desk = Desk(tmp_path, model)
        (tmp_path / "mcp.json").write_text('{"mcpServers": {"desk": {}}}')
        code, err = desk.end("run", "--session", ID, "go")
    assert (code, model.requests) == (2, [])
    assert "desk: the key 'command' is missing" in err
    assert not [*desk.workspace.glob(".agent/sessions/*")]


def test_a_server_that_cannot_be_used_is_told_before_the_prompt_is_accepted(tmp_path: Path) -> None:
    with ModelServer() as model:
        desk = Desk(tmp_path, model)
        (tmp_path / "mcp.json").write_text('{"mcpServers": {"desk": {"command": "/no/such"}}}')
        code, err = desk.end("run", "--session", ID, "go")
    assert (code, model.requests) == (1, [])
    assert "the MCP server desk cannot be used: [Errno 2] No such file" in err
    (log,) = desk.workspace.glob(".agent/sessions/*")
    assert log.read_bytes() == b""  # not a session yet


@pytest.mark.parametrize(
    ("environment", "reason"),
    [(None, "attempts_exhausted"), ("elsewhere", "environment_changed")],
)
def test_a_session_that_is_blocked_whatever_servers_list_starts_none(
    tmp_path: Path, environment: str | None, reason: str
) -> None:
    log = (ROOT / "tests" / "corpus" / "logs" / "attempt-repeated.jsonl").read_text()
    header = json.loads(log.splitlines()[0])
    with ModelServer() as model:
        desk = Desk(tmp_path, model)
        desk.env["AGENT_ENVIRONMENT_IDENTITY"] = environment or header["environmentIdentity"]
        sessions = desk.workspace / ".agent" / "sessions"
        sessions.mkdir(parents=True)
        (sessions / f"x_{header['id']}.jsonl").write_text(log)
        code, err = desk.end("resume", header["id"])
    assert code == 3
    assert f"blocked: {reason}" in err
    assert not desk.notes.exists()
