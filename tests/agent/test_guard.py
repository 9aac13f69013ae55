"""A tool's whole process tree dies with its call, and with the agent, however the agent dies.

Each test starts a small agent of its own in a process of its own, so that it can be killed.
"""

from __future__ import annotations

import fcntl
import os
import select
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from tenacity import Retrying, retry_if_result, stop_after_delay, wait_fixed

AGENT = """
import fcntl, os, signal, sys
import agent.guard
from agent.abort import Abort
from agent.guard import ToolProgram, run_guarded
from agent.signals import AbortSwitch
from agent.state import Run

agent.guard._GRACE_S = float(sys.argv[4])
operation = Run("the operation", "its input")

def commit(fact):
    operation.abort_requested = True
    os.write(2, b"durable")

switch = AbortSwitch()
signal.signal(signal.SIGTERM, lambda *_: switch.request())
abort = Abort(switch, lambda: operation, commit)
lock = os.open(sys.argv[2], os.O_RDWR | os.O_CREAT | os.O_CLOEXEC)
fcntl.flock(lock, fcntl.LOCK_EX)
output = bytearray()

def sink(data):
    output.extend(data)
    os.write(2, data)

program = ToolProgram(("/bin/sh", "-c", sys.argv[1]), "/tmp", dict(os.environ), float(sys.argv[3]))
ending = run_guarded(program, lock, sink, abort)
print(ending.how, ending.code, bytes(output).decode(), sep="|", flush=True)
"""
ALIVE = "echo started; exec sleep 60"  # says so on standard error, and stays


class Agent:
    """A process that runs one guarded tool."""

    def __init__(
        self,
        command: str,
        lock: Path,
        timeout_s: float,
        grace_s: float,
        inherited: tuple[int, ...],
    ) -> None:
        self.lock = lock
        limits = (str(timeout_s), str(grace_s))
        self.process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(AGENT), command, str(lock), *limits],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=inherited,
        )

    def wait_for(self, words: str) -> None:
        """Until the tool has printed `words`."""
        assert self.process.stderr is not None
        seen = b""
        while words.encode() not in seen:
            ready, _, _ = select.select([self.process.stderr], [], [], 10)
            assert ready, f"no {words!r} within 10 s, only {seen!r}"
            seen += os.read(self.process.stderr.fileno(), 4096)

    def end(self) -> tuple[str, int, str]:
        """How the call ended, its code and the output."""
        out, _ = self.process.communicate(timeout=10)
        how, code, output = out.decode().split("|", 2)
        return how, int(code), output.rstrip("\n")

    def tree(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children(recursive=True)

    def lock_is_free_within(self, seconds: float) -> bool:
        """Take the lock as the next start would, waiting at most `seconds`."""
        with self.lock.open("r+") as file:
            signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(TimeoutError()))
            signal.setitimer(signal.ITIMER_REAL, seconds)
            try:
                fcntl.flock(file, fcntl.LOCK_EX)
            except TimeoutError:
                return False
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
            return True


Start = Callable[..., Agent]


@pytest.fixture(name="start")
def _start(tmp_path: Path) -> Iterator[Start]:
    """Starts agents that share a lock, and closes them."""
    agents: list[Agent] = []

    # A descriptor that the agent has inherited itself; its tools must not.
    inherited = os.open(os.devnull, os.O_RDONLY)

    def start(command: str, timeout_s: float = 30, grace_s: float = 30) -> Agent:
        agents.append(Agent(command, tmp_path / "lock", timeout_s, grace_s, (inherited,)))
        return agents[-1]

    yield start
    for agent in agents:
        with agent.process as process:
            process.kill()
    os.close(inherited)


def ended(process: psutil.Process) -> bool:
    """A zombie that nobody reaps has ended."""
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def gone(processes: list[psutil.Process], seconds: float = 1.0) -> bool:
    """Whether all end within `seconds`."""
    waiting = Retrying(
        retry=retry_if_result(lambda done: not done),
        stop=stop_after_delay(seconds),
        wait=wait_fixed(0.01),
        retry_error_callback=lambda state: False,
    )
    return bool(waiting(lambda: all(map(ended, processes))))


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("echo out; echo err >&2; exit 3", ("exit", 3, "out\nerr")),
        ("kill -9 $$", ("signal", 9, "")),
        ("cat; echo read nothing", ("exit", 0, "read nothing")),
        ("yes | head -c 300000 | wc -c", ("exit", 0, "300000")),
        ("ls /proc/self/fd | tr '\\n' ' '", ("exit", 0, "0 1 2 3 ")),  # 3 is ls's own
        ("trap '' INT; trap", ("exit", 0, "trap -- '' INT")),  # INT was not ignored before
    ],
)
def test_a_call_ends_as_its_program_ends(
    start: Start, command: str, expected: tuple[str, int, str]
) -> None:
    assert start(command).end() == expected


def test_a_program_that_cannot_start_says_so(tmp_path: Path) -> None:
    agent = AGENT.replace("/bin/sh", "/no/such/shell")
    out = subprocess.run(
        [sys.executable, "-c", agent, "x", str(tmp_path / "lock"), "9", "1"],
        capture_output=True,
        check=True,
    ).stdout
    assert out.startswith(b"exit|127|/no/such/shell could not be started: ")


def test_an_agent_that_was_started_with_sigchld_ignored_works_all_the_same(tmp_path: Path) -> None:
    agent = ["-c", AGENT, "exit 3", str(tmp_path / "lock"), "9", "1"]
    started = ["/bin/sh", "-c", "trap '' CHLD; exec \"$@\"", "sh", sys.executable, *agent]
    assert subprocess.run(started, capture_output=True, check=True).stdout == b"exit|3|\n"


def test_what_a_program_leaves_running_ends_with_its_call(start: Start, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    command = f"setsid sh -c 'echo $$ >> {pids}; exec sleep 60' & sleep 60 & echo $! >> {pids}; "
    command += f"while [ $(wc -l < {pids}) -lt 2 ]; do sleep 0.01; done"
    assert start(command).end() == ("exit", 0, "")
    assert not any(psutil.pid_exists(int(pid)) for pid in pids.read_text().split())


def test_the_time_limit_ends_the_whole_tree(start: Start) -> None:
    assert start("setsid sleep 60 & echo on; sleep 60", 0.2).end() == ("timeout", 0, "on")


def test_the_tree_dies_with_the_agent_even_in_sessions_of_its_own(start: Start) -> None:
    agent = start(f"setsid sh -c 'setsid sh -c \"{ALIVE}\"' & sleep 60")
    agent.wait_for("started")
    tree = agent.tree()
    assert {p.name() for p in tree} >= {"sleep"}
    agent.process.kill()
    agent.process.wait()
    assert gone(tree)


def test_the_lock_is_held_until_the_tree_is_gone(start: Start) -> None:
    agent = start(ALIVE)
    agent.wait_for("started")
    guard, tool = sorted(agent.tree(), key=lambda p: p.ppid() != agent.process.pid)
    guard.suspend()
    try:
        agent.process.kill()
        agent.process.wait()
        assert not ended(tool)
        assert not agent.lock_is_free_within(0.1)  # the agent is dead, its tool is not
    finally:
        guard.resume()
    assert agent.lock_is_free_within(2)
    assert ended(tool)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_meant_for_the_agent_does_not_end_its_guard(
    start: Start, number: signal.Signals
) -> None:
    agent = start(ALIVE)
    agent.wait_for("started")
    guard = next(p for p in agent.tree() if p.ppid() == agent.process.pid)
    guard.send_signal(number)
    tree = agent.tree()
    assert len(tree) == 2
    agent.process.kill()
    agent.process.wait()
    assert gone(tree)


def test_ctrl_c_ends_the_tree_before_the_agent(start: Start) -> None:
    agent = start(ALIVE)
    agent.wait_for("started")
    tree = agent.tree()
    agent.process.send_signal(signal.SIGINT)
    _, err = agent.process.communicate(timeout=10)
    assert b"KeyboardInterrupt" in err
    assert gone(tree, 0)


def test_an_abort_is_durable_and_then_the_tree_is_asked_to_end(start: Start) -> None:
    child = "setsid sh -c 'echo started; exec sleep 60'"  # started: it has no trap of its parent's
    agent = start(f"trap 'echo asked; exit 3' TERM; {child} & wait")
    agent.wait_for("started")
    tree = agent.tree()
    agent.process.send_signal(signal.SIGTERM)
    agent.wait_for("durable")
    assert agent.end() == ("aborted", 0, "started\nasked")
    assert gone(tree, 0)


def test_what_does_not_end_when_asked_is_killed(start: Start) -> None:
    agent = start("trap '' TERM; echo started; while :; do sleep 60; done", grace_s=0.1)
    agent.wait_for("started")
    tree = agent.tree()
    agent.process.send_signal(signal.SIGTERM)
    assert agent.end() == ("aborted", 0, "started")
    assert gone(tree, 0)


def test_a_tree_that_was_asked_to_end_dies_with_the_agent_all_the_same(start: Start) -> None:
    agent = start("trap 'echo asked' TERM; echo started; while :; do sleep 60 & wait; done")
    agent.wait_for("started")
    tree = agent.tree()
    agent.process.send_signal(signal.SIGTERM)
    agent.wait_for("asked")
    agent.process.kill()
    agent.process.wait()
    assert gone(tree, 5)  # the grace is longer


def test_a_killed_guard_takes_the_tree_with_it(start: Start) -> None:
    agent = start(f"setsid sh -c '{ALIVE}' & sleep 60")
    agent.wait_for("started")
    tree = agent.tree()
    next(p for p in tree if p.ppid() == agent.process.pid).kill()
    assert agent.end() == ("lost", 0, "started")
    assert gone(tree, 0)
