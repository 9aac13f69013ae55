"""What else happens in a launch: the `[[event]]` tables of a scenario file.

An event is an act (`do`) at an instant (`at`) of a launch. This module knows which acts exist and
at which instants each of them can happen, and refuses the rest with the list of what there is.

    provider:STATUS, :reset, :close, :malformed, :hold, :cut@N    at provider:N/request
    signal:INT, signal:TERM    at provider:N/request, log:NAME#N/before|after, log@N/before|after,
                               effect:NAME#N/before|after

Pure. `chaos.provider.exchange` carries faults out, `chaos.supervise.recorder` sends signals. Which
instants a run has is not known here: the run without a kill tells.

Source: design section 8.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from chaos.errors import ScenarioError
from chaos.provider.faults import Fault
from chaos.toml_table import Table

SIGNALS = ("signal:INT", "signal:TERM")

_REQUEST = r"provider:[1-9][0-9]*/request"
_LOG = r"log(:[A-Za-z][A-Za-z0-9_.-]*(\[[^\]]+\])?#|@)[1-9][0-9]*/(before|after)"
_EFFECT = r"effect:.*\S.*#[1-9][0-9]*/(before|after)"
_AT_A_REQUEST = re.compile(_REQUEST)
_ANYWHERE = re.compile(f"{_REQUEST}|{_LOG}|{_EFFECT}")


@dataclass(frozen=True, slots=True)
class PlannedEvent:
    """`do` ("provider:500", "signal:INT") happens in launch `launch` (1-based) at `at`."""

    launch: int
    at: str  # "provider:1/request", "log:toolStarted[bash]#1/after", "effect:deploy#1/before"
    do: str

    @property
    def request(self) -> int | None:
        """The ordinal of the provider request that `at` names, 1-based within the launch."""
        if not _AT_A_REQUEST.fullmatch(self.at):
            return None
        return int(self.at.removeprefix("provider:").removesuffix("/request"))

    @property
    def fault(self) -> Fault | None:
        """The fault of the provider, if the event is one."""
        return None if self.do in SIGNALS else Fault.parse(self.do)

    @property
    def signal(self) -> str | None:
        """INT or TERM, if the event is a signal to the target."""
        return self.do.removeprefix("signal:") if self.do in SIGNALS else None


def read_events(root: Table) -> tuple[PlannedEvent, ...]:
    """The events, in the order of the file. Raises ScenarioError."""
    events: list[PlannedEvent] = []
    for table in root.tables("event"):
        event = _event(table)
        for other in events:
            same = (other.launch, other.at) == (event.launch, event.at)
            if same and (other.signal is None) == (event.signal is None):
                kind = "fault" if event.signal is None else "signal"
                raise table.error(
                    f"launch {event.launch} has an event at {event.at} already: {other.do}; an "
                    f"instant has one {kind} at most",
                    "at",
                )
        events.append(event)
    return tuple(events)


def _event(table: Table) -> PlannedEvent:
    table.only("launch", "at", "do")
    event = PlannedEvent(table.whole("launch", least=1), table.text("at"), table.text("do"))
    try:
        fault = event.fault
    except ScenarioError as error:
        known = str(error).partition("; expected one of ")[2]
        raise table.error(
            f"not an event: {event.do!r}; expected {' or '.join(SIGNALS)} (to the target), or a "
            f"fault of the provider: {known}",
            "do",
        ) from None
    if fault is not None and event.request is None:
        raise table.error(
            f"{event.do!r} happens at a request, 'provider:N/request'; found {event.at!r}", "at"
        )
    if not _ANYWHERE.fullmatch(event.at):
        raise table.error(
            f"no signal can be sent at {event.at!r}; expected 'provider:N/request', or "
            "'log:NAME#N/before', 'log@N/before', 'effect:NAME#N/before', or these with '/after'",
            "at",
        )
    return event
