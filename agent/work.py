"""What the rooms of the loop share: the open session, what it runs under, and its abort.

What it promises: a fact is announced only after it is durable.
What it does not do: it decides nothing. `model_steps` and `tool_calls` carry plans out, `loop` asks
the planner.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from agent.abort import Abort
from agent.configuration import Configuration
from agent.new_facts import NewFact
from agent.signals import AbortSwitch
from agent.state import Compaction, Idle, Run, SessionState, Step, Turn
from agent.store import Reserved, SessionStore

Announce = Callable[[Mapping[str, Any]], None]  # is given each fact once it is durable


class Work:
    """One open session at work. `configuration` may be replaced before a new step."""

    def __init__(
        self,
        store: SessionStore,
        configuration: Configuration,
        workspace: Path,
        announce: Announce,
        switch: AbortSwitch,
    ) -> None:
        self.store = store
        self.configuration = configuration
        self.workspace = workspace
        self.abort = Abort(switch, lambda: store.state.operation, self.commit)
        self._announce = announce

    def commit(self, *facts: NewFact | Reserved) -> None:
        """Make facts durable in one transaction, then announce them.

        Raises SessionError for facts the reducer refuses, StoreFailure where the disk takes none.
        """
        for fact in self.store.append(*facts):
            self._announce(fact)

    @property
    def state(self) -> SessionState:
        return self.store.state

    @property
    def operation(self) -> Run | Compaction:
        """The unfinished operation, which the planner planned for."""
        operation = self.store.state.operation
        assert not isinstance(operation, Idle)  # noqa: S101 - the planner plans for no idle one
        return operation

    @property
    def step(self) -> Step:
        """Its latest attempt."""
        step = self.operation.step
        assert step is not None  # noqa: S101 - as above
        return step

    @property
    def turn(self) -> Turn:
        """The last reply of the run."""
        operation = self.operation
        assert isinstance(operation, Run) and operation.turn is not None  # noqa: S101, PT018 - as above
        return operation.turn
