"""A paused process does nothing until its rival has ended, or its time is over."""

from __future__ import annotations

import time
from itertools import pairwise
from pathlib import Path

import pytest

from chaos.errors import ChaosError
from chaos.launch.model import Action, Call, KillAt, Pause, Strike

from .support import PROGRAMS, PYTHON, Notes, Room, Wire, kill_after, kill_before, kill_nth

TWO_LINES = 'echo one >> "$LOG"; echo two >> "$LOG"'
# Two lines with enough time between them for whoever could write in between.
SLOW_RIVAL = """
import os, time
fd = os.open(os.environ["LOG"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
os.write(fd, b"rival begins\\n")
until = time.monotonic() + 0.2
while time.monotonic() < until:
    pass
os.write(fd, b"rival ends\\n")
"""


def at_entry(pause: Pause) -> Action:
    return Action(pause=pause)


def rival(room: Room, script: str = 'echo rival >> "$LOG"') -> Pause:
    return Pause(rival=room.command(*room.shell(script)))


def test_at_the_entry_of_a_call_a_rival_comes_before_it(room: Room) -> None:
    plan = kill_nth(2, at_entry(rival(room)))
    notes, outcome = room.run(*room.shell(TWO_LINES), plan=plan)
    assert room.log.read_bytes() == b"one\nrival\ntwo\n"
    assert [status for _, _, status in notes.rivals] == [0]
    assert (outcome.wait_status, outcome.killed, outcome.survivors) == (0, False, ())


def test_at_the_exit_of_a_call_a_rival_comes_after_it(room: Room) -> None:
    notes = Notes(room.log, pauses={1: rival(room)})
    _, outcome = room.run(*room.shell(TWO_LINES), notes=notes)
    assert room.log.read_bytes() == b"one\nrival\ntwo\n"
    assert outcome.wait_status == 0


def test_how_a_rival_ended_is_told_before_the_first_goes_on(room: Room) -> None:
    pause = rival(room, "exit 5")
    notes = Notes(room.log, pauses={1: pause})
    room.run(*room.shell(TWO_LINES), notes=notes)
    ((command, pid, status),) = notes.rivals
    assert (command, status) == (pause.rival, 5 << 8)
    assert pid not in {call.pid for call in notes.entered}


@pytest.mark.parametrize("where", ["entry", "exit"])
def test_no_other_thread_of_the_first_goes_on_either(room: Room, load: None, where: str) -> None:
    pause = Pause(rival=room.command(*PYTHON, "-c", SLOW_RIVAL))
    notes = Notes(room.log, pauses={7: pause} if where == "exit" else {})
    argv = (*PYTHON, PROGRAMS / "writer.py", room.log, "30", "4", "1")
    plan = kill_nth(7, at_entry(pause)) if where == "entry" else None
    _, outcome = room.run(*argv, notes=notes, plan=plan)
    lines = room.log.read_bytes().splitlines()
    assert lines.index(b"rival ends") == lines.index(b"rival begins") + 1
    assert (outcome.wait_status, len(lines)) == (0, 122)


def test_a_busy_thread_that_makes_no_call_stands_too(room: Room) -> None:
    """The rival looks at the first: all its threads come to stand, and stay so."""
    script = """
import os, threading
stop = []
def spin():
    while not stop:
        pass
threading.Thread(target=spin).start()
fd = os.open(os.environ["LOG"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
os.write(fd, str(os.getpid()).encode())
stop.append(1)
"""
    look = """
import os, pathlib, sys, time
pid = pathlib.Path(os.environ["LOG"]).read_text()
def states():
    tasks = pathlib.Path(f"/proc/{pid}/task").iterdir()
    return {(t / "stat").read_text().rsplit(")", 1)[1].split()[0] for t in tasks}
limit = time.monotonic() + 10
while not states() <= {"t", "T"}:
    if time.monotonic() > limit:
        sys.exit(1)
sys.exit(0 if all(states() <= {"t", "T"} for _ in range(500)) else 2)
"""
    notes = Notes(room.log, pauses={1: Pause(rival=room.command(*PYTHON, "-c", look))})
    _, outcome = room.run(*PYTHON, "-c", script, notes=notes)
    assert [status for _, _, status in notes.rivals] == [0]
    assert outcome.wait_status == 0


@pytest.mark.parametrize("where", ["entry", "exit"])
def test_a_stop_lasts_its_time_for_all_threads(room: Room, where: str) -> None:
    pause, times = Pause(seconds=0.3), list[float]()

    class Timed(Notes):
        def entering(self, call: Call) -> Action:
            times.append(time.monotonic())
            return super().entering(call)

    notes = Timed(room.log, pauses={7: pause} if where == "exit" else {})
    argv = (*PYTHON, PROGRAMS / "writer.py", room.log, "20", "4", "1")
    room.run(*argv, notes=notes, plan=kill_nth(7, at_entry(pause)) if where == "entry" else None)
    gaps = [later - sooner for sooner, later in pairwise(times)]
    assert gaps[6] >= 0.3
    assert len(times) == (81 if where == "entry" else 80)  # that call is entered anew


def test_a_process_is_paused_where_it_stands_while_another_goes_on(room: Room) -> None:
    script = '(echo child >> "$LOG"; echo done >> "$LOG") & echo parent >> "$LOG"; wait'
    notes = Notes(room.log)

    def pause_the_child(number: int, call: Call) -> Action:
        again = len([seen for seen in notes.entered if seen.data == b"child\n"]) > 1
        is_due = call.data == b"child\n" and not again
        return Action(pause=Pause(seconds=0.5) if is_due else None)

    room.run(*room.shell(script), notes=notes, plan=pause_the_child)
    assert room.log.read_bytes() == b"parent\nchild\ndone\n"


@pytest.mark.parametrize(("action", "left"), [(kill_before(), b""), (kill_after(), b"one\n")])
def test_after_a_pause_at_its_entry_a_call_is_entered_anew(
    room: Room, action: Action, left: bytes
) -> None:
    """It finds what the rival wrote, and can be killed then."""

    def plan(number: int, call: Call) -> Action:
        if call.data != b"one\n":
            return Action()
        return action if room.log.stat().st_size else at_entry(rival(room))

    notes, outcome = room.run(*room.shell(TWO_LINES), plan=plan)
    assert [call.offset for call in notes.entered] == [0, 0, len(b"rival\n")]
    assert notes.at_death == room.log.read_bytes() == b"rival\n" + left
    assert (notes.wait_status, outcome.killed, outcome.wait_status) == (9, True, 9)


def test_a_paused_process_can_be_killed_by_its_rival(room: Room) -> None:
    notes = Notes(room.log, pauses={1: rival(room, 'kill -KILL $(cat pid); echo rival >> "$LOG"')})
    _, outcome = room.run(*room.shell(f"echo $$ > pid; {TWO_LINES}"), notes=notes)
    assert room.log.read_bytes() == b"one\nrival\n"
    assert (outcome.wait_status, outcome.killed, outcome.timed_out) == (9, False, False)


def test_a_rival_may_be_killed_while_the_first_is_paused(room: Room) -> None:
    """The second call of the launch is the rival's first."""
    notes = Notes(room.log, pauses={1: rival(room)})
    _, outcome = room.run(*room.shell(TWO_LINES), notes=notes, plan=kill_nth(2, kill_before()))
    assert notes.at_death == b"one\n"
    assert room.log.read_bytes() == b"one\ntwo\n"
    assert [status for _, _, status in notes.rivals] == [9]
    assert (outcome.wait_status, outcome.killed, outcome.survivors) == (0, True, ())


def test_each_of_two_pauses_has_its_rival(room: Room) -> None:
    pauses = {1: rival(room), 3: rival(room, 'echo other >> "$LOG"')}
    notes, _ = room.run(*room.shell(TWO_LINES), notes=Notes(room.log, pauses=pauses))
    assert room.log.read_bytes() == b"one\nrival\ntwo\nother\n"
    assert len(notes.rivals) == 2


def test_a_rival_that_is_paused_itself(room: Room) -> None:
    """Both stand while a third runs; then the rival ends, and the first goes on."""
    pauses = {1: rival(room), 2: rival(room, 'echo third >> "$LOG"')}
    room.run(*room.shell(TWO_LINES), notes=Notes(room.log, pauses=pauses))
    assert room.log.read_bytes() == b"one\nrival\nthird\ntwo\n"


def test_a_pause_from_the_wire_stops_who_waits_there(room: Room) -> None:
    """The first has sent a byte and goes on at once; it is stopped until its rival has ended."""
    notes = Notes(room.log)
    wire = Wire(room, notes, Pause(rival=room.command(*PYTHON, "-c", SLOW_RIVAL)))
    script = f'echo one >> "$LOG"; printf . > {wire.path}; sleep 0.1; echo two >> "$LOG"'
    _, outcome = room.run(*room.shell(script), notes=notes, service=wire)
    assert room.log.read_bytes() == b"one\nrival begins\nrival ends\ntwo\n"
    assert (outcome.wait_status, [status for _, _, status in notes.rivals]) == (0, [0])


def test_the_limit_ends_a_launch_whose_rival_does_not(room: Room) -> None:
    notes = Notes(room.log, pauses={1: rival(room, "sleep 60")})
    _, outcome = room.run(*room.shell(TWO_LINES), notes=notes, limit_s=0.5)
    assert (outcome.timed_out, outcome.killed, outcome.seconds < 5) == (True, False, True)


def test_a_rival_that_cannot_be_started_ends_the_launch(room: Room, tmp_path: Path) -> None:
    notes = Notes(room.log, pauses={1: Pause(rival=room.command(tmp_path / "nothing"))})
    with pytest.raises(ChaosError, match="nothing"):
        room.run(*room.shell(TWO_LINES), notes=notes)


def test_a_stop_that_would_come_during_a_kill_comes_after_the_look(room: Room) -> None:
    """The wire strikes at the very call that a pause follows: first the look, then the rival."""
    fired: list[Strike] = []
    seen: list[tuple[str, ...]] = []

    class Wire(Notes):
        def left(self, call: Call) -> Pause | None:
            if not fired:
                fired.append(Strike(KillAt.EXIT, int((room.path / "pid").read_text())))
                self.on_the_wire.extend(fired)
            return super().left(call)

        def dead(self, call: Call | None, strike: Strike, pid: int, wait_status: int) -> None:
            seen.append(("dead", self.read().decode()))
            super().dead(call, strike, pid, wait_status)

    script = 'sleep 60 & echo $! > pid; echo one >> "$LOG"; echo two >> "$LOG"'
    notes = Wire(room.log, pauses={1: rival(room)})
    _, outcome = room.run(*room.shell(script), notes=notes)
    assert seen == [("dead", "one\n")]
    assert room.log.read_bytes() == b"one\nrival\ntwo\n"
    assert outcome.killed
