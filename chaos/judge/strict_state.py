"""What a strict reader has to remember of the facts already read.

Plain data and two small tools: `Refusal`, the one way in which a rule says no, and `require`. The
rules themselves are in the `strict_*` modules beside this one. Nothing is undone: a log is read
until its first broken fact, and what follows has no meaning.

Source: session contract, section 4.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

INVALID_FACT = "INVALID_FACT"
DUPLICATE_ID = "DUPLICATE_ID"
INVALID_REFERENCE = "INVALID_REFERENCE"
INVALID_TRANSITION = "INVALID_TRANSITION"
INVALID_TRANSCRIPT = "INVALID_TRANSCRIPT"

Body = Mapping[str, Any]  # an entry, record or usage fact whose shape has been checked


class Refusal(Exception):  # noqa: N818 - what a rule says, not a failure of this program
    """A fact breaks `rule`; `code` is the contract's name for it (section 3)."""

    def __init__(self, rule: str, code: str, expected: str, found: str) -> None:
        super().__init__(f"expected {expected}; found {found}")
        self.rule = rule
        self.code = code
        self.expected = expected
        self.found = found


def refuse(rule: str, code: str, expected: str, found: str) -> NoReturn:
    """Say no. Raises Refusal."""
    raise Refusal(rule, code, expected, found)


def require(holds: bool, rule: str, code: str, expected: str, found: object) -> None:
    """Say no unless `holds`. Raises Refusal."""
    if not holds:
        raise Refusal(rule, code, expected, str(found))


@dataclass(slots=True)
class Attempt:
    """The latest attempt of the latest step of an operation."""

    step_id: str
    id: str
    number: int  # 1 or 2
    boundary: str
    digest: str
    tools: frozenset[str]
    status: str = "open"  # open | failed | settled
    stop: str | None = None  # how the reply that settled it ended
    blank: bool = False  # that reply has no visible content
    reply_id: str | None = None


@dataclass(slots=True)
class Call:
    """One tool call of an assistant entry."""

    index: int
    id: str  # the provider's; not unique in a file
    name: str
    started: bool = False
    answered: bool = False


@dataclass(frozen=True, slots=True)
class Turn:
    """An assistant entry with its calls."""

    entry_id: str
    step_id: str
    stop: str
    tools: frozenset[str]  # those that its attempt offered
    calls: tuple[Call, ...]


@dataclass(frozen=True, slots=True)
class Intent:
    """A durable `toolStarted`."""

    operation_id: str
    turn: Turn
    call: Call
    result_id: str


@dataclass(frozen=True, slots=True)
class Sources:
    """What a compaction said it would do."""

    through_id: str
    result_id: str
    compacted_ids: tuple[str, ...]
    tail: tuple[Body, ...]  # of sourceEntryId and message


@dataclass(slots=True)
class Operation:
    """The unfinished operation."""

    id: str
    kind: str  # run | compaction
    sources: Sources | None = None  # of a compaction
    aborted: bool = False
    attempt: Attempt | None = None
    last_turn: Turn | None = None

    def open_calls(self) -> list[Call]:
        """Calls without a result. Only the last turn can have any."""
        turn = self.last_turn
        return [] if turn is None else [call for call in turn.calls if not call.answered]


@dataclass(slots=True)
class State:
    """Everything known after the facts so far."""

    operation: Operation | None = None
    boundary: str | None = None  # see contract section 4
    messages: dict[str, Body] = field(default_factory=dict)  # every message entry, in order
    prompts: set[str] = field(default_factory=set)  # user entries of the transaction being read
    operations: set[str] = field(default_factory=set)  # all that ever began
    steps: set[str] = field(default_factory=set)
    attempts: dict[str, str] = field(default_factory=dict)  # attempt id -> operation id
    intents: dict[str, Intent] = field(default_factory=dict)  # by toolStarted id
    usage: dict[str, int] = field(default_factory=dict)  # sums by counter
    used: set[str] = field(default_factory=set)  # ids that stand for something
    reserved: set[str] = field(default_factory=set)  # result ids promised, not yet written

    def add_message(self, entry_id: str, message: Body) -> None:
        """A message entry became part of the transcript."""
        self.messages[entry_id] = message
        self.boundary = entry_id


@dataclass(frozen=True, slots=True)
class Ids:
    """What a fact does with ids: those it gives a meaning, the result id it promises or keeps."""

    names: tuple[str, ...] = ()
    promises: str | None = None
    keeps_promise: bool = False  # the fact's own id is the one reserved for it


NO_IDS = Ids()


def require_known(rule: str, body: Body, key: str, known: Container[str], what: str) -> None:
    """`body[key]` must name something that is in the log already. Raises Refusal."""
    require(body[key] in known, rule, INVALID_REFERENCE, f"{key} to name {what}", body[key])


def the_operation(state: State, body: Body, rule: str) -> Operation:
    """The open operation, which `body` must name. Raises Refusal."""
    require_known("L4", body, "operationId", state.operations, "an operation that began")
    operation = state.operation
    if operation is None or operation.id != body["operationId"]:
        found = "none is open" if operation is None else f"{operation.id} is open"
        refuse(
            rule,
            INVALID_TRANSITION,
            f"{body['type']} while its operation {body['operationId']} is open",
            found,
        )
    kind = body.get("operationKind", operation.kind)
    require(
        kind == operation.kind,
        "L4",
        INVALID_REFERENCE,
        f"operationKind {operation.kind}, as the operation began",
        kind,
    )
    return operation
