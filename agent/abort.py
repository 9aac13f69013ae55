"""The abort of the operation in hand, in the order of the contract: durable first, then felt.

Every wait of the agent (for the provider, for a tool) goes through `Abort.wait`. When the switch is
thrown meanwhile, `abortRequested` is written there and then, and only after that does the waiting
room cancel its request or end its tool. What was durable before stands; what comes later is
reconciled by the planner, here and after a crash alike.

What it does not do: it cancels nothing itself and keeps no flag of its own: whether an abort is
durable is what the log says.

Source: session contract, section 6 ("Abort").
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from agent import new_facts
from agent.new_facts import NewFact
from agent.signals import AbortSwitch
from agent.state import Compaction, Idle, Operation, Run


class Abort:
    """Joins a switch to the log. `operation` gives the state's, `commit` makes a fact durable."""

    def __init__(
        self,
        switch: AbortSwitch,
        operation: Callable[[], Operation],
        commit: Callable[[NewFact], None],
    ) -> None:
        self._switch = switch
        self._operation = operation
        self._commit = commit

    @property
    def durable(self) -> bool:
        """The log holds an abort of the operation in hand."""
        operation = self._operation()
        return not isinstance(operation, Idle) and operation.abort_requested

    def heed(self) -> bool:
        """Make an abort durable that was asked for; True if one is durable now."""
        operation = self._operation()
        if isinstance(operation, Idle):
            return False
        if self._switch.requested and not operation.abort_requested:
            self._commit(abort_of(operation))
        return self.durable

    def wait(self, events: Mapping[int, int], timeout_s: float | None = None) -> set[int]:
        """Poll descriptors for events; give the ready ones, none after `timeout_s` seconds.

        Also comes back, perhaps with none ready, once an abort has become durable.
        """
        ready = self._switch.wait(events, timeout_s, heeded=self.durable)
        self.heed()
        return ready


def abort_of(operation: Run | Compaction) -> NewFact:
    """The `abortRequested` of an operation in the phase that it is in."""
    if isinstance(operation, Compaction):
        phase, call_id = "compact", None
    else:
        unanswered = operation.turn.unanswered() if operation.turn is not None else []
        phase, call_id = ("tool", unanswered[0].id) if unanswered else ("model", None)
    return new_facts.abort_requested(
        operation_id=operation.operation_id,
        operation_kind=operation.kind,
        phase=phase,
        tool_call_id=call_id,
    )
