"""A case: the evidence of one schedule with what every rule looks up, and the shape of a rule.

Pure. A `Rule` is a row: id, one-line statement, what it needs, and a function from a case to the
violations it finds. A rule whose need is not met says nothing: a session log in a dialect that is
not known, a course that stopped at a crash image which another schedule judges to its end.

Promises that judging never changes evidence. Does not hold any rule.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any, TypeVar

from chaos.evidence import (
    STEP_ROLES,
    Blobs,
    Effect,
    Event,
    Evidence,
    Exec,
    Facts,
    FileChange,
    Injected,
    Launch,
    Request,
    Sha,
    Signal,
    Tree,
)
from chaos.flavours import flavour_of
from chaos.judge.history import Attempt, Call, CallKey, History, history_of
from chaos.judge.log import Fact
from chaos.results import Violation

T = TypeVar("T")
SHOWN = 200  # characters of a value that a message shows


class Need(StrEnum):
    """What a rule cannot do without."""

    LOG = "a session log in the dialect session-v2"
    FACTS = "such a log, which must open"
    WIRE = "a session of another dialect, which is told by the wire"
    LINES = "a transcript of JSON lines"
    CALLS = "a transcript of JSON lines whose calls and results the target file names"
    END = "a course that went to its end"
    OPENS = "a session that must open"


@dataclass(frozen=True, slots=True)
class Rule:
    """One invariant. `check` yields what breaks it, first things first."""

    id: str
    statement: str
    needs: frozenset[Need]
    check: Callable[[Case], Iterator[Violation]]


@dataclass(frozen=True)
class End:
    """What the steps of the scenario left, before the idle launch and the probe."""

    launch: Launch  # the last launch of a step
    history: History
    files: Tree
    blobs: Blobs


@dataclass(frozen=True)
class Damaged:
    """That a case begins with a damaged log."""

    past: tuple[Event, ...]  # what happened before the damage
    launches: tuple[Launch, ...]  # in which it did
    fault: Violation | None  # why the session must be refused; None: it must open


@dataclass(frozen=True)
class Case:
    """The evidence of a schedule, with lookups. Read only."""

    evidence: Evidence
    damaged: Damaged | None = None
    _found: dict[object, Any] = field(default_factory=dict, repr=False, compare=False)

    def remember(self, find: Callable[[Case], T]) -> T:
        """What `find` finds in this case, looked for once."""
        if find not in self._found:
            self._found[find] = find(self)
        found: T = self._found[find]
        return found

    def log(self, name: Sha) -> History:
        """The log of that name, interpreted."""
        return history_of(self.evidence.blobs.get(name))

    def text(self, name: Sha) -> str:
        """A stream, as text for a person."""
        return self.evidence.blobs.get(name).decode("utf-8", "replace")

    def launch_of(self, event: Event) -> Launch:
        """The launch in which an event happened."""
        launches = self.evidence.launches
        return launches[event.launch - launches[0].index]

    def code(self, outcome: str) -> int | None:
        """The exit code that the target gives an outcome; None where it has none (or -1)."""
        code = self.evidence.facts.exit_codes.get(outcome, -1)
        return code if code >= 0 else None

    def exited(self, launch: Launch, outcome: str) -> bool:
        """Did the launch end by itself, with the exit code of that outcome?"""
        code = self.code(outcome)
        return code is not None and launch.exit_code == code and not ended_from_outside(launch)

    def has(self, need: Need) -> bool:
        """Is the need met?"""
        match need:
            case Need.FACTS:
                return offers(self.evidence.facts, need) and self.fault is None
            case Need.OPENS:
                return self.fault is None
            case Need.END:
                return self.end is not None
        return offers(self.evidence.facts, need)

    @property
    def fault(self) -> Violation | None:
        """Why this session must be refused."""
        return self.damaged.fault if self.damaged else None

    @cached_property
    def inherited(self) -> tuple[Effect, ...]:
        """Effects of before a damage that left their intents in the log."""
        if self.damaged is None:
            return ()
        log = self.log(self.evidence.launches[0].log_before)
        left = {call.intent.id for call in log.calls if call.intent is not None}
        found = ((e, self.owner(e)) for e in self.damaged.past if isinstance(e, Effect))
        return tuple(e for e, call in found if call and call.intent and call.intent.id in left)

    @cached_property
    def end(self) -> End | None:
        """The end of the steps. None: the course did not come that far."""
        steps = [x for x in self.evidence.launches if x.role in STEP_ROLES]
        if not steps or self.evidence.merged_into is not None or ended_from_outside(steps[-1]):
            return None
        last = steps[-1]
        blobs = self.evidence.blobs
        return End(last, self.log(last.log_after), last.files_after, blobs)

    def signals(self, launch: Launch) -> list[Signal]:
        """The signals that the schedule sent in a launch."""
        return [e for e in self.evidence.of_launch(launch.index) if isinstance(e, Signal)]

    def log_errors(self, launch: Launch) -> list[Injected]:
        """The errors that calls on the log, and syncs of directories, which hold its name, returned
        in a launch because the schedule says so."""
        return [
            e
            for e in self.evidence.of_launch(launch.index)
            if isinstance(e, Injected) and e.do.startswith("errno:") and _of_the_log(e.at)
        ]

    @cached_property
    def abort_asked(self) -> bool:
        """Did anybody ask for an abort: a signal, or an `abort` launch?"""
        launches = self.evidence.launches
        return any(x.role == "abort" or self.signals(x) for x in launches)

    @cached_property
    def blocked(self) -> bool:
        """The steps ended with a session that waits for its old configuration, or an abort."""
        return self.end is not None and self.exited(self.end.launch, "blocked")

    @cached_property
    def settled(self) -> bool:
        """The steps left nothing to do: no operation is open, or it is blocked."""
        end = self.end
        return end is not None and (self.blocked or end.history.open_operation is None)

    @cached_property
    def final(self) -> History:
        """The log as the last launch left it."""
        launches = self.evidence.launches
        return self.log(launches[-1].log_after) if launches else history_of(b"")

    @cached_property
    def references(self) -> tuple[Case, ...]:
        """The runs without a kill that came to an end with nothing left to do. Others prove
        nothing; what is wrong with them is said where they are judged themselves."""
        cases = (Case(reference) for reference in self.evidence.references)
        return tuple(case for case in cases if case.settled and not case.blocked)

    @cached_property
    def reference_ends(self) -> tuple[End, ...]:
        """Their ends."""
        return tuple(case.end for case in self.references if case.end is not None)

    @cached_property
    def requests(self) -> tuple[tuple[Request, Attempt | None], ...]:
        """Requests to the model, each with the attempt open in the log at its first byte."""
        return tuple(
            (event, self.log(event.log).open_attempt)
            for event in self.evidence.events
            if isinstance(event, Request) and asks_the_model(event)
        )

    @cached_property
    def calls(self) -> dict[CallKey, Call]:
        """Every call of the final log, by place."""
        return {call.key: call for call in self.final.calls}

    def twins(self, call: Call) -> list[tuple[Case, Call]]:
        """The same call in the references: same place, same tool, same arguments."""
        found = ((case, case.calls.get(call.key)) for case in self.references)
        return [
            (case, twin)
            for case, twin in found
            if twin and (twin.name, twin.arguments) == (call.name, call.arguments)
        ]

    def owner(self, event: Effect | FileChange) -> Call | None:
        """The call whose intent is pending when something happens. Of several, the one that has
        this effect in a reference, else the last."""
        pending = self.log(event.log).pending
        if len(pending) > 1 and isinstance(event, Effect):
            for call in pending:
                if any(known.effects[twin.key][event.name] for known, twin in self.twins(call)):
                    return call
        return pending[-1] if pending else None

    @cached_property
    def effects(self) -> dict[CallKey, Counter[str]]:
        """How often each call had each effect, over all launches."""
        counts: dict[CallKey, Counter[str]] = {call.key: Counter() for call in self.final.calls}
        for event in (*self.inherited, *self.evidence.events):
            if isinstance(event, Effect) and (call := self.owner(event)) is not None:
                counts.setdefault(call.key, Counter())[event.name] += 1
        return counts

    @cached_property
    def unannounced(self) -> Counter[str]:
        """Effects that happened while no intent was pending."""
        effects = (e for e in self.evidence.events if isinstance(e, Effect))
        return Counter(event.name for event in effects if self.owner(event) is None)

    @cached_property
    def argument_texts(self) -> frozenset[str]:
        """Strings in the arguments of any call the model made, here or in a reference."""
        cases = (self, *self.references)
        return frozenset(
            text for case in cases for call in case.final.calls for text in call.texts()
        )

    def tool_start(self, event: Exec) -> bool:
        """Does the process carry out a call? Its command line then holds a string of the call's
        arguments. Helpers of the target (a wrapper, a server for tools) do not."""
        return any(carries(event.argv, text) for text in self.argument_texts)


def offers(facts: Facts, need: Need) -> bool:
    """Does the target's dialect give the evidence that is needed? Nothing else is looked at."""
    match need:
        case Need.LOG | Need.FACTS:
            return facts.dialect == "session-v2"
        case Need.WIRE:
            return facts.dialect in ("transcript", "opaque")
        case Need.LINES:
            return facts.dialect == "transcript"
        case Need.CALLS:
            return facts.dialect == "transcript" and {"call", "result"} <= facts.transcript.keys()
    return True


def _of_the_log(place: str) -> bool:
    return place.startswith("log") or (place.startswith("file:fsync[") and "/]" in place)


def carries(argv: tuple[str, ...], text: str) -> bool:
    """Is `text` a word of this command line, or (if it is long enough to mean it) in one?"""
    return text in argv or (len(text) >= 8 and any(text in word for word in argv))


def asks_the_model(request: Request) -> bool:
    """A request by a known API, or one that was cut before its first line could be read."""
    return not request.method or flavour_of(request.method, request.path) is not None


def ended_from_outside(launch: Launch) -> bool:
    """Killed by the schedule, or ended by the harness at its limit."""
    return launch.killed or launch.timed_out


@dataclass(frozen=True)
class Where:
    """A place in the evidence. All of it is optional."""

    launch: Launch | None = None
    fact: Fact | None = None
    event: Event | None = None
    line: int | None = None
    more: Mapping[str, object] = field(default_factory=dict)

    def words(self) -> str:
        """` at launch 2 (resume), line 5, seq 6`, or as much of it as is known."""
        line = self.fact.line if self.fact else self.line
        parts = (
            f"launch {self.launch.index + 1} ({self.launch.role})" if self.launch else "",
            f"line {line}" if line else "",
            f"seq {self.fact.seq}" if self.fact and self.fact.seq is not None else "",
            f"event {self.event.order}" if self.event else "",
        )
        said = ", ".join(filter(None, parts))
        return f" at {said}" if said else ""

    def data(self) -> dict[str, object]:
        """The same for programs; `launch` counts from 0, as in the evidence."""
        found: dict[str, object | None] = {
            "launch": self.launch.index if self.launch else None,
            "line": self.fact.line if self.fact else self.line,
            "seq": self.fact.seq if self.fact else None,
            "order": self.event.order if self.event else None,
        }
        return {k: v for k, v in found.items() if v is not None} | dict(self.more)


def broken(rule: str, what: str, expected: object, found: object, where: Where) -> Violation:
    """A violation with its message: what, expected, found, where."""
    expected, found = shown(expected), shown(found)
    return Violation(
        id=rule,
        message=f"{what}: expected {expected}, found {found}{where.words()}",
        evidence={**where.data(), "expected": expected, "found": found},
    )


def shown(value: object) -> str:
    """A value in a message, cut to a readable length."""
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}… ({len(text)} characters)"
