"""The table of planted bugs: each changes one behaviour, and names the rule that must catch it.

A bug replaces one function or method of the agent. It is caught when `rule` is among the ids that
its smallest schedule reports, at no more than `depth` kills; 0 kills: the run without a kill shows
it already.
"""

from __future__ import annotations

import json
import os
import subprocess
import urllib.request
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import agent.abort
import agent.compaction
import agent.loop
import agent.planner
import agent.records
import agent.store
import agent.tools.write
from agent import new_facts
from agent.abort import Abort
from agent.canonical import digest
from agent.model_steps import ModelSteps
from agent.planner import plan_recovery
from agent.plans import Blocked, Finish, StartStep, StartTool
from agent.provider import Provider
from agent.signals import AbortSwitch
from agent.state import Run
from agent.store import Reserved, SessionStore
from agent.tool_calls import ToolCalls
from tests.planted import (
    bugs_damage,
    bugs_memory,
    bugs_power_loss,
    bugs_processes,
    bugs_provider,
    bugs_recovery,
)
from tests.planted.table import BUGS, With, bug

__all__ = [
    "BUGS",
    "bugs_damage",
    "bugs_memory",
    "bugs_power_loss",
    "bugs_processes",
    "bugs_provider",
    "bugs_recovery",
]

# -- order: fact before wire, fact before effect -------------------------------------------------


@bug("P1", 0, "plain-answer")
def request_before_attempt() -> None:
    """The model is asked first, and the attempt written down when it has answered."""
    start, complete = ModelSteps.start, Provider.complete
    early: list[Any] = []

    def start_step(self: ModelSteps, plan: StartStep) -> None:
        work = self._work
        context = work.state.active_context
        early.append(complete(self._provider, work.configuration, context, print))
        start(self, plan)

    ModelSteps.start = start_step  # type: ignore[method-assign]
    Provider.complete = lambda self, *_: early.pop()  # type: ignore[method-assign]


@bug("E1", 0, "deploy-is-never-repeated")
def effect_before_intent() -> None:
    """The tool runs first, and its intent is written down when it is done."""
    announce = ToolCalls._announce

    def announce_late(self: ToolCalls, turn: Any, plan: StartTool) -> None:
        command = plan.arguments.get("command")
        if isinstance(command, str):
            subprocess.run(["sh", "-c", command], cwd=self._work.workspace, check=False)
        announce(self, turn, plan)

    ToolCalls._announce = announce_late  # type: ignore[method-assign]


@bug("E1", 0, "deploy-is-never-repeated")
def tool_start_before_intent() -> None:
    """The tool's program is started before its intent, though its effect comes after."""
    announce = ToolCalls._announce

    def announce_late(self: ToolCalls, turn: Any, plan: StartTool) -> None:
        subprocess.run(["true", str(plan.arguments.get("command"))], check=False)
        announce(self, turn, plan)

    ToolCalls._announce = announce_late  # type: ignore[method-assign]


# -- the planner -----------------------------------------------------------------------------------


def _plan_instead(other: Callable[[Any, Any], Any]) -> None:
    agent.loop.plan_recovery = other


@bug("R1", 0, "settled-turns-stay-settled")
def scan_back() -> None:
    """Chapter 6: the last assistant message *that had calls* is taken for the current turn, so a
    settled turn is opened again and the session is refused by its own reducer."""

    def plan(state: Any, current: Any) -> Any:
        made = plan_recovery(state, current)
        operation = state.operation
        settled = isinstance(made, Finish) and isinstance(operation, Run)
        if settled and operation.tool_calls and not operation.abort_requested:
            context = operation.tool_calls[-1].result_entry_id
            return StartStep("assistant", 1, context)
        return made

    _plan_instead(plan)


def _plan_otherwise_in_recovery(other: Callable[[Any, Any], Any]) -> None:
    """Only a process that took a session over goes wrong: every run without a kill is green."""
    real = agent.loop.Loop.accept
    accepted: list[str] = []

    def accept(self: Any, prompt: str) -> None:
        accepted.append(prompt)
        real(self, prompt)

    agent.loop.Loop.accept = accept  # type: ignore[method-assign]
    _plan_instead(lambda s, c: plan_recovery(s, c) if accepted else other(s, c))


@bug("R1", 1, "settled-turns-stay-settled")
def scan_back_in_recovery() -> None:
    """Chapter 6 as it was met: the run is right, and what resumes it opens the settled turn."""
    scan_back()
    _plan_otherwise_in_recovery(agent.loop.plan_recovery)


@bug("L6", 1, "three-calls-in-one-turn")
def later_call_first() -> None:
    """Recovery settles the last unanswered call first, not the lowest."""
    real = agent.planner._next_call

    def plan(state: Any, current: Any) -> Any:
        def next_call(state: Any, step: Any, turn: Any, _: Any, current: Any) -> Any:
            return real(state, step, turn, turn.unanswered()[-1], current)

        agent.planner._next_call = next_call
        return plan_recovery(state, current)

    _plan_otherwise_in_recovery(plan)


@bug("E4", 1, "deploy-is-never-repeated")
def a_never_tool_is_run_again() -> None:
    """What may have happened is done once more."""
    real = agent.planner._pending

    def pending(turn: Any, call: Any, intent: Any, declared: Any) -> Any:
        made = real(turn, call, intent, declared)
        if intent.replay == "never":
            return StartTool(
                "replay",
                turn.entry_id,
                call.index,
                call.name,
                intent.arguments,
                intent.tool_started_id,
            )
        return made

    agent.planner._pending = pending


@bug("R1", 0, "bad-calls-then-blank-answer")
def a_blank_answer_is_finished_as_completed() -> None:
    """An answer without content counts as an answer."""
    agent.planner.is_blank = lambda _: False


@bug("R5", 2, "plain-answer")
def attempts_exhausted_is_failed() -> None:
    """A step whose two attempts are lost is given up by itself, which nobody asked for."""

    def plan(state: Any, current: Any) -> Any:
        made = plan_recovery(state, current)
        if isinstance(made, Blocked) and made.reason == "attempts_exhausted":
            return Finish("failed", error={"code": "lost", "message": "two attempts were lost"})
        return made

    _plan_instead(plan)


@bug("R1", 2, "plain-answer")
def a_third_attempt() -> None:
    """A step whose two attempts are lost is tried once more."""

    def plan(state: Any, current: Any) -> Any:
        made = plan_recovery(state, current)
        if isinstance(made, Blocked) and made.reason == "attempts_exhausted":
            step = state.operation.step
            return StartStep(step.step_kind, 3, step.context_through_entry_id, step.step_id)
        return made

    _plan_instead(plan)


# -- abort and compaction --------------------------------------------------------------------------


@bug("L11", 0, "abort-while-the-model-answers")
def the_request_is_cancelled_before_the_abort_is_durable() -> None:
    """The wait ends as if the abort were durable; it is written down when the request is gone."""
    heed, fail = Abort.heed, ModelSteps._fail

    def fail_late(self: ModelSteps, *given: Any) -> None:
        heed(self._work.abort)
        fail(self, *given)

    ModelSteps._fail = fail_late  # type: ignore[method-assign]
    Abort.heed = lambda self: self._switch.requested  # type: ignore[method-assign]


@bug("L11", 0, "abort-while-a-tool-runs")
def a_late_result_is_recorded() -> None:
    """What the tool gave is written down, although the abort was durable before."""
    run = ToolCalls._run

    def run_on(self: ToolCalls, intent: Any) -> None:
        run(self, intent)
        if self._work.abort.durable:
            late = new_facts.tool_result(
                step_id=intent.step_id,
                tool_started_id=intent.tool_started_id,
                tool_call_id=intent.tool_call_id,
                tool_name=intent.tool_name,
                result="success",
                content="late",
            )
            self._work.commit(Reserved(intent.result_entry_id, late))

    ToolCalls._run = run_on  # type: ignore[method-assign]


@bug("L11", 0, "abort-while-the-model-answers")
def the_abort_names_the_wrong_phase() -> None:
    """Whatever is aborted, the log calls it a compaction."""
    agent.abort.abort_of = lambda operation: new_facts.abort_requested(
        operation_id=operation.operation_id,
        operation_kind=operation.kind,
        phase="compact",
        tool_call_id=None,
    )


@bug("L11", 1, "abort-after-a-crash")
def abort_goes_on_instead() -> None:
    """What a crash left is brought to its end as if nobody had given up on it."""
    AbortSwitch.requested = property(lambda _: False, lambda *_: None)  # type: ignore


@bug("P4", 0, "compact-once")
def the_summary_is_asked_over_everything() -> None:
    """The request for a summary also holds the messages that stay as they are."""
    agent.compaction.request = lambda state, _: [
        *state.active_context,
        {"role": "user", "content": "Sum it up."},
    ]


@bug("P5", 0, "abort-while-the-model-answers")
def asks_once_more_after_the_abort() -> None:
    """The same request goes out again when its abort is durable."""
    fail = ModelSteps._fail

    def fail_late(self: ModelSteps, *given: Any) -> None:
        settings = self._work.configuration.settings
        headers = {"Authorization": f"Bearer {settings.api_key}"}
        messages = [{"role": "system", "content": "?"}, *self._work.state.active_context]
        body = json.dumps({"model": settings.model, "messages": messages}).encode()
        url = f"{settings.base_url}/chat/completions"
        urllib.request.urlopen(urllib.request.Request(url, body, headers)).close()
        fail(self, *given)

    ModelSteps._fail = fail_late  # type: ignore[method-assign]


@bug("L10", 0, "compact-once")
def the_sources_are_digested_wrongly() -> None:
    """The digest of a compaction's sources is that of something else, and its reader agrees."""
    other = digest([])
    agent.compaction.digest = agent.records.digest = lambda _: other  # type: ignore[attr-defined]


# -- the store -------------------------------------------------------------------------------------


@bug("R1", 1, "plain-answer", torn=True)
def a_torn_tail_stays() -> None:
    """The next line is glued to the torn one."""

    def init(self: SessionStore, *given: Any) -> None:
        real(self, *given)
        self._size = self._valid

    real = SessionStore.__init__
    SessionStore.__init__ = init  # type: ignore[method-assign]


@bug("L2", 1, "plain-answer", torn=True)
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


# -- the world -------------------------------------------------------------------------------------


@bug("E5", 0, "three-calls-in-one-turn")
def write_in_place() -> None:
    """The file is opened for writing where it stands: for a moment it is empty."""

    def replace_file(path: Path, content: bytes, *_: Any, **__: Any) -> None:
        path.write_bytes(content)

    agent.tools.write.replace_file = replace_file


@bug("L9", 0, "plain-answer")
def usage_is_doubled() -> None:
    """Every token is counted twice."""
    real = Provider.complete

    def complete(self: Provider, *asked: Any) -> Any:
        reply = real(self, *asked)
        usage = {name: 2 * count for name, count in (reply.usage or {}).items()}
        return replace(reply, usage=usage)

    Provider.complete = complete  # type: ignore[method-assign]


@bug("P4", 0, "safe-read-is-replayed")
def the_result_is_not_shown_to_the_model() -> None:
    """The model hears another text than the log holds."""
    real = Provider.complete

    def complete(self: Provider, configuration: Any, context: Any, show: Any) -> Any:
        told = [{**m, "content": "ok"} if m["role"] == "tool" else m for m in context]
        return real(self, configuration, told, show)

    Provider.complete = complete  # type: ignore[method-assign]
