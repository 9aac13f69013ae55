"""Carry out the calls of a turn: intent, effect, result; or a result that no tool gave.

What it promises: the intent of an effect is durable before the effect; its result is written under
the id that the intent reserved, unless an abort was durable first: then the planner says that it
was interrupted.
What it does not do: it does not choose the call, nor whether it may run; the planner does.

Source: session contract, sections 2 and 6.
"""

from __future__ import annotations

import os

from agent import new_facts
from agent.configuration import tool_environment
from agent.facts import SYNTHETIC_TEXT
from agent.new_facts import NewFact
from agent.plans import AppendSynthetic, StartTool, SyntheticResult
from agent.state import Run, ToolIntent, Turn
from agent.store import Reserved
from agent.tools import CallContext
from agent.tools.files import sweep_call
from agent.work import Work


class ToolCalls:
    """Carries out `StartTool` and `AppendSynthetic`."""

    def __init__(self, work: Work) -> None:
        self._work = work

    def start(self, plan: StartTool) -> None:
        """Write the intent, unless a crash left one, and run the tool."""
        work, turn = self._work, self._work.turn
        call = turn.calls[plan.tool_index]
        offered = work.step.configuration_snapshot["tools"]
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
            work.commit(self._synthetic(unknown))
            return
        if plan.mode == "start":
            self._announce(turn, plan)
        if not work.abort.heed():
            self._run(work.turn.intents[plan.tool_index])

    def append_synthetic(self, plan: AppendSynthetic) -> None:
        """Write results without running anything."""
        self._work.commit(*map(self._synthetic, plan.results))

    def sweep(self) -> None:
        """Remove the temporary file of a killed call: only a pending one can have left it."""
        operation = self._work.state.operation
        for intent in operation.tool_calls if isinstance(operation, Run) else ():
            if intent.status == "pending":
                sweep_call(self._work.workspace, intent.arguments, intent.result_entry_id)

    def _announce(self, turn: Turn, plan: StartTool) -> None:
        work = self._work
        tool = work.configuration.tools[plan.tool_name]
        started_id, result_id = work.store.fresh_id(), work.store.fresh_id()
        intent = new_facts.tool_started(
            operation_id=work.operation.operation_id,
            step_id=turn.step_id,
            assistant_entry_id=turn.entry_id,
            tool_index=plan.tool_index,
            tool_call_id=turn.calls[plan.tool_index].id,
            tool_name=plan.tool_name,
            arguments=plan.arguments,
            replay=tool.replay,
            replay_key=tool.replay_key,
            result_entry_id=result_id,
            environment_identity=work.configuration.settings.environment_identity,
        )
        work.commit(Reserved(started_id, intent))

    def _run(self, intent: ToolIntent) -> None:
        """Run a tool whose intent is durable, and write down what it gave."""
        work = self._work
        context = CallContext(
            workspace=work.workspace,
            call_id=intent.result_entry_id,
            lock_fd=work.store.lock_fd,
            environment=tool_environment(os.environ),
            abort=work.abort,
            sync=work.store.sync,
        )
        result = work.configuration.tools[intent.tool_name].call(intent.arguments, context)
        if work.abort.durable:
            return  # whatever it gave came too late
        fact = new_facts.tool_result(
            step_id=intent.step_id,
            tool_started_id=intent.tool_started_id,
            tool_call_id=intent.tool_call_id,
            tool_name=intent.tool_name,
            result=result.kind,
            content=result.text,
        )
        work.commit(Reserved(intent.result_entry_id, fact))

    def _synthetic(self, result: SyntheticResult) -> NewFact | Reserved:
        step_id = self._work.turn.step_id
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
