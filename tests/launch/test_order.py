"""What happens at the same time is seen one after the other."""

from __future__ import annotations

import os

import pytest

from chaos.launch.model import Action, Call, Strike

from .support import Notes, Room, kill_after, kill_before, kill_nth


def test_a_program_does_not_begin_in_the_middle_of_a_watched_call(room: Room) -> None:
    in_flight: list[int] = []

    class Counting(Notes):
        def executed(self, pid: int, argv: tuple[str, ...]) -> None:
            in_flight.append(len(self.entered) - len(self.returned))

    script = '(for n in $(seq 30); do /bin/true; done) & for n in $(seq 300); do echo x >> "$LOG"; '
    room.run(*room.shell(f"{script} done; wait"), notes=Counting(room.log))
    assert len(in_flight) >= 30
    assert set(in_flight) == {0}


@pytest.mark.parametrize("action", [kill_before(), kill_after()])
def test_the_wire_waits_between_a_kill_and_the_look_at_what_it_left(
    room: Room, action: Action
) -> None:
    """The target's death closes its end of a pipe, which the service would be told of."""
    happened: list[str] = []
    fifo = room.path / "fifo"
    os.mkfifo(fifo)

    class Wire:
        def __init__(self) -> None:
            self._fd = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)

        def fileno(self) -> int:
            return self._fd

        def serve(self) -> None:
            happened.append("wire")

    class Ordered(Notes):
        def entering(self, call: Call) -> Action:
            happened.append("kill")
            return super().entering(call)

        def dead(self, call: Call | None, strike: Strike, pid: int, wait_status: int) -> None:
            happened.append("dead")
            super().dead(call, strike, pid, wait_status)

    script = f'exec 3> {fifo}; echo one >> "$LOG"; echo two >> "$LOG"'
    notes = Ordered(room.log)
    room.run(*room.shell(script), notes=notes, plan=kill_nth(1, action), service=Wire())
    after = happened.index("kill") + 1
    assert happened[after] == "dead"
    assert "wire" in happened[after:]


def test_who_was_ended_by_a_signal_is_told(room: Room) -> None:
    notes, _ = room.run(*room.shell("sleep 60 & kill $!; sleep 60 & kill -KILL $!; wait; :"))
    assert sorted(notes.ends) == [9, 15]


def test_the_root_and_the_killed_are_not_told(room: Room) -> None:
    notes, outcome = room.run(*room.shell("kill -TERM $$"))
    assert (outcome.wait_status, notes.ends) == (15, [])
    script = "sh -c 'echo one >> \"$LOG\"'; wait"
    notes, _ = room.run(*room.shell(script), plan=kill_nth(1, kill_before()))
    assert notes.wait_status == 9
    assert notes.ends == []


def test_an_orderly_exit_is_no_end_by_a_signal(room: Room) -> None:
    notes, _ = room.run(*room.shell("sh -c 'exit 3'; sh -c :; :"))
    assert notes.ends == []
