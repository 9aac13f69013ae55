"""Aborts of real processes: by signals, by `agent abort`, in each phase, with real tools."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

import psutil
import pytest

from agent import abort_command
from agent.cli import main
from agent.failures import SessionBusy
from agent.reducer import reduce_session
from tests.agent.support import ModelServer, call, completion
from tests.agent.test_cli_process import ID, RUN, Shell, wait_for

DONE = completion("done")
SIGNALS = [signal.SIGINT, signal.SIGTERM]


class HeldModel:
    """Takes requests and answers none; says when one is there, and what the log was when it broke
    off. `begun` is sent at once: the start of a reply."""

    def __init__(self, begun: bytes = b"") -> None:
        self.arrived = threading.Event()
        self.log: Path | None = None
        self.log_at_end = b""
        self._begun = begun
        self._server = socket.create_server(("127.0.0.1", 0))
        self.base_url = f"http://127.0.0.1:{self._server.getsockname()[1]}/v1"
        self._thread = threading.Thread(target=self._serve)

    def _serve(self) -> None:
        connection, _ = self._server.accept()
        with connection:
            connection.settimeout(30)
            request = b""
            while b"\r\n\r\n" not in request or not request.endswith(b"}"):
                request += connection.recv(1 << 16)
            connection.sendall(self._begun)
            self.arrived.set()
            assert connection.recv(1) == b""
            if self.log is not None:
                self.log_at_end = self.log.read_bytes()

    def __enter__(self) -> HeldModel:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        if kind is None:
            self._thread.join(30)
        self._server.close()


def facts(shell: Shell) -> list[dict[str, object]]:
    """Entries and records of the log, without their envelopes."""
    lines = [json.loads(line) for line in shell.log.read_bytes().splitlines()[1:]]
    flat = [fact for line in lines for fact in (line if isinstance(line, list) else [line])]
    return [fact.get("record") or fact.get("entry") or {"type": fact["kind"]} for fact in flat]


def finish(agent: subprocess.Popen[str]) -> tuple[int, list[str], str]:
    """Exit code, the events that were left, standard error."""
    out, err = agent.communicate(timeout=30)
    assert "Traceback" not in err
    return agent.returncode, [json.loads(line)["event"] for line in out.splitlines()], err


ABORTED = ["abortRequested", "stepFailed", "operationFinished", "outcome"]
BEGUN = {
    "nothing": b"",
    "half a header": b"HTTP/1.1 200 OK\r\ncontent-ty",
    "half a body": b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n{",
    "half a stream": b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: {",
}


@pytest.mark.parametrize(
    ("number", "begun"), [(signal.SIGTERM, "nothing"), *((signal.SIGINT, begun) for begun in BEGUN)]
)
def test_a_request_is_cancelled_after_the_abort_is_durable(
    tmp_path: Path, number: signal.Signals, begun: str
) -> None:
    with HeldModel(BEGUN[begun]) as model, Shell(tmp_path, model).start(*RUN) as agent:
        wait_for(agent, "stepAttempt")
        assert model.arrived.wait(10)
        (model.log,) = (tmp_path / ".agent" / "sessions").iterdir()
        agent.send_signal(number)
        assert finish(agent)[:2] == (130, ABORTED)
    assert b'"abortRequested"' in model.log_at_end
    requested, failed = facts(Shell(tmp_path, model))[-3:-1]
    assert (requested["phase"], requested["reason"]) == ("model", "escape")
    assert failed["error"] == {"code": "aborted", "message": "Operation aborted"}


def test_many_signals_are_one_abort(tmp_path: Path) -> None:
    command = "sleep 60"
    with ModelServer(completion(None, [call("bash", {"command": command})]), DONE) as server:
        shell = Shell(tmp_path, server)
        with shell.start(*RUN) as agent:
            wait_for(agent, "toolStarted")
            while agent.poll() is None:
                agent.send_signal(signal.SIGINT)
                agent.send_signal(signal.SIGTERM)
            code, events, err = finish(agent)
    assert (code, err.splitlines()[1:]) == (130, [])
    assert events.count("abortRequested") == 1
    assert [fact["type"] for fact in facts(shell)].count("operationFinished") == 1


@pytest.fixture(name="server")
def _server(tmp_path: Path) -> Iterator[ModelServer]:
    """A tool that says when it is there, has a child in a session of its own, and leaves when it is
    asked to."""
    os.mkfifo(tmp_path / "on")
    command = (
        "setsid sh -c 'echo $$ >> pids; exec sleep 60' & trap 'echo asked >> asked; exit' TERM; "
        "while [ ! -s pids ]; do sleep 0.01; done; echo $$ >> pids; echo > on; sleep 60 & wait"
    )
    turn = completion(None, [call("bash", {"command": command}), call("read", {"path": "x"}, "c2")])
    with ModelServer(turn, DONE) as server:
        yield server


def tool_runs(workspace: Path) -> list[int]:
    """Wait until the tool writes into the fifo; give the pids of its tree."""
    (workspace / "on").read_bytes()
    return [int(pid) for pid in (workspace / "pids").read_text().split()]


@pytest.mark.parametrize("number", SIGNALS)
def test_a_tool_is_asked_to_end_and_its_whole_tree_is_gone(
    tmp_path: Path, server: ModelServer, number: signal.Signals
) -> None:
    shell = Shell(tmp_path, server)
    with shell.start(*RUN) as agent:
        wait_for(agent, "toolStarted")
        pids = tool_runs(tmp_path)
        agent.send_signal(number)
        code, events, _ = finish(agent)
    assert code == 130
    assert events == ["abortRequested", "toolResult", "toolResult", "operationFinished", "outcome"]
    assert not any(map(psutil.pid_exists, pids))
    assert (tmp_path / "asked").read_text() == "asked\n"
    requested, first, second, _ = facts(shell)[-4:]
    assert (requested["phase"], requested["toolCallId"]) == ("tool", "call_1")
    assert first["result"] == {"type": "synthetic", "reason": "interrupted"}
    assert second["result"] == {"type": "synthetic", "reason": "aborted"}


def test_a_tool_that_does_not_listen_is_killed(tmp_path: Path) -> None:
    command = "trap '' TERM; echo $$ > pids; echo > on; while :; do sleep 60; done"
    os.mkfifo(tmp_path / "on")
    with ModelServer(completion(None, [call("bash", {"command": command})])) as server:
        shell = Shell(tmp_path, server)
        with shell.start(*RUN) as agent:
            wait_for(agent, "toolStarted")
            pids = tool_runs(tmp_path)
            agent.send_signal(signal.SIGINT)
            assert finish(agent)[0] == 130
    assert not any(map(psutil.pid_exists, pids))


def test_abort_reaches_a_running_process(tmp_path: Path, server: ModelServer) -> None:
    shell = Shell(tmp_path, server)
    with shell.start(*RUN) as agent:
        wait_for(agent, "toolStarted")
        pids = tool_runs(tmp_path)
        with shell.start("abort", "--json", ID) as aborter:
            out, _ = aborter.communicate(timeout=30)
        assert aborter.returncode == 130
        assert json.loads(out.splitlines()[-1])["outcome"] == "aborted"
        assert finish(agent)[0] == 130
    assert not any(map(psutil.pid_exists, pids))
    assert shell.resume() == 0  # the session is free and idle


def test_abort_of_a_killed_process_reconciles_by_itself(
    tmp_path: Path, server: ModelServer
) -> None:
    shell = Shell(tmp_path, server)
    with shell.start(*RUN) as agent:
        wait_for(agent, "toolStarted")
        tool_runs(tmp_path)
        agent.kill()
    del shell.env["AGENT_API_KEY"]  # it asks no model
    with shell.start("abort", "--json", ID) as aborter:
        code, events, _ = finish(aborter)
    assert code == 130
    assert events[1:] == [
        "abortRequested",
        "toolResult",
        "toolResult",
        "operationFinished",
        "outcome",
    ]
    assert len(server.requests) == 1


def test_abort_of_a_process_that_cannot_act_is_busy_and_of_an_idle_one_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(abort_command, "_OWNER_S", 0.2)
    monkeypatch.setattr(abort_command, "WAIT_S", 0)
    monkeypatch.chdir(tmp_path)
    with HeldModel() as model:
        shell = Shell(tmp_path, model)
        with shell.start(*RUN) as agent:
            wait_for(agent, "stepAttempt")
            assert model.arrived.wait(10)
            agent.send_signal(signal.SIGSTOP)
            before = shell.log.read_bytes()
            assert main(["abort", ID]) == 5
            assert f"process {agent.pid}" in capsys.readouterr().err
            assert shell.log.read_bytes() == before
            agent.send_signal(signal.SIGCONT)
            assert finish(agent)[0] == 130  # the request to end is still there
    after = shell.log.read_bytes()
    assert main(["abort", ID]) == 0
    assert "nothing to do" in capsys.readouterr().err
    assert shell.log.read_bytes() == after


def test_only_a_process_that_has_the_session_open_is_asked(tmp_path: Path) -> None:
    """The pid in /proc/locks may be that of a dead agent, whose guard still holds the lock."""
    session = tmp_path / "session"
    session.touch()
    with subprocess.Popen(["sleep", "60"]) as stranger:
        abort_command._ask(SessionBusy("busy", stranger.pid), session)
        assert stranger.poll() is None
        stranger.kill()
        os.waitid(os.P_PID, stranger.pid, os.WEXITED | os.WNOWAIT)
        abort_command._ask(SessionBusy("busy", stranger.pid), session)  # a zombie
    abort_command._ask(SessionBusy("busy", stranger.pid), session)  # gone
    with pytest.raises(SessionBusy):
        abort_command._ask(SessionBusy("busy", None), session)


def test_an_owner_with_nothing_unfinished_is_left_in_peace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with ModelServer(DONE) as server:
        shell = Shell(tmp_path, server)
        with shell.start(*RUN) as agent:
            agent.communicate(timeout=30)
    with shell.log.open("r+b") as held:  # by this very process: a signal would be seen
        fcntl.flock(held, fcntl.LOCK_EX)
        assert main(["abort", ID]) == 0
    assert "nothing to abort" in capsys.readouterr().err


def test_a_compaction_is_aborted_in_its_own_phase(tmp_path: Path) -> None:
    with ModelServer(*[DONE] * 4) as server:
        for prompt in ("one", "two", "three", "four"):
            with Shell(tmp_path, server).start("run", "--session", ID, prompt) as agent:
                agent.communicate(timeout=30)
                assert agent.returncode == 0
    with HeldModel() as model:
        shell = Shell(tmp_path, model)
        model.log = shell.log
        before = reduce_session(shell.log.read_bytes()).active_context
        with shell.start("compact", "--json", ID) as agent:
            wait_for(agent, "stepAttempt")
            assert model.arrived.wait(10)
            agent.send_signal(signal.SIGTERM)
            assert finish(agent)[:2] == (130, ABORTED)
    assert facts(shell)[-3]["phase"] == "compact"
    assert b'"abortRequested"' in model.log_at_end
    assert reduce_session(shell.log.read_bytes()).active_context == before


def test_a_signal_before_anything_is_accepted_leaves_no_prompt(tmp_path: Path) -> None:
    """The lock is held, so the signal comes while the start waits for it."""
    with ModelServer(DONE, DONE) as server:
        shell = Shell(tmp_path, server)
        with shell.start(*RUN) as agent:
            agent.communicate(timeout=30)
        before = shell.log.read_bytes()
        held = os.open(shell.log, os.O_RDWR)
        fcntl.flock(held, fcntl.LOCK_EX)
        with shell.start(*RUN) as agent:
            process = psutil.Process(agent.pid)
            while shell.log not in [Path(file.path) for file in process.open_files()]:
                pass
            agent.send_signal(signal.SIGINT)
            os.close(held)
            code, events, err = finish(agent)
    assert (code, events) == (130, ["outcome"])
    assert "aborted before anything" in err
    assert shell.log.read_bytes() == before
