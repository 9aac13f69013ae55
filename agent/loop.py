"""The one crash-only loop, for a first run and for a resume: plan, carry out, commit, again.

What it promises: nothing reaches the provider or the world before the fact that announces it is
durable; each plan of the planner is carried out in one place, live and after a crash alike; a kill
between any two lines here is met by the next start. An abort that was asked for is durable before
the next plan.
What it does not do: it decides nothing (the planner does) and retries nothing.

Source: session contract, sections 5 and 6.
"""

from __future__ import annotations

from pathlib import Path

from agent import compaction, new_facts
from agent.blocked import Situation, explain
from agent.configuration import Configuration
from agent.model_steps import ModelSteps
from agent.outcome import Outcome
from agent.planner import plan_recovery
from agent.plans import AppendSynthetic, Blocked, CloseAttempt, Finish, StartStep, StartTool
from agent.provider import Show
from agent.signals import AbortSwitch
from agent.state import Idle
from agent.store import Reserved, SessionStore
from agent.tool_calls import ToolCalls
from agent.work import Announce, Work


class Loop:
    """Drives one open session. `announce` hears of every fact this process made durable.

    `switch` asks for the abort of the operation that is driven, at any instant. `show` is given the
    text of a streamed reply as it comes, before it is durable.
    """

    def __init__(
        self,
        store: SessionStore,
        configuration: Configuration,
        workspace: Path,
        announce: Announce,
        switch: AbortSwitch,
        show: Show = lambda _: None,
    ) -> None:
        self._work = Work(store, configuration, workspace, announce, switch)
        self._model_steps = ModelSteps(self._work, show)
        self._tool_calls = ToolCalls(self._work)
        self._outcome = Outcome("idle")

    def accept(self, prompt: str) -> None:
        """Make the prompt durable, with the operation it starts, in one transaction."""
        store = self._work.store
        entry_id, operation_id = store.fresh_id(), store.fresh_id()
        self._work.commit(
            Reserved(entry_id, new_facts.user_message(prompt)),
            new_facts.run_started(operation_id=operation_id, input_entry_id=entry_id),
        )

    def compact(self) -> Outcome:
        """Replace older messages of an idle session by a summary; like `drive` from there on."""
        state, store = self._work.state, self._work.store
        cut = compaction.find_cut(state)
        if cut is None:
            return Outcome("idle", "nothing to compact")
        operation_id, result_id = store.fresh_id(), store.fresh_id()
        self._work.commit(compaction.started(state, cut, operation_id, result_id))
        return self.drive()

    def drive(self) -> Outcome:
        """Go on until the session is idle or blocked.

        Raises StoreFailure where the log cannot be written; the log is then as it was.
        """
        work = self._work
        self._tool_calls.sweep()
        try:
            while not isinstance(work.state.operation, Idle):
                work.abort.heed()
                plan = plan_recovery(work.state, work.configuration.current)
                match plan:
                    case StartStep():
                        self._model_steps.start(plan)
                    case StartTool():
                        self._tool_calls.start(plan)
                    case AppendSynthetic():
                        self._tool_calls.append_synthetic(plan)
                    case CloseAttempt():
                        self._model_steps.close_attempt(plan)
                    case Finish():
                        self._finish(plan)
                    case Blocked():
                        return self._blocked(plan.reason)
            return self._outcome
        finally:
            self._model_steps.close()

    def _finish(self, plan: Finish) -> None:
        operation = self._work.operation
        self._work.commit(
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
        configuration = self._work.configuration
        situation = Situation(self._work.state, configuration.current, configuration.snapshot)
        return Outcome("blocked", message=explain(reason, situation), reason=reason)
