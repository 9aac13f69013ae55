"""Races between an abort and everything else, settled by the log.

The switch is thrown at chosen instants: when a fact has just become durable, or while a request is
out. Real signals and real tools are in test_abort_process.py.
"""

from __future__ import annotations

import errno
import json
import os
import select
import signal
import stat
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

import psutil
import pytest

from agent.abort import Abort, abort_of
from agent.configuration import Configuration
from agent.failures import StoreFailure
from agent.loop import Loop
from agent.new_facts import NewFact
from agent.outcome import Outcome
from agent.output import event_name
from agent.reducer import reduce_session
from agent.signals import AbortSwitch
from agent.state import Compaction, Idle, Run, ToolCall, Turn
from tests.agent.support import call
from tests.agent.test_loop import (
    DONE,
    World,
    _world,  # noqa: F401 - the fixture
    calls,
    crash_after,
)

TURNS = [
    calls(call("read", {"path": "in"}, "c1"), call("write", {"path": "out", "content": "x"}, "c2")),
    DONE,
]
FACTS = (  # of a run of TURNS, in order
    *("user", "runStarted", "stepAttempt", "assistant", "usage"),
    *("toolStarted", "toolResult", "toolStarted", "toolResult"),
    *("stepAttempt", "assistant", "usage"),
)


def run(world: World, when: Callable[[int, str, Loop], None]) -> Outcome:
    """A run of TURNS; `when` hears of each fact, by position and name, once it is durable."""
    world.turns = TURNS
    (world.root / "in").write_text("input")
    with world.open() as store:

        def announce(fact: Mapping[str, Any]) -> None:
            world.facts.append(fact)
            when(len(world.facts) - 1, event_name(fact), loop)

        loop = world.loop(store)
        loop._work._announce = announce
        loop.accept("go")
        return loop.drive()


def throw_at(world: World, position: int) -> Outcome:
    def when(at: int, _: str, __: Loop) -> None:
        if at == position:
            world.switch.request()

    return run(world, when)


def made() -> Turn:
    return Turn("e", "s", "toolUse", None, (ToolCall(0, "c1", "n", ""), ToolCall(1, "c2", "n", "")))


def test_the_phase_is_that_of_the_operation() -> None:
    turn = made()
    turn.answered.add(0)
    settled = made()
    settled.answered |= {0, 1}
    told: list[tuple[Run | Compaction, str, str | None]] = [
        (Run("o", "i"), "model", None),
        (Run("o", "i", turn=made()), "tool", "c1"),
        (Run("o", "i", turn=turn), "tool", "c2"),
        (Run("o", "i", turn=settled), "model", None),
        (Compaction("o", "i", "r", "c", 6), "compact", None),
    ]
    for operation, phase, call_id in told:
        body = abort_of(operation).body
        assert (body["phase"], body.get("toolCallId")) == (phase, call_id)
        assert (body["operationKind"], body["reason"]) == (operation.kind, "escape")


@pytest.mark.parametrize("position", range(len(FACTS)))
def test_an_abort_between_any_two_facts_comes_next_and_wins(world: World, position: int) -> None:
    outcome = throw_at(world, position)
    assert (outcome.kind, int(outcome.exit_code)) == ("aborted", 130)
    names = world.names()
    at = names.index("abortRequested")
    assert tuple(names[:at]) == FACTS[:at]
    # A transaction is not cut in two; else nothing comes between the request and its fact.
    assert at - position - 1 <= (FACTS[position] in ("user", "assistant"))
    assert names.count("operationFinished") == 1
    assert world.last()["outcome"] == "aborted"
    assert "toolStarted" not in names[at:]
    assert "stepAttempt" not in names[at:]
    before = world.log.read_bytes()
    assert world.resume().kind == "idle"
    assert world.log.read_bytes() == before


def test_what_stood_open_is_closed_in_the_words_of_the_contract(world: World) -> None:
    throw_at(world, FACTS.index("toolStarted"))
    results = [m["content"] for m in world.messages() if m["role"] == "tool"]
    assert results == [
        "Operation interrupted after execution status became unknown; the tool was not replayed.",
        "Operation aborted before execution.",
    ]
    assert not (world.root / "out").exists()


def test_no_request_is_sent_for_an_attempt_that_is_aborted_at_once(world: World) -> None:
    throw_at(world, FACTS.index("stepAttempt"))
    assert not world.requests
    assert world.names()[-3:] == ["abortRequested", "stepFailed", "operationFinished"]


def test_a_settled_answer_ends_aborted_where_the_abort_came_before_its_end(world: World) -> None:
    throw_at(world, len(FACTS) - 1)
    assert world.names()[-2:] == ["abortRequested", "operationFinished"]
    assert world.messages()[-1]["content"] == "done"
    assert world.last()["outcome"] == "aborted"


def test_a_durable_end_stands(world: World) -> None:
    assert throw_at(world, len(FACTS)).kind == "completed"
    assert "abortRequested" not in world.names()


def test_asking_again_at_any_time_changes_nothing(world: World) -> None:
    def when(at: int, _: str, __: Loop) -> None:
        if at >= FACTS.index("toolStarted"):
            world.switch.request()

    assert run(world, when).kind == "aborted"
    assert world.names().count("abortRequested") == 1


def test_a_reply_that_comes_after_the_abort_leaves_its_usage_alone(world: World) -> None:
    loops: list[Loop] = []

    def watch() -> None:  # the request is out
        world.switch.request()
        loops[0]._work.abort.heed()

    world.watch = watch
    assert run(world, lambda *given: loops.append(given[2])).kind == "aborted"
    assert world.names()[-4:] == ["abortRequested", "stepFailed", "usage", "operationFinished"]
    state = reduce_session(world.log.read_bytes())
    assert state.usage["input"] == 11
    assert [m["role"] for m in state.transcript] == ["user"]
    failed = json.loads(world.log.read_bytes().splitlines()[-2])[0]["record"]
    assert failed["error"] == {"code": "aborted", "message": "Operation aborted"}


@pytest.mark.parametrize("position", [2, 5, 7, 9, 11])
def test_a_crash_at_any_fact_of_an_abort_ends_aborted(world: World, position: int) -> None:
    throw_at(world, position)
    whole = world.log.read_bytes()
    start = whole.index(b"\n", whole.index(b'"abortRequested"')) + 1
    world.requests.clear()
    for end in [at + 1 for at, byte in enumerate(whole) if byte == 0x0A and at + 1 >= start]:
        for torn in (b"", b'[{"kind":"re'):
            world.log.write_bytes(whole[:end] + torn)
            expected = "idle" if end == len(whole) else "aborted"
            assert world.resume().kind == expected
            assert world.log.read_bytes().count(b'"operationFinished"') == 1
    assert not world.requests


@pytest.mark.parametrize("crash", ["runStarted", "stepAttempt", "assistant", "toolStarted"])
def test_an_abort_frees_a_session_that_a_changed_configuration_blocks(
    world: World, crash: str
) -> None:
    world.turns = TURNS
    (world.root / "in").write_text("input")
    world.run()
    crash_after(world, crash)
    world.requests.clear()
    world.switch.request()
    changed = world.settings(model="other", environment_identity="moved")
    with world.open() as store:
        assert world.loop(store, Configuration.of(changed, {})).drive().kind == "aborted"
    assert not world.requests


def test_a_disk_that_takes_no_abort_ends_the_tool_and_loses_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.turns = [calls(call("bash", {"command": "echo on > on; sleep 60"})), DONE]
    os.mkfifo(world.root / "on")
    real = os.write

    def throw() -> None:
        (world.root / "on").read_bytes()  # the tool runs
        monkeypatch.setattr("agent.store.os.write", full)
        world.switch.request()

    def full(fd: int, data: bytes) -> int:
        if stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(fd, data)

    thrower = threading.Thread(target=throw)
    thrower.start()
    with pytest.raises(StoreFailure, match="No space left"):
        world.run()
    thrower.join()
    assert not psutil.Process().children()
    monkeypatch.undo()
    assert world.resume().kind == "aborted"  # the switch is thrown still
    assert "interrupted" in world.messages()[2]["content"]


class Log:
    """An operation whose abort can be made durable."""

    def __init__(self) -> None:
        self.operation: Run | Idle = Run("o", "i")
        self.facts: list[NewFact] = []

    def commit(self, fact: NewFact) -> None:
        self.facts.append(fact)
        assert isinstance(self.operation, Run)
        self.operation.abort_requested = True


def test_a_wait_ends_at_once_when_the_switch_is_thrown_and_the_abort_is_durable_then() -> None:
    reader, writer = os.pipe()
    log = Log()
    with AbortSwitch() as switch:
        abort = Abort(switch, lambda: log.operation, log.commit)
        assert abort.wait({reader: select.POLLIN}, 0) == set()
        thrower = threading.Timer(0.05, switch.request)
        thrower.start()
        assert abort.wait({reader: select.POLLIN}, 10) == set()
        thrower.join()
        assert abort.durable
        assert len(log.facts) == 1
        # From now on a wait waits for its own again: there is no busy loop.
        assert abort.wait({reader: select.POLLIN}, 0.05) == set()
        os.write(writer, b"x")
        assert abort.wait({reader: select.POLLIN}, 10) == {reader}
    os.close(reader)
    os.close(writer)


def test_another_signal_ends_no_wait() -> None:
    """A key that is no Esc, say: it wakes the wait, which goes on for the time that is left."""
    log = Log()
    with AbortSwitch() as switch:
        abort = Abort(switch, lambda: log.operation, log.commit)
        os.write(switch.wakeup_fd, bytes([signal.SIGIO]))
        began = time.monotonic()
        assert abort.wait({}, 0.2) == set()
        assert 0.2 <= time.monotonic() - began < 10
        assert not select.select([switch], [], [], 0)[0]  # no busy loop
    assert not log.facts


def test_an_idle_session_has_nothing_to_abort() -> None:
    log = Log()
    log.operation = Idle()
    with AbortSwitch() as switch:
        switch.request()
        assert not Abort(switch, lambda: log.operation, log.commit).heed()
    assert not log.facts
