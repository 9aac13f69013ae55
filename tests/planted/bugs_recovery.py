"""Planted bugs of recovery and of the world: what a start after a crash does wrong, or leaves."""

from __future__ import annotations

import contextlib
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import agent.commands
import agent.tool_calls
from agent import new_facts
from agent.configuration import Configuration, Settings
from agent.errors import SessionError
from agent.facts import SYNTHETIC_TEXT, Fact
from agent.ledger import AWAITED, Ledger
from agent.loop import Loop
from agent.outcome import Outcome
from agent.plans import AppendSynthetic, Finish
from agent.provider import Provider
from agent.reply import FailedAttempt
from agent.state import Idle
from agent.store import SessionStore
from agent.tool_calls import ToolCalls
from agent.tools.base import ToolResult
from agent.workspace import Workspace
from tests.planted.reader import Reading, read_otherwise
from tests.planted.table import bug

# -- what recovery does ----------------------------------------------------------------------------


@bug("R2", 1, "regression/06-running-for-ever")
def a_resume_that_gives_up() -> None:
    """A resume that finds an intent without a result says that there is nothing to do: the session
    is running for ever."""
    real = agent.commands.nothing_to_do

    def nothing_to_do(store: SessionStore) -> Any:
        operation = store.state.operation if store.is_session else None
        pending = [i for i in getattr(operation, "tool_calls", ()) if i.status == "pending"]
        return Outcome("idle", "nothing to do") if pending else real(store)

    agent.commands.nothing_to_do = nothing_to_do


@bug("L8", 1, "deploy-is-never-repeated")
def the_words_of_an_unknown_result_are_its_own() -> None:
    """The text of an interrupted result differs by one character; the reader agrees with it."""
    SYNTHETIC_TEXT["interrupted"] += "!"  # type: ignore[index]


@bug("E3", 1, "deploy-is-never-repeated")
def what_was_lost_is_reported_as_done() -> None:
    """A call whose result is not known is answered with success, and nothing is done."""
    append = ToolCalls.append_synthetic
    real = ToolCalls._run

    def claim(self: ToolCalls, plan: AppendSynthetic) -> None:
        intents = self._work.turn.intents
        lost = [r.tool_index for r in plan.results if r.reason == "interrupted"]
        if not lost:
            append(self, plan)
            return
        tools = self._work.configuration.tools
        name = intents[lost[0]].tool_name
        done = replace(tools[name], run=lambda *_: ToolResult("success", "done"))
        configuration = replace(self._work.configuration, tools={**tools, name: done})
        self._work.configuration, kept = configuration, self._work.configuration
        real(self, intents[lost[0]])
        self._work.configuration = kept

    ToolCalls.append_synthetic = claim  # type: ignore[method-assign]


@bug("P3", 1, "regression/01-call-without-result")
def an_unknown_result_is_not_sent() -> None:
    """The model gets the call and not the words that its result is unknown."""
    complete = Provider.complete

    def bare(self: Provider, configuration: Any, context: Any, show: Any) -> Any:
        told = [
            message
            for message in context
            if message["role"] != "tool" or message["content"] != SYNTHETIC_TEXT["interrupted"]
        ]
        return complete(self, configuration, told, show)

    Provider.complete = bare  # type: ignore[method-assign]


@bug("R3", 0, "plain-answer")
def an_idle_resume_takes_a_note() -> None:
    """A resume that has nothing to do leaves a file that says so."""
    real = agent.commands.nothing_to_do

    def nothing_to_do(store: SessionStore) -> Any:
        found = real(store)
        if found is not None:
            Path("last-resume.txt").write_text("nothing to do\n")
        return found

    agent.commands.nothing_to_do = nothing_to_do


@bug("L6", 1, "deploy-is-never-repeated")
def an_interrupted_call_is_answered_twice() -> None:
    """To be sure, recovery says of each lost call two times that it was interrupted."""
    append = ToolCalls.append_synthetic

    def append_twice(self: ToolCalls, plan: AppendSynthetic) -> None:
        append(self, plan)
        for lost in plan.results:
            if lost.tool_started_id is not None:
                again = new_facts.interrupted_result(
                    step_id=self._work.turn.step_id,
                    tool_started_id=lost.tool_started_id,
                    tool_call_id=lost.tool_call_id,
                    tool_name=lost.tool_name,
                )
                self._work.commit(again)

    def of_what_is_pending(real: Reading) -> Reading:
        def result(ledger: Ledger, fact: Fact) -> None:
            if fact.id in ledger.ids and ledger.ids[fact.id] == AWAITED:
                real(ledger, fact)

        return result

    read_otherwise("startedResult", of_what_is_pending)
    ToolCalls.append_synthetic = append_twice  # type: ignore[method-assign]


@bug("R3", 0, "plain-answer")
def an_idle_resume_asks_the_model() -> None:
    """A resume that has nothing to do sends the conversation once more, to see if it is all."""
    real = agent.commands.resume

    def resume(workspace: str, session: str, durability: str, output: Any) -> Any:
        path = Workspace.at(workspace).known(session)
        with SessionStore.open(path) as store:
            if store.is_session and isinstance(store.state.operation, Idle):
                settings = Settings.from_environment(os.environ, Workspace.at(workspace))
                asked = Configuration.of(settings), store.state.active_context
                with contextlib.suppress(FailedAttempt):
                    Provider(settings).complete(*asked, print)
        return real(workspace, session, durability, output)

    agent.commands.resume = resume


# -- what is left behind -------------------------------------------------------------------------


@bug("X3", 1, "regression/09-half-written-file")
def temporary_files_stay() -> None:
    """What a killed replacement left is not swept by the next start."""
    agent.tool_calls.sweep_call = lambda *_: None


@bug("R1", 0, "regression/13-broken-text")
def a_long_line_is_refused() -> None:
    """The reader has a bound for lines that the writer does not know."""
    real = SessionStore.__init__

    def init(self: SessionStore, fd: int, *given: Any) -> None:
        real(self, fd, *given)
        if self._valid > 1 << 15:
            raise SessionError("LINE_TOO_LONG", 1, None, "expected at most 32 KiB")

    SessionStore.__init__ = init  # type: ignore[method-assign]


@bug("L7", 1, "plain-answer")
def an_interrupted_run_has_no_end() -> None:
    """Recovery does all that is left, but for the terminal fact, and says that it is done."""
    accept, finish = Loop.accept, Loop._finish
    accepted: list[str] = []

    def accepting(self: Loop, prompt: str) -> None:
        accepted.append(prompt)
        accept(self, prompt)

    def finish_one_s_own(self: Loop, plan: Finish) -> None:
        if not accepted:
            raise SystemExit(0)
        finish(self, plan)

    Loop.accept = accepting  # type: ignore[method-assign]
    Loop._finish = finish_one_s_own  # type: ignore[method-assign]


@bug("X4", 0, "plain-answer")
def the_key_is_printed() -> None:
    """A word on stderr, left from a debugging session, holds the API key."""
    complete = Provider.complete

    def told(self: Provider, configuration: Any, context: Any, show: Any) -> Any:
        print(f"asking with {configuration.settings.api_key}", file=sys.stderr)
        return complete(self, configuration, context, show)

    Provider.complete = told  # type: ignore[method-assign]
