"""Threads that stand at a stop until it is their turn.

Bookkeeping only: who waits, in which order, and who may go. Whether it is the time for anybody to
go on is known to `chaos.launch.stops`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class _Turn:
    tid: int
    go_on: Callable[[], None]
    at_entry: bool


class Turns:
    """A queue. `may_go` is asked of a thread when its turn has come; who may not is passed over."""

    def __init__(self, may_go: Callable[[int], bool]) -> None:
        self._may_go = may_go
        self._waiting: list[_Turn] = []

    def join(
        self, tid: int, go_on: Callable[[], None], *, at_entry: bool = False, ahead: bool = False
    ) -> None:
        """A thread stands; `go_on` is called when it is its turn. `at_entry`: its call has not
        happened. `ahead`: it was served already, and goes on before those that were not."""
        self._waiting.insert(0 if ahead else len(self._waiting), _Turn(tid, go_on, at_entry))

    def leave(self, tid: int) -> None:
        """The thread does not stand there any more: it was killed."""
        self._waiting = [turn for turn in self._waiting if turn.tid != tid]

    def next(self) -> Callable[[], None] | None:
        """Take the first that may go."""
        for index, turn in enumerate(self._waiting):
            if self._may_go(turn.tid):
                return self._waiting.pop(index).go_on
        return None

    def standing(self, *, at_entry: bool) -> set[int]:
        """The threads that wait before a call of theirs, or those that wait elsewhere."""
        return {turn.tid for turn in self._waiting if turn.at_entry == at_entry}
