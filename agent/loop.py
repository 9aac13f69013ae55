"""The one crash-only loop, for a first run and for a resume: plan, carry out, commit, again.

What it promises: nothing reaches the provider or the world before the fact that announces it is
durable; each plan of the planner is carried out in one place, live and after a crash alike; a kill
between any two lines here is met by the next start.
What it does not do: it decides nothing (the planner does) and retries nothing. A compaction that a
foreign log has left unfinished before its summary is refused; this agent cannot summarise.

Source: session contract, sections 5 and 6.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from agent import new_facts
from agent.blocked import Situation, explain
from agent.configuration import Configuration, tool_environment
from agent.errors import SessionError
from agent.facts import MAX_SAFE_INTEGER, SYNTHETIC_TEXT
from agent.failures import AgentFailure
from agent.new_facts import NewFact
from agent.outcome import Outcome
from agent.planner import plan_recovery
from agent.plans import (
    AppendSynthetic,
    Blocked,
    CloseAttempt,
    Finish,
    StartStep,
    StartTool,
    SyntheticResult,
)
from agent.provider import Provider, Show
from agent.reply import FailedAttempt, MalformedReply, Reply
from agent.state import Compaction, Idle, Run, Step, ToolIntent, Turn
from agent.store import Reserved, SessionStore
from agent.tools import CallContext
from agent.tools.files import sweep_call

Announce = Callable[[Mapping[str, Any]], None]  # is given each fact once it is durable


class Loop:
    """Drives one open session. `announce` hears of every fact this process made durable.

    `show` is given the text of a streamed reply as it comes, before it is durable.
    """

    def __init__(
        self,
        store: SessionStore,
        configuration: Configuration,
        workspace: Path,
        announce: Announce,
        show: Show = lambda _: None,
    ) -> None:
        self._store = store
        self._configuration = configuration
        self._workspace = workspace
        self._announce = announce
        self._show = show
        self._provider = Provider(configuration.settings)
        self._outcome = Outcome("idle")

    def accept(self, prompt: str) -> None:
        """Make the prompt durable, with the operation it starts, in one transaction."""
        entry_id, operation_id = self._store.fresh_id(), self._store.fresh_id()
        self._commit(
            Reserved(entry_id, new_facts.user_message(prompt)),
            new_facts.run_started(operation_id=operation_id, input_entry_id=entry_id),
        )

    def drive(self) -> Outcome:
        """Go on until the session is idle or blocked.

        Raises StoreFailure where the log cannot be written, AgentFailure for a plan that this agent
        cannot carry out; the log is then as it was.
        """
        self._sweep()
        try:
            while not isinstance(self._store.state.operation, Idle):
                plan = plan_recovery(self._store.state, self._configuration.current)
                match plan:
                    case StartStep():
                        self._start_step(plan)
                    case StartTool():
                        self._start_tool(plan)
                    case AppendSynthetic():
                        self._commit(*map(self._synthetic, plan.results))
                    case CloseAttempt():
                        self._close_attempt(self._step, plan.error)
                    case Finish():
                        self._finish(plan)
                    case Blocked():
                        return self._blocked(plan.reason)
            return self._outcome
        finally:
            self._provider.close()

    def _start_step(self, plan: StartStep) -> None:
        if plan.step_kind != "assistant":
            raise AgentFailure(
                "the session has an unfinished compaction, which this version of the agent cannot "
                "carry out; nothing was changed: finish it with the program that began it"
            )
        if plan.attempt == 1:
            # A step of its own is asked under what holds now: AGENTS.md may have been changed by
            # the tool before. What changes while a request is open was changed by somebody else.
            self._configuration = self._configuration.in_workspace(self._workspace)
        self._commit(
            new_facts.step_attempt(
                operation_id=self._operation.operation_id,
                step_id=plan.step_id or self._store.fresh_id(),
                attempt_id=self._store.fresh_id(),
                step_kind=plan.step_kind,
                attempt=plan.attempt,
                context_through_entry_id=plan.context_through_entry_id,
                configuration_snapshot=self._configuration.snapshot,
                configuration_digest=self._configuration.current.configuration_digest,
            )
        )
        step = self._step
        try:
            context = self._store.state.active_context
            self._settle(step, self._provider.complete(self._configuration, context, self._show))
        except FailedAttempt as failed:
            self._close_attempt(step, {"code": failed.code, "message": str(failed)}, failed.usage)

    def _settle(self, step: Step, reply: Reply) -> None:
        """The reply and what it cost, in one transaction."""
        message = new_facts.assistant_message(
            step_id=step.step_id,
            attempt_id=step.attempt_id,
            stop_reason=reply.stop_reason,
            message=reply.message,
        )
        try:
            self._commit(message, *self._usage(step, reply.usage))
        except SessionError as error:
            # The reducer is the last judge of what a log can hold; nothing was written.
            raise MalformedReply(error.message, usage=reply.usage) from error

    def _close_attempt(
        self, step: Step, error: Mapping[str, str], usage: Mapping[str, int] | None = None
    ) -> None:
        failed = new_facts.step_failed(
            operation_id=step.operation_id,
            step_id=step.step_id,
            attempt_id=step.attempt_id,
            error=error,
        )
        self._commit(failed, *self._usage(step, usage))

    def _usage(self, step: Step, usage: Mapping[str, int] | None) -> list[NewFact]:
        """The usage fact of an attempt; none where the sums would leave the log's integers."""
        sums = self._store.state.usage
        if usage is None or any(sums[name] + usage[name] > MAX_SAFE_INTEGER for name in usage):
            return []
        return [
            new_facts.usage(
                operation_id=step.operation_id,
                attempt_id=step.attempt_id,
                input_tokens=usage["input"],
                output_tokens=usage["output"],
                cache_read=usage["cacheRead"],
                cache_write=usage["cacheWrite"],
            )
        ]

    def _start_tool(self, plan: StartTool) -> None:
        turn = self._turn
        call = turn.calls[plan.tool_index]
        offered = self._step.configuration_snapshot["tools"]
        if plan.mode == "start" and all(tool["name"] != call.name for tool in offered):
            # Declared since, but not offered to the model then: the log takes no intent for it.
            unknown = SyntheticResult(
                assistant_entry_id=turn.entry_id,
                tool_index=call.index,
                tool_call_id=call.id,
                tool_name=call.name,
                reason="unknownTool",
                content=SYNTHETIC_TEXT["unknownTool"],
            )
            self._commit(self._synthetic(unknown))
            return
        if plan.mode == "start":
            self._announce_intent(turn, plan)
        self._run_tool(self._turn.intents[plan.tool_index])

    def _announce_intent(self, turn: Turn, plan: StartTool) -> None:
        tool = self._configuration.tools[plan.tool_name]
        started_id, result_id = self._store.fresh_id(), self._store.fresh_id()
        intent = new_facts.tool_started(
            operation_id=self._operation.operation_id,
            step_id=turn.step_id,
            assistant_entry_id=turn.entry_id,
            tool_index=plan.tool_index,
            tool_call_id=turn.calls[plan.tool_index].id,
            tool_name=plan.tool_name,
            arguments=plan.arguments,
            replay=tool.replay,
            replay_key=tool.replay_key,
            result_entry_id=result_id,
            environment_identity=self._configuration.settings.environment_identity,
        )
        self._commit(Reserved(started_id, intent))

    def _run_tool(self, intent: ToolIntent) -> None:
        """Run a tool whose intent is durable, and write down what it gave."""
        context = CallContext(
            workspace=self._workspace,
            call_id=intent.result_entry_id,
            lock_fd=self._store.lock_fd,
            environment=tool_environment(os.environ),
        )
        result = self._configuration.tools[intent.tool_name].call(intent.arguments, context)
        fact = new_facts.tool_result(
            step_id=intent.step_id,
            tool_started_id=intent.tool_started_id,
            tool_call_id=intent.tool_call_id,
            tool_name=intent.tool_name,
            result=result.kind,
            content=result.text,
        )
        self._commit(Reserved(intent.result_entry_id, fact))

    def _synthetic(self, result: SyntheticResult) -> NewFact | Reserved:
        step_id = self._turn.step_id
        if result.tool_started_id and result.result_entry_id:
            interrupted = new_facts.interrupted_result(
                step_id=step_id,
                tool_started_id=result.tool_started_id,
                tool_call_id=result.tool_call_id,
                tool_name=result.tool_name,
            )
            return Reserved(result.result_entry_id, interrupted)
        return new_facts.unstarted_result(
            step_id=step_id,
            assistant_entry_id=result.assistant_entry_id,
            tool_index=result.tool_index,
            tool_call_id=result.tool_call_id,
            tool_name=result.tool_name,
            reason=result.reason,
        )

    def _finish(self, plan: Finish) -> None:
        operation = self._operation
        self._commit(
            new_facts.operation_finished(
                operation_id=operation.operation_id,
                operation_kind=operation.kind,
                outcome=plan.outcome,
                completion=plan.completion,
                final_entry_id=plan.final_entry_id,
                error=plan.error,
            )
        )
        error = plan.error or {}
        message = f"failed: {error['code']}: {error['message']}" if error else ""
        self._outcome = Outcome(plan.outcome, message=message, error=plan.error)

    def _blocked(self, reason: str) -> Outcome:
        configuration = self._configuration
        situation = Situation(self._store.state, configuration.current, configuration.snapshot)
        return Outcome("blocked", message=explain(reason, situation), reason=reason)

    def _sweep(self) -> None:
        """Remove the temporary file of a killed call: only a pending one can have left it."""
        operation = self._store.state.operation
        for intent in operation.tool_calls if isinstance(operation, Run) else ():
            if intent.status == "pending":
                sweep_call(self._workspace, intent.arguments, intent.result_entry_id)

    def _commit(self, *facts: NewFact | Reserved) -> None:
        for fact in self._store.append(*facts):
            self._announce(fact)

    @property
    def _operation(self) -> Run | Compaction:
        operation = self._store.state.operation
        assert not isinstance(operation, Idle)  # noqa: S101 - the planner planned for one
        return operation

    @property
    def _step(self) -> Step:
        step = self._operation.step
        assert step is not None  # noqa: S101 - as above
        return step

    @property
    def _turn(self) -> Turn:
        operation = self._operation
        assert isinstance(operation, Run) and operation.turn is not None  # noqa: S101, PT018 - as above
        return operation.turn
