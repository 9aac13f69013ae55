"""Planted bugs of the store: what is written, how a tail is repaired, what is written anew."""

from __future__ import annotations

import json
import os
from typing import Any

import agent.store
from agent import new_facts
from agent.facts import Fact
from agent.ledger import Ledger
from agent.loop import Loop
from agent.plans import Finish
from agent.state import Idle, Run
from agent.store import SessionStore
from tests.planted.reader import Reading, read_otherwise
from tests.planted.table import With, bug


@bug("R1", 1, "plain-answer", cut=True)
def a_torn_tail_stays() -> None:
    """The next line is glued to the torn one."""

    def init(self: SessionStore, *given: Any) -> None:
        real(self, *given)
        self._size = self._valid

    real = SessionStore.__init__
    SessionStore.__init__ = init  # type: ignore[method-assign]


@bug("L2", 1, "plain-answer", cut=True)
def the_repair_cuts_a_good_line_too() -> None:
    """Recovery by deletion: with the torn tail goes the line before it."""
    real = SessionStore.__init__

    def init(self: SessionStore, fd: int, *given: Any) -> None:
        real(self, fd, *given)
        if self._size != self._valid:
            whole = os.pread(fd, self._valid, 0)
            os.ftruncate(fd, whole.rfind(b"\n", 0, self._valid - 1) + 1)
            real(self, fd, *given)

    SessionStore.__init__ = init  # type: ignore[method-assign]


@bug("L7", 0, "plain-answer")
def the_last_line_has_no_lf() -> None:
    """The terminal fact is written without its LF, so it never counts."""
    real = os.write

    def write(fd: int, data: Any) -> int:
        whole = bytes(data)
        if b"operationFinished" in whole and whole.endswith(b"\n"):
            return real(fd, whole[:-1]) + 1
        return real(fd, whole)

    agent.store.os = With(os, write=write)  # type: ignore[assignment]


@bug("L1", 0, "deploy-is-never-repeated")
def a_result_has_no_lf() -> None:
    """A result is written without its LF, so the next fact sticks to it."""
    real = os.write

    def write(fd: int, data: Any) -> int:
        whole = bytes(data)
        if b'"toolStartedId"' in whole:
            return real(fd, whole[:-1]) + 1
        return real(fd, whole)

    agent.store.os = With(os, write=write)  # type: ignore[assignment]


@bug("L3", 1, "plain-answer", cut=True)
def a_seq_is_used_again_after_a_repair() -> None:
    """With the torn tail, its reader takes back the seq of the last good fact too."""
    real = SessionStore.__init__

    def init(self: SessionStore, *given: Any) -> None:
        real(self, *given)
        if self._reducer and self._size != self._valid and self.state.last_seq:
            self.state.last_seq -= 1

    SessionStore.__init__ = init  # type: ignore[method-assign]


@bug("L2", 1, "plain-answer")
def history_is_written_anew_by_the_repair() -> None:
    """An unfinished session is read, and written again in the hand of who resumes it."""
    real = SessionStore.__init__

    def init(self: SessionStore, fd: int, *given: Any) -> None:
        real(self, fd, *given)
        if self._reducer and not isinstance(self.state.operation, Idle):
            lines = os.pread(fd, self._valid, 0).splitlines()
            os.ftruncate(fd, 0)
            os.write(fd, b"".join(json.dumps(json.loads(x)).encode() + b"\n" for x in lines))
            real(self, fd, *given)

    SessionStore.__init__ = init  # type: ignore[method-assign]


@bug("L7", 0, "plain-answer")
def the_end_is_written_twice() -> None:
    """An operation is finished, and finished again."""
    real = Loop._finish

    def twice(self: Loop, plan: Finish) -> None:
        operation = self._work.operation
        real(self, plan)
        again = new_facts.operation_finished(
            operation_id=operation.operation_id,
            operation_kind=operation.kind,
            outcome=plan.outcome,
            completion=plan.completion,
            final_entry_id=plan.final_entry_id,
            error=plan.error,
        )
        self._work.commit(again)

    def of_what_is_open(real: Reading) -> Reading:
        def finished(ledger: Ledger, fact: Fact) -> None:
            if not isinstance(ledger.state.operation, Idle):
                real(ledger, fact)

        return finished

    read_otherwise("operationFinished", of_what_is_open)
    Loop._finish = twice  # type: ignore[method-assign]


@bug("L9", 1, "plain-answer")
def usage_is_counted_again_on_resume() -> None:
    """Who takes a session over writes down once more what its last reply had cost."""
    accept, drive = Loop.accept, Loop.drive
    accepted: list[str] = []

    def note(self: Loop, prompt: str) -> None:
        accepted.append(prompt)
        accept(self, prompt)

    def count_again(self: Loop) -> Any:
        operation = self._work.state.operation
        if not accepted and isinstance(operation, Run) and operation.turn is not None:
            known = self._work.state.usage
            again = new_facts.usage(
                operation_id=operation.operation_id,
                input_tokens=known["input"],
                output_tokens=known["output"],
                attempt_id=self._work.step.attempt_id,
            )
            self._work.commit(again)
        return drive(self)

    Loop.accept = note  # type: ignore[method-assign]
    Loop.drive = count_again  # type: ignore[method-assign]
