"""Who dies with the process that a kill is meant for, and who goes on."""

from __future__ import annotations

import os
import signal
import subprocess

import pytest

from chaos.launch import ptrace
from chaos.launch.kills import Kills
from chaos.launch.model import Action, Call, Command, KillAt, Outcome, Pause, Strike
from chaos.launch.tracees import Tracees
from chaos.points import Scope

from .support import PYTHON, Notes, Room, Wire, kill_after, kill_nth

# A child in the group of the root, one in a session of its own, and a line when both are there.
FAMILY = """
sleep 60 & setsid sh -c 'touch there; exec sleep 61' &
while [ ! -e there ]; do :; done; echo one >> "$LOG"; wait
"""


def strike(scope: Scope, at: KillAt = KillAt.EXIT, victim: int | None = None) -> Action:
    return Action(strike=Strike(at, victim, scope))


def ages(outcome: Outcome) -> set[str]:
    """The last words of the survivors: how long each sleeps."""
    return {survivor.argv[-1] for survivor in outcome.survivors}


@pytest.mark.parametrize(
    ("scope", "left"),
    [(Scope.PROCESS, {"60", "61"}), (Scope.GROUP, {"61"}), (Scope.TREE, set[str]())],
)
def test_who_is_left_of_a_family(room: Room, scope: Scope, left: set[str]) -> None:
    plan = kill_nth(1, strike(scope))
    notes, outcome = room.run(*room.shell(FAMILY), plan=plan, grace_s=0.1)
    assert ages(outcome) == left
    assert (notes.wait_status, outcome.killed, outcome.wait_status) == (9, True, 9)


def test_a_group_is_that_of_the_victim_not_of_the_caller(room: Room) -> None:
    script = "sleep 60 & setsid sh -c 'echo $$ > pid; sleep 61 & echo one >> \"$LOG\"; wait' & wait"

    def plan(number: int, call: Call) -> Action:
        return strike(Scope.GROUP, victim=int((room.path / "pid").read_text()))

    _, outcome = room.run(*room.shell(script), plan=plan, grace_s=0.1, limit_s=1)
    assert "61" not in ages(outcome)


@pytest.mark.parametrize("scope", [Scope.GROUP, Scope.TREE])
def test_a_child_that_is_born_during_the_kill_dies_too(room: Room, scope: Scope) -> None:
    """A process makes children as fast as it can while its parent stands at the point."""
    script = """
import os, time
read, write = os.pipe()
if os.fork() == 0:
    for number in range(200):
        if os.fork() == 0:
            time.sleep(60)
        if number == 5:
            os.write(write, b".")
    time.sleep(60)
os.read(read, 1)
fd = os.open(os.environ["LOG"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
os.write(fd, b"one")
time.sleep(60)
"""
    for _ in range(10):
        plan = kill_nth(1, strike(scope))
        _, outcome = room.run(*PYTHON, "-c", script, plan=plan, grace_s=0.05)
        assert outcome.killed
        assert outcome.survivors == ()


@pytest.mark.parametrize(
    ("scope", "spared"), [(Scope.PROCESS, True), (Scope.GROUP, False), (Scope.TREE, False)]
)
def test_one_that_was_struck_and_is_not_dead_yet_is_no_survivor(scope: Scope, spared: bool) -> None:
    """A child is born into the kill and shows itself when the grace is over. Here it is not even
    signalled: the slowest of deaths."""
    with subprocess.Popen(["sleep", "60"], process_group=0) as victim:
        child = subprocess.Popen(["sleep", "61"], process_group=victim.pid)
        try:
            tracees = Tracees(victim.pid)
            kills = Kills(tracees)
            dying = kills.plan(Strike(KillAt.EXIT, None, scope), None)
            assert dying is not None
            kills.begin(dying)
            tracees.end(victim.pid)
            kills.reaped(victim.pid, 9)
            assert kills.finished() is dying
            tracees.show(child.pid)
            assert [each.pid for each in kills.survivors()] == [child.pid] * spared
        finally:
            for each in (victim, child):
                each.kill()
            child.wait()


def test_one_that_was_born_as_its_parent_died_is_found_and_killed() -> None:
    """It has not run yet, so there is no stop of it; the next launch would take it for its own.
    Here it is one that sleeps while it is seized."""
    with subprocess.Popen(["sleep", "60"], process_group=0) as parent:
        born = subprocess.Popen(
            ["cat"], process_group=parent.pid, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        with born:
            assert born.stdin is not None
            assert born.stdout is not None
            born.stdin.write(b"\n")
            born.stdin.flush()
            assert born.stdout.read(1) == b"\n"  # it runs: its exec is no news any more
            ptrace.seize(born.pid)
            tracees = Tracees(parent.pid)
            assert tracees.late_born() == []  # nobody was killed
            tracees.signal([parent.pid], signal.SIGKILL)
            parent.wait()
            assert tracees.late_born() == [parent.pid]
            assert born.wait() == -signal.SIGKILL
            assert tracees.late_born() == []


def test_nobody_who_was_killed_gets_to_write(room: Room) -> None:
    """The whole tree stands before a write of its own when one of them is killed."""
    script = 'for n in 1 2 3 4; do sh -c "echo $n >> \\"\\$LOG\\"" & done; wait'
    for _ in range(5):
        notes, _ = room.run(*room.shell(script), plan=kill_nth(1, strike(Scope.TREE)))
        assert notes.killed is not None
        assert room.log.read_bytes() == notes.at_death == notes.killed.data


# -- those who outlive a kill ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("at", "seen"), [(KillAt.ENTRY, b""), (KillAt.EXIT, b"one\n")], ids=["entry", "exit"]
)
def test_a_caller_that_outlives_the_kill_goes_on_after_the_look(
    room: Room, at: KillAt, seen: bytes
) -> None:
    """The tool stands at the point, the agent is killed: as the tool's own parent it is reaped by
    nobody else, and until then the tool does not move."""
    script = 'echo $$ > pid; sh -c \'echo one >> "$LOG"; echo two >> "$LOG"\'; :'

    def plan(number: int, call: Call) -> Action:
        agent = int((room.path / "pid").read_text())
        return strike(Scope.PROCESS, at, agent) if number == 1 else Action()

    notes, outcome = room.run(*room.shell(script), plan=plan)
    assert notes.killed is not None
    assert notes.victim == outcome.pid != notes.killed.pid
    assert notes.at_death == seen
    assert room.log.read_bytes() == b"one\ntwo\n"
    assert [call.returned for call in notes.returned][-1] == 4
    assert (notes.wait_status, outcome.wait_status, outcome.survivors) == (9, 9, ())


def test_a_victim_that_has_ended_by_itself_proves_nothing(room: Room) -> None:
    plan = kill_nth(1, strike(Scope.PROCESS, KillAt.ENTRY, victim=os.getpid()))
    notes, outcome = room.run(*room.shell('echo one >> "$LOG"'), plan=plan)
    assert (notes.killed, notes.wait_status, outcome.killed) == (None, None, False)
    assert room.log.read_bytes() == b"one\n"


# -- starts at the same instant -------------------------------------------------------------------


def lines(room: Room, count: int) -> Command:
    return room.command(*room.shell(f'for n in $(seq {count}); do echo "rival $n" >> "$LOG"; done'))


def test_starts_at_once_all_come_to_their_ends(room: Room) -> None:
    rivals = (*(lines(room, 3) for _ in range(6)), room.command(*room.shell("exit 7")))
    notes, outcome = room.run(*room.shell('echo one >> "$LOG"'), rivals=rivals)
    assert len(room.log.read_bytes().splitlines()) == 1 + 6 * 3
    assert sorted(status for _, _, status in notes.rivals) == [0] * 6 + [7 << 8]
    assert {id(command) for command, _, _ in notes.rivals} == set(map(id, rivals))
    assert len({pid for _, pid, _ in notes.rivals} | {outcome.pid}) == 8
    assert outcome.wait_status == 0


def test_the_grace_begins_with_the_end_of_the_last_start(room: Room) -> None:
    rival = room.command(*room.shell('sleep 0.4; echo late >> "$LOG"'))
    _, outcome = room.run(*room.shell(":"), rivals=(rival,), grace_s=0.05)
    assert outcome.survivors == ()
    assert room.log.read_bytes() == b"late\n"


def test_a_kill_of_one_start_leaves_the_other_its_time(room: Room) -> None:
    rival = room.command(*room.shell('sleep 0.4; echo late >> "$LOG"'))
    first = room.shell('echo one >> "$LOG"; sleep 60')
    notes, outcome = room.run(*first, rivals=(rival,), plan=kill_nth(1, kill_after()), grace_s=0.05)
    assert notes.at_death == b"one\n"
    assert room.log.read_bytes() == b"one\nlate\n"
    assert (outcome.killed, outcome.timed_out, outcome.survivors) == (True, False, ())
    assert [status for _, _, status in notes.rivals] == [0]


def test_a_rest_of_the_start_that_was_killed_has_no_more_than_its_grace(room: Room) -> None:
    """A wrapper lives on when what it wraps is killed: that is a survivor, not a rival."""
    script = "sh -c 'echo one >> \"$LOG\"'; sleep 60"
    _, outcome = room.run(*room.shell(script), plan=kill_nth(1, kill_after()), grace_s=0.1)
    assert "60" in ages(outcome)
    assert outcome.seconds < 5


def test_a_tree_is_all_that_was_started(room: Room) -> None:
    rival = room.command(*room.shell('while [ ! -s "$LOG" ]; do :; done; echo rival >> "$LOG"'))
    notes, _ = room.run(
        *room.shell('echo one >> "$LOG"'), rivals=(rival,), plan=kill_nth(1, strike(Scope.TREE))
    )
    assert notes.at_death == room.log.read_bytes() == b"one\n"
    assert [status for _, _, status in notes.rivals] == [9]


def test_a_rival_is_bound_by_the_limit_of_the_launch(room: Room) -> None:
    rival = room.command(*room.shell("sleep 60"))
    _, outcome = room.run(*room.shell(":"), rivals=(rival,), limit_s=0.3, grace_s=0.05)
    assert outcome.timed_out


# -- strikes from the wire ------------------------------------------------------------------------


def test_a_strike_from_the_wire_needs_no_call(room: Room) -> None:
    notes = Notes(room.log)
    wire = Wire(room, notes, Strike(KillAt.EXIT))
    script = f'echo one >> "$LOG"; printf . > {wire.path}; sleep 60'
    _, outcome = room.run(*room.shell(script), notes=notes, service=wire, grace_s=0.1)
    assert (notes.killed, notes.victim, notes.wait_status) == (None, outcome.pid, 9)
    assert notes.at_death == b"one\n"
    assert outcome.killed


def test_a_strike_from_the_wire_waits_for_the_call_of_another_thread(room: Room) -> None:
    """While threads write, one sends a byte: at the death, no call has begun that is not over."""
    script = """
import os, threading
fd = os.open(os.environ["LOG"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
started = threading.Semaphore(0)
def write():
    while True:
        os.write(fd, b"line\\n")
        started.release()
for _ in range(3):
    threading.Thread(target=write, daemon=True).start()
for _ in range(20):
    started.acquire()
os.write(os.open("wire", os.O_WRONLY), b".")
started.acquire(timeout=60)
while True:
    pass
"""
    open_calls: list[int] = []

    class Counting(Notes):
        def dead(self, call: Call | None, strike: Strike, pid: int, wait_status: int) -> None:
            open_calls.append(len(self.entered) - len(self.returned))
            super().dead(call, strike, pid, wait_status)

    for _ in range(5):
        notes = Counting(room.log)
        wire = Wire(room, notes, Strike(KillAt.EXIT))
        _, outcome = room.run(*PYTHON, "-c", script, notes=notes, service=wire)
        assert outcome.killed
        assert notes.at_death == room.log.read_bytes() == b"line\n" * len(notes.returned)
        wire.path.unlink()
    assert open_calls == [0] * 5


def test_a_strike_from_the_wire_can_be_meant_for_another(room: Room) -> None:
    """The agent is killed although its tool is on the wire; the tool goes on after the look."""
    notes = Notes(room.log)
    pid = room.path / "pid"

    class Late(Wire):
        def serve(self) -> None:
            if pid.exists():
                self.due = Strike(KillAt.EXIT, int(pid.read_text()))
                super().serve()

    wire = Late(room, notes, Strike(KillAt.EXIT))
    tool = f'printf . > {wire.path}; echo tool >> "$LOG"'
    script = (
        f"sh -c 'echo $$ > {pid}.new; mv {pid}.new {pid}; sh -c \"$TOOL\"; :' & wait; sleep 0.2"
    )
    room.run(*room.shell(script), notes=notes, service=wire, TOOL=tool)
    assert notes.victim == int(pid.read_text())
    assert (notes.wait_status, notes.at_death) == (9, b"")
    assert room.log.read_bytes() == b"tool\n"


def test_a_paused_process_can_be_struck_from_the_wire(room: Room) -> None:
    notes = Notes(room.log)
    wire = Wire(room, notes, Strike(KillAt.EXIT))
    rival = room.command(*room.shell(f'printf . > {wire.path}; sleep 0.2; echo rival >> "$LOG"'))
    notes.pauses[1] = Pause(rival=rival)
    script = 'echo one >> "$LOG"; echo two >> "$LOG"'
    _, outcome = room.run(*room.shell(script), notes=notes, service=wire)
    assert notes.victim == outcome.pid
    assert room.log.read_bytes() == b"one\nrival\n"
    assert [status for _, _, status in notes.rivals] == [0]
