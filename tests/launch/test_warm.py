"""A warm launch is a cold one without the waiting: the same program, the same kills."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from chaos.errors import CannotStart, HarnessError
from chaos.launch.model import Command, Launcher
from chaos.launch.warm import WarmLauncher

from .support import PROGRAMS, Room, alive, kill_after, kill_before, kill_nth, tear

TARGET = (sys.executable, "-m", "warm_target")


@pytest.fixture
def warm() -> Iterator[WarmLauncher]:
    launcher = WarmLauncher("warm_target", ("json", "subprocess", "random"))
    yield launcher
    launcher.close()


@pytest.fixture
def room(tmp_path: Path) -> Room:
    (tmp_path / "warm_target.py").symlink_to(PROGRAMS / "warm_target.py")
    return Room(tmp_path)


def facts(room: Room, launcher: Launcher | None, *argv: str) -> tuple[object, int]:
    _, outcome = room.run(*TARGET, *argv, launcher=launcher)
    return json.loads((room.path / "stdout").read_text()), outcome.wait_status


@pytest.mark.parametrize("argv", [(), ("a", "b"), ("exit", "7"), ("raise",)])
def test_a_warm_launch_sees_what_a_cold_one_sees(
    room: Room, warm: WarmLauncher, argv: tuple[str, ...]
) -> None:
    assert facts(room, warm, *argv) == facts(room, None, *argv)


def test_a_harness_that_ignores_signals_does_not_pass_that_on(
    room: Room, warm: WarmLauncher
) -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        assert facts(room, warm) == facts(room, None)
    finally:
        signal.signal(signal.SIGINT, before)


def test_the_same_calls_and_the_same_kills(room: Room, warm: WarmLauncher) -> None:
    for number in (1, 2, 3):
        before = b"".join(b"line %d\n" % line for line in range(number - 1))
        line = b"line %d\n" % (number - 1)
        for action, kept in [(kill_before(), 0), (tear(3), 3), (kill_after(), 7)]:
            notes, outcome = room.run(*TARGET, plan=kill_nth(number, action), launcher=warm)
            assert notes.at_death == before + line[:kept]
            assert (notes.wait_status, outcome.wait_status) == (9, 9)


def test_launches_share_no_random_state(room: Room, warm: WarmLauncher) -> None:
    numbers = set()
    for _ in range(3):
        room.run(*TARGET, launcher=warm)
        numbers.add(room.stderr)
    assert len(numbers) == 3


def test_programs_are_seen_and_the_root_is_not_one_of_them(room: Room, warm: WarmLauncher) -> None:
    notes, _ = room.run(*TARGET, launcher=warm)
    assert notes.programs == [("sh", "-c", "exit 3")]


def test_the_parent_leaves_no_zombie_and_is_used_again(room: Room, warm: WarmLauncher) -> None:
    for _ in range(3):
        room.run(*TARGET, launcher=warm)
    [parent] = _children_of(os.getpid(), "warm_parent")
    assert _children_of(parent) == []


def test_a_hanging_launch_is_ended_and_the_parent_lives_on(room: Room, warm: WarmLauncher) -> None:
    _, outcome = room.run(*TARGET, "hang", limit_s=0.5, launcher=warm)
    assert (outcome.timed_out, outcome.wait_status) == (True, 9)
    assert room.run(*TARGET, launcher=warm)[1].wait_status == 0


def test_a_function_is_called_as_a_warm_up(room: Room) -> None:
    (room.path / "library.py").write_text(
        "import os\ndef warm_up(): open('/proc/self/comm', 'w').write('warmed')\n"
    )
    (room.path / "shown.py").write_text("print(open('/proc/self/comm').read())")
    warm = WarmLauncher("shown", ("library:warm_up",))
    room.run(sys.executable, "-m", "shown", launcher=warm, PYTHONPATH=str(room.path))
    warm.close()
    assert (room.path / "stdout").read_text().strip() == "warmed"


def test_a_preload_that_cannot_be_imported_is_named(room: Room) -> None:
    warm = WarmLauncher("warm_target", ("json", "no_such_library"))
    with pytest.raises(CannotStart, match=r"'no_such_library' failed: ModuleNotFoundError"):
        room.run(*TARGET, launcher=warm)


def test_a_preload_that_starts_a_thread_is_refused(room: Room) -> None:
    (room.path / "threaded.py").write_text(
        "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n"
    )
    warm = WarmLauncher("warm_target", ("threaded",))
    with pytest.raises(CannotStart, match="'threaded' started a thread"):
        room.run(*TARGET, launcher=warm, PYTHONPATH=str(room.path))


def test_a_parent_that_was_killed_is_a_fault_of_the_harness(room: Room, warm: WarmLauncher) -> None:
    room.run(*TARGET, launcher=warm)
    [parent] = _children_of(os.getpid(), "warm_parent")
    os.kill(parent, signal.SIGKILL)
    with pytest.raises(HarnessError, match="warm parent"):
        room.run(*TARGET, launcher=warm)


def test_close_ends_the_parent(room: Room, warm: WarmLauncher) -> None:
    room.run(*TARGET, launcher=warm)
    [parent] = _children_of(os.getpid(), "warm_parent")
    warm.close()
    assert not alive(parent)


def _children_of(pid: int, word: str = "") -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [
        int(child)
        for child in children
        if word in Path(f"/proc/{child}/cmdline").read_text().replace("\0", " ")
    ]


def test_a_rehearsal_runs_once_and_leaves_nothing_of_itself(room: Room, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    module = tmp_path / "rehearsed.py"
    module.write_text(
        "import os, signal, sys\n"
        f"with open({str(seen)!r}, 'a') as file:\n"
        "    heard = signal.getsignal(signal.SIGTERM) == signal.SIG_DFL\n"
        "    print(sys.argv[1:], os.environ.get('ONLY'), os.getcwd(), heard, file=file)\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "raise SystemExit(1)\n"
    )
    python = (sys.executable, "-m", "rehearsed")
    rehearsal = tuple(
        Command((*python, word), {"ONLY": "then"}, "/tmp", os.devnull, os.devnull)
        for word in ("one", "two")
    )
    warm = WarmLauncher("rehearsed", (), rehearsal)
    try:
        for _ in range(2):
            room.run(*python, "launch", launcher=warm, PYTHONPATH=str(tmp_path))
    finally:
        warm.close()
    assert seen.read_text().splitlines() == [
        "['one'] then /tmp True",
        "['two'] then /tmp True",
        *[f"['launch'] None {room.path} True"] * 2,
    ]


def test_a_rehearsal_is_answered_by_its_model(room: Room, tmp_path: Path) -> None:
    (tmp_path / "asking.py").write_text(
        "import socket, sys\n"
        "if len(sys.argv) > 1:\n"
        "    with socket.create_connection(('127.0.0.1', int(sys.argv[1]))) as model:\n"
        "        sys.path.append(model.recv(99).decode())\n"
        "else:\n"
        "    print(sys.path[-1])\n"
    )
    python = (sys.executable, "-m", "asking")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = str(listener.getsockname()[1])
        asks = Command((*python, port), {}, "/", os.devnull, os.devnull)
        warm = WarmLauncher("asking", (), (asks,), _Answer(listener))
        room.run(*python, launcher=warm, PYTHONPATH=str(tmp_path))
        warm.close()
    assert (room.path / "stdout").read_text() == "answer\n"


class _Answer:
    """A service: one word to whoever connects."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener

    def fileno(self) -> int:
        return self._listener.fileno()

    def serve(self) -> None:
        with self._listener.accept()[0] as client:
            client.sendall(b"answer")
