"""Who exists, whatever order the kernel tells it in."""

from __future__ import annotations

import os

from chaos.launch.tracees import Tracees

ROOT, NEW = os.getpid(), os.getppid()  # any two living processes


def test_the_parent_tells_first() -> None:
    tracees = Tracees(ROOT)
    tracees.announce(NEW, ROOT)
    tracees.show(NEW)
    assert tracees.processes() == [ROOT, NEW]
    tracees.end(NEW)
    assert tracees.processes() == [ROOT]


def test_the_child_shows_itself_first() -> None:
    tracees = Tracees(ROOT)
    tracees.show(NEW)
    tracees.announce(NEW, ROOT)
    assert tracees.processes() == [ROOT, NEW]


def test_the_child_has_ended_before_the_parent_tells() -> None:
    tracees = Tracees(ROOT)
    tracees.show(NEW)
    tracees.end(NEW)
    tracees.announce(NEW, ROOT)
    assert tracees.processes() == [ROOT]


def test_the_child_has_ended_without_a_stop_before_the_parent_tells() -> None:
    tracees = Tracees(ROOT)
    tracees.end(NEW)
    tracees.announce(NEW, ROOT)
    assert tracees.processes() == [ROOT]


def test_an_id_that_is_used_again_is_another_thread() -> None:
    tracees = Tracees(ROOT)
    for _ in range(2):
        tracees.announce(NEW, ROOT)
        tracees.show(NEW)
        tracees.end(NEW)
    tracees.announce(NEW, ROOT)
    assert NEW in tracees
