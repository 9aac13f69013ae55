"""A held process stands at its point, can be looked at, and then dies as if killed there."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaos.launch.model import Action
from chaos.launch.proc import state, status

from .support import PROGRAMS, PYTHON, Notes, Room, alive, kill_after, kill_before, kill_nth, tear

LINE = b'{"writer": "0.0", "number": 1}\n'


@pytest.mark.parametrize(
    ("action", "kept"), [(kill_before(), 0), (tear(5), 5), (kill_after(), len(LINE))]
)
@pytest.mark.parametrize("threads", [1, 4])
def test_a_held_process_is_stopped_at_its_point_and_free(
    room: Room, action: Action, kept: int, threads: int
) -> None:
    held: list[int] = []
    notes = Notes(room.log)

    def look(pid: int) -> None:
        held.append(pid)
        assert status(pid, "TracerPid") == "0"
        for task in Path(f"/proc/{pid}/task").iterdir():
            assert state(int(task.name)) == "T"
        assert room.log.read_bytes() == notes.at_entry[-1] + notes.entered[-1].data[:kept]

    argv = (*PYTHON, PROGRAMS / "writer.py", room.log, "3", str(threads), "1")
    _, outcome = room.run(*argv, notes=notes, plan=kill_nth(2, action), hold=look)
    assert notes.killed is not None
    assert held == [notes.killed.pid]
    assert (notes.wait_status, outcome.killed, outcome.wait_status) == (9, True, 9)
    assert notes.at_death == notes.before_death + notes.killed.data[:kept]
    assert not alive(held[0])


def test_a_hold_comes_to_its_end_whichever_thread_takes_the_signal(room: Room) -> None:
    argv = (*PYTHON, PROGRAMS / "writer.py", room.log, "2", "4", "1")
    for number in (1, 2, 3, 4, 5) * 4:
        _, outcome = room.run(*argv, plan=kill_nth(number, kill_before()), hold=lambda pid: None)
        assert outcome.killed


def test_the_rest_of_the_tree_stands_too_and_goes_on_afterwards(room: Room) -> None:
    script = '(while [ ! -e stop ]; do :; done; echo rest >> "$LOG") & echo $! > pid; '
    script += "sh -c 'echo one >> \"$LOG\"'; touch stop; wait"

    def look(pid: int) -> None:
        busy = int((room.path / "pid").read_text())
        before = cpu_ticks(busy)
        assert sum(cpu_ticks(busy) for _ in range(2000)) == 2000 * before

    notes, outcome = room.run(*room.shell(script), plan=kill_nth(1, kill_before()), hold=look)
    assert notes.killed is not None
    assert room.log.read_bytes() == b"rest\n"
    assert outcome.survivors == ()


@pytest.mark.parametrize(
    "script",
    ["sh -c 'echo one >> \"$LOG\"; sleep 60' & wait", 'echo one >> "$LOG"; sleep 60'],
    ids=["a child is held", "the root is held"],
)
def test_ctrl_c_while_held_leaves_nothing_behind(room: Room, script: str) -> None:
    held: list[int] = []

    def interrupt(pid: int) -> None:
        held.append(pid)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        room.run(*room.shell(script), plan=kill_nth(1, kill_after()), hold=interrupt)
    assert not alive(held[0])


def cpu_ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])
