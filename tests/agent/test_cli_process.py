"""Real processes, started as the harness and users start them, and killed as they are killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Protocol

from tests.agent.support import SECRET, ModelServer, call, completion

ID = "018f0000-0000-7000-8000-000000000001"
ROOT = Path(__file__).parents[2]
DONE = completion("done é")


class Model(Protocol):
    """Something that answers requests."""

    @property
    def base_url(self) -> str: ...


class Shell:
    """Starts the agent in one workspace, against one model server."""

    def __init__(self, workspace: Path, server: Model) -> None:
        self.workspace = workspace
        self.env = {**os.environ, "PYTHONPATH": str(ROOT), "AGENT_API_KEY": SECRET}
        self.env |= {"AGENT_BASE_URL": server.base_url, "AGENT_MODEL": "test/model"}

    def start(self, *arguments: str, stdout: int = subprocess.PIPE) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "agent", *arguments],
            cwd=self.workspace,
            env=self.env,
            stdout=stdout,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )

    def resume(self) -> int:
        with self.start("resume", ID) as agent:
            agent.communicate(timeout=30)
        return agent.returncode

    @property
    def log(self) -> Path:
        (found,) = (self.workspace / ".agent" / "sessions").iterdir()
        return found


def wait_for(agent: subprocess.Popen[str], event: str) -> None:
    """Read events until that one."""
    assert agent.stdout is not None
    for line in agent.stdout:
        if json.loads(line)["event"] == event:
            return
    raise AssertionError(f"no event {event}")


RUN = ("run", "--json", "--session", ID, "go")


def test_python_m_agent(tmp_path: Path) -> None:
    with ModelServer(DONE) as server, Shell(tmp_path, server).start("run", "hello") as agent:
        out, _ = agent.communicate(timeout=30)
    assert (agent.returncode, out) == (0, "done é\n")


def test_an_event_is_printed_only_after_its_fact_is_durable(tmp_path: Path) -> None:
    with ModelServer(completion(None, [call("bash", {"command": "exit"})]), DONE) as server:
        shell = Shell(tmp_path, server)
        with shell.start(*RUN) as agent:
            assert agent.stdout is not None
            for line in agent.stdout:
                event = json.loads(line)
                if "fact" in event:
                    assert event["fact"]["id"].encode() in shell.log.read_bytes()
    assert agent.returncode == 0


def test_ctrl_c_is_exit_130_and_what_was_accepted_is_kept(tmp_path: Path) -> None:
    with ModelServer(completion(None, [call("bash", {"command": "sleep 60"})]), DONE) as server:
        shell = Shell(tmp_path, server)
        with shell.start(*RUN) as agent:
            wait_for(agent, "toolStarted")
            agent.send_signal(signal.SIGINT)
            rest, err = agent.communicate(timeout=30)
        assert agent.returncode == 130
        assert "Traceback" not in err
        assert json.loads(rest.splitlines()[-1])["exitCode"] == 130
        assert shell.resume() == 0
    assert b"status became unknown" in shell.log.read_bytes()


def test_a_reader_that_goes_away_does_not_stop_the_work(tmp_path: Path) -> None:
    with ModelServer(DONE) as server:
        shell = Shell(tmp_path, server)
        reader, writer = os.pipe()
        os.close(reader)
        with shell.start(*RUN, stdout=writer) as agent:
            os.close(writer)
            _, err = agent.communicate(timeout=30)
    assert (agent.returncode, err) == (0, "")
    assert b"operationFinished" in shell.log.read_bytes()


def test_a_killed_agent_leaves_nothing_that_holds_its_session(tmp_path: Path) -> None:
    """The tool is a grandchild in a session of its own; the next start needs the lock."""
    command = "setsid sh -c 'sleep 60; echo late >> late' & wait"
    with ModelServer(completion(None, [call("bash", {"command": command})]), DONE) as server:
        shell = Shell(tmp_path, server)
        with shell.start(*RUN) as agent:
            wait_for(agent, "toolStarted")
            agent.kill()
        assert shell.resume() == 0
    assert not (tmp_path / "late").exists()
