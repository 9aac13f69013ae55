"""The host and whatever it started die with the agent, however the agent dies.

Each test starts a small agent in a process of its own, whose host is no MCP client but a function
that starts a shell command and then does what a host would: wait for the end of its channel.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tests.agent.test_guard import ended, gone

AGENT = """
import fcntl, os, subprocess, sys
from agent.mcp.process import GuardedProcess

lock = os.open(sys.argv[2], os.O_RDWR | os.O_CREAT | os.O_CLOEXEC)
fcntl.flock(lock, fcntl.LOCK_EX)

def serve(channel):
    started = subprocess.Popen(["/bin/sh", "-c", sys.argv[1]], stdout=subprocess.PIPE)
    started.stdout.readline()
    channel.sendall(" ".join(sorted(os.listdir("/proc/self/fd"))).encode() + b"\\n")
    deaf = "deaf" in sys.argv
    while channel.recv(100) or deaf:
        pass

process = GuardedProcess(serve, lock)
print(process.channel.recv(100).decode(), end="", flush=True)
sys.stdin.readline()
process.close(float(sys.argv[3]))
process.close(0)
print("closed", flush=True)
"""
# Starts a process in a session of its own that nothing but a signal ends, and says so.
SERVER = "setsid sleep 60 & echo started; exec sleep 60"


class Agent:
    """A process with a host, whose tree stands."""

    def __init__(self, lock: Path, grace_s: float, *more: str) -> None:
        self.lock = lock
        self.process = subprocess.Popen(
            [sys.executable, "-c", AGENT, SERVER, str(lock), str(grace_s), *more],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="ascii",
        )
        assert self.process.stdout is not None
        self.descriptors_of_host = self.process.stdout.readline().split()
        self.tree = psutil.Process(self.process.pid).children(recursive=True)
        self.guard = next(p for p in self.tree if p.ppid() == self.process.pid)
        self.host = self.guard.children()[0]

    def closes(self) -> float:
        """Let the agent close the host; the seconds that it took."""
        started = time.monotonic()
        out, _ = self.process.communicate("\n", timeout=10)
        assert out == "closed\n"
        return time.monotonic() - started

    @property
    def lock_is_free(self) -> bool:
        with self.lock.open("r+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            return True


Start = Callable[..., Agent]


@pytest.fixture(name="start")
def _start(tmp_path: Path) -> Iterator[Start]:
    agents: list[Agent] = []

    def start(grace_s: float = 5, *more: str) -> Agent:
        agents.append(Agent(tmp_path / "lock", grace_s, *more))
        return agents[-1]

    yield start
    for agent in agents:
        with agent.process as process:
            process.kill()
        for left in agent.tree:  # by a killed guard
            with contextlib.suppress(psutil.NoSuchProcess):
                left.kill()


def test_close_lets_the_host_end_and_kills_what_it_leaves(start: Start) -> None:
    agent = start()
    assert len(agent.tree) == 4  # guard, host, the server and its child
    assert agent.closes() < 2
    assert gone(agent.tree, 0)


def test_a_host_that_does_not_end_is_killed(start: Start) -> None:
    agent = start(0.2, "deaf")
    assert agent.closes() < 2
    assert gone(agent.tree, 0)


@pytest.mark.parametrize("host", ["", "deaf"])
def test_the_tree_dies_with_the_agent(start: Start, host: str) -> None:
    agent = start(5, host)
    agent.process.kill()
    agent.process.wait()
    assert gone(agent.tree)
    assert agent.lock_is_free


def test_the_lock_is_held_until_the_tree_is_gone(start: Start) -> None:
    agent = start(5, "deaf")
    agent.guard.suspend()
    agent.process.kill()
    agent.process.wait()
    assert not ended(agent.host)
    assert not agent.lock_is_free  # the agent is dead, its servers are not
    agent.guard.resume()
    assert gone(agent.tree)
    assert agent.lock_is_free


def test_neither_host_nor_servers_hold_the_lock(start: Start) -> None:
    agent = start()
    # The standard streams, the channel, the pipe to the server, and the listing itself.
    assert len(agent.descriptors_of_host) == 6
    holding = [
        process
        for process in agent.tree
        if str(agent.lock) in {file.path for file in process.open_files()}
    ]
    assert holding == [agent.guard]


def test_a_killed_guard_takes_the_host_with_it(start: Start) -> None:
    agent = start()
    agent.guard.kill()
    assert gone([agent.guard, agent.host])
    agent.closes()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE])
def test_a_signal_meant_for_the_agent_does_not_end_its_guard(
    start: Start, number: signal.Signals
) -> None:
    agent = start()
    agent.guard.send_signal(number)
    agent.process.kill()
    agent.process.wait()
    assert gone(agent.tree)


def test_an_error_in_the_host_is_the_end_of_its_channel(tmp_path: Path) -> None:
    from agent.mcp.process import GuardedProcess

    process = GuardedProcess(lambda channel: os.kill(0x7FFFFFFF, 0), None)
    assert process.channel.recv(1) == b""
    process.close(1)
