"""Planted bugs of what befell a session while nobody ran: damage of its log, and drift."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import agent.loop
import agent.planner
import agent.store
from agent.errors import SessionError
from agent.ids import IdSource
from agent.loop import Loop
from agent.model_steps import ModelSteps
from agent.planner import plan_recovery
from agent.plans import StartTool
from agent.reducer import SessionReducer
from agent.reply import FailedAttempt
from agent.store import SessionStore
from tests.planted.table import With, bug


def _reduce_otherwise(lines_of: Callable[[bytes], list[bytes]], *, skip: bool = False) -> None:
    """The log is taken apart by `lines_of`; with `skip`, bad lines are passed by."""

    def reduced(data: bytes) -> SessionReducer:
        reducer = SessionReducer()
        for line in lines_of(data):
            try:
                reducer.feed(line)
            except SessionError:
                if not skip:
                    raise
        return reducer

    SessionReducer.of = staticmethod(reduced)  # type: ignore[method-assign, assignment]


# -- damage ----------------------------------------------------------------------------------------


@bug("L1", 1, "plain-answer", cut=True)
def the_torn_tail_is_ended_with_an_lf() -> None:
    """Instead of being cut off, the torn tail is made a line of its own."""

    def end(fd: int, _: int) -> None:
        os.write(fd, b"\n")

    agent.store.os = With(os, ftruncate=end)  # type: ignore[assignment]


@bug("L2", 1, "plain-answer", cut=True)
def the_repair_takes_an_lf_too() -> None:
    """One byte too many is cut off: the last good line has no LF any more, and the next sticks to
    it."""
    real = os.ftruncate
    agent.store.os = With(os, ftruncate=lambda fd, size: real(fd, max(size - 1, 0)))  # type: ignore


@bug("L2", 0, "plain-answer", faults="damage")
def a_corrupt_log_is_begun_anew() -> None:
    """Recovery by deletion: what cannot be read is thrown away, with all that can."""
    real = SessionStore.__init__

    def init(self: SessionStore, fd: int, *given: Any) -> None:
        try:
            real(self, fd, *given)
        except SessionError:
            os.ftruncate(fd, 0)
            real(self, fd, *given)

    SessionStore.__init__ = init  # type: ignore[method-assign]


@bug("R1", 0, "plain-answer", faults="damage")
def bad_lines_are_skipped() -> None:
    """A corrupt log is opened for what is good in it."""
    _reduce_otherwise(lambda data: data.split(b"\n")[:-1], skip=True)


@bug("L1", 0, "plain-answer", faults="damage")
def nul_bytes_are_no_tail() -> None:
    """A tail of NUL bytes is taken for nothing at all, so the next line sticks to it."""
    real = SessionStore.__init__

    def init(self: SessionStore, fd: int, *given: Any) -> None:
        real(self, fd, *given)
        if not os.pread(fd, self._size, self._valid).strip(b"\0"):
            self._valid = self._size

    SessionStore.__init__ = init  # type: ignore[method-assign]


@bug("R2", 0, "plain-answer", faults="damage")
def the_bad_line_is_not_named() -> None:
    """The session is refused, and nobody learns where it is broken."""
    real = SessionError.__init__

    def init(self: SessionError, code: str, line: int, seq: int | None, message: str) -> None:
        real(self, code, line, seq, message)
        self.args = ("it cannot be read",)

    SessionError.__init__ = init  # type: ignore[method-assign]


@bug("R1", 0, "provider/line-separators-in-a-reply")
def lines_end_at_every_separator() -> None:
    """U+2028 in a text is taken for the end of a line."""
    _reduce_otherwise(lambda data: [line.encode() for line in data.decode().splitlines()])


@bug("L3", 1, "deploy-is-never-repeated")
def recovery_repairs_its_memory_only() -> None:
    """What recovery makes up for an interrupted call is known to the process and to no log."""
    real = SessionStore._write

    def write(self: SessionStore, line: bytes) -> None:
        if b'"interrupted"' not in line:
            real(self, line)

    SessionStore._write = write  # type: ignore[method-assign]


# -- drift -----------------------------------------------------------------------------------------


def _plan_as_if(change: Callable[[Any, Any], Any]) -> None:
    agent.loop.plan_recovery = lambda state, now: plan_recovery(state, change(state, now))


@bug("R4", 1, "drift/workspace-moved")
def resumed_elsewhere_silently() -> None:
    """Wherever the session is found, it goes on there."""

    def at_home(state: Any, now: Any) -> Any:
        return replace(now, environment_identity=state.header.environment_identity)

    _plan_as_if(at_home)


@bug("P4", 1, "drift/another-model")
def another_model_is_asked() -> None:
    """The second attempt is recorded as a repetition of the first, and asks another model."""

    def as_recorded(state: Any, now: Any) -> Any:
        step = getattr(state.operation, "step", None)
        return now if step is None else replace(now, configuration_digest=step.configuration_digest)

    announce = ModelSteps._announce

    def announce_again(self: ModelSteps, plan: Any) -> None:
        work = self._work
        if plan.attempt == 2:
            current = as_recorded(work.state, work.configuration.current)
            snapshot = work.step.configuration_snapshot
            work.configuration = replace(work.configuration, current=current, snapshot=snapshot)
        announce(self, plan)

    ModelSteps._announce = announce_again  # type: ignore[method-assign]
    _plan_as_if(as_recorded)


@bug("R4", 1, "drift/another-tool-definition")
def a_redefined_tool_is_called() -> None:
    """A tool of that name is all that a call needs, whatever it does by now."""

    def as_offered(state: Any, now: Any) -> Any:
        step = getattr(state.operation, "step", None)
        tools = step.configuration_snapshot["tools"] if step else ()
        offered = {tool["name"]: tool["definitionDigest"] for tool in tools}
        same = (replace(t, definition_digest=offered.get(t.name, "")) for t in now.tools)
        return replace(now, tools=tuple(same))

    _plan_as_if(as_offered)


@bug("R4", 1, "drift/another-model")
def a_blocked_resume_gives_up_the_attempt() -> None:
    """The launch says that it is blocked, and closes the open attempt all the same."""
    real = Loop._blocked

    def blocked(self: Loop, reason: str) -> Any:
        step = self._work.step
        if step.status != "settled":
            error = {"code": reason, "message": "blocked"}
            self._model_steps._fail(step, error, None)
        return real(self, reason)

    Loop._blocked = blocked  # type: ignore[method-assign]


@bug("R4", 1, "drift/another-environment")
def the_wrong_reason_is_given() -> None:
    """Whatever holds the session up, the configuration is blamed."""
    real = Loop._blocked
    Loop._blocked = lambda self, _: real(self, "configuration_changed")  # type: ignore


@bug("E4", 1, "drift/another-replay-key")
def a_read_of_another_version_is_run_again() -> None:
    """That a call was recorded safe is enough; how it was declared does not count."""
    real = agent.planner._pending

    def pending(turn: Any, call: Any, intent: Any, declared: Any) -> Any:
        made = real(turn, call, intent, declared)
        if intent.replay == "safe":
            given = intent.arguments, intent.tool_started_id
            return StartTool("replay", turn.entry_id, call.index, call.name, *given)
        return made

    agent.planner._pending = pending


@bug("R1", 1, "drift/newer-log")
def a_newer_log_is_read_as_if_it_were_old() -> None:
    """The version in the header is not looked at."""
    old = b'"version":2'
    _reduce_otherwise(lambda d: d.replace(b'"version":3', old, 1).split(b"\n")[:-1])


@bug("L3", 1, "drift/clock-one-hour-back")
def ids_follow_the_clock() -> None:
    """Fresh ids do not heed those that the log has."""
    agent.store.IdSource = lambda *_: IdSource()  # type: ignore


@bug("P5", 1, "drift/another-model")
def a_blocked_resume_asks_all_the_same() -> None:
    """Before it says that it is blocked, it tries whether the model would answer."""
    real = Loop._blocked

    def blocked(self: Loop, reason: str) -> Any:
        if self._work.step.open:
            with contextlib.suppress(FailedAttempt):
                self._model_steps._ask()
        return real(self, reason)

    Loop._blocked = blocked  # type: ignore[method-assign]
