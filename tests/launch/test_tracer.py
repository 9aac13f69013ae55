"""The life of a launch: it ends, it is followed everywhere, and nothing is left of it."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from chaos.errors import CannotStart, Unsupported
from chaos.launch.model import Action, Call
from chaos.launch.tracer import trace

from .support import PROGRAMS, PYTHON, Notes, Room, alive, kill_after, kill_nth


def test_an_undisturbed_launch_ends_with_the_status_of_its_root(room: Room) -> None:
    notes, outcome = room.run(*room.shell('echo text; echo error >&2; echo line >> "$LOG"; exit 7'))
    assert os.waitstatus_to_exitcode(outcome.wait_status) == 7
    assert (outcome.killed, outcome.timed_out, outcome.survivors, outcome.unseen) == (
        False,
        False,
        (),
        (),
    )
    assert (room.path / "stdout").read_text() == "text\n"
    assert room.stderr == "error\n"
    [call] = notes.returned
    assert (call.name, call.path, call.label) == ("write", str(room.log), "log")
    assert (call.data, call.length, call.returned) == (b"line\n", 5, 5)


def test_streams_are_emptied_before_a_launch(room: Room) -> None:
    for _ in range(2):
        room.run(*room.shell("echo text"))
    assert (room.path / "stdout").read_text() == "text\n"


def test_a_signal_of_its_own_ends_the_root(room: Room) -> None:
    _, outcome = room.run(*room.shell("kill -TERM $$"))
    assert outcome.wait_status == signal.SIGTERM


def test_a_stopped_process_stays_stopped_until_it_is_continued(room: Room) -> None:
    script = """
import os, signal, subprocess
log = os.open(os.environ["LOG"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
read_end, write_end = os.pipe()
child = os.fork()
if child == 0:
    os.read(read_end, 1)
    os.write(log, b"continued\\n")
    os._exit(0)
os.kill(child, signal.SIGSTOP)
_, status = os.waitpid(child, os.WUNTRACED)
assert os.WIFSTOPPED(status)
os.write(write_end, b".")
subprocess.run(["true"])  # time enough for a child that runs
os.write(log, b"stopped\\n")
os.kill(child, signal.SIGCONT)
os.waitpid(child, 0)
"""
    _, outcome = room.run(*PYTHON, "-c", script)
    assert outcome.wait_status == 0, room.stderr
    assert room.log.read_bytes() == b"stopped\ncontinued\n"


@pytest.mark.parametrize("start", ["", "setsid ", "nohup setsid "])
def test_programs_and_their_writes_are_followed(room: Room, start: str) -> None:
    script = f'{start}sh -c \'echo tool >> "$LOG"; true | cat\' & wait; echo agent >> "$LOG"'
    notes, _ = room.run(*room.shell(script))
    assert [call.data for call in notes.returned] == [b"tool\n", b"agent\n"]
    assert notes.entered[0].pid != notes.entered[1].pid
    assert ("cat",) in notes.programs


def test_the_programs_of_the_root_are_not_told(room: Room) -> None:
    notes, _ = room.run(*room.shell("exec sh -c 'exec sh -c true'"))
    assert notes.programs == []


def test_the_process_that_made_the_call_dies_not_its_wrapper(room: Room) -> None:
    script = 'sh -c \'echo one >> "$LOG"; echo two >> "$LOG"\'; echo "status $?" >> "$LOG"'
    notes, outcome = room.run(*room.shell(script), plan=kill_nth(1, kill_after()))
    assert notes.wait_status == 9
    assert outcome.killed
    assert outcome.wait_status == 0
    assert room.log.read_bytes() == b"one\nstatus 137\n"


def test_the_rest_is_served_after_a_kill(room: Room) -> None:
    script = 'sh -c \'sleep 0.1; echo late >> "$LOG"\' & echo first >> "$LOG"; echo never >> "$LOG"'
    notes, outcome = room.run(*room.shell(script), plan=kill_nth(1, kill_after()))
    assert [call.data for call in notes.returned] == [b"late\n"]
    assert outcome.survivors == ()


@pytest.mark.parametrize("plan", [None, kill_nth(1, kill_after())], ids=["exit", "kill"])
def test_who_outlives_the_grace_is_a_survivor_and_dies(
    room: Room, plan: Callable[[int, Call], Action] | None
) -> None:
    script = 'setsid sleep 60 & sleep 0.1 & echo $! >> "$LOG"'
    _, outcome = room.run(*room.shell(script), plan=plan, grace_s=0.3)
    [survivor] = outcome.survivors
    assert survivor.argv == ("sleep", "60")
    assert not alive(survivor.pid)
    assert not outcome.timed_out


def test_a_root_that_hangs_is_ended_at_its_limit_and_its_stacks_are_kept(room: Room) -> None:
    _, outcome = room.run(*room.shell("sleep 60; true"), limit_s=0.3)
    assert (outcome.timed_out, outcome.killed, outcome.wait_status) == (True, False, 9)
    assert outcome.survivors == ()
    assert outcome.seconds < 3
    assert "sleep 60" in outcome.stacks
    assert "nanosleep" in outcome.stacks


def test_calls_without_end_do_not_keep_the_clock_from_its_turn(room: Room) -> None:
    _, outcome = room.run(
        *room.shell("yes > /dev/null & yes > /dev/null & yes > /dev/null"), limit_s=0.3
    )
    assert outcome.timed_out
    assert outcome.seconds < 3


def test_a_program_that_does_not_exist_is_named(room: Room) -> None:
    with pytest.raises(CannotStart, match=r"'no-such-agent' in .*: No such file or directory"):
        room.run("no-such-agent", "run")


def test_a_directory_that_does_not_exist_is_named(room: Room) -> None:
    missing = replace(room.command("true"), cwd=str(room.path / "missing"))
    with pytest.raises(CannotStart, match=r"No such file or directory: .*/missing"):
        trace(missing, Notes(room.log), limit_s=5, grace_s=1)


def test_a_target_that_traces_is_refused(room: Room) -> None:
    script = "import ctypes; ctypes.CDLL(None).ptrace(0, 0, 0, 0)"
    with pytest.raises(Unsupported, match="without its debugger or strace"):
        room.run(*PYTHON, "-c", script)


def test_a_shared_writable_mapping_is_told_as_unseen(room: Room) -> None:
    notes, outcome = room.run(*PYTHON, PROGRAMS / "mapped.py")
    [text] = outcome.unseen
    assert text.startswith(f"a shared writable mapping of {room.log} (process ")
    assert [call.data for call in notes.returned] == [b"by call\n"]


def test_io_uring_is_refused_as_by_a_kernel_that_has_none(room: Room) -> None:
    script = (
        "import ctypes, sys; libc = ctypes.CDLL(None, use_errno=True);"
        "sys.exit(ctypes.get_errno() if libc.syscall(425, 1, 0) == -1 else 0)"
    )
    _, outcome = room.run(*PYTHON, "-c", script)
    assert os.WEXITSTATUS(outcome.wait_status) == errno.ENOSYS
    assert outcome.unseen == ()


def test_a_fault_of_the_handler_leaves_nothing_behind(room: Room) -> None:
    class Faulty(Notes):
        def entering(self, call: Call) -> Action:
            raise ZeroDivisionError

    script = 'sleep 60 & echo $! > pid; echo line >> "$LOG"; sleep 60'
    with pytest.raises(ZeroDivisionError):
        room.run(*room.shell(script), notes=Faulty(room.log))
    assert not alive(int((room.path / "pid").read_text()))
    assert room.log.read_bytes() == b""


def test_ctrl_c_leaves_nothing_behind(room: Room) -> None:
    class Interrupting(Notes):
        def left(self, call: Call) -> None:
            threading.Timer(0.1, os.kill, [os.getpid(), signal.SIGINT]).start()

    script = 'sleep 60 & echo $! > pid; echo line >> "$LOG"; sleep 60'
    with pytest.raises(KeyboardInterrupt):
        room.run(*room.shell(script), notes=Interrupting(room.log))
    assert not alive(int((room.path / "pid").read_text()))


def test_the_harness_keeps_no_descriptor_signal_mask_or_child(room: Room) -> None:
    def state() -> tuple[list[str], set[int], str]:
        children = Path(f"/proc/self/task/{os.getpid()}/children").read_text()
        return os.listdir("/proc/self/fd"), set(signal.pthread_sigmask(0, ())), children

    before = state()
    room.run(*room.shell('(sleep 0.05; echo orphan >> "$LOG") & echo line >> "$LOG"'))
    with pytest.raises(CannotStart):
        room.run("no-such-agent")
    assert state() == before


@pytest.mark.parametrize("kind", ["exec", "warm"])
def test_sigkill_of_the_harness_leaves_nothing_behind(room: Room, kind: str) -> None:
    room.log.touch()
    harness = subprocess.Popen(
        [sys.executable, PROGRAMS / "harness.py", room.log, *(["warm"] if kind == "warm" else [])],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.getcwd()},
        text=True,
    )
    with harness:
        assert harness.stdout is not None
        assert harness.stdout.readline() == "ready\n"
        tree = psutil.Process(harness.pid).children(recursive=True)
        assert len(tree) >= 3
        harness.kill()
    _, left = psutil.wait_procs(tree, timeout=1)
    assert [process for process in left if process.status() != psutil.STATUS_ZOMBIE] == []


class _Wire:
    """A service with one message on its pipe, told by the target just before its write."""

    def __init__(self, order: list[str]) -> None:
        self.order = order
        self.read_end, self.write_end = os.pipe()
        os.set_blocking(self.read_end, False)

    def fileno(self) -> int:
        return self.read_end

    def serve(self) -> None:
        with contextlib.suppress(BlockingIOError):
            self.order.extend(["wire"] * len(os.read(self.read_end, 100)))


def test_what_is_on_the_wire_comes_before_the_call_that_follows_it(room: Room) -> None:
    order: list[str] = []

    class Ordering(Notes):
        def entering(self, call: Call) -> Action:
            order.append("log")
            return super().entering(call)

    wire = _Wire(order)
    try:
        for _ in range(10):
            script = f"""
import os
wire = os.open("/proc/{os.getpid()}/fd/{wire.write_end}", os.O_WRONLY)
log = os.open(os.environ["LOG"], os.O_WRONLY | os.O_CREAT)
for _ in range(5):
    os.write(wire, b".")
    os.write(log, b".")
"""
            room.run(*PYTHON, "-c", script, notes=Ordering(room.log), service=wire)
    finally:
        os.close(wire.read_end)
        os.close(wire.write_end)
    assert order == ["wire", "log"] * 50
