"""What is due in the running launch: its kill, and the events that wait for their instant.

Pure, but for what it forgets: an event happens once (an errno as often as it says). The recorder
asks at every instant and carries out what it is told.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from chaos.evidence import SYNCS, WRITES
from chaos.launch.model import Call
from chaos.points import KillPoint, Phase
from chaos.scenario_events import PlannedEvent


@dataclass(slots=True)
class _Failing:
    """An errno that has begun: every write to a watched file fails, `times` more."""

    event: PlannedEvent
    code: int
    times: int


class Due:
    """The plan of one launch."""

    def __init__(self, kill: KillPoint | None, events: Sequence[PlannedEvent] = ()) -> None:
        self.kill = kill
        self._events = {(event.at, event.kind): event for event in events}
        self._failing: _Failing | None = None

    def take_kill(self, instants: Iterable[str], *phases: Phase) -> KillPoint | None:
        """The kill of this launch, if it is at one of these instants."""
        kill = self.kill
        if kill is None or kill.phase not in phases or kill.place not in instants:
            return None
        self.kill = None
        return kill

    def take(self, kind: str, instants: Iterable[str], phase: Phase) -> list[PlannedEvent]:
        """The events of a kind that happen now."""
        keys = [(f"{instant}/{phase}", kind) for instant in instants]
        return [self._events.pop(key) for key in keys if key in self._events]

    def failure(self, call: Call, instants: Iterable[str]) -> tuple[PlannedEvent, int] | None:
        """The errno that this call returns instead of happening."""
        for event in self.take("errno", instants, Phase.BEFORE):
            name, times = event.errno
            self._failing = _Failing(event, getattr(errno, name), times)
            break
        else:
            if call.name not in WRITES | SYNCS or call.label == "effect":
                return None
        failing = self._failing
        if failing is None or not failing.times:
            return None
        failing.times -= 1
        return failing.event, failing.code
