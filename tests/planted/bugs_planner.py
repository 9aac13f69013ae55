"""Planted bugs of the planner: the wrong next thing to do, live or in recovery."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import agent.loop
import agent.planner
import agent.records
from agent.facts import Fact
from agent.ledger import Ledger
from agent.planner import plan_recovery
from agent.plans import Blocked, Finish, StartStep, StartTool
from agent.state import Run
from tests.planted.reader import Reading, read_otherwise
from tests.planted.table import bug


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


# -- steps and calls that the contract does not know -----------------------------------------------


@bug("L5", 0, "provider/last-call-never-starts")
def the_context_ends_at_the_last_started_tool() -> None:
    """The next step is asked at the result of the tool that was started last, not at the last
    message: a call that never started comes after it."""

    def plan(state: Any, current: Any) -> Any:
        made = plan_recovery(state, current)
        operation = state.operation
        if isinstance(made, StartStep) and made.attempt == 1 and getattr(operation, "turn", None):
            return replace(made, context_through_entry_id=operation.tool_calls[-1].result_entry_id)
        return made

    agent.records._require_first_attempt = lambda *_: None
    _plan_instead(plan)


@bug("L5", 1, "drift/another-model")
def a_second_attempt_has_a_configuration_of_its_own() -> None:
    """A lost request is sent again under whatever holds now, and recorded so."""

    def plan(state: Any, current: Any) -> Any:
        step = getattr(state.operation, "step", None)
        if step is None:
            return plan_recovery(state, current)
        as_recorded = replace(current, configuration_digest=step.configuration_digest)
        return plan_recovery(state, as_recorded)

    agent.records._require_second_attempt = lambda *_: None
    _plan_instead(plan)


@bug("L6", 0, "length-cuts-the-calls")
def a_call_that_was_cut_off_is_run() -> None:
    """Calls of a reply that ended at the token limit are taken up like any others."""
    truncated = agent.planner._truncated

    def take_up(turn: Any) -> Any:
        call = next(iter(turn.unanswered()), None)
        arguments = agent.planner.parse_arguments(call.arguments) if call else None
        if call is None or arguments is None:
            return truncated(turn)
        return StartTool("start", turn.entry_id, call.index, call.name, arguments)

    def of_any_reply(real: Reading) -> Reading:
        def started(ledger: Ledger, fact: Fact) -> None:
            turn = ledger.turn()
            assert turn is not None
            ended, turn.stop_reason = turn.stop_reason, "toolUse"
            real(ledger, fact)
            turn.stop_reason = ended

        return started

    read_otherwise("toolStarted", of_any_reply)
    agent.planner._truncated = take_up


@bug("L8", 1, "safe-read-is-replayed")
def a_safe_call_is_given_up() -> None:
    """A call that may be run again is answered as interrupted, like any other."""

    def pending(turn: Any, call: Any, *_: Any) -> Any:
        return agent.planner._answer(turn, call, "interrupted")

    agent.planner._pending = pending
