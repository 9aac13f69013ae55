"""What else happens in a launch: the `[[event]]` tables of a scenario file.

An event is an act (`do`) in a launch, at an instant (`at`) that is named as kill points are. This
module knows which acts exist and when each of them can happen, and refuses the rest with the list
of what there is.

Pure. `chaos.provider.exchange` carries faults of the provider out, `chaos.supervise.due` what is
done to the target, `chaos.supervise.drift` what is changed before a launch. Which instants a run
has is not known here: the run without a kill tells.

Source: design section 8.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from chaos.errors import ScenarioError, UsageError
from chaos.points import KillPoint, Phase
from chaos.provider.faults import Fault
from chaos.toml_table import Table, nearest

START = "start"  # the instant of what is set before a launch begins


def _at_the_start(at: str) -> bool:
    return at == START


def _at_a_request(at: str) -> bool:
    point = _point(at)
    return point is not None and point.phase is Phase.REQUEST


def _at_a_call(at: str) -> bool:
    point = _point(at)
    return point is not None and point.phase in (Phase.BEFORE, Phase.AFTER)


def _before_a_call(at: str) -> bool:
    point = _point(at)
    return point is not None and point.phase is Phase.BEFORE and point.source != "effect"


def _anywhere(at: str) -> bool:
    return _at_a_call(at) or _at_a_request(at)


def _point(at: str) -> KillPoint | None:
    try:
        return KillPoint.parse(at)
    except UsageError:
        return None


@dataclass(frozen=True, slots=True)
class _Kind:
    """One family of acts: what may follow its name, when it can happen, how that is said."""

    argument: str  # a pattern; empty: it takes none
    written: str
    can_happen: Callable[[str], bool]
    instants: str


# Inside the workspace, and the one way to write it: no name is empty, `.` or `..`.
_NAME = r"(?!\.{1,2}(?:[/=]|$))[^=/\n\0]+"
_PATH = rf"{_NAME}(?:/{_NAME})*"
_INSIDE = "PATH inside the workspace, without './' and '//'"
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_CALL = "'log:NAME#N/before', 'file:CALL[PATH]#N/before', 'effect:NAME#N/before', or '/after'"
_ANYWHERE = f"'provider:N/request', or {_CALL}"
_KINDS = {
    "provider": _Kind(r".+", "provider:FAULT", _at_a_request, "'provider:N/request'"),
    "signal": _Kind(r"INT|TERM", "signal:INT or signal:TERM", _anywhere, _ANYWHERE),
    "errno": _Kind(
        r"(?P<errno>ENOSPC|EIO|EDQUOT|EINTR)(\*(?P<times>[1-9][0-9]{0,6})|(?<!EINTR)\*)?",
        "errno:ENOSPC, errno:EIO*3 (the next three calls), errno:ENOSPC* (from then on)",
        _before_a_call,
        "'log:NAME#N/before' or 'file:CALL[PATH]#N/before'",
    ),
    "short": _Kind(
        r"[1-9][0-9]{0,9}", "short:BYTES", _before_a_call, "'log:NAME#N/before' or 'file:…/before'"
    ),
    "stop": _Kind(r"[0-9](\.[0-9]+)?s", "stop:2s (less than 10 s)", _anywhere, _ANYWHERE),
    "resume": _Kind(r"", "resume (a second one, while the first is stopped)", _anywhere, _ANYWHERE),
    "set": _Kind(r"[A-Za-z_][A-Za-z0-9_]*=.*", "set:NAME=VALUE", _at_the_start, f"'{START}'"),
    "write": _Kind(
        rf"{_PATH}=(?s:.*)",
        f"write:PATH=TEXT ({_INSIDE})",
        _at_the_start,
        f"'{START}'",
    ),
    "delete": _Kind(_PATH, f"delete:PATH ({_INSIDE})", _at_the_start, f"'{START}'"),
    "move": _Kind(
        r"[A-Za-z0-9_-]{1,64}",
        "move:NAME (the workspace is another directory, for this launch)",
        _at_the_start,
        f"'{START}'",
    ),
    "clock": _Kind(
        r"(?P<shift>[+-][0-9]{1,3})(?P<unit>[smhd])",
        "clock:-1h (at most 999 of s, m, h or d)",
        _at_the_start,
        f"'{START}'",
    ),
}
KINDS = tuple(_KINDS)
_CALL_KINDS = ("signal", "errno", "short", "stop", "resume")  # what befalls a running launch
FOREVER = 1 << 62  # times


@dataclass(frozen=True, slots=True)
class PlannedEvent:
    """`do` ("provider:500", "signal:INT") happens in launch `launch` (1-based) at `at`."""

    launch: int
    at: str  # "provider:1/request", "log:toolStarted[bash]#1/after", "effect:deploy#1/before"
    do: str

    @property
    def kind(self) -> str:
        """One of the acts."""
        return self.do.partition(":")[0]

    @property
    def argument(self) -> str:
        """What follows the kind."""
        return self.do.partition(":")[2]

    @property
    def request(self) -> int | None:
        """The ordinal of the provider request that `at` names, 1-based within the launch."""
        return KillPoint.parse(self.at).ordinal if _at_a_request(self.at) else None

    @property
    def fault(self) -> Fault | None:
        """The fault of the provider, if the event is one."""
        return Fault.parse(self.do) if self.kind == "provider" else None

    @property
    def signal(self) -> str | None:
        """INT or TERM, if the event is a signal to the target."""
        return self.argument if self.kind == "signal" else None

    @property
    def errno(self) -> tuple[str, int]:
        """Of an errno: its name, and of how many calls."""
        match = re.fullmatch(_KINDS["errno"].argument, self.argument)
        assert match is not None  # noqa: S101 - checked when it was read
        once = 1 if "*" not in self.argument else FOREVER
        return match["errno"], int(match["times"] or once)

    @property
    def seconds(self) -> float:
        """Of a stop."""
        return float(self.argument.removesuffix("s"))

    @property
    def variable(self) -> tuple[str, str]:
        """Of a set, a write: name or path, and the text."""
        name, _, value = self.argument.partition("=")
        return name, value

    @property
    def shift_s(self) -> int:
        """Of a clock: seconds ahead; less than 0: behind."""
        match = re.fullmatch(_KINDS["clock"].argument, self.argument)
        assert match is not None  # noqa: S101 - checked when it was read
        return int(match["shift"]) * _SECONDS[match["unit"]]


def read_events(root: Table) -> tuple[PlannedEvent, ...]:
    """The events, in the order of the file. Raises ScenarioError."""
    events: list[PlannedEvent] = []
    for table in root.tables("event"):
        event = _event(table)
        for other in events:
            same = (other.launch, other.at) == (event.launch, event.at)
            if same and event.at != START and other.kind == event.kind:
                raise table.error(
                    f"launch {event.launch} has an event at {event.at} already: {other.do}; an "
                    f"instant has one {event.kind} at most",
                    "at",
                )
        events.append(event)
    return tuple(events)


def read_event(said: str, launch: int) -> PlannedEvent:
    """The event that a schedule tells before launch number `launch` (1-based):
    `signal:INT at log@3/after`. Raises UsageError."""
    do, at, instant = said.partition(" at ")
    if not at or do.partition(":")[0] not in _CALL_KINDS:
        raise UsageError(
            f"not an event: 'event: {said}'; write 'event: signal:INT at log@3/after', or another "
            f"with one of {', '.join(_CALL_KINDS)}"
        )
    fault = _fault(do, instant)
    if fault is not None:
        raise UsageError(fault[0])
    return PlannedEvent(launch, instant, do)


def _fault(do: str, at: str) -> tuple[str, str] | None:
    """What is wrong with an act at an instant, and which of the two it is."""
    name, colon, argument = do.partition(":")
    kind = _KINDS.get(name)
    if kind is None or bool(colon) != bool(kind.argument):
        known = ", ".join(each.written for each in _KINDS.values())
        return f"not an event: {do!r}{nearest(name, _KINDS)}; there are {known}", "do"
    if not re.fullmatch(kind.argument, argument):
        return f"not an event: {do!r}; expected {kind.written}", "do"
    if name == "provider":
        try:
            Fault.parse(do)
        except ScenarioError as error:
            return str(error), "do"
    if not kind.can_happen(at):
        return f"{do!r} cannot happen at {at!r}; expected {kind.instants}", "at"
    return None


def _event(table: Table) -> PlannedEvent:
    table.only("launch", "at", "do")
    do = table.text("do")
    kind = _KINDS.get(do.partition(":")[0])
    before = kind is not None and kind.can_happen is _at_the_start
    at = START if "at" not in table and before else table.text("at")
    event = PlannedEvent(table.whole("launch", least=1), at, do)
    fault = _fault(do, at)
    if fault is not None:
        raise table.error(*fault)
    return event
